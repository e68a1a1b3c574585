"""Compiled sums of products of degrees, over the samples of each node of a hierarchy."""

import numpy as np

from .._common.jit import inner, njit
from .._common.types import Array, Scalar, Scalars


@inner
def _degrees(first: Scalar, end: Scalar, others: Array, weights: Array, labels: Array, c: Scalar) -> Scalars:
    """Sum the weights of edges first .. end - 1: of all, and of those to vertices outside cluster c."""
    total, outside = 0.0, 0.0
    for e in range(first, end):
        total += weights[e]
        if labels[others[e]] != c:
            outside += weights[e]
    return total, outside


@inner
def _absorb(
    i: Scalar,
    first: Scalar,
    end: Scalar,
    others: Array,
    weights: Array,
    slot: Array,
    a: Scalar,
    here: Array,
    there: Array,
) -> Scalar:
    """Take the edges first .. end - 1 of vertex i to slot a from the degrees ``here`` of i and ``there`` of
    their other ends; return the change of the products of degrees.
    """
    change = 0.0
    for e in range(first, end):
        j = others[e]
        if slot[j] == a:
            change -= here[i] * there[i] + here[j] * there[j]
            here[i] = max(here[i] - weights[e], 0.0)
            there[j] = max(there[j] - weights[e], 0.0)
            change += here[i] * there[i] + here[j] * there[j]
    return change


@njit
def sum_degree_products(
    indptr: Array,
    indices: Array,
    weights: Array,
    start: Array,
    source: Array,
    weights_in: Array,
    labels: Array,
    children: Array,
) -> Array:
    """Compute (n_initial + m, 2) float64: for each node, the sum over its samples of outdegree times
    indegree, counting only the edges that leave or enter the node, and counting all edges.

    The graph is given by the edges from each vertex (indptr, indices, weights) and to it (start, source,
    weights_in). labels (n,) are the initial clusters, children (m, 2) the merges. At each merge the loop
    visits the vertices of the smaller node, and they join the slot of the larger one.
    """
    n_vertices, n_merges = len(indptr) - 1, len(children)
    n_initial = labels.max() + 1 if n_vertices else 0
    out, into = np.zeros(n_vertices), np.zeros(n_vertices)  # to and from the outside of the vertex's node
    products = np.zeros((n_initial + n_merges, 2))
    slot = labels.copy()  # (n,) a cluster keeps the slot of its larger part
    slot_of_node = np.arange(n_initial + n_merges)
    size = np.zeros(n_initial, np.int64)
    first, last = np.full(n_initial, -1, np.int64), np.full(n_initial, -1, np.int64)
    next_vertex = np.full(n_vertices, -1, np.int64)  # the vertices of a slot form a chain
    for i in range(n_vertices):
        c = labels[i]
        all_out, out[i] = _degrees(indptr[i], indptr[i + 1], indices, weights, labels, c)
        all_into, into[i] = _degrees(start[i], start[i + 1], source, weights_in, labels, c)
        products[c, 0] += out[i] * into[i]
        products[c, 1] += all_out * all_into
        if first[c] < 0:
            first[c] = i
        else:
            next_vertex[last[c]] = i
        last[c] = i
        size[c] += 1
    node_of_slot = np.arange(n_initial)
    for t in range(n_merges):
        a, b = slot_of_node[children[t, 0]], slot_of_node[children[t, 1]]
        if size[a] < size[b]:
            a, b = b, a
        leaving = products[node_of_slot[a], 0] + products[node_of_slot[b], 0]
        i = first[b]
        while i >= 0:
            leaving += _absorb(i, indptr[i], indptr[i + 1], indices, weights, slot, a, out, into)
            leaving += _absorb(i, start[i], start[i + 1], source, weights_in, slot, a, into, out)
            i = next_vertex[i]
        i = first[b]
        while i >= 0:
            slot[i] = a
            i = next_vertex[i]
        next_vertex[last[a]] = first[b]
        last[a] = last[b]
        size[a] += size[b]
        new = n_initial + t
        products[new, 0] = max(leaving, 0.0)
        products[new, 1] = products[node_of_slot[a], 1] + products[node_of_slot[b], 1]
        slot_of_node[new] = a
        node_of_slot[a] = new
    return products
