"""Pairs of clusters with a positive affinity, and the heap that yields the next pair to merge.

The record of {a, c} holds S[a][c] = sum_{i in c} in_a[i] out_a[i] = |a|^2 A_{c -> a} (Lemma 1) and S[c][a].

pairs (P, 8) int32, values (P, 5) float64: the records. Each one is in the lists of its two clusters, which
begin at ``clusters[a, PAIR]``, and in a hash table. A record that is removed leaves the table, but stays in
the lists with the mark REMOVED; its number is not used again. table: the hash table of record numbers, whose
length is a power of two and at least twice the number of records. heap (P,): record numbers. counts (2,): the
number of records ever made, and the length of the heap. The argument ``queue`` is the tuple (pairs, values,
heap, counts).
"""

import numpy as np

from .._common.jit import inner
from .._common.types import Array, Arrays, Scalar
from .double_double import add, divide

# Columns of clusters (n_initial, 10) int64
SIZE = 0
WORK = 1  # cost of moving the cluster: its members and entries
NODE = 2  # its number in the hierarchy
FIRST = 3  # first of its members, a list that continues in ``next_member``
LAST = 4
ENTRY = 5  # first of its entries, see merge_kernel
PAIR = 6  # first of its pairs
NEAR = 7  # size of its neighbour set
STAMP = 8  # the last merge that changed a sum of the pair with the new cluster
MEMO = 9  # the pair that STAMP is about; while entries are made, the entry of the current vertex, or -1

# Columns of pairs
END = 0  # the two clusters
NEXT = 2  # the next pair in the list of each end
RANK = 4  # the numbers of their nodes when the key was last set, the smaller one first
PLACE = 6  # in the heap; -1 outside it
FLAGS = 7  # bit s: the pair is in the neighbour set of its end s (AGDL)

# Columns of values: first S[a][c] (high, low) and S[c][a] (high, low), for the ends a and c
KEY = 4  # the affinity when it was last set

REMOVED = -2  # the place of a record that was removed
N_RECORDS, N_HEAPED = 0, 1  # places in counts


@inner
def home_slot(table: Array, a: int, c: int) -> Scalar:
    """Compute the place of {a, c} in the hash table, which another pair may have taken."""
    if a > c:
        a, c = c, a
    key = (np.int64(a) << 32) + np.int64(c)
    return ((key * np.int64(0x1E3779B97F4A7C15)) >> 32) & (len(table) - 1)


@inner
def find_slot(pairs: Array, table: Array, a: int, c: int) -> Scalar:
    """Find the place of {a, c} in the hash table, or the free place for it."""
    s = home_slot(table, a, c)
    while True:
        p = table[s]
        if p < 0:
            return s
        x, y = pairs[p, END], pairs[p, END + 1]
        if (x == a and y == c) or (x == c and y == a):
            return s
        s = (s + 1) & (len(table) - 1)


@inner
def remove_from_table(pairs: Array, table: Array, p: int) -> None:
    """Remove p from the hash table, and move up later items of the same run."""
    hole = find_slot(pairs, table, np.int64(pairs[p, END]), np.int64(pairs[p, END + 1]))
    mask = len(table) - 1
    s = hole
    while True:
        s = (s + 1) & mask
        q = table[s]
        if q < 0:
            break
        home_slot_of_q = home_slot(table, np.int64(pairs[q, END]), np.int64(pairs[q, END + 1]))
        if ((s - home_slot_of_q) & mask) >= ((s - hole) & mask):
            table[hole] = q
            hole = s
    table[hole] = -1


@inner
def find_pair(clusters: Array, queue: Arrays, table: Array, a: int, c: int) -> Scalar:
    """Find the record of {a, c}, or make one with both sums 0, outside the heap, and return its number."""
    pairs, values, _, counts = queue
    slot = find_slot(pairs, table, a, c)
    p = np.int64(table[slot])
    if p >= 0:
        return p
    p = counts[N_RECORDS]
    counts[N_RECORDS] += 1
    pairs[p, END], pairs[p, END + 1] = a, c
    pairs[p, NEXT], pairs[p, NEXT + 1] = clusters[a, PAIR], clusters[c, PAIR]
    clusters[a, PAIR], clusters[c, PAIR] = p, p
    for k in range(4):
        values[p, k] = 0.0
    pairs[p, FLAGS], pairs[p, PLACE] = 0, -1
    table[slot] = p
    return p


@inner
def add_sum(values: Array, p: int, side: int, high: float, low: float) -> None:
    """Add (high, low) to S[end[side]][the other end]."""
    k = 2 * side
    values[p, k], values[p, k + 1] = add(values[p, k], values[p, k + 1], high, low)


@inner
def set_key(clusters: Array, pairs: Array, values: Array, p: int) -> None:
    """Set the key: the affinity (Eqs. 3 and 4) of the two sums, rounded once, and the node numbers."""
    a, c = pairs[p, END], pairs[p, END + 1]
    size_a, size_c = np.float64(clusters[a, SIZE]), np.float64(clusters[c, SIZE])
    xh, xl = divide(values[p, 0], values[p, 1], size_a * size_a)
    yh, yl = divide(values[p, 2], values[p, 3], size_c * size_c)
    values[p, KEY] = add(xh, xl, yh, yl)[0]
    low, high = clusters[a, NODE], clusters[c, NODE]
    if low > high:
        low, high = high, low
    pairs[p, RANK], pairs[p, RANK + 1] = low, high


@inner
def precedes(pairs: Array, values: Array, p: int, q: int) -> Scalar:
    """Test if p comes before q: by larger affinity, then by smaller node numbers."""
    if values[p, KEY] != values[q, KEY]:
        return values[p, KEY] > values[q, KEY]
    if pairs[p, RANK] != pairs[q, RANK]:
        return pairs[p, RANK] < pairs[q, RANK]
    return pairs[p, RANK + 1] < pairs[q, RANK + 1]


@inner
def put_in_heap(queue: Arrays, p: int) -> None:
    """Put p at the place of its key, whether or not it was in the heap."""
    pairs, values, heap, counts = queue
    if pairs[p, PLACE] < 0:
        pairs[p, PLACE] = counts[N_HEAPED]
        counts[N_HEAPED] += 1
    k = np.int64(pairs[p, PLACE])
    while k > 0:
        parent = (k - 1) >> 1
        q = np.int64(heap[parent])
        if not precedes(pairs, values, p, q):
            break
        heap[k] = q
        pairs[q, PLACE] = k
        k = parent
    n = counts[N_HEAPED]
    while 2 * k + 1 < n:
        child = 2 * k + 1
        q = np.int64(heap[child])
        if child + 1 < n and precedes(pairs, values, np.int64(heap[child + 1]), q):
            child += 1
            q = np.int64(heap[child])
        if not precedes(pairs, values, q, p):
            break
        heap[k] = q
        pairs[q, PLACE] = k
        k = child
    heap[k] = p
    pairs[p, PLACE] = k


@inner
def take_from_heap(queue: Arrays, p: int) -> None:
    """Remove p from the heap, if it is there."""
    pairs, _, heap, counts = queue
    k = pairs[p, PLACE]
    if k < 0:
        return
    pairs[p, PLACE] = -1
    counts[N_HEAPED] -= 1
    last = np.int64(heap[counts[N_HEAPED]])
    if last != p:
        pairs[last, PLACE] = k
        put_in_heap(queue, last)
