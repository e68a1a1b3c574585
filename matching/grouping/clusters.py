"""Clusters of the correspondence graph: graph degree linkage, outliers by degree, connectivity scores.

Notation: deg-_i(C), deg+_i(C) are the average indegree and outdegree of vertex i in cluster C (Definition 2).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import compress

import numpy as np

import gdl_core
from gdl_core import AffinityGraph, MergeTree
from matching._common.types import Array, Bools, Floats, Ints
from matching.correspondences.correspondences import Correspondences
from matching.errors import InputError
from matching.grouping.graph import MatchGraph
from matching.grouping.groups import Group, number_rows
from matching.grouping.ledger import Ledger
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


@dataclass(frozen=True, eq=False)
class Clustering:
    """The clusters of a graph of n correspondences."""

    labels: Ints  # (n,), the cluster of each vertex, -1 for outliers
    tree: MergeTree | None = None  # if graph degree linkage made the clusters
    n_merges: int = 0  # merges of the tree that lead to the clusters


def link(correspondences: Correspondences, graph: MatchGraph, config: ClusteringConfig) -> Clustering:
    """Cluster by graph degree linkage, which looks only at the graph."""
    if config.method not in METHODS:  # checked only here: another function may replace this step
        raise InputError(f"method must be one of {METHODS}, got {config.method!r}")
    initial = graph.initial
    if initial is None:
        k0 = min(config.n_initial_neighbors, graph.n_neighbors)
        initial = gdl_core.initial_clusters(graph.knn, k0, mutual=True)
    n_clusters, min_affinity = config.n_clusters or 1, config.min_affinity * graph.n_neighbors**2
    if config.method == "agdl":
        k_c = config.n_neighbor_clusters
        tree = gdl_core.agdl(
            graph.affinities, initial, n_clusters, n_neighbor_clusters=k_c, min_affinity=min_affinity
        )
    elif config.method == "gdl-u":
        tree = gdl_core.gdl_u(graph.affinities, initial, n_clusters, min_affinity=min_affinity)
    else:
        tree = gdl_core.gdl(graph.affinities, initial, n_clusters)
    n_merges = tree.count_merges(n_clusters, min_affinity=min_affinity)
    return Clustering(tree.after(n_merges), tree, n_merges)


def drop_loose(graph: MatchGraph, labels: Ints, config: ClusteringConfig, ledger: Ledger) -> Ints:
    """Remove members of small degree from their clusters: labels (n,) -> (n,)."""
    ledger.reach("degree", graph.rows)
    return drop_outliers(graph.affinities, labels, config.min_degree * graph.n_neighbors)


def drop_small(graph: MatchGraph, labels: Ints, min_matches: int, ledger: Ledger) -> list[Ints]:
    """List the rows of each cluster that has enough members, the largest first: labels (n,)."""
    ledger.reach("size", graph.rows[labels >= 0])
    clusters = []
    for members in _list_members(labels, min_matches // 2):
        rows = graph.rows[members]
        if len(rows) >= min_matches:
            clusters.append(rows)
        else:
            ledger.drop("size", rows, len(rows), min_matches)
    return clusters


def _list_members(labels: Ints, min_size: int) -> list[Ints]:
    """The members of each cluster that has at least `min_size` of them, the largest cluster first."""
    order = np.argsort(labels, kind="stable")
    order = order[np.searchsorted(labels[order], 0) :]
    if len(order) == 0:
        return []
    starts = np.flatnonzero(np.diff(labels[order])) + 1
    clusters = [members for members in np.split(order, starts) if len(members) >= min_size]
    return sorted(clusters, key=lambda members: (-len(members), members[0]))


def drop_outliers(graph: AffinityGraph, labels: Array, min_degree: float) -> Ints:
    """Remove members of small degree from their clusters: labels (m,) -> (m,)."""
    labels = np.array(labels, np.int64)
    while True:
        outdegree, indegree = _degrees_within(graph, labels)
        is_outlier = (labels >= 0) & (outdegree * indegree < min_degree**2)
        if not is_outlier.any():
            return labels
        labels[is_outlier] = -1


def measure_degrees(graph: AffinityGraph, labels: Array) -> Floats:
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


def measure_scores(graph: MatchGraph, clusters: Sequence[Ints], n_neighbors: int | None = None) -> Floats:
    """Measure the mean share of members' 2 K edges, in and out, that stay inside the cluster.

    clusters: the rows (k,) of each -> (n_clusters,). K is n_neighbors, if the graph has fewer vertices than
    that.
    """
    members = [np.flatnonzero(np.isin(graph.rows, rows)) for rows in clusters]
    labels = number_rows(len(graph.rows), members)
    scores = np.zeros(len(clusters))
    connectivity = gdl_core.connectivity_scores(graph.affinities, labels)
    scores[: len(connectivity)] = connectivity / (2 * (n_neighbors or graph.n_neighbors))
    return scores


def find_above_largest_gap(scores: Array) -> Bools:
    """Find the scores (n_clusters,) above the largest gap, with 0 as one more score -> mask (n_clusters,)."""
    return gdl_core.split_at_largest_gap(np.append(scores, 0.0))[:-1]


def drop_below_gap(
    groups: list[Group], find_above_gap: Callable[[Floats], Bools], ledger: Ledger
) -> list[Group]:
    """Keep the groups above the largest gap in their scores."""
    is_kept = find_above_gap(np.array([group.score for group in groups]))
    kept = list(compress(groups, is_kept))
    lowest = min((group.score for group in kept), default=None)
    for group in compress(groups, ~is_kept):
        ledger.drop("largest gap", group.rows, group.score, lowest)
    return kept
