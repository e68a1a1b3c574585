"""AGDL's neighbour sets: N_c holds the pairs of c with its K^c nearest clusters (Algorithm 3).

The argument ``choice`` is a tuple of three arrays. sets (n_initial, K^c): the pairs of N_c are
sets[c, : clusters[c, NEAR]]. candidates (n_initial,): pairs of which the nearest are chosen; while a and b
merge, these are the pairs of N_a and N_b. n_candidates (1,): the number of candidates.
"""

import numpy as np

from .._common.jit import inner
from .._common.types import Array, Arrays, Scalar
from .pairs import (
    END,
    FLAGS,
    N_HEAPED,
    N_RECORDS,
    NEAR,
    NEXT,
    PAIR,
    PLACE,
    REMOVED,
    precedes,
    put_in_heap,
    set_key,
    take_from_heap,
)


@inner
def build_sets(cluster_list: Array, clusters: Array, queue: Arrays, choice: Arrays) -> None:
    """Build N_c of some clusters from all their pairs: at first, and again when the sets are exhausted."""
    pairs, _, _, counts = queue
    _, candidates, n_candidates = choice
    for record in range(counts[N_RECORDS]):
        pairs[record, FLAGS] = 0
        if pairs[record, PLACE] != REMOVED:
            pairs[record, PLACE] = -1
    counts[N_HEAPED] = 0
    for c in cluster_list:
        n_candidates[0] = 0
        p: Scalar = clusters[c, PAIR]
        while p >= 0:
            if pairs[p, PLACE] != REMOVED:
                candidates[n_candidates[0]] = p
                n_candidates[0] += 1
            p = np.int64(pairs[p, NEXT + np.int64(pairs[p, END + 1] == c)])
        _fill_set(clusters, queue, choice, c)
    for record in range(counts[N_RECORDS]):
        if pairs[record, FLAGS]:
            put_in_heap(queue, record)


@inner
def open_sets(clusters: Array, pairs: Array, choice: Arrays, a: int, top: int) -> None:
    """Begin the candidates for N_ab with N_a; N_b follows while b's pairs are moved."""
    sets, candidates, n_candidates = choice
    n_candidates[0] = 0
    for k in range(clusters[a, NEAR]):
        p = np.int64(sets[a, k])
        pairs[p, FLAGS] &= 1 if pairs[p, END + 1] == a else 2
        if p != top:
            candidates[n_candidates[0]] = p
            n_candidates[0] += 1


@inner
def choose_set(clusters: Array, queue: Arrays, choice: Arrays, a: int) -> None:
    """Set N_ab to the K^c nearest of the candidates."""
    pairs = queue[0]
    _, candidates, n_candidates = choice
    for i in range(n_candidates[0]):  # before any key changes, because the heap would lose its order
        take_from_heap(queue, np.int64(candidates[i]))
    _fill_set(clusters, queue, choice, a)
    for i in range(n_candidates[0]):
        if pairs[candidates[i], FLAGS]:
            put_in_heap(queue, np.int64(candidates[i]))


@inner
def _fill_set(clusters: Array, queue: Arrays, choice: Arrays, c: int) -> None:
    """Set N_c to the K^c nearest of the candidates."""
    pairs, values, _, _ = queue
    sets, candidates, n_candidates = choice
    n_near = 0
    for i in range(n_candidates[0]):
        p = np.int64(candidates[i])
        set_key(clusters, pairs, values, p)
        k = n_near
        if n_near < sets.shape[1]:
            n_near += 1
        else:
            k -= 1
            if not precedes(pairs, values, p, np.int64(sets[c, k])):
                continue
        while k > 0 and precedes(pairs, values, p, np.int64(sets[c, k - 1])):
            sets[c, k] = sets[c, k - 1]
            k -= 1
        sets[c, k] = p
    clusters[c, NEAR] = n_near
    for k in range(n_near):
        p = np.int64(sets[c, k])
        pairs[p, FLAGS] |= 2 if pairs[p, END + 1] == c else 1


@inner
def move_flags(clusters: Array, pairs: Array, choice: Arrays, c: int, p: int, side: int, keep: int) -> None:
    """Transfer memberships in the sets from the pair p = {b, c} to ``keep`` = {a, c}."""
    sets, candidates, n_candidates = choice
    in_b = pairs[p, FLAGS] & (1 << side)
    in_c = pairs[p, FLAGS] & (2 >> side)
    if keep != p and in_c:
        bit = 2 if pairs[keep, END + 1] == c else 1
        k = 0
        while sets[c, k] != p:
            k += 1
        if pairs[keep, FLAGS] & bit:  # it is in N_c already
            clusters[c, NEAR] -= 1
            sets[c, k] = sets[c, clusters[c, NEAR]]
        else:
            sets[c, k] = keep
            pairs[keep, FLAGS] |= bit
    pairs[p, FLAGS] &= ~(1 << side)
    if in_b:
        for k in range(n_candidates[0]):
            if candidates[k] == keep:
                return
        candidates[n_candidates[0]] = keep
        n_candidates[0] += 1
