"""Clusters of the correspondence graph: graph degree linkage, outliers by degree, connectivity scores.

Notation: deg-_i(C), deg+_i(C) are the average indegree and outdegree of vertex i in cluster C (Definition 2).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import gdl_core
from gdl_core import AffinityGraph, KnnGraph, MergeTree
from matching._common.types import Array, Bools, Floats, Ints
from matching.correspondences.correspondences import Correspondences
from matching.errors import InputError
from matching.grouping.objects import number_rows
from matching.settings import (
    BANDWIDTH,
    METHODS,
    N_CLUSTERS,
    N_INITIAL_NEIGHBORS,
    N_NEIGHBOR_CLUSTERS,
    N_NEIGHBORS,
    check_settings,
    setting,
)


@dataclass(frozen=True)
class ClusteringConfig:
    """The paper's parameters (Sec. 4.2), and bounds for clusters and their members.

    Parameters
    ----------
    method : str
        "agdl", "gdl-u" (exact, the same clusters) or "gdl" (Algorithm 1 as written, slow).
    n_clusters : int or None
        n_T, the number of clusters at which merging stops. It ends earlier if no two clusters have the
        affinity `min_affinity`; None: only then.
    n_neighbors : int
        K, the number of neighbours of each correspondence in the graph.
    n_initial_neighbors : int
        K0, the number of nearest neighbours that form initial clusters.
    bandwidth : float
        The factor a of Eq. 1; only the graph of the paper uses it.
    n_neighbor_clusters : int
        Kc, the number of clusters among which AGDL looks for the best partner of a cluster.
    min_affinity : float
        Clusters with an affinity (Eq. 4) below this share of K^2 are not joined. If an object consists of two
        halves of n matches each, about sqrt(n) matches along the seam have a degree of K / 4 across it. So
        the affinity of the halves is n^(-3/2) (K / 4)^2, or half of that if only half of the seam agrees:
        5.4e-7 K^2 for the largest object that 3,000 candidates can hold. Parts that are still separate are
        merged later (`matching.grouping.merging`).
    min_degree : float
        A member is an outlier if the geometric mean of its indegree and outdegree within its cluster is
        smaller than this share of K (by default, 4 of 35 neighbours). A correspondence is not clustered at
        all if its outdegree in the first, coarser graph is below the same bound.
    """

    method: str = setting("agdl")
    n_clusters: int | None = N_CLUSTERS.field()
    n_neighbors: int = N_NEIGHBORS.field()
    n_initial_neighbors: int = N_INITIAL_NEIGHBORS.field()
    bandwidth: float = BANDWIDTH.field()
    n_neighbor_clusters: int = N_NEIGHBOR_CLUSTERS.field()
    min_affinity: float = setting(5e-7, 0, 1)
    min_degree: float = setting(4 / 35, 0, 1)

    def __post_init__(self) -> None:
        check_settings(self)


def link_graph(
    knn: KnnGraph, graph: AffinityGraph, initial: Array | None, config: ClusteringConfig
) -> MergeTree:
    """Merge vertices by graph degree linkage, from `initial` or, if that is None, from mutual neighbours."""
    if config.method not in METHODS:  # checked only here: another function may replace this stage
        raise InputError(f"method must be one of {METHODS}, got {config.method!r}")
    if initial is None:
        k0 = min(config.n_initial_neighbors, knn.n_neighbors)
        initial = gdl_core.initial_clusters(knn, k0, mutual=True)
    n_clusters, least = config.n_clusters or 1, config.min_affinity * knn.n_neighbors**2
    if config.method == "agdl":
        k_c = config.n_neighbor_clusters
        return gdl_core.agdl(graph, initial, n_clusters, n_neighbor_clusters=k_c, min_affinity=least)
    if config.method == "gdl-u":
        return gdl_core.gdl_u(graph, initial, n_clusters, min_affinity=least)
    return gdl_core.gdl(graph, initial, n_clusters)


def count_merges(tree: MergeTree, knn: KnnGraph, config: ClusteringConfig) -> int:
    """Count the merges of a tree up to where merging ends by `n_clusters` or `min_affinity`."""
    return tree.count_merges(config.n_clusters or 1, min_affinity=config.min_affinity * knn.n_neighbors**2)


def cluster_graph(
    correspondences: Correspondences,
    knn: KnnGraph,
    graph: AffinityGraph,
    initial: Array | None,
    config: ClusteringConfig,
) -> Ints:
    """Cluster a graph by graph degree linkage -> (m,)."""
    tree = link_graph(knn, graph, initial, config)
    return tree.after(count_merges(tree, knn, config))


def drop_outliers(graph: AffinityGraph, labels: Array, min_degree: float) -> Ints:
    """Remove members of small degree from their clusters: labels (m,) -> (m,)."""
    labels = np.array(labels, np.int64)
    while True:
        outdegree, indegree = _degrees_within(graph, labels)
        is_outlier = (labels >= 0) & (outdegree * indegree < min_degree**2)
        if not is_outlier.any():
            return labels
        labels[is_outlier] = -1


def member_degrees(graph: AffinityGraph, labels: Array) -> Floats:
    """Measure how well each member is connected to its cluster: labels (m,) -> (m,)."""
    outdegree, indegree = _degrees_within(graph, labels)
    return np.asarray(np.sqrt(outdegree * indegree))


def _degrees_within(graph: AffinityGraph, labels: Array) -> tuple[Floats, Floats]:
    """The sums of the weights from and to each vertex (m,) within its cluster: labels (m,)."""
    from_ = np.repeat(np.arange(graph.n_samples), np.diff(graph.indptr))
    inside = (labels[from_] == labels[graph.indices]) & (labels[from_] >= 0)
    from_, to, weights = from_[inside], graph.indices[inside], graph.weights[inside]
    outdegree, indegree = (np.bincount(ends, weights, graph.n_samples) for ends in (from_, to))
    return np.asarray(outdegree, np.float64), np.asarray(indegree, np.float64)


def cluster_scores(graph: AffinityGraph, clusters: list[Array], n_neighbors: int) -> Floats:
    """Mean share of members' 2 K edges, in and out, that stay inside the cluster -> (n_clusters,)."""
    labels = number_rows(graph.n_samples, clusters)
    scores = np.zeros(len(clusters))
    connectivity = gdl_core.connectivity_scores(graph, labels)
    scores[: len(connectivity)] = connectivity / (2 * n_neighbors)
    return scores


def find_above_largest_gap(scores: Array) -> Bools:
    """Find the scores (n_clusters,) above the largest gap, with 0 as one more score -> mask (n_clusters,)."""
    return gdl_core.split_at_largest_gap(np.append(scores, 0.0))[:-1]
