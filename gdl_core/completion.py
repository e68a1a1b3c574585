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
    weight = np.zeros(graph.n_samples)
    for ends in (graph.indices, graph.sources):
        weight += np.bincount(ends, graph.weights, len(weight))
    is_edge = graph.weights > 0
    tree = join_in_order(tree, graph.sources[is_edge], graph.indices[is_edge], -graph.weights[is_edge])
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

    def distances_among(samples: Ints, k: int) -> KnnGraph:
        columns = samples if metric == "precomputed" else slice(None)
        return knn_graph(x[samples][:, columns], k, metric=metric, search="exact")

    return distances_among


def _find_best_connected(tree: MergeTree, weight: Floats) -> Ints:
    """Find the sample of each cluster with the largest weight (n,) -> (c,)."""
    labels = tree.after(len(tree.children))
    order = np.lexsort((np.arange(len(labels)), -weight, labels))
    return order[np.flatnonzero(np.diff(labels[order], prepend=-1))]


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
    n_nodes = tree.n_initial + len(tree.children)
    root = np.arange(2 * n_nodes)

    def find_root(c: int) -> int:
        while root[c] != c:
            root[c] = root[root[c]]
            c = root[c]
        return c

    node = tree.nodes_after(len(tree.children))
    crosses = np.flatnonzero(node[source] != node[target])
    children = [tree.children]
    for e in crosses[np.lexsort((target[crosses], source[crosses], distance[crosses]))]:
        pair = sorted((find_root(node[source[e]]), find_root(node[target[e]])))
        if pair[0] != pair[1]:
            root[pair] = n_nodes + len(children) - 1
            children.append(np.array([pair]))
    affinities = np.append(tree.affinities, np.zeros(len(children) - 1))
    return MergeTree(tree.initial_labels, np.concatenate(children), affinities)
