"""A cheap test, before clustering, of whether correspondences can contain an object at all.

Most pairs of a collection have nothing in common: few of their mutual correspondences agree. (A
correspondence is mutual if neither of its points is in a better one.) Clustering is worthwhile only if some
mutual correspondences, compared by the maps of their features alone, reach a share of the degree that members
of a cluster need later. The graph of mutual correspondences is small and its weights are strict.
"""

from __future__ import annotations

import numpy as np

from matching._common.types import Array, Bools, Ints
from matching.correspondences.correspondences import Correspondences
from matching.correspondences.distances import acc_neighbors
from matching.correspondences.points import as_numbers
from matching.grouping.config import MatchConfig
from matching.grouping.graph import edge_weights
from matching.grouping.ledger import Ledger

MIN_SUPPORTED = 4  # correspondences that are evidence: three fix an affine map, and one more confirms it


def has_evidence(correspondences: Correspondences, rows: Ints, config: MatchConfig, ledger: Ledger) -> bool:
    """Test whether others support enough of the mutual ones among rows (n,); so do they with a bound of 0."""
    min_degree = config.objects.evidence * config.clustering.min_degree
    if min_degree == 0:
        return True
    supported = rows[find_supported(correspondences[rows], min_degree, config)]
    if len(supported) < MIN_SUPPORTED:
        ledger.reach("evidence", rows)
        ledger.drop("evidence", supported, len(supported), MIN_SUPPORTED)
    return len(supported) >= MIN_SUPPORTED


def find_supported(correspondences: Correspondences, min_degree: float, config: MatchConfig) -> Ints:
    """Find supported mutual correspondences -> (n,), ascending; MIN_SUPPORTED of them are evidence."""
    rows = find_mutual(correspondences)
    mutual = correspondences[rows]
    if len(mutual) <= MIN_SUPPORTED:
        return rows[:0]
    k = min(config.clustering.n_neighbors, len(mutual) - 1)
    knn = acc_neighbors(mutual, k, config.graph.nearness)
    degree = edge_weights(mutual, knn, config.graph.scale, config.graph.slope).sum(axis=1)
    supported: Ints = rows[degree >= min_degree * k]
    return supported


def find_mutual(correspondences: Correspondences) -> Ints:
    """Find correspondences with no point in a better one of the same handedness -> (n,)."""
    is_mutual = np.zeros(len(correspondences), bool)
    for rows in (np.flatnonzero(~correspondences.mirrored), np.flatnonzero(correspondences.mirrored)):
        is_mutual[rows] = _is_first(correspondences.xy0[rows]) & _is_first(correspondences.xy1[rows])
    return np.flatnonzero(is_mutual)


def _is_first(points: Array) -> Bools:
    """(m,) bool: whether each point (m, 2) occurs for the first time."""
    first = np.zeros(len(points), bool)
    first[np.unique(as_numbers(points), return_index=True)[1]] = True
    return first
