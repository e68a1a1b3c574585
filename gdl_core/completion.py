"""Joining what has no affinity, so that the hierarchy can be cut at any number of clusters."""

import heapq

import numpy as np

from .neighbors import knn_graph
from .tree import MergeTree


def complete_by_distance(tree, knn, graph, distances_among=None):
    """Go on merging by distance where no pair of clusters has a positive affinity.

    First along edges that lead one way only, by graph-based average linkage: the pair with the largest
    sum of weights between them over the product of their sizes (of equal ones the smaller node numbers).
    Then, where distances of chosen samples can be had, each cluster is represented by its best connected
    sample, the one with the largest sum of edge weights to and from it (of equal ones the smallest); these
    are joined along their K-nearest-neighbour graph, shortest edge first (of equal ones the smaller
    samples), and again until one cluster is left.

    Parameters
    ----------
    tree : MergeTree
    knn : KnnGraph
    graph : AffinityGraph
    distances_among : callable, optional
        Takes samples (c,) int64 and a number of neighbours, returns their `KnnGraph`.

    Returns
    -------
    MergeTree
        ``tree`` and the new merges, with affinity 0.
    """
    if len(tree.roots()) <= 1:
        return tree
    tree = _joined_by_weight(tree, graph)
    weight = np.bincount(graph.indices, graph.weights, knn.n_samples)
    weight += np.bincount(
        np.repeat(np.arange(knn.n_samples), np.diff(graph.indptr)), graph.weights, knn.n_samples
    )
    while distances_among is not None and len(tree.roots()) > 1:
        samples = _best_connected(tree, weight)
        near = distances_among(samples, min(knn.n_neighbors, len(samples) - 1))
        rows = np.repeat(np.arange(len(samples)), near.n_neighbors)
        tree = _joined(tree, samples[rows], samples[near.indices.ravel()], near.distances.ravel())
    return tree


def among_samples(x, metric):
    """What `complete_by_distance` asks for, from samples or a dense array of distances."""
    if metric == "precomputed":
        return lambda samples, k: knn_graph(x[np.ix_(samples, samples)], k, metric=metric)
    return lambda samples, k: knn_graph(x[samples], k, metric=metric, search="exact")


def _best_connected(tree, weight):
    labels = tree.after(len(tree.children))
    order = np.lexsort((np.arange(len(labels)), -weight, labels))
    return order[np.flatnonzero(np.diff(labels[order], prepend=-1))]


def _joined_by_weight(tree, graph):
    nodes = tree.nodes_after(len(tree.children))
    near, heap = _weights_between(nodes, graph), []
    size = dict(zip(*(a.tolist() for a in np.unique(nodes, return_counts=True)), strict=True))

    def push(a, b):
        heapq.heappush(heap, (-near[a][b] / (size[a] * size[b]), min(a, b), max(a, b)))

    for a in near:
        for b in near[a]:
            if a < b:
                push(a, b)
    children, new = [], tree.n_initial + len(tree.children)
    while heap:
        _, a, b = heapq.heappop(heap)
        if a not in near or b not in near:
            continue
        children.append((a, b))
        size[new] = size[a] + size[b]
        merged, other = near.pop(a), near.pop(b)
        for c, weight in other.items():
            merged[c] = merged.get(c, 0.0) + weight
        near[new] = {c: weight for c, weight in merged.items() if c not in (a, b)}
        for c, weight in near[new].items():
            near[c].pop(a, None)
            near[c].pop(b, None)
            near[c][new] = weight
            push(c, new)
        new += 1
    return _extended(tree, children)


def _weights_between(nodes, graph):
    """{a: {b: sum of the weights between a and b, both ways}}."""
    source, target = np.repeat(nodes, np.diff(graph.indptr)), nodes[graph.indices]
    between = (source != target) & (graph.weights > 0)
    source, target, weights = source[between], target[between], graph.weights[between]
    low, high = np.minimum(source, target), np.maximum(source, target)
    pairs, which = np.unique(np.stack([low, high]), axis=1, return_inverse=True)
    near = {a: {} for a in np.unique(nodes).tolist()}
    for a, b, weight in zip(*pairs.tolist(), np.bincount(which.ravel(), weights).tolist(), strict=True):
        near[a][b] = near[b][a] = weight
    return near


def _joined(tree, source, target, distance):
    """Single linkage along the given links, shortest first."""
    root = np.arange(tree.n_initial + len(tree.children) + len(tree.roots()))
    for t, pair in enumerate(tree.children):
        root[pair] = tree.n_initial + t

    def find(c):
        while root[c] != c:
            root[c] = root[root[c]]
            c = root[c]
        return c

    now = tree.after(len(tree.children))
    between = np.flatnonzero(now[source] != now[target])
    ends = tree.initial_labels[source[between]], tree.initial_labels[target[between]]
    children = []
    for e in np.lexsort((target[between], source[between], distance[between])):
        a, b = find(ends[0][e]), find(ends[1][e])
        if a != b:
            new = tree.n_initial + len(tree.children) + len(children)
            root[a] = root[b] = new
            children.append((min(a, b), max(a, b)))
    return _extended(tree, children)


def _extended(tree, children):
    new = np.array(children, np.int64).reshape(-1, 2)
    affinities = np.concatenate([tree.affinities, np.zeros(len(new))])
    return MergeTree(tree.initial_labels, np.concatenate([tree.children, new]), affinities)
