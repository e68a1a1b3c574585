"""A cheap test of whether correspondences hold an object at all, before they are clustered.

Most pairs of a collection show nothing in common. Of the correspondences of such a pair few agree, and fewest
of those that are mutual: each of their points is in no better correspondence. An object has many mutual ones,
and its members need a certain degree in the graph that is clustered, whose maps are fitted. By the maps of
single features alone, several of them must reach a share of it.
"""

from __future__ import annotations

import numpy as np

from matching._types import Array, Bools, Ints
from matching.correspondences.correspondences import Correspondences
from matching.correspondences.distances import acc_neighbors
from matching.grouping.graph import GraphConfig, edge_weights

N_SUPPORTED = 4  # correspondences that need support: an affine map, and one more that confirms it


def has_evidence(
    correspondences: Correspondences,
    n_neighbors: int,
    min_degree: float,
    config: GraphConfig,
    n_threads: int = 1,
) -> bool:
    """Test whether enough mutual correspondences are supported by others.

    Parameters
    ----------
    correspondences : Correspondences
        By falling trust.
    n_neighbors : int
        K; fewer where there are fewer.
    min_degree : float
        Share of K: the least sum of the weights of a correspondence's edges.
    config : GraphConfig
        How correspondences are compared.
    n_threads : int
        Threads; the result is the same for any number.

    Returns
    -------
    bool
        Whether N_SUPPORTED of them have that degree.
    """
    mutual = correspondences[find_mutual(correspondences)]
    k = min(n_neighbors, len(mutual) - 1)
    if k < N_SUPPORTED:
        return min_degree <= 0
    knn = acc_neighbors(mutual, k, n_threads, config.nearness)
    degree = edge_weights(mutual, knn, config.scale, config.slope).sum(axis=1)
    return np.count_nonzero(degree >= min_degree * k) >= N_SUPPORTED


def find_mutual(correspondences: Correspondences) -> Ints:
    """Find the correspondences both of whose points are in no better one.

    Parameters
    ----------
    correspondences : Correspondences
        By falling trust.

    Returns
    -------
    (n,) int64
        Their rows, rising.
    """
    return np.flatnonzero(_is_first(correspondences.xy0) & _is_first(correspondences.xy1))


def _is_first(points: Array) -> Bools:
    """(m,) bool: whether a point (m, 2) has not come before."""
    as_one = np.ascontiguousarray(points, np.float64).view(np.complex128)
    first = np.zeros(len(points), bool)
    first[np.unique(as_one, return_index=True)[1]] = True
    return first
