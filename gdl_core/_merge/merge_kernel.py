"""The merging loop of GDL-U (Algorithm 2) and AGDL (Algorithm 3) on a sparse graph, compiled.

Clusters have slots 0 .. n_initial - 1; ``label[i]`` is the slot of vertex i. ``degrees`` holds in_a[i] and
out_a[i], and ``pairs`` holds S[a][c] = sum_{i in c} in_a[i] out_a[i] = |a|^2 A_{c -> a}.

When b is merged into a, S[c][ab] = S[c][a] + S[c][b] (Eq. 9) and S[ab][c] = S[a][c] + S[b][c] + sum_{i in c}
(in_a[i] out_b[i] + in_b[i] out_a[i]), so only b's pairs and entries are visited. b is the smaller of the two,
so each entry moves O(log n) times. Affinities of pairs that b does not touch can only fall, because |ab|
grew: the heap keeps their old keys as upper bounds, and a key is corrected when its pair comes to the top.

All sums are carried in double-double, so that affinities do not depend on the order of merging.
"""

import numba
import numpy as np

from .._common.jit import inner, njit
from .._common.types import Array, Scalar
from .degrees import build_degrees, drop_entry, vertex_type
from .double_double import add, multiply
from .memory import AHEAD, prefetch, use_large_pages
from .neighbour_sets import all_nearest, choose_set, move_flags, open_sets
from .pairs import (
    FREE,
    HEAPED,
    USED,
    add_sum,
    delete_pair,
    find_pair,
    find_side,
    home,
    make_table,
    needs_larger_table,
    new_pair,
    pair_type,
    put_in_heap,
    rename_end,
    set_key,
    sift,
)

LINE = 16  # numbers of four bytes in a cache line

if getattr(numba.config, "DISABLE_JIT", False):
    raise RuntimeError("NUMBA_DISABLE_JIT is set, but merging needs compiled code: unset it")

cluster_type = np.dtype(
    [
        ("size", np.int64),
        ("work", np.int64),  # cost of moving the cluster: its members and entries
        ("node", np.int32),  # its number in the hierarchy
        ("first", np.int32),  # first of its members, a list that continues in ``following``
        ("last", np.int32),
        ("entry", np.int32),  # first of its entries, see degrees
        ("pair", np.int32),  # first of its pairs, see pairs
        ("near", np.int32),  # size of its neighbour set
        ("stamp", np.int32),  # the last merge that changed a sum of the pair with the new cluster,
        ("touched", np.int32),  # and that new cluster
    ],
    align=True,
)


@njit
def merge_components(
    parts: Array,
    n_target: int,
    min_affinity: float,
    k_nearest: int,
    label: Array,
    vertices: Array,
    rank: Array,
    indptr: Array,
    indices: Array,
    weights: Array,
    sums: Array,
    beside: Array,
    link: Array,
    children: Array,
    affinities: Array,
    progress: Array,
) -> None:
    """Merge each component of a graph separately, down to ``n_target`` clusters or as long as affinities are
    positive and at least ``min_affinity``.

    parts (p, 5) int64, one component per row: first vertex, end; first cluster, end; the number of edges,
    which is overwritten with the number of merges. Vertices of a component are consecutive, and so are its
    clusters. k_nearest: 0 for GDL-U, else K^c of AGDL. label (n,) int32: initial clusters, counted within the
    component. vertices (n,) int64: the row of W of each vertex. rank (n,) int32: the number of each row's
    vertex, counted within its component. indptr (n + 1,) int64, indices int32, weights float64: W. sums (E,
    4) float64, beside (E,) and link (E, 2) int32: space for the entries of the largest component. children
    (n_initial, 2) int64, affinities (n_initial,) float64: filled from the component's first cluster on, with
    node numbers within the component. progress (2,) int64: merges so far; set the second to stop early.
    """
    for q in range(len(parts)):
        v0, v1, c0, c1 = parts[q, 0], parts[q, 1], parts[q, 2], parts[q, 3]
        w = vertices[v0:v1], rank, indptr, indices, weights
        cut = slice(c0, c1)
        parts[q, 4] = _merge(
            c1 - c0,
            n_target,
            min_affinity,
            k_nearest,
            label[v0:v1],
            w,
            (beside, sums, link),
            children[cut],
            affinities[cut],
            progress,
        )


