"""Joins clusters that have no affinity, so that the hierarchy can be cut at any number of clusters."""

import heapq
from collections.abc import Callable

import numpy as np

from ._common.types import Array, Floats, Ints, Metric
from .graph import AffinityGraph, KnnGraph
from .neighbors import knn_graph
from .tree import MergeTree

DistancesAmong = Callable[[Ints, int], KnnGraph]


def complete_by_distance(
    tree: MergeTree,
    knn: KnnGraph,
    graph: AffinityGraph,
    distances_among: DistancesAmong | None = None,
) -> MergeTree:
    """Continue merging by distance when no pair of clusters has a positive affinity.

    First, clusters joined by edges in only one direction are merged, by graph-based average linkage: the pair
    with the largest sum of weights between them, divided by the product of their sizes, comes first (ties:
    the smaller node numbers). Then, if distances between chosen samples are available, each cluster is
    represented by its best connected sample, the one with the largest sum of edge weights to and from it
    (ties: the smallest index). These samples are joined along their K-nearest-neighbour graph, the shortest
    edge first (ties: the smaller indices). This is repeated until one cluster is left.

    Parameters
    ----------
    tree : MergeTree
    knn : KnnGraph
    graph : AffinityGraph
    distances_among : callable, optional
        Called with samples (c,) int64 and a number of neighbours; returns their `KnnGraph`.

    Returns
    -------
    MergeTree
        ``tree`` and the new merges, with affinity 0.
    """
    return complete_tree(tree, knn.n_neighbors, graph, distances_among)


def complete_tree(
    tree: MergeTree, n_neighbors: int, graph: AffinityGraph, distances_among: DistancesAmong | None
) -> MergeTree:
    """Continue merging as `complete_by_distance` does, without the distances of all samples.

    Parameters
    ----------
    tree : MergeTree
    n_neighbors : int
        K.
    graph : AffinityGraph
    distances_among : callable or None

    Returns
    -------
    MergeTree
    """
    if len(tree.roots()) <= 1:
        return tree
    tree, n = _join_by_weight(tree, graph), graph.n_samples
    weight = np.zeros(n)
    weight += np.bincount(graph.indices, graph.weights, n)
    weight += np.bincount(np.repeat(np.arange(n), np.diff(graph.indptr)), graph.weights, n)
    while distances_among is not None and len(tree.roots()) > 1:
        samples = _find_best_connected(tree, weight)
        knn = distances_among(samples, min(n_neighbors, len(samples) - 1))
        rows = np.repeat(np.arange(len(samples)), knn.n_neighbors)
        tree = _join_by_distance(tree, samples[rows], samples[knn.indices.ravel()], knn.distances.ravel())
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
    """Merge clusters that edges join, by graph-based average linkage."""
    nodes = tree.nodes_after(len(tree.children))
    children = _LinkageByWeight(nodes, graph).merge_all(tree.n_initial + len(tree.children))
    return _extend(tree, children)


