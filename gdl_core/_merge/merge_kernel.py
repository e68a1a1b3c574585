"""The merging loop of GDL-U (Algorithm 2) and AGDL (Algorithm 3) on a sparse graph, compiled.

For every vertex i and every cluster a that an edge joins to i, with i outside a, one entry holds in_a[i] =
sum_{j in a} w_ji and out_a[i] = sum_{j in a} w_ij: by Definition 2, |a| deg^-_i(a) and |a| deg^+_i(a). The
entries of a vertex are contiguous and are searched one by one, because there are few of them, and fewer after
each merge. ``pairs`` holds S[a][c] = sum_{i in c} in_a[i] out_a[i] = |a|^2 A_{c -> a}.

When b is merged into a, S[c][ab] = S[c][a] + S[c][b] (Eq. 9) and S[ab][c] = S[a][c] + S[b][c] + sum_{i in c}
(in_a[i] out_b[i] + in_b[i] out_a[i]), so only b's pairs and entries are visited. b is the smaller of the two,
so each entry moves O(log n) times. Affinities of pairs that b does not touch can only fall, because |ab|
grew. So the heap keeps their old keys as upper bounds, and corrects a key when its pair comes to the top.

All sums are carried in double-double, so that affinities do not depend on the order of merging.
"""

import numba
import numpy as np

from .._common.jit import inner, njit
from .._common.types import Array, Arrays, Scalar
from .double_double import add, multiply
from .memory import prefetch
from .neighbour_sets import build_sets, choose_set, move_flags, open_sets
from .pairs import (
    END,
    ENTRY,
    FIRST,
    FLAGS,
    KEY,
    LAST,
    MEMO,
    N_HEAPED,
    N_RECORDS,
    NEXT,
    NODE,
    PAIR,
    PLACE,
    RANK,
    REMOVED,
    SIZE,
    STAMP,
    WORK,
    add_sum,
    find_pair,
    find_slot,
    put_in_heap,
    remove_from_table,
    set_key,
    take_from_heap,
)

START, COUNT, CLUSTER = 0, 1, 2  # columns of vertex

if getattr(numba.config, "DISABLE_JIT", False):
    raise RuntimeError("NUMBA_DISABLE_JIT is set, but merging needs compiled code: unset it")


@njit
def merge_components(
    parts: Array,
    n_target: int,
    min_affinity: float,
    order: Arrays,
    edges: tuple[Arrays, Arrays],
    state: Arrays,
    buffers: Arrays,
    children: Array,
    affinities: Array,
    progress: Array,
) -> None:
    """Merge each component of a graph separately, down to ``n_target`` clusters or until no affinity is
    positive and at least ``min_affinity``.

    Parameters
    ----------
    parts : (p, 5) int64
        A component per row: its first vertex and their end, its first cluster and their end in ``order``, and
        its number of edges, which is overwritten with the number of merges.
    order : tuple
        (n,) int64 and (n_initial,) int64: vertices and clusters, sorted by component.
    edges : tuple
        `AffinityGraph.edge_lists`.
    state : tuple
        clusters (n_initial, 10) int64: see `pairs`; at first without entries and pairs.
        vertex (n, 3) int64: the first entry of each vertex, the number of its entries, and its cluster.
        next_member (n,) int64: the next vertex of the same cluster, or -1.
        sets (n_initial, K^c) int32: see `neighbour_sets`; K^c is 0 for GDL-U.
    buffers : tuple
        Arrays for the largest component, which has E edges and C clusters.
        entry_cluster (2 E,) int32: the cluster of each entry.
        sums (2 E, 4) float64: in_a[i] (high, low) and out_a[i] (high, low) of each entry.
        link (2 E, 2) int32: the items (vertex, next item) of lists. The list of a begins at
        ``clusters[a, ENTRY]`` and names the vertices with an entry for a, and some that have joined a since.
        pairs, values, heap and table: see `pairs`.
        candidates (C,) int32: see `neighbour_sets`.
        changed (C,) int64: the clusters whose pair with the new cluster has changed.
    children : (n_initial, 2) int64
        Filled from the component's first cluster on. The cluster that merge t makes is n_initial + t.
    affinities : (n_initial,) float64
        Filled like ``children``.
    progress : (2,) int64
        The number of merges so far, and a flag that the caller sets to stop early.
    """
    clusters, vertex, next_member, sets = state
    entry_cluster, sums, link, pairs, values, heap, all_slots, candidates, changed = buffers
    vertices, cluster_order = order
    n_initial, k_nearest = len(clusters), sets.shape[1]
    counts = np.zeros(2, np.int64)
    entries, queue = (entry_cluster, sums, link), (pairs, values, heap, counts)
    choice = sets, candidates, np.zeros(1, np.int64)
    for q in range(len(parts)):
        v0, v1, c0, c1 = parts[q, 0], parts[q, 1], parts[q, 2], parts[q, 3]
        n_slots = np.int64(16)
        while n_slots < 2 * parts[q, 4]:
            n_slots *= 2
        table = all_slots[:n_slots]
        n_entries = _sum_degrees(vertices[v0:v1], edges, clusters, vertex, entries)
        counts[N_RECORDS] = counts[N_HEAPED] = 0
        _find_pairs(n_entries, clusters, vertex, entries, queue, table)
        if k_nearest == 0:
            for p in range(counts[N_RECORDS]):
                set_key(clusters, pairs, values, p)
                put_in_heap(queue, p)
        t = np.int64(0)
        is_new = False  # whether there has been no merge since all neighbour sets were built
        while c1 - c0 - t > n_target and progress[1] == 0:
            top: Scalar = np.int64(heap[0]) if counts[N_HEAPED] else np.int64(-1)
            if top < 0 or not values[top, KEY] > 0 or values[top, KEY] < min_affinity:
                if k_nearest == 0 or is_new:
                    break
                build_sets(cluster_order[c0:c1], clusters, queue, choice)
                is_new = True
                continue
            a, b = np.int64(pairs[top, END]), np.int64(pairs[top, END + 1])
            low, high = clusters[a, NODE], clusters[b, NODE]
            if low > high:
                low, high = high, low
            if pairs[top, RANK] != low or pairs[top, RANK + 1] != high:  # the key is outdated
                set_key(clusters, pairs, values, top)
                put_in_heap(queue, top)
                continue
            children[c0 + t, 0], children[c0 + t, 1], affinities[c0 + t] = low, high, values[top, KEY]
            if clusters[a, WORK] < clusters[b, WORK]:
                a, b = b, a
            open_sets(clusters, pairs, choice, a, top)
            n_changed = _move_pairs(t, a, b, clusters, queue, table, choice, changed)
            n_changed = _move_entries(t, a, b, clusters, vertex, entries, queue, table, changed, n_changed)
            _move_members(a, b, clusters, vertex, next_member, entries)
            clusters[a, NODE] = n_initial + t
            if k_nearest:
                choose_set(clusters, queue, choice, a)
            for i in range(n_changed):
                p = clusters[changed[i], MEMO]
                if k_nearest == 0 or pairs[p, FLAGS]:
                    set_key(clusters, pairs, values, p)
                    put_in_heap(queue, p)
            t += 1
            is_new = False
            progress[0] += 1
        parts[q, 4] = t


