"""AGDL's neighbour sets: N_c holds the pairs of c with its K^c nearest clusters (Algorithm 3).

sets (n_initial, K^c): the pairs of N_c are sets[c, : clusters[c].near]. union: the pairs of N_a and N_b while
a and b merge. chosen: the best of those offered so far, sorted. found (2,): the numbers of pairs in union and
in chosen.
"""

import numpy as np

from .._common.jit import inner
from .._common.types import Array, Scalar
from .pairs import HEAPED, before, find_side, put_in_heap, set_key, take_from_heap


@inner
def all_nearest(
    clusters: Array, pairs: Array, heap: Array, counts: Array, sets: Array, chosen: Array, found: Array
) -> None:
    """Build N_c of every cluster from all its pairs: at first, and again when the sets are exhausted."""
    for k in range(counts[HEAPED]):
        pairs[heap[k]].place = -1
    counts[HEAPED] = 0
    for c in range(len(clusters)):
        for k in range(clusters[c].near):
            pairs[sets[c, k]].flags = 0
    for c in range(len(clusters)):
        found[1] = 0
        p = np.int64(clusters[c].pair)
        while p >= 0:
            set_key(clusters, pairs, p)
            _offer(pairs, chosen, found, p)
            p = np.int64(pairs[p].next[find_side(pairs, p, c)])
        _adopt(clusters, pairs, sets, chosen, found, c)
    for c in range(len(clusters)):
        for k in range(clusters[c].near):
            put_in_heap(pairs, heap, counts, np.int64(sets[c, k]))


@inner
def _offer(pairs: Array, chosen: Array, found: Array, p: int) -> None:
    k = found[1]
    while k > 0 and before(pairs, p, np.int64(chosen[k - 1])):
        chosen[k] = chosen[k - 1]
        k -= 1
    chosen[k] = p
    found[1] = min(found[1] + 1, len(chosen) - 1)


@inner
def _adopt(clusters: Array, pairs: Array, sets: Array, chosen: Array, found: Array, c: int) -> None:
    clusters[c].near = found[1]
    for k in range(found[1]):
        p = np.int64(chosen[k])
        sets[c, k] = p
        pairs[p].flags |= 1 << find_side(pairs, p, c)


@inner
def open_sets(
    clusters: Array, pairs: Array, sets: Array, union: Array, found: Array, a: int, b: int, top: int
) -> None:
    """Begin the union with N_a; N_b follows while b's pairs are moved."""
    found[0] = 0
    for k in range(clusters[a].near):
        p = np.int64(sets[a, k])
        pairs[p].flags &= ~(1 << find_side(pairs, p, a))
        if p != top:
            union[found[0]] = p
            found[0] += 1
    clusters[a].near = 0
    clusters[b].near = 0


@inner
def move_flags(
    clusters: Array,
    pairs: Array,
    sets: Array,
    union: Array,
    found: Array,
    c: int,
    p: int,
    side: int,
    keep: int,
) -> None:
    """Transfer memberships in the sets from the pair p = {b, c} to ``keep`` = {a, c}."""
    in_b = pairs[p].flags & (1 << side)
    in_c = pairs[p].flags & (1 << (1 - side))
    if keep != p and in_c:
        bit = 1 << find_side(pairs, keep, c)
        _replace(clusters, sets, c, p, np.int64(-1) if pairs[keep].flags & bit else keep)
        pairs[keep].flags |= bit
    pairs[p].flags &= ~(1 << side)
    if in_b:
        for k in range(found[0]):
            if union[k] == keep:
                return
        union[found[0]] = keep
        found[0] += 1


@inner
def _replace(clusters: Array, sets: Array, c: int, p: int, q: Scalar) -> None:
    """Replace p by q in N_c, or remove p if q < 0."""
    for k in range(clusters[c].near):
        if sets[c, k] == p:
            if q < 0:
                clusters[c].near -= 1
                q = np.int64(sets[c, clusters[c].near])
            sets[c, k] = q
            return


@inner
def choose_set(
    clusters: Array,
    pairs: Array,
    heap: Array,
    counts: Array,
    sets: Array,
    union: Array,
    chosen: Array,
    found: Array,
    a: int,
) -> None:
    """Set N_ab to the K^c nearest in the union."""
    for k in range(found[0]):  # before any key changes, or the heap would lose its order
        take_from_heap(pairs, heap, counts, np.int64(union[k]))
    found[1] = 0
    for k in range(found[0]):
        set_key(clusters, pairs, np.int64(union[k]))
        _offer(pairs, chosen, found, np.int64(union[k]))
    _adopt(clusters, pairs, sets, chosen, found, a)
    for k in range(found[0]):
        p = np.int64(union[k])
        if pairs[p].flags:
            put_in_heap(pairs, heap, counts, p)