class _LinkageByWeight:
    """Graph-based average linkage: the pair of clusters with the largest weight between them, divided by the
    product of their sizes, is merged first.

    A cluster is named by its slot, the number of its first node. When two clusters merge, the one with more
    neighbours keeps its slot. Each pair is queued at one of its clusters, the larger one. While that cluster
    grows, the order of the pairs queued at it does not change. So if a hub absorbs many neighbours, its pairs
    need not all be queued again each time. All keys, of pairs and of clusters, are bounds, because sizes and
    node numbers only grow. A key is corrected when it comes to the top.
    """

    def __init__(self, nodes: Ints, graph: AffinityGraph) -> None:
        self.weights = _weights_between(nodes, graph)
        self.size = dict(zip(*(a.tolist() for a in np.unique(nodes, return_counts=True)), strict=True))
        self.node = {a: a for a in self.weights}
        # the pairs queued at each cluster, as (-weight / size, node, slot) of the other cluster
        self.queues: dict[int, list[tuple[float, int, int]]] = {a: [] for a in self.weights}
        # the best pair of each cluster, and a heap of these: (-weight / sizes, two nodes, slot)
        self.best_pair: dict[int, tuple[float, int, int, int]] = {}
        self.heap: list[tuple[float, int, int, int]] = []
        for a in self.weights:
            for b in self.weights[a]:
                if a < b:
                    self._put(a, b)

    def merge_all(self, new: int) -> list[tuple[int, int]]:
        """Merge all that edges join into nodes ``new``, ``new`` + 1, ...; return the pairs in order."""
        children = []
        while self.heap:
            item = heapq.heappop(self.heap)
            a = item[-1]
            if self.best_pair.get(a) != item:
                continue
            del self.best_pair[a]
            b = self._best(a)
            if b is None:
                continue
            if self._key(a, b) != item[:-1]:
                self._announce(a, b)
                continue
            children.append(item[1:-1])
            self._merge(a, b, new)
            new += 1
        return children

    def _key(self, a: int, b: int) -> tuple[float, int, int]:
        """Make the key of a pair: pairs are merged in ascending order of their keys."""
        nodes = self.node[a], self.node[b]
        return -self.weights[a][b] / (self.size[a] * self.size[b]), min(nodes), max(nodes)

    def _entry(self, a: int, b: int) -> tuple[float, int, int]:
        """Make the entry of the pair in the queue of a."""
        return -self.weights[a][b] / self.size[b], self.node[b], b

    def _put(self, a: int, b: int) -> None:
        """Queue a pair at the larger of its clusters."""
        a, b = sorted((a, b), key=lambda c: (self.size[c], len(self.weights[c]), -self.node[c]), reverse=True)
        entry = self._entry(a, b)
        heapq.heappush(self.queues[a], entry)
        if self.queues[a][0] == entry:
            self._announce(a, b)

    def _announce(self, a: int, b: int) -> None:
        """Put a pair queued at a into the heap if it is better than the best pair known there."""
        item = (*self._key(a, b), a)
        if a not in self.best_pair or item < self.best_pair[a]:
            self.best_pair[a] = item
            heapq.heappush(self.heap, item)

    def _best(self, a: int) -> int | None:
        """Return the other cluster of the best pair queued at a, or None."""
        queue = self.queues[a]
        while queue:
            b = queue[0][-1]
            if b in self.weights[a] and queue[0] == self._entry(a, b):
                return b
            heapq.heappop(queue)
            if b in self.weights[a]:  # b has grown since
                self._put(a, b)
        return None

    def _merge(self, a: int, b: int, new: int) -> None:
        """Merge two clusters into the node `new`."""
        if len(self.weights[a]) < len(self.weights[b]):
            a, b = b, a
        del self.weights[a][b], self.weights[b][a]
        weights_of_b = self.weights.pop(b)
        self.size[a] += self.size.pop(b)
        self.node[a] = new
        del self.node[b], self.queues[b]
        self.best_pair.pop(b, None)
        for c, weight in weights_of_b.items():
            del self.weights[c][b]
            self.weights[a][c] = self.weights[c][a] = self.weights[a].get(c, 0.0) + weight
            self._put(a, c)
        best = self._best(a)
        if best is not None:
            self._announce(a, best)


def _weights_between(nodes: Ints, graph: AffinityGraph) -> dict[int, dict[int, float]]:
    """Sum the weights between each two nodes, in both directions -> {a: {b: sum}}."""
    source, target = np.repeat(nodes, np.diff(graph.indptr)), nodes[graph.indices]
    is_between = (source != target) & (graph.weights > 0)
    source, target, weights = source[is_between], target[is_between], graph.weights[is_between]
    low, high = np.minimum(source, target), np.maximum(source, target)
    pairs, pair_of_edge = np.unique(np.stack([low, high]), axis=1, return_inverse=True)
    sums = np.bincount(pair_of_edge.ravel(), weights)
    between: dict[int, dict[int, float]] = {a: {} for a in np.unique(nodes).tolist()}
    for a, b, weight in zip(*pairs.tolist(), sums.tolist(), strict=True):
        between[a][b] = between[b][a] = weight
    return between


def _join_by_distance(tree: MergeTree, source: Ints, target: Ints, distance: Floats) -> MergeTree:
    """Join clusters by single linkage along links (k,), the shortest first."""
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