@inner
def _sum_degrees(
    vertices: Array, edges: tuple[Arrays, Arrays], clusters: Array, vertex: Array, entries: Arrays
) -> Scalar:
    """Fill the entries of ``vertices``, and return their number."""
    entry_cluster, sums, link = entries
    end = np.int64(0)
    for i in vertices:
        first = end
        for direction in range(2):
            indptr, indices, weights = edges[direction]  # edges from i, then edges to i
            column = 2 - 2 * direction
            for k in range(indptr[i], indptr[i + 1]):
                c = vertex[indices[k], CLUSTER]
                if c == vertex[i, CLUSTER] or not weights[k] > 0:
                    continue
                e = clusters[c, MEMO]  # the entry of i for c, or -1
                if e < 0:
                    e = end
                    end += 1
                    entry_cluster[e], clusters[c, MEMO] = c, e
                    for s in range(4):
                        sums[e, s] = 0.0
                sums[e, column], sums[e, column + 1] = add(
                    sums[e, column], sums[e, column + 1], weights[k], 0.0
                )
        vertex[i, START], vertex[i, COUNT] = first, end - first
        for e in range(first, end):
            c = entry_cluster[e]
            clusters[c, MEMO] = -1
            link[e, 0], link[e, 1] = i, clusters[c, ENTRY]
            clusters[c, ENTRY] = e
            clusters[c, WORK] += 1
    return end


@inner
def _find_pairs(
    n_entries: int, clusters: Array, vertex: Array, entries: Arrays, queue: Arrays, table: Array
) -> None:
    """Make the pairs of the initial clusters."""
    entry_cluster, sums, link = entries
    pairs, values, _, _ = queue
    for s in range(len(table)):
        table[s] = -1
    for e in range(n_entries):
        high, low = multiply(sums[e, 0], sums[e, 1], sums[e, 2], sums[e, 3])
        if high > 0:
            a, c = np.int64(entry_cluster[e]), vertex[link[e, 0], CLUSTER]
            p = find_pair(clusters, queue, table, a, c)
            add_sum(values, p, np.int64(pairs[p, END + 1] == a), high, low)


