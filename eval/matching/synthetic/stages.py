"""A rival in place of graph degree linkage, with all the stages before and after it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eval.matching.distances import distance_matrix
from eval.matching.rivals import load_rival
from matching.grouping import Correspondences

SUFFIX = "+stages"


@dataclass(frozen=True, eq=False)
class RankedPoints:
    """What a rival sees of correspondences: `xy0`, `xy1` (m, 2) pixels, and their rank as `score` (m,)."""

    xy0: NDArray[np.float64]
    xy1: NDArray[np.float64]
    score: NDArray[np.float64]


def rival_clustering(name: str) -> Callable:
    """A rival in the form of `matching.grouping.clustering.cluster_graph`, for `matching.grouping.group`."""
    rival = load_rival(name)

    def cluster(correspondences: Correspondences, knn, graph, initial, config) -> NDArray[np.int64]:
        rank = np.arange(len(correspondences), dtype=np.float64)
        points = RankedPoints(correspondences.xy0, correspondences.xy1, rank)
        return rival.label(distance_matrix(correspondences), points, rival.params_with_stages)

    return cluster
