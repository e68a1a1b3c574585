"""Sums of edge weights between vertices and clusters, kept while clusters merge.

For every vertex i and every cluster a beside it (joined to i by an edge, i not in a) one entry holds
in_a[i] = sum_{j in a} w_ji and out_a[i] = sum_{j in a} w_ij: by Definition 2, |a| deg^-_i(a) and |a|
deg^+_i(a). The entries of a vertex lie side by side and are searched one by one: they are few, and get
fewer.

start (n + 1,), count (n,): the entries of vertex i are start[i] : start[i] + count[i].
beside (E,): the cluster a of each entry. sums (E, 4): in_a[i] (high, low), out_a[i] (high, low).
link (E, 2): (vertex, next) of the lists that tell, from ``clusters[a].entry`` on, which vertices a lies
beside; a list may still name vertices that have joined its cluster since.
"""

import numpy as np

from .._common.jit import inner
from .._common.types import Array
from .double_double import add


@inner
def build_degrees(
    clusters: Array,
    label: Array,
    w: tuple[Array, ...],
    count: Array,
    beside: Array,
    sums: Array,
    link: Array,
) -> Array:
    """Fill the entries of a part of the graph with clusters ``label``; returns start.

    w: vertices, rank, indptr, indices, weights, as ``merge_components`` takes them, the vertices those of the
    part.
    """
    vertices, rank, indptr, indices, weights = w
    n = len(label)
    tptr, tindices, tweights = _transpose(vertices, rank, indptr, indices, weights)
    start = np.zeros(n + 1, np.int64)
    at = np.full(len(clusters), -1, np.int64)  # the current vertex's entry for each cluster
    for i in range(n):
        count[i] = 0
        row = vertices[i]
        for k in range(indptr[row], indptr[row + 1]):
            _add_edge(i, rank[indices[k]], weights[k], 2, label, at, start, count, beside, sums)
        for k in range(tptr[i], tptr[i + 1]):
            _add_edge(i, tindices[k], tweights[k], 0, label, at, start, count, beside, sums)
        start[i + 1] = start[i] + count[i]
        for e in range(start[i], start[i + 1]):
            c = beside[e]
            at[c] = -1
            link[e, 0], link[e, 1] = i, clusters[c].entry
            clusters[c].entry = e
            clusters[c].work += 1
    return start


@inner
def _transpose(
    vertices: Array, rank: Array, indptr: Array, indices: Array, weights: Array
) -> tuple[Array, Array, Array]:
    n = len(vertices)
    tptr = np.zeros(n + 1, np.int64)
    for i in range(n):
        for e in range(indptr[vertices[i]], indptr[vertices[i] + 1]):
            tptr[rank[indices[e]] + 1] += 1
    for i in range(n):
        tptr[i + 1] += tptr[i]
    at = tptr[:-1].copy()
    tindices = np.empty(tptr[n], np.int32)
    tweights = np.empty(tptr[n], np.float64)
    for i in range(n):
        for e in range(indptr[vertices[i]], indptr[vertices[i] + 1]):
            j = rank[indices[e]]
            tindices[at[j]], tweights[at[j]] = i, weights[e]
            at[j] += 1
    return tptr, tindices, tweights


@inner
def _add_edge(
    i: int,
    j: int,
    weight: float,
    column: int,
    label: Array,
    at: Array,
    start: Array,
    count: Array,
    beside: Array,
    sums: Array,
) -> None:
    """Add the weight of an edge between i and j to the entry of i for the cluster of j."""
    c = label[j]
    if c == label[i] or not weight > 0:
        return
    e = at[c]
    if e < 0:
        e = start[i] + count[i]
        count[i] += 1
        beside[e], at[c] = c, e
        for q in range(4):
            sums[e, q] = 0.0
    sums[e, column], sums[e, column + 1] = add(sums[e, column], sums[e, column + 1], weight, 0.0)


@inner
def drop_entry(i: int, e: int, start: Array, count: Array, beside: Array, sums: Array) -> None:
    count[i] -= 1
    last = start[i] + count[i]
    beside[e] = beside[last]
    for q in range(4):
        sums[e, q] = sums[last, q]
