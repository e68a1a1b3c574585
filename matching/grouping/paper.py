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

from dataclasses import replace

import numpy as np

import gdl_core
from matching._common.types import Ints
from matching.correspondences.distances import acc_neighbors
from matching.grouping.clustering import ClusteringConfig, cluster_graph
from matching.grouping.rounds import Context, Part, Round
from matching.grouping.stages import cluster_with
from matching.stages import Stage, Stages


def choose_listed(state: Round, context: Context) -> Round | None:
    """All listed correspondences, in a single round; None if there are fewer than two of them."""
    rows = np.arange(context.n_listed)
    return replace(state, rows=rows) if len(rows) >= 2 and not state.known else None


def build_graph(state: Round, context: Context) -> Round:
    """The graph of Eq. 1, and the initial clusters of Definition 1."""
    how = context.config.clustering
    k = min(how.n_neighbors, len(state.rows) - 1)
    knn = acc_neighbors(context.correspondences[state.rows], k, context.n_threads)
    graph = gdl_core.affinity_graph(knn, how.bandwidth)  # Eq. 1
    return replace(state, knn=knn, graph=graph, initial=make_initial_clusters(knn, how))


def choose_clusters(state: Round, context: Context) -> Round:
    """The clusters above the largest gap of the connectivity scores."""
    scores = gdl_core.connectivity_scores(state.graph, state.labels) / (2 * state.knn.n_neighbors)
    kept = gdl_core.split_at_largest_gap(scores) & (scores > 0)
    least = float(scores[kept].min()) if kept.any() else None
    parts = []
    context.trace.drop("degree", state.rows)  # another clustering method may leave some in no cluster
    for k, score in enumerate(scores.tolist()):
        members = np.flatnonzero(state.labels == k)
        if kept[k]:
            parts.append(Part(members, members[:0], score))
        else:
            context.trace.drop_group("largest gap", members, score, least)
    return replace(state, parts=parts)


def make_initial_clusters(knn: gdl_core.KnnGraph, config: ClusteringConfig) -> Ints:
    """Label the components of the K0-nearest-neighbour graph -> (m,), with K0 small enough for n_T."""
    assert config.n_clusters is not None  # MatchConfig requires it
    return gdl_core.enough_initial_clusters(knn, config.n_initial_neighbors, config.n_clusters, stacklevel=2)


PAPER: Stages = (
    Stage("listed", choose_listed),
    Stage("graph", build_graph),
    Stage("clusters", cluster_with(cluster_graph)),
    Stage("largest gap", choose_clusters),
)
