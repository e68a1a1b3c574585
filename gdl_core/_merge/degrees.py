"""Sums of edge weights between vertices and clusters, kept while clusters merge.

For every vertex i and every cluster a beside it (joined to i by an edge, i not in a) one entry holds in_a[i]
= sum_{j in a} w_ji and out_a[i] = sum_{j in a} w_ij: by Definition 2, |a| deg^-_i(a) and |a| deg^+_i(a). The
entries of a vertex are contiguous and are searched one by one, because there are few of them, and fewer after
each merge.

start (n + 1,), count (n,): the entries of vertex i are start[i] : start[i] + count[i]. beside (E,): the
cluster a of each entry. sums (E, 4): in_a[i] (high, low), out_a[i] (high, low). link (E, 2): (vertex, next)
of lists that begin at ``clusters[a].entry`` and name the vertices beside a; a list may still name vertices
that have joined the cluster since.
"""

import numpy as np

from .._common.jit import inner
from .._common.types import Array, Scalar
from .double_double import add
from .memory import AHEAD, prefetch, use_large_pages

vertex_type = np.dtype([("start", np.int64), ("count", np.int32), ("cluster", np.int32)], align=True)


@inner
def build_degrees(
    clusters: Array,
    vertex: Array,
    w: tuple[Array, ...],
    beside: Array,
    sums: Array,
    link: Array,
) -> Scalar:
    """Fill the entries of a part of the graph with clusters ``vertex.cluster``; returns their number.

    w: vertices, rank, indptr, indices, weights, as for ``merge_components``, with only the vertices of the
    part.
    """
    vertices, rank, indptr, indices, weights = w
    tptr, tindices, tweights = _transpose(vertices, rank, indptr, indices, weights)
    at = np.full(len(clusters), -1, np.int64)  # for each cluster, the entry of the current vertex
    end = np.int64(0)
    for i in range(len(vertex)):
        vertex[i].start, vertex[i].count = end, 0
        row = vertices[i]
        for k in range(indptr[row], indptr[row + 1]):
            prefetch(rank, np.int64(indices[min(k + 2 * AHEAD, len(indices) - 1)]))
            prefetch(vertex, np.int64(rank[indices[min(k + AHEAD, len(indices) - 1)]]))
            _add_edge(i, rank[indices[k]], weights[k], 2, vertex, at, beside, sums)
        for k in range(tptr[i], tptr[i + 1]):
            prefetch(vertex, np.int64(tindices[min(k + AHEAD, len(tindices) - 1)]))
            _add_edge(i, tindices[k], tweights[k], 0, vertex, at, beside, sums)
        first, end = end, end + vertex[i].count
        for e in range(first, end):
            c = beside[e]
            at[c] = -1
            link[e, 0], link[e, 1] = i, clusters[c].entry
            clusters[c].entry = e
            clusters[c].work += 1
    return end


@inner
def _transpose(
    vertices: Array, rank: Array, indptr: Array, indices: Array, weights: Array
) -> tuple[Array, Array, Array]:
    n = len(vertices)
    tptr = np.zeros(n + 1, np.int64)
    for i in range(n):
        for e in range(indptr[vertices[i]], indptr[vertices[i] + 1]):
            prefetch(rank, np.int64(indices[min(e + 2 * AHEAD, len(indices) - 1)]))
            prefetch(tptr, np.int64(rank[indices[min(e + AHEAD, len(indices) - 1)]]))
            tptr[rank[indices[e]] + 1] += 1
    for i in range(n):
        tptr[i + 1] += tptr[i]
    at = tptr[:-1].copy()
    tindices = use_large_pages(np.empty(tptr[n], np.int32))
    tweights = use_large_pages(np.empty(tptr[n], np.float64))
    for i in range(n):
        for e in range(indptr[vertices[i]], indptr[vertices[i] + 1]):
            prefetch(rank, np.int64(indices[min(e + 2 * AHEAD, len(indices) - 1)]))
            prefetch(at, np.int64(rank[indices[min(e + AHEAD, len(indices) - 1)]]))
            j = rank[indices[e]]
            tindices[at[j]], tweights[at[j]] = i, weights[e]
            at[j] += 1
    return tptr, tindices, tweights


@inner
def _add_edge(
    i: int, j: int, weight: float, column: int, vertex: Array, at: Array, beside: Array, sums: Array
) -> None:
    """Add the weight of an edge between i and j to the entry of i for the cluster of j."""
    c = np.int64(vertex[j].cluster)
    if c == vertex[i].cluster or not weight > 0:
        return
    e = at[c]
    if e < 0:
        e = vertex[i].start + vertex[i].count
        vertex[i].count += 1
        beside[e], at[c] = c, e
        for q in range(4):
            sums[e, q] = 0.0
    sums[e, column], sums[e, column + 1] = add(sums[e, column], sums[e, column + 1], weight, 0.0)


@inner
def drop_entry(vertex: Array, i: int, e: int, beside: Array, sums: Array) -> None:
    vertex[i].count -= 1
    last = vertex[i].start + vertex[i].count
    beside[e] = beside[last]
    for q in range(4):
        sums[e, q] = sums[last, q]
