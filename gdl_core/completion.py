"""Joins clusters that have no affinity, so that the hierarchy can be cut at any number of clusters."""

from collections.abc import Callable

import numpy as np

from ._common.types import Array, Floats, Ints, Metric
from .graph import AffinityGraph, KnnGraph
from .neighbors import knn_graph
from .tree import MergeTree

DistancesAmong = Callable[[Ints, int], KnnGraph]


def complete_by_distance(
    tree: MergeTree,
    n_neighbors: int,
    graph: AffinityGraph,
    distances_among: DistancesAmong | None = None,
) -> MergeTree:
    """Continue merging by distance when no pair of clusters has a positive affinity.

    First, clusters joined by edges in only one direction are merged by single linkage, along the edge with
    the largest weight (ties: the smaller indices of its ends). Then, if distances between chosen samples are
    available, each cluster is represented by its best connected sample, the one with the largest sum of edge
    weights to and from it (ties: the smallest index). These samples are joined along their
    K-nearest-neighbour graph, the shortest edge first (ties: the smaller indices). This is repeated until one
    cluster is left.

    Parameters
    ----------
    tree : MergeTree
    n_neighbors : int
        K.
    graph : AffinityGraph
    distances_among : callable, optional
        Called with samples (c,) int64 and a number of neighbours; returns their `KnnGraph`.

    Returns
    -------
    MergeTree
        ``tree`` and the new merges, with affinity 0.
    """
    if len(tree.roots()) <= 1:
        return tree
    tree, n = _join_by_weight(tree, graph), graph.n_samples
    weight = np.zeros(n)
    for ends in (graph.indices, graph.sources):
        weight += np.bincount(ends, graph.weights, n)
    while distances_among is not None and len(tree.roots()) > 1:
        samples = _find_best_connected(tree, weight)
        knn = distances_among(samples, min(n_neighbors, len(samples) - 1))
        rows = np.repeat(np.arange(len(samples)), knn.n_neighbors)
        tree = join_in_order(tree, samples[rows], samples[knn.indices.ravel()], knn.distances.ravel())
    return tree


def make_distances_among(x: Array, metric: Metric) -> DistancesAmong:
    """Make the function that `complete_by_distance` calls, for samples or a dense array of distances.

    Parameters
    ----------
    x : (n, d) or (n, n) array
        The samples, or the distances between them.
    metric : str or callable
        As for `knn_graph`; "precomputed" for distances.

    Returns
    -------
    callable
        Called with some samples and k; returns their graph of k nearest neighbours.
    """
    if metric == "precomputed":
        return lambda samples, k: knn_graph(x[np.ix_(samples, samples)], k, metric=metric)
    return lambda samples, k: knn_graph(x[samples], k, metric=metric, search="exact")


def _find_best_connected(tree: MergeTree, weight: Floats) -> Ints:
    """Find the sample of each cluster with the largest weight (n,) -> (c,)."""
    labels = tree.after(len(tree.children))
    order = np.lexsort((np.arange(len(labels)), -weight, labels))
    return order[np.flatnonzero(np.diff(labels[order], prepend=-1))]


def _join_by_weight(tree: MergeTree, graph: AffinityGraph) -> MergeTree:
    """Join clusters by single linkage along the edges, the largest weight first."""
    is_edge = graph.weights > 0
    return join_in_order(tree, graph.sources[is_edge], graph.indices[is_edge], -graph.weights[is_edge])


def join_in_order(tree: MergeTree, source: Array, target: Array, distance: Floats) -> MergeTree:
    """Join clusters by single linkage along links, the shortest first.

    Parameters
    ----------
    tree : MergeTree
    source, target : (k,) array of int
        The samples at the ends of the links.
    distance : (k,) float64
        Their lengths (ties: the smaller indices).

    Returns
    -------
    MergeTree
        ``tree`` and the new merges, with affinity 0.
    """
    root = np.arange(tree.n_initial + len(tree.children) + len(tree.roots()))
    for t, pair in enumerate(tree.children):
        root[pair] = tree.n_initial + t

    def find_root(c: int) -> int:
        while root[c] != c:
            root[c] = root[root[c]]
            c = root[c]
        return c

    labels = tree.after(len(tree.children))
    crosses = np.flatnonzero(labels[source] != labels[target])
    ends = tree.initial_labels[source[crosses]], tree.initial_labels[target[crosses]]
    children: list[tuple[int, int]] = []
    for e in np.lexsort((target[crosses], source[crosses], distance[crosses])):
        a, b = find_root(ends[0][e]), find_root(ends[1][e])
        if a != b:
            new = tree.n_initial + len(tree.children) + len(children)
            root[a] = root[b] = new
            children.append((min(a, b), max(a, b)))
    return _extend(tree, children)


def _extend(tree: MergeTree, children: list[tuple[int, int]]) -> MergeTree:
    """Append merges without affinity to a tree."""
    new = np.array(children, np.int64).reshape(-1, 2)
    affinities = np.concatenate([tree.affinities, np.zeros(len(new))])
    return MergeTree(tree.initial_labels, np.concatenate([tree.children, new]), affinities)
