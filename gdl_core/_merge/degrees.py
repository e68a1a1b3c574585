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
    indptr: Array,
    indices: Array,
    weights: Array,
    count: Array,
    beside: Array,
    sums: Array,
    link: Array,
) -> Array:
    """Fill the entries of a graph with clusters ``label``; returns start."""
    n = len(label)
    tptr, tindices, tweights = _transpose(n, indptr, indices, weights)
    start = np.zeros(n + 1, np.int64)
    at = np.full(len(clusters), -1, np.int64)  # the current vertex's entry for each cluster
    for i in range(n):
        count[i] = 0
        _gather(i, 2, label, indptr, indices, weights, at, start, count, beside, sums)
        _gather(i, 0, label, tptr, tindices, tweights, at, start, count, beside, sums)
        start[i + 1] = start[i] + count[i]
        for e in range(start[i], start[i + 1]):
            c = beside[e]
            at[c] = -1
            link[e, 0], link[e, 1] = i, clusters[c].entry
            clusters[c].entry = e
            clusters[c].work += 1
    return start


@inner
def _transpose(n: int, indptr: Array, indices: Array, weights: Array) -> tuple[Array, Array, Array]:
    tptr = np.zeros(n + 1, np.int64)
    for e in range(len(indices)):
        tptr[indices[e] + 1] += 1
    for i in range(n):
        tptr[i + 1] += tptr[i]
    at = tptr[:-1].copy()
    tindices = np.empty(len(indices), np.int32)
    tweights = np.empty(len(indices), np.float64)
    for i in range(n):
        for e in range(indptr[i], indptr[i + 1]):
            k = at[indices[e]]
            tindices[k], tweights[k] = i, weights[e]
            at[indices[e]] = k + 1
    return tptr, tindices, tweights


@inner
def _gather(
    i: int,
    column: int,
    label: Array,
    indptr: Array,
    indices: Array,
    weights: Array,
    at: Array,
    start: Array,
    count: Array,
    beside: Array,
    sums: Array,
) -> None:
    for k in range(indptr[i], indptr[i + 1]):
        c = label[indices[k]]
        if c == label[i] or not weights[k] > 0:
            continue
        e = at[c]
        if e < 0:
            e = start[i] + count[i]
            count[i] += 1
            beside[e], at[c] = c, e
            for q in range(4):
                sums[e, q] = 0.0
        sums[e, column], sums[e, column + 1] = add(sums[e, column], sums[e, column + 1], weights[k], 0.0)


@inner
def drop_entry(i: int, e: int, start: Array, count: Array, beside: Array, sums: Array) -> None:
    count[i] -= 1
    last = start[i] + count[i]
    beside[e] = beside[last]
    for q in range(4):
        sums[e, q] = sums[last, q]