@inner
def _merge(
    n_initial: int,
    n_target: int,
    min_affinity: float,
    k_nearest: int,
    label: Array,
    w: tuple[Array, ...],
    room: tuple[Array, ...],
    children: Array,
    affinities: Array,
    progress: Array,
) -> Scalar:
    clusters, vertex, following = _clusters(n_initial, label)
    n_entries = build_degrees(clusters, vertex, w, *room)
    pairs, table, counts = _initial_pairs(clusters, vertex, n_entries, *room)
    heap = use_large_pages(np.empty(len(pairs), np.int32))
    if k_nearest == 0:
        for p in range(counts[USED]):
            set_key(clusters, pairs, p)
            put_in_heap(pairs, heap, counts, p)
    sets = np.empty((n_initial, k_nearest), np.int32)
    union = np.empty(2 * k_nearest, np.int32)
    chosen = np.empty(k_nearest + 1, np.int32)
    found = np.zeros(2, np.int64)
    entries = vertex, *room
    queue = pairs, table, heap, counts
    near = sets, union, found
    touched = np.empty(n_initial, np.int32), np.zeros(1, np.int64)
    t = np.int64(0)  # a plain 0 would have another type, and all would be compiled twice
    is_new = False  # whether there has been no merge since all neighbour sets were built
    while n_initial - t > n_target and progress[1] == 0:
        top = np.int64(heap[0]) if counts[HEAPED] else -1
        if top < 0 or not pairs[top].key > 0 or pairs[top].key < min_affinity:
            if k_nearest == 0 or is_new:
                break
            all_nearest(clusters, pairs, heap, counts, sets, chosen, found)
            is_new = True
            continue
        a, b = np.int64(pairs[top].end[0]), np.int64(pairs[top].end[1])
        low, high = min(clusters[a].node, clusters[b].node), max(clusters[a].node, clusters[b].node)
        if pairs[top].rank[0] != low or pairs[top].rank[1] != high:  # the key is outdated
            set_key(clusters, pairs, top)
            sift(pairs, heap, counts, top)
            continue
        children[t, 0], children[t, 1], affinities[t] = low, high, pairs[top].key
        if clusters[a].work < clusters[b].work:
            a, b = b, a
        if needs_larger_table(table, counts, clusters[b].work):  # at most one new pair for each entry of b
            table = make_table(pairs, counts, clusters[b].work)
            queue = pairs, table, heap, counts
        touched[1][0] = 0
        open_sets(clusters, pairs, sets, union, found, a, b, top)
        _move_pairs(t, a, b, clusters, queue, touched, k_nearest, near)
        _move_entries(t, a, b, entries, clusters, queue, touched)
        _move_members(a, b, entries, clusters, following)
        clusters[a].node = n_initial + t
        if k_nearest:
            choose_set(clusters, pairs, heap, counts, sets, union, chosen, found, a)
        for k in range(touched[1][0]):
            q = np.int64(clusters[touched[0][k]].touched)
            if k_nearest == 0 or pairs[q].flags:
                set_key(clusters, pairs, q)
                put_in_heap(pairs, heap, counts, q)
        t += 1
        is_new = False
        progress[0] += 1
    return t


@inner
def _clusters(n_initial: int, label: Array) -> tuple[Array, Array, Array]:
    clusters = use_large_pages(np.zeros(n_initial, cluster_type))
    vertex = use_large_pages(np.zeros(len(label), vertex_type))
    following = np.full(len(label), -1, np.int32)
    for c in range(n_initial):
        clusters[c].node = c
        clusters[c].first, clusters[c].entry, clusters[c].pair, clusters[c].stamp = -1, -1, -1, -1
    for i in range(len(label)):
        c = label[i]
        vertex[i].cluster = c
        clusters[c].size += 1
        clusters[c].work += 1
        if clusters[c].first < 0:
            clusters[c].first = i
        else:
            following[clusters[c].last] = i
        clusters[c].last = i
    return clusters, vertex, following


