"""Common alternatives: Leiden communities of the K-NN graph, and FINCH, by optional packages."""

import ctypes
import os
import warnings

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix


def leiden(s: csr_matrix, resolution: float, seed: int) -> NDArray[np.int64]:
    """scikit-network's Leiden (Dugué's modularity) of an undirected graph. (n,) int64.

    Its compiled part draws from the C library's generator, which is seeded as well.
    """
    from sknetwork.clustering import Leiden

    ctypes.CDLL(None if os.name == "posix" else "ucrtbase").srand(seed)
    return Leiden(resolution=resolution, random_state=seed).fit_predict(s).astype(np.int64)


def finch(features: NDArray, nearest: NDArray | None, n_clusters: int) -> NDArray[np.int64]:
    """finch-clust with n_clusters given, and Euclidean distances between the means of clusters. (n,) int64.

    `nearest` (n,) is the nearest neighbour of each sample by another distance, if there is one.
    """
    with warnings.catch_warnings():  # on import, if pynndescent is missing
        warnings.simplefilter("ignore")
        from finch import FINCH

        *_, labels = FINCH(
            features, initial_rank=nearest, req_clust=n_clusters, distance="euclidean", verbose=False
        )
    return np.asarray(labels).astype(np.int64)
