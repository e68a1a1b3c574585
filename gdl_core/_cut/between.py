"""Compiled sums over the edges between the two clusters of each merge."""

import numpy as np

from .._common.jit import njit
from .._common.types import Array


@njit
def sum_weights_between(
    indptr: Array, indices: Array, weights: Array, labels: Array, children: Array
) -> Array:
    """Compute (m, 2) float64, for each merge: the sum of the weights of the edges between its two nodes, and
    the number of samples beside the boundary, that is, of those with an edge to the other side.

    The graph, in compressed rows of n vertices, is symmetric; each edge between the two nodes counts once.
    labels (n,) are the initial clusters, children (m, 2) the merges. At each merge the loop visits the
    vertices of the smaller node, and they join the slot of the larger one.
    """
    n_vertices, n_merges = len(indptr) - 1, len(children)
    n_initial = labels.max() + 1 if n_vertices else 0
    slot = labels.copy()  # (n,) a cluster keeps the slot of its larger part
    slot_of_node = np.arange(n_initial + n_merges)
    size = np.zeros(n_initial, np.int64)
    first, last = np.full(n_initial, -1, np.int64), np.full(n_initial, -1, np.int64)
    next_vertex = np.full(n_vertices, -1, np.int64)  # the vertices of a slot form a chain
    for i in range(n_vertices):
        c = labels[i]
        if first[c] < 0:
            first[c] = i
        else:
            next_vertex[last[c]] = i
        last[c] = i
        size[c] += 1
    last_merge = np.full(n_vertices, -1, np.int64)  # the last merge at which a vertex was beside the boundary
    sums = np.zeros((n_merges, 2))
    for t in range(n_merges):
        a, b = slot_of_node[children[t, 0]], slot_of_node[children[t, 1]]
        if size[a] < size[b]:
            a, b = b, a
        i = first[b]
        while i >= 0:
            for e in range(indptr[i], indptr[i + 1]):
                j = indices[e]
                if slot[j] == a and weights[e] > 0:
                    sums[t, 0] += weights[e]
                    sums[t, 1] += (last_merge[i] != t) + (last_merge[j] != t)
                    last_merge[i] = last_merge[j] = t
            i = next_vertex[i]
        i = first[b]
        while i >= 0:
            slot[i] = a
            i = next_vertex[i]
        next_vertex[last[a]] = first[b]
        last[a] = last[b]
        size[a] += size[b]
        slot_of_node[n_initial + t] = a
    return sums
