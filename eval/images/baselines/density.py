"""Clustering by density: DBSCAN and HDBSCAN (scikit-learn) on a matrix of distances. Noise is labelled -1."""

import warnings

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import DBSCAN, HDBSCAN


def dbscan(distances: NDArray, quantile: float, min_samples: int = 5) -> NDArray[np.int64]:
    """scikit-learn's DBSCAN; `eps` is a quantile of the distances to the min_samples-th neighbour. (n,)
    int64.
    """
    core = np.partition(distances, min_samples, axis=1)[:, min_samples]  # the sample itself is at 0
    eps = max(float(np.quantile(core, quantile)), np.finfo(np.float32).tiny)
    model = DBSCAN(eps=eps, min_samples=min_samples, metric="precomputed")
    return model.fit(distances).labels_.astype(np.int64)


def hdbscan(distances: NDArray, min_cluster_size: int) -> NDArray[np.int64]:
    """scikit-learn's HDBSCAN. (n,) int64."""
    size = min(min_cluster_size, len(distances) - 1)
    model = HDBSCAN(min_cluster_size=size, metric="precomputed", copy=False)
    with warnings.catch_warnings():  # -inf of log(0) where samples are equal
        warnings.simplefilter("ignore", RuntimeWarning)
        return model.fit(np.array(distances, np.float64)).labels_.astype(np.int64)