@inner
def _move_pairs(
    t: int, a: int, b: int, clusters: Array, queue: Arrays, table: Array, choice: Arrays, changed: Array
) -> Scalar:
    """Turn the pairs of b into pairs of a: Eq. 9, and the first two terms of S[ab][c].

    Fills ``changed`` with the clusters whose pair with a has changed, and returns their number.
    """
    pairs, values, _, _ = queue
    k_nearest = choice[0].shape[1]
    n_changed = np.int64(0)
    after = clusters[b, PAIR]
    while after >= 0:
        p = after
        side = np.int64(pairs[p, END + 1] == b)
        after = np.int64(pairs[p, NEXT + side])
        c = np.int64(pairs[p, END + 1 - side])
        if pairs[p, PLACE] == REMOVED:
            continue
        keep = p
        if c != a:
            pair_of_a = np.int64(table[find_slot(pairs, table, a, c)])
            if pair_of_a >= 0:
                keep = pair_of_a
                other = np.int64(pairs[keep, END + 1] == a)
                add_sum(values, keep, other, values[p, 2 * side], values[p, 2 * side + 1])
                add_sum(values, keep, 1 - other, values[p, 2 - 2 * side], values[p, 3 - 2 * side])
            if k_nearest:
                move_flags(clusters, pairs, choice, c, p, side, keep)
            clusters[c, STAMP], clusters[c, MEMO] = t, keep
            changed[n_changed] = c
            n_changed += 1
        remove_from_table(pairs, table, p)
        if c != a and keep == p:
            pairs[p, END + side], pairs[p, NEXT + side] = a, clusters[a, PAIR]
            clusters[a, PAIR] = p
            table[find_slot(pairs, table, a, c)] = p
        else:
            take_from_heap(queue, p)
            pairs[p, PLACE], pairs[p, FLAGS] = REMOVED, 0
    clusters[b, PAIR] = -1
    return n_changed


@inner
def _move_entries(
    t: int, a: int, b: int, clusters: Array, vertex: Array, entries: Arrays, queue: Arrays, table: Array,
    changed: Array, n_changed: int,
) -> Scalar:  # fmt: skip
    """Turn the entries of b into entries of a, which gives the third term of S[ab][c].

    Adds to ``changed``, which holds ``n_changed`` clusters, and returns their new number.
    """
    entry_cluster, sums, link = entries
    pairs, values, _, _ = queue
    v = clusters[b, ENTRY]
    after: Scalar = np.int64(link[v, 1]) if v >= 0 else v
    while v >= 0:
        after_next = _look_ahead(after, vertex, entry_cluster, link)
        i = np.int64(link[v, 0])
        c = vertex[i, CLUSTER]
        e: Scalar = np.int64(-1)  # the entries of a and b at i
        f: Scalar = np.int64(-1)
        if c != b:
            for k in range(vertex[i, START], vertex[i, START] + vertex[i, COUNT]):
                if entry_cluster[k] == b:
                    f = k
                elif entry_cluster[k] == a:
                    e = k
            if c != a and e < 0:
                entry_cluster[f] = a
                link[v, 1] = clusters[a, ENTRY]
                clusters[a, ENTRY] = v
                clusters[a, WORK] += 1
            else:
                if c != a:
                    xh, xl = multiply(sums[e, 0], sums[e, 1], sums[f, 2], sums[f, 3])
                    yh, yl = multiply(sums[f, 0], sums[f, 1], sums[e, 2], sums[e, 3])
                    high, low = add(xh, xl, yh, yl)
                    for k in range(0, 4, 2):
                        sums[e, k], sums[e, k + 1] = add(
                            sums[e, k], sums[e, k + 1], sums[f, k], sums[f, k + 1]
                        )
                    if high > 0:
                        if clusters[c, STAMP] != t:
                            clusters[c, STAMP] = t
                            clusters[c, MEMO] = find_pair(clusters, queue, table, a, c)
                            changed[n_changed] = c
                            n_changed += 1
                        p = clusters[c, MEMO]
                        add_sum(values, p, np.int64(pairs[p, END + 1] == a), high, low)
                _drop_entry(vertex, i, f, entry_cluster, sums)
        v, after = after, after_next
    return n_changed


@inner
def _look_ahead(v: int, vertex: Array, entry_cluster: Array, link: Array) -> Scalar:
    """Prefetch the data for visiting the item v of a list and those after it, and return the next one."""
    if v < 0:
        return v
    after = np.int64(link[v, 1])
    prefetch(entry_cluster, vertex[link[v, 0], START])
    if after >= 0:
        prefetch(vertex, np.int64(link[after, 0]))
        if link[after, 1] >= 0:
            prefetch(link, np.int64(link[after, 1]))
    return after


@inner
def _move_members(
    a: int, b: int, clusters: Array, vertex: Array, next_member: Array, entries: Arrays
) -> None:
    """Move the members of b to a, and drop their entries for a."""
    entry_cluster, sums, _ = entries
    m = clusters[b, FIRST]
    while m >= 0:
        vertex[m, CLUSTER] = a
        for k in range(vertex[m, START], vertex[m, START] + vertex[m, COUNT]):
            if entry_cluster[k] == a:
                _drop_entry(vertex, m, k, entry_cluster, sums)
                break
        m = next_member[m]
    next_member[clusters[a, LAST]] = clusters[b, FIRST]
    clusters[a, LAST] = clusters[b, LAST]
    clusters[a, SIZE] += clusters[b, SIZE]
    clusters[a, WORK] += clusters[b, SIZE]


@inner
def _drop_entry(vertex: Array, i: int, e: int, entry_cluster: Array, sums: Array) -> None:
    """Remove the entry e of the vertex i."""
    vertex[i, COUNT] -= 1
    last = vertex[i, START] + vertex[i, COUNT]
    entry_cluster[e] = entry_cluster[last]
    for s in range(4):
        sums[e, s] = sums[last, s]
