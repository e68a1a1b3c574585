"""Grouping as the paper's text has it (Zhang et al., ECCV 2012), without what this program adds.

    graph             the K nearest correspondences by the ACC distance, weights of Eq. 1    Sec. 3.1
    initial clusters  weakly connected components of the K0-nearest-neighbour graph          Definition 1
    clusters          AGDL down to n_T clusters                                              Algorithm 3
    outliers          clusters below the largest gap of the connectivity scores              supplement

Where the text says nothing: equal distances are taken by index; where K0 leaves fewer than n_T initial
clusters, a smaller one is used; merging ends early where no two clusters have affinity; a cluster without
an edge inside it is no object.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import gdl_core
from matching._common.types import Ints
from matching.correspondences.correspondences import Correspondences
from matching.correspondences.distances import acc_neighbors
from matching.grouping.clustering import ClusteringConfig, cluster_graph
from matching.grouping.objects import Groups
from matching.grouping.settings import GroupingSettings


def group_by_paper(
    correspondences: Correspondences,
    n_listed: int,
    config: GroupingSettings,
    n_threads: int = 1,
    cluster: Callable[..., Ints] = cluster_graph,
) -> Groups:
    """Group correspondences into objects by the paper's text."""
    labels = np.full(len(correspondences), -1, np.int64)
    if n_listed < 2:
        return Groups(labels, np.empty(0))
    own = config.clustering
    k = min(own.n_neighbors, n_listed - 1)
    knn = acc_neighbors(correspondences[:n_listed], k, n_threads)
    graph = gdl_core.affinity_graph(knn, own.bandwidth)  # Eq. 1
    initial = make_initial_clusters(knn, own)
    clusters = cluster(correspondences[:n_listed], knn, graph, initial, own)
    scores = gdl_core.connectivity_scores(graph, clusters) / (2 * k)
    kept = gdl_core.split_at_largest_gap(scores) & (scores > 0)
    order = np.argsort(-scores, kind="stable")
    order = order[kept[order]]
    number = np.full(len(scores), -1, np.int64)
    number[order] = np.arange(len(order))
    labels[:n_listed] = number[clusters]
    return Groups(labels, scores[order])


def make_initial_clusters(knn: gdl_core.KnnGraph, config: ClusteringConfig) -> Ints:
    """Label the weakly connected components of the K0-nearest-neighbour graph.

    Where these are fewer than n_T, those of the largest smaller K0 that leaves enough, with a warning; 0
    leaves every correspondence a cluster of its own.

    Returns (m,) int64.
    """
    assert config.n_clusters is not None  # as MatchConfig demands
    return gdl_core.enough_initial_clusters(knn, config.n_initial_neighbors, config.n_clusters, stacklevel=2)
