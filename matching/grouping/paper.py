"""Grouping exactly as in the paper's text (Zhang et al., ECCV 2012), without this program's additions.

    graph             the K nearest correspondences by the ACC distance, weights of Eq. 1    Sec. 3.1
    initial clusters  weakly connected components of the K0-nearest-neighbour graph          Definition 1
    clusters          AGDL down to n_T clusters                                              Algorithm 3
    outliers          clusters below the largest gap of the connectivity scores              supplement

Where the text leaves something open, this module chooses as follows: of equal distances the smaller index
comes first; if K0 leaves fewer than n_T initial clusters, a smaller K0 is used; merging ends early if no two
clusters have a positive affinity; a cluster without an inner edge is not an object.
"""

from __future__ import annotations

import numpy as np

import gdl_core
from matching._common.types import Ints
from matching.correspondences.correspondences import Correspondences
from matching.correspondences.distances import acc_neighbors
from matching.grouping.clusters import ClusteringConfig, link
from matching.grouping.config import MatchConfig
from matching.grouping.graph import MatchGraph
from matching.grouping.groups import Group, make_group, sort_groups
from matching.grouping.ledger import Ledger


def group_by_paper(matches: Correspondences, config: MatchConfig, ledger: Ledger) -> list[Group]:
    """Group matches into objects as the paper does, by descending score."""
    if len(matches) < 2:
        return []
    graph = build_paper_graph(matches, config.clustering)
    clustering = link(matches, graph, config.clustering)
    return choose_clusters(graph, clustering.labels, ledger)


def build_paper_graph(matches: Correspondences, config: ClusteringConfig) -> MatchGraph:
    """Build the graph of Eq. 1, with the initial clusters of Definition 1."""
    k = min(config.n_neighbors, len(matches) - 1)
    knn = acc_neighbors(matches, k)
    affinities = gdl_core.affinity_graph(knn, config.bandwidth)  # Eq. 1
    return MatchGraph(np.arange(len(matches)), knn, affinities, make_initial_clusters(knn, config))


def choose_clusters(graph: MatchGraph, labels: Ints, ledger: Ledger) -> list[Group]:
    """Choose the clusters above the largest gap of the connectivity scores: labels (n,)."""
    scores = gdl_core.connectivity_scores(graph.affinities, labels) / (2 * graph.n_neighbors)
    is_kept = gdl_core.split_at_largest_gap(scores) & (scores > 0)
    lowest = float(scores[is_kept].min()) if is_kept.any() else None
    ledger.reach("degree", graph.rows)
    groups = []
    for k, score in enumerate(scores.tolist()):
        rows = np.flatnonzero(labels == k)
        if is_kept[k]:
            groups.append(make_group(rows, score))
        else:
            ledger.drop("largest gap", rows, score, lowest)
    return sort_groups(groups)


def make_initial_clusters(knn: gdl_core.KnnGraph, config: ClusteringConfig) -> Ints:
    """Label the components of the K0-nearest-neighbour graph -> (m,), with K0 small enough for n_T."""
    assert config.n_clusters is not None  # MatchConfig requires it
    return gdl_core.enough_initial_clusters(knn, config.n_initial_neighbors, config.n_clusters, stacklevel=2)
