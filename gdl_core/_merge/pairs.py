"""Pairs of clusters with a positive affinity, and the heap that yields the next pair to merge.

The record of {a, c} holds S[a][c] = sum_{i in c} in_a[i] out_a[i] = |a|^2 A_{c -> a} (Lemma 1) and S[c][a].
Each record is in two doubly linked lists, those of its two clusters, which begin at ``clusters[a].pair``,
and in a hash table.

pairs (P,): the records; a freed one has ``end[0]`` -1. table: the hash table of record numbers; its length is
a power of two and at least twice the number of records ever used. heap (P,): record numbers. counts (3,):
records ever used, heap entries, and the first freed record (chained by ``next[0]``), or -1.
"""

import numpy as np

from .._common.jit import inner
from .._common.types import Array, Scalar
from .double_double import add, divide
from .memory import use_large_pages

pair_type = np.dtype(
    [
        ("sums", np.float64, (4,)),  # S[a][c] (high, low), S[c][a] (high, low) for the ends a, c
        ("key", np.float64),  # affinity and node numbers, when they were last set
        ("rank", np.int32, (2,)),
        ("end", np.int32, (2,)),
        ("next", np.int32, (2,)),  # in the list of each end
        ("prev", np.int32, (2,)),
        ("place", np.int32),  # in the heap, or -1
        ("flags", np.int32),  # bit s: the pair is in the neighbour set of its end s (AGDL)
    ],
    align=True,
)
USED, HEAPED, FREE = 0, 1, 2


# --- hash table: linear probing, deletion by shifting back ----------------------------------------


@inner
def home(table: Array, a: int, c: int) -> Scalar:
    key = (np.int64(min(a, c)) << 32) + np.int64(max(a, c))
    return ((key * np.int64(0x1E3779B97F4A7C15)) >> 32) & (len(table) - 1)


@inner
def find_pair(pairs: Array, table: Array, a: int, c: int) -> Scalar:
    """The record of {a, c}, or -1."""
    s = home(table, a, c)
    while True:
        p = np.int64(table[s])
        if p < 0:
            return p
        x, y = pairs[p].end[0], pairs[p].end[1]
        if (x == a and y == c) or (x == c and y == a):
            return p
        s = (s + 1) & (len(table) - 1)


@inner
def _enter(pairs: Array, table: Array, p: int) -> None:
    s = home(table, pairs[p].end[0], pairs[p].end[1])
    while table[s] >= 0:
        s = (s + 1) & (len(table) - 1)
    table[s] = p


@inner
def _leave(pairs: Array, table: Array, p: int) -> None:
    mask = len(table) - 1
    hole = home(table, pairs[p].end[0], pairs[p].end[1])
    while table[hole] != p:
        hole = (hole + 1) & mask
    s = hole
    while True:
        s = (s + 1) & mask
        q = np.int64(table[s])
        if q < 0:
            break
        own = home(table, pairs[q].end[0], pairs[q].end[1])
        if ((s - own) & mask) >= ((s - hole) & mask):
            table[hole] = q
            hole = s
    table[hole] = -1


@inner
def needs_larger_table(table: Array, counts: Array, more: int) -> Scalar:
    """Whether this many more records would fill more than half of the table."""
    return 2 * (counts[USED] + more) > len(table)


@inner
def make_table(pairs: Array, counts: Array, more: int) -> Array:
    """A hash table of all records, at most half full with ``more`` new ones."""
    slots = 16
    while slots < 2 * (counts[USED] + more):
        slots *= 2
    table: Array = use_large_pages(np.empty(slots, np.int32))
    table[:] = -1
    for p in range(counts[USED]):
        if pairs[p].end[0] >= 0:
            _enter(pairs, table, p)
    return table


# --- records and lists ----------------------------------------------------------------------------


@inner
def find_side(pairs: Array, p: int, c: int) -> Scalar:
    """The number of the end of p that is cluster c."""
    return 0 if pairs[p].end[0] == c else 1


@inner
def _link(clusters: Array, pairs: Array, p: int, side: int) -> None:
    c = pairs[p].end[side]
    first = np.int64(clusters[c].pair)
    pairs[p].next[side], pairs[p].prev[side] = first, -1
    if first >= 0:
        pairs[first].prev[find_side(pairs, first, c)] = p
    clusters[c].pair = p


@inner
def _unlink(clusters: Array, pairs: Array, p: int, side: int) -> None:
    c = pairs[p].end[side]
    before, after = np.int64(pairs[p].prev[side]), np.int64(pairs[p].next[side])
    if before >= 0:
        pairs[before].next[find_side(pairs, before, c)] = after
    else:
        clusters[c].pair = after
    if after >= 0:
        pairs[after].prev[find_side(pairs, after, c)] = before


