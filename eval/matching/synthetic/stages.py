"""A rival in place of graph degree linkage, with all the steps before and after it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eval.matching.distances import distance_matrix
from eval.matching.rivals import load_rival
from matching import MatchConfig
from matching.correspondences.correspondences import Correspondences
from matching.grouping.clusters import Clustering, measure_scores
from matching.grouping.graph import build_graph
from matching.grouping.groups import Group, make_group, sort_groups
from matching.grouping.ledger import Ledger

SUFFIX = "+stages"


@dataclass(frozen=True, eq=False)
class RankedPoints:
    """What a rival sees of correspondences: `xy0`, `xy1` (m, 2) pixels, and their rank as `score` (m,)."""

    xy0: NDArray[np.float64]
    xy1: NDArray[np.float64]
    score: NDArray[np.float64]


def rank_points(correspondences: Correspondences) -> RankedPoints:
    """Show a rival the places of correspondences, the best first."""
    rank = np.arange(len(correspondences), dtype=np.float64)
    return RankedPoints(correspondences.xy0, correspondences.xy1, rank)


def rival_clustering(name: str) -> Callable:
    """Make a step `cluster` of `matching.grouping.methods.Method` of a rival, as it was tuned for this."""
    rival = load_rival(name)

    def cluster(correspondences: Correspondences, graph, config) -> Clustering:
        points = rank_points(correspondences)
        return Clustering(rival.label(distance_matrix(correspondences), points, rival.params_with_stages))

    return cluster


def group_by_rival(name: str, matches: Correspondences, config: MatchConfig, ledger: Ledger) -> list[Group]:
    """Take a rival's clusters for objects, scored by connectivity: a step `group` of a `Method`."""
    ledger.reach("method", np.arange(len(matches)))
    if len(matches) < 2:
        return []
    labels = load_rival(name).label(distance_matrix(matches), rank_points(matches))
    graph = build_graph(matches, config.clustering.n_neighbors, config.graph)
    clusters = [np.flatnonzero(labels == k) for k in range(labels.max() + 1)]
    return sort_groups(map(make_group, clusters, measure_scores(graph, clusters).tolist()))
