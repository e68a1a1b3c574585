"""Joining clusters without affinity, so that the hierarchy can be cut at any number of clusters."""

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
    """Continue as `complete_by_distance` does, after the distances of the samples were dropped.

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
        near = distances_among(samples, min(n_neighbors, len(samples) - 1))
        rows = np.repeat(np.arange(len(samples)), near.n_neighbors)
        tree = _join_by_distance(tree, samples[rows], samples[near.indices.ravel()], near.distances.ravel())
    return tree


def make_distances_among(x: Array, metric: Metric) -> DistancesAmong:
    """Make the function that `complete_by_distance` needs, for samples or a dense array of distances.

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
    labels = tree.after(len(tree.children))
    order = np.lexsort((np.arange(len(labels)), -weight, labels))
    return order[np.flatnonzero(np.diff(labels[order], prepend=-1))]


def _join_by_weight(tree: MergeTree, graph: AffinityGraph) -> MergeTree:
    nodes = tree.nodes_after(len(tree.children))
    children = _LinkageByWeight(nodes, graph).merges(tree.n_initial + len(tree.children))
    return _extend(tree, children)


class _LinkageByWeight:
    """Graph-based average linkage: the pair with the largest weight between its clusters, divided by the
    product of their sizes, comes first.

    A cluster is named by its slot, the number of its first node; when two clusters merge, the one with more
    neighbours keeps its slot. Each pair is queued at one end, the larger cluster. While that cluster grows,
    the order of the pairs queued there does not change. So if a hub absorbs many neighbours, not all its
    pairs have to be queued again each time. All keys, of pairs and of clusters, are bounds, because sizes and
    node numbers only grow; they are corrected when they come to the top.
    """

    def __init__(self, nodes: Ints, graph: AffinityGraph) -> None:
        self.near = _weights_between(nodes, graph)
        self.size = dict(zip(*(a.tolist() for a in np.unique(nodes, return_counts=True)), strict=True))
        self.node = {a: a for a in self.near}
        # the pairs queued at each cluster, their larger end: (-weight / size, node, slot)
        self.queue: dict[int, list[tuple[float, int, int]]] = {a: [] for a in self.near}
        self.first: dict[int, tuple[float, int, int, int]] = {}  # the best pair of each cluster,
        self.heap: list[tuple[float, int, int, int]] = []  # the entries of all clusters
        for a in self.near:
            for b in self.near[a]:
                if a < b:
                    self._put(a, b)

    def merges(self, new: int) -> list[tuple[int, int]]:
        """Yield pairs of nodes in the order of merging; they make the nodes ``new``, ``new`` + 1, ..."""
        children = []
        while self.heap:
            item = heapq.heappop(self.heap)
            a = item[-1]
            if self.first.get(a) != item:
                continue
            del self.first[a]
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
        nodes = self.node[a], self.node[b]
        return -self.near[a][b] / (self.size[a] * self.size[b]), min(nodes), max(nodes)

    def _entry(self, a: int, b: int) -> tuple[float, int, int]:
        """The entry with which the pair is queued at a."""
        return -self.near[a][b] / self.size[b], self.node[b], b

    def _put(self, a: int, b: int) -> None:
        a, b = sorted((a, b), key=lambda c: (self.size[c], len(self.near[c]), -self.node[c]), reverse=True)
        entry = self._entry(a, b)
        heapq.heappush(self.queue[a], entry)
        if self.queue[a][0] == entry:
            self._announce(a, b)

    def _announce(self, a: int, b: int) -> None:
        item = (*self._key(a, b), a)
        if a not in self.first or item < self.first[a]:
            self.first[a] = item
            heapq.heappush(self.heap, item)

    def _best(self, a: int) -> int | None:
        """The other end of the best pair queued at a, or None."""
        queue = self.queue[a]
        while queue:
            b = queue[0][-1]
            if b in self.near[a] and queue[0] == self._entry(a, b):
                return b
            heapq.heappop(queue)
            if b in self.near[a]:  # b has grown since
                self._put(a, b)
        return None

    def _merge(self, a: int, b: int, new: int) -> None:
        if len(self.near[a]) < len(self.near[b]):
            a, b = b, a
        del self.near[a][b], self.near[b][a]
        gone = self.near.pop(b)
        self.size[a] += self.size.pop(b)
        self.node[a] = new
        del self.node[b], self.queue[b]
        self.first.pop(b, None)
        for c, weight in gone.items():
            del self.near[c][b]
            self.near[a][c] = self.near[c][a] = self.near[a].get(c, 0.0) + weight
            self._put(a, c)
        best = self._best(a)
        if best is not None:
            self._announce(a, best)


def _weights_between(nodes: Ints, graph: AffinityGraph) -> dict[int, dict[int, float]]:
    """{a: {b: sum of the weights between a and b, both ways}}."""
    source, target = np.repeat(nodes, np.diff(graph.indptr)), nodes[graph.indices]
    between = (source != target) & (graph.weights > 0)
    source, target, weights = source[between], target[between], graph.weights[between]
    low, high = np.minimum(source, target), np.maximum(source, target)
    pairs, which = np.unique(np.stack([low, high]), axis=1, return_inverse=True)
    near: dict[int, dict[int, float]] = {a: {} for a in np.unique(nodes).tolist()}
    for a, b, weight in zip(*pairs.tolist(), np.bincount(which.ravel(), weights).tolist(), strict=True):
        near[a][b] = near[b][a] = weight
    return near


def _join_by_distance(tree: MergeTree, source: Ints, target: Ints, distance: Floats) -> MergeTree:
    """Join by single linkage along the given links, the shortest first."""
    root = np.arange(tree.n_initial + len(tree.children) + len(tree.roots()))
    for t, pair in enumerate(tree.children):
        root[pair] = tree.n_initial + t

    def find(c: int) -> int:
        while root[c] != c:
            root[c] = root[root[c]]
            c = root[c]
        return c

    now = tree.after(len(tree.children))
    between = np.flatnonzero(now[source] != now[target])
    ends = tree.initial_labels[source[between]], tree.initial_labels[target[between]]
    children: list[tuple[int, int]] = []
    for e in np.lexsort((target[between], source[between], distance[between])):
        a, b = find(ends[0][e]), find(ends[1][e])
        if a != b:
            new = tree.n_initial + len(tree.children) + len(children)
            root[a] = root[b] = new
            children.append((min(a, b), max(a, b)))
    return _extend(tree, children)


def _extend(tree: MergeTree, children: list[tuple[int, int]]) -> MergeTree:
    new = np.array(children, np.int64).reshape(-1, 2)
    affinities = np.concatenate([tree.affinities, np.zeros(len(new))])
    return MergeTree(tree.initial_labels, np.concatenate([tree.children, new]), affinities)