@inner
def _initial_pairs(
    clusters: Array, vertex: Array, n_entries: int, beside: Array, sums: Array, link: Array
) -> tuple[Array, Array, Array]:
    both = 0
    for e in range(n_entries):
        both += sums[e, 0] > 0 and sums[e, 2] > 0
    # a pair needs an entry with both sums positive, and a new entry of this kind uses up two others
    pairs = use_large_pages(np.empty(both + (n_entries - both) // 2 + 1, pair_type))
    counts = np.zeros(3, np.int64)
    counts[FREE] = -1
    table = make_table(pairs, counts, 1)
    for e in range(n_entries):
        if e + AHEAD < n_entries:
            f = e + AHEAD
            prefetch(table, home(table, np.int64(beside[f]), np.int64(vertex[link[f, 0]].cluster)))
        high, low = multiply(sums[e, 0], sums[e, 1], sums[e, 2], sums[e, 3])
        if high > 0:
            a, c = np.int64(beside[e]), np.int64(vertex[link[e, 0]].cluster)
            p = find_pair(pairs, table, a, c)
            if p < 0:
                if needs_larger_table(table, counts, 1):
                    table = make_table(pairs, counts, counts[USED])
                p = new_pair(clusters, pairs, table, counts, a, c)
            add_sum(pairs, p, find_side(pairs, p, a), high, low)
    return pairs, table, counts


@inner
def _touch(t: int, c: int, p: int, clusters: Array, touched: tuple[Array, ...]) -> None:
    clusters[c].stamp, clusters[c].touched = t, p
    touched[0][touched[1][0]] = c
    touched[1][0] += 1


@inner
def _move_pairs(
    t: int,
    a: int,
    b: int,
    clusters: Array,
    queue: tuple[Array, ...],
    touched: tuple[Array, ...],
    k_nearest: int,
    near: tuple[Array, ...],
) -> None:
    """The pairs of b become pairs of a: Eq. 9, and the first two terms of S[ab][c]."""
    pairs, table, heap, counts = queue
    sets, union, found = near
    p = np.int64(clusters[b].pair)
    while p >= 0:
        side = find_side(pairs, p, b)
        after = np.int64(pairs[p].next[side])
        c = np.int64(pairs[p].end[1 - side])
        if c == a:
            delete_pair(clusters, pairs, table, heap, counts, p)
        else:
            keep = find_pair(pairs, table, a, c)
            if keep >= 0:
                other, s = find_side(pairs, keep, a), pairs[p].sums
                add_sum(pairs, keep, other, s[2 * side], s[2 * side + 1])
                add_sum(pairs, keep, 1 - other, s[2 - 2 * side], s[3 - 2 * side])
            else:
                keep = p
            if k_nearest:
                move_flags(clusters, pairs, sets, union, found, c, p, side, keep)
            if keep == p:
                rename_end(clusters, pairs, table, p, side, a)
            else:
                delete_pair(clusters, pairs, table, heap, counts, p)
            _touch(t, c, keep, clusters, touched)
        p = after


@inner
def _look_ahead(v: int, after: int, entries: tuple[Array, ...]) -> Scalar:
    """Prefetch the data for visiting the next two items of a list; returns the item after them."""
    vertex, beside, _, link = entries
    if v < 0 or after < 0:
        return np.int64(-1)
    first = vertex[np.int64(link[v, 0])].start
    prefetch(beside, first)
    prefetch(beside, min(first + LINE, len(beside) - 1))
    prefetch(vertex, np.int64(link[after, 0]))
    following = np.int64(link[after, 1])
    if following >= 0:
        prefetch(link, following)
    return following


@inner
def _move_entries(
    t: int,
    a: int,
    b: int,
    entries: tuple[Array, ...],
    clusters: Array,
    queue: tuple[Array, ...],
    touched: tuple[Array, ...],
) -> None:
    """The entries of b become entries of a, which gives the third term of S[ab][c]."""
    vertex, beside, sums, link = entries
    pairs, table, _, counts = queue
    v = np.int64(clusters[b].entry)
    after = np.int64(link[v, 1]) if v >= 0 else v
    third = np.int64(link[after, 1]) if after >= 0 else after
    while v >= 0:
        fourth = _look_ahead(after, third, entries)
        i = np.int64(link[v, 0])
        c = np.int64(vertex[i].cluster)
        e: Scalar = np.int64(-1)  # the entries of a and b at i
        f: Scalar = np.int64(-1)
        if c != b:
            for k in range(vertex[i].start, vertex[i].start + vertex[i].count):
                if beside[k] == b:
                    f = k
                elif beside[k] == a:
                    e = k
        if c == b:
            pass
        elif c == a:
            drop_entry(vertex, i, f, beside, sums)
        elif e < 0:
            beside[f] = a
            link[v, 1] = clusters[a].entry
            clusters[a].entry = v
            clusters[a].work += 1
        else:
            xh, xl = multiply(sums[e, 0], sums[e, 1], sums[f, 2], sums[f, 3])
            yh, yl = multiply(sums[f, 0], sums[f, 1], sums[e, 2], sums[e, 3])
            high, low = add(xh, xl, yh, yl)
            for k in range(0, 4, 2):
                sums[e, k], sums[e, k + 1] = add(sums[e, k], sums[e, k + 1], sums[f, k], sums[f, k + 1])
            drop_entry(vertex, i, f, beside, sums)
            if high > 0:
                if clusters[c].stamp != t:
                    p = find_pair(pairs, table, a, c)
                    if p < 0:
                        p = new_pair(clusters, pairs, table, counts, a, c)
                    _touch(t, c, p, clusters, touched)
                p = np.int64(clusters[c].touched)
                add_sum(pairs, p, find_side(pairs, p, a), high, low)
        v, after, third = after, third, fourth


@inner
def _move_members(a: int, b: int, entries: tuple[Array, ...], clusters: Array, following: Array) -> None:
    vertex, beside, sums, _ = entries
    m = np.int64(clusters[b].first)
    while m >= 0:
        vertex[m].cluster = a
        for k in range(vertex[m].start, vertex[m].start + vertex[m].count):
            if beside[k] == a:
                drop_entry(vertex, m, k, beside, sums)
                break
        m = np.int64(following[m])
    following[clusters[a].last] = clusters[b].first
    clusters[a].last = clusters[b].last
    clusters[a].size += clusters[b].size
    clusters[a].work += clusters[b].size
    clusters[b].entry = -1