@inner
def new_pair(clusters: Array, pairs: Array, table: Array, counts: Array, a: int, c: int) -> Scalar:
    """Make a record of {a, c} with both sums 0, outside the heap, and return its number."""
    p = counts[FREE]
    if p >= 0:
        counts[FREE] = pairs[p].next[0]
    else:
        p = counts[USED]
        counts[USED] += 1
    pairs[p].end[0], pairs[p].end[1] = a, c
    for k in range(4):
        pairs[p].sums[k] = 0.0
    pairs[p].flags, pairs[p].place = 0, -1
    for side in range(2):
        _link(clusters, pairs, p, side)
    _enter(pairs, table, p)
    return p


@inner
def delete_pair(clusters: Array, pairs: Array, table: Array, heap: Array, counts: Array, p: int) -> None:
    _leave(pairs, table, p)
    for side in range(2):
        _unlink(clusters, pairs, p, side)
    take_from_heap(pairs, heap, counts, p)
    pairs[p].end[0], pairs[p].next[0] = -1, counts[FREE]
    counts[FREE] = p


@inner
def rename_end(clusters: Array, pairs: Array, table: Array, p: int, side: int, a: int) -> None:
    """Replace the end ``side`` of p by cluster a."""
    _leave(pairs, table, p)
    _unlink(clusters, pairs, p, side)
    pairs[p].end[side] = a
    _link(clusters, pairs, p, side)
    _enter(pairs, table, p)


@inner
def add_sum(pairs: Array, p: int, side: int, high: float, low: float) -> None:
    """Add (high, low) to S[end[side]][the other end]."""
    k = 2 * side
    s = pairs[p].sums
    s[k], s[k + 1] = add(s[k], s[k + 1], high, low)


@inner
def set_key(clusters: Array, pairs: Array, p: int) -> None:
    """Set the affinity (Eqs. 3 and 4) from the two sums, rounded once, and the node numbers."""
    a, c = pairs[p].end[0], pairs[p].end[1]
    s = pairs[p].sums
    size_a, size_c = float(clusters[a].size), float(clusters[c].size)
    xh, xl = divide(s[0], s[1], size_a * size_a)
    yh, yl = divide(s[2], s[3], size_c * size_c)
    pairs[p].key = add(xh, xl, yh, yl)[0]
    pairs[p].rank[0] = min(clusters[a].node, clusters[c].node)
    pairs[p].rank[1] = max(clusters[a].node, clusters[c].node)


@inner
def before(pairs: Array, p: int, q: int) -> Scalar:
    """Whether p comes before q: by larger affinity, then by smaller node numbers."""
    if pairs[p].key != pairs[q].key:
        return pairs[p].key > pairs[q].key
    if pairs[p].rank[0] != pairs[q].rank[0]:
        return pairs[p].rank[0] < pairs[q].rank[0]
    return pairs[p].rank[1] < pairs[q].rank[1]


# --- heap -----------------------------------------------------------------------------------------


@inner
def sift(pairs: Array, heap: Array, counts: Array, p: int) -> None:
    """Move p within the heap to the place of its key."""
    k = np.int64(pairs[p].place)
    while k > 0:
        parent = (k - 1) >> 1
        q = np.int64(heap[parent])
        if not before(pairs, p, q):
            break
        heap[k] = q
        pairs[q].place = k
        k = parent
    n = counts[HEAPED]
    while 2 * k + 1 < n:
        child = 2 * k + 1
        q = np.int64(heap[child])
        if child + 1 < n and before(pairs, np.int64(heap[child + 1]), q):
            child += 1
            q = np.int64(heap[child])
        if not before(pairs, q, p):
            break
        heap[k] = q
        pairs[q].place = k
        k = child
    heap[k] = p
    pairs[p].place = k


@inner
def put_in_heap(pairs: Array, heap: Array, counts: Array, p: int) -> None:
    """Put p at the place of its key, whether or not it was in the heap."""
    if pairs[p].place < 0:
        pairs[p].place = counts[HEAPED]
        counts[HEAPED] += 1
    sift(pairs, heap, counts, p)


@inner
def take_from_heap(pairs: Array, heap: Array, counts: Array, p: int) -> None:
    k = pairs[p].place
    if k < 0:
        return
    pairs[p].place = -1
    counts[HEAPED] -= 1
    last = np.int64(heap[counts[HEAPED]])
    if last != p:
        pairs[last].place = k
        sift(pairs, heap, counts, last)
