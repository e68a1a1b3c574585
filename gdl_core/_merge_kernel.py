"""The merging loop of GDL-U (Algorithm 2) and AGDL (Algorithm 3) on a sparse graph, compiled.

W has an entry w_ij for each edge i -> j. Clusters live in slots 0 .. n_initial - 1; ``label[i]`` is the slot of vertex i and
``node[c]`` the number of slot c's cluster in the hierarchy. Two tables hold everything that a merge needs:

* for every vertex i and every other cluster a next to it: in_a[i] = sum_{j in a} w_ji and out_a[i] = sum_{j in a} w_ij
  (``vertex tables``: one small hash table a vertex, because a vertex has few clusters beside it);
* for every pair of clusters joined in both directions: S[a][c] = sum_{i in c} in_a[i] out_a[i] = |a|^2 A_{c -> a} (Lemma 1) and
  S[c][a] (``pairs``: records in two doubly linked lists, one a cluster, found by a hash table).

When b is merged into a, S[c][ab] = S[c][a] + S[c][b] (Eq. 9) and
S[ab][c] = S[a][c] + S[b][c] + sum_{i in c} (in_a[i] out_b[i] + in_b[i] out_a[i]), so only b's entries are visited. b is the one with fewer
edges, hence each edge is visited O(log n) times. Affinities of pairs that b does not touch can only fall (|ab| grew): the heap
keeps their old keys as upper bounds, and corrects one when it comes to the top.

All sums are carried in double-double (see ``_double_double``), so that the order of merging leaves no trace in an
affinity. Among equal affinities the pair with the smaller node numbers comes first.
"""

from collections import namedtuple

import numpy as np

from ._double_double import add, divide, multiply
from ._jit import inner, njit

Pairs = namedtuple("Pairs", "end next prev sums key rank flags")
Heap = namedtuple("Heap", "items place count")
Tables = namedtuple("Tables", "base mask keys values")


# --- open addressing, linear probing, deletion by shifting back ------------------------------------------------------


@inner
def _home(key, mask):
    return ((np.int64(key) * np.int64(0x1E3779B97F4A7C15)) >> 32) & mask


@inner
def _find(keys, base, mask, key):
    """Position of ``key``, or -1 - (the free position where it belongs)."""
    s = _home(key, mask)
    while True:
        k = keys[base + s]
        if k == key:
            return base + s
        if k < 0:
            return -1 - (base + s)
        s = (s + 1) & mask


@inner
def _erase(keys, values, base, mask, position):
    hole = position - base
    s = hole
    while True:
        s = (s + 1) & mask
        k = keys[base + s]
        if k < 0:
            break
        if ((s - _home(k, mask)) & mask) >= ((s - hole) & mask):
            keys[base + hole] = k
            values[base + hole] = values[base + s]
            hole = s
    keys[base + hole] = -1


@inner
def _power_of_two_above(x):
    p = 1
    while p <= x:
        p *= 2
    return p


# --- vertex tables ---------------------------------------------------------------------------------------------------


@inner
def _transpose(n, indptr, indices, weights):
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
            j = indices[e]
            tindices[at[j]] = i
            tweights[at[j]] = weights[e]
            at[j] += 1
    return tptr, tindices, tweights


@inner
def _allocate_tables(n, n_initial, label, indptr, indices, weights, tptr, tindices, tweights):
    """Also the number of entries (vertex, cluster beside it)."""
    base = np.empty(n, np.int64)
    mask = np.empty(n, np.int64)
    seen = np.full(n_initial, -1, np.int32)
    total, entries = 0, 0
    for i in range(n):
        count = 0
        seen[label[i]] = i
        for e in range(indptr[i], indptr[i + 1]):
            c = label[indices[e]]
            if weights[e] > 0 and seen[c] != i:
                seen[c] = i
                count += 1
        for e in range(tptr[i], tptr[i + 1]):
            c = label[tindices[e]]
            if tweights[e] > 0 and seen[c] != i:
                seen[c] = i
                count += 1
        capacity = _power_of_two_above(count + count // 2)
        base[i], mask[i] = total, capacity - 1
        total += capacity
        entries += count
    keys = np.full(total, -1, np.int32)
    values = np.empty((total, 4), np.float64)  # in (high, low), out (high, low)
    return Tables(base, mask, keys, values), entries


@inner
def _accumulate(tables, i, c, w, column):
    position = _find(tables.keys, tables.base[i], tables.mask[i], c)
    if position < 0:
        position = -1 - position
        tables.keys[position] = c
        tables.values[position, :] = 0.0
    v = tables.values[position]
    v[column], v[column + 1] = add(v[column], v[column + 1], w, 0.0)


@inner
def _fill_tables(tables, n, label, indptr, indices, weights):
    for i in range(n):
        for e in range(indptr[i], indptr[i + 1]):
            j = indices[e]
            if weights[e] > 0 and label[i] != label[j]:
                _accumulate(tables, i, label[j], weights[e], 2)
                _accumulate(tables, j, label[i], weights[e], 0)


# --- pairs of clusters -----------------------------------------------------------------------------------------------


@inner
def _side(pairs, p, c):
    return 0 if pairs.end[p, 0] == c else 1


@inner
def _pair_key(a, c, n_initial):
    return min(a, c) * np.int64(n_initial) + max(a, c)


@inner
def _link(pairs, head, p, side):
    c = pairs.end[p, side]
    first = head[c]
    pairs.next[p, side] = first
    pairs.prev[p, side] = -1
    if first >= 0:
        pairs.prev[first, _side(pairs, first, c)] = p
    head[c] = p


@inner
def _unlink(pairs, head, p, side):
    c = pairs.end[p, side]
    before, after = pairs.prev[p, side], pairs.next[p, side]
    if before >= 0:
        pairs.next[before, _side(pairs, before, c)] = after
    else:
        head[c] = after
    if after >= 0:
        pairs.prev[after, _side(pairs, after, c)] = before


@inner
def _new_pair(pairs, head, p, a, c):
    pairs.end[p, 0], pairs.end[p, 1] = a, c
    pairs.sums[p, :] = 0.0
    pairs.flags[p] = 0
    _link(pairs, head, p, 0)
    _link(pairs, head, p, 1)


@inner
def _add_sum(pairs, p, a, high, low):
    """S[a][c] += (high, low) in the record p of {a, c}."""
    s = pairs.sums[p]
    k = 2 * _side(pairs, p, a)
    s[k], s[k + 1] = add(s[k], s[k + 1], high, low)


@inner
def _set_key(pairs, p, size, node):
    """Eq. 5 from the two sums, rounded once."""
    a, c = pairs.end[p, 0], pairs.end[p, 1]
    s = pairs.sums[p]
    xh, xl = divide(s[0], s[1], float(size[a]) * float(size[a]))
    yh, yl = divide(s[2], s[3], float(size[c]) * float(size[c]))
    pairs.key[p] = add(xh, xl, yh, yl)[0]
    pairs.rank[p, 0] = min(node[a], node[c])
    pairs.rank[p, 1] = max(node[a], node[c])


@inner
def _before(pairs, p, q):
    if pairs.key[p] != pairs.key[q]:
        return pairs.key[p] > pairs.key[q]
    if pairs.rank[p, 0] != pairs.rank[q, 0]:
        return pairs.rank[p, 0] < pairs.rank[q, 0]
    return pairs.rank[p, 1] < pairs.rank[q, 1]


# --- heap of pairs, first the one to merge next ----------------------------------------------------------------------


@inner
def _sift_up(pairs, heap, k):
    p = heap.items[k]
    while k > 0:
        parent = (k - 1) >> 1
        q = heap.items[parent]
        if not _before(pairs, p, q):
            break
        heap.items[k] = q
        heap.place[q] = k
        k = parent
    heap.items[k] = p
    heap.place[p] = k


@inner
def _sift_down(pairs, heap, k):
    p = heap.items[k]
    n = heap.count[0]
    while True:
        child = 2 * k + 1
        if child >= n:
            break
        if child + 1 < n and _before(pairs, heap.items[child + 1], heap.items[child]):
            child += 1
        q = heap.items[child]
        if not _before(pairs, q, p):
            break
        heap.items[k] = q
        heap.place[q] = k
        k = child
    heap.items[k] = p
    heap.place[p] = k


@inner
def _restore(pairs, heap, p):
    """Put p where its key belongs, adding it if it is not in the heap."""
    k = heap.place[p]
    if k < 0:
        k = heap.count[0]
        heap.count[0] += 1
        heap.items[k] = p
        heap.place[p] = k
    _sift_up(pairs, heap, k)
    _sift_down(pairs, heap, heap.place[p])


@inner
def _remove(pairs, heap, p):
    k = heap.place[p]
    if k < 0:
        return
    heap.place[p] = -1
    heap.count[0] -= 1
    last = heap.items[heap.count[0]]
    if last != p:
        heap.items[k] = last
        heap.place[last] = k
        _restore(pairs, heap, last)


# --- AGDL: the neighbour sets ----------------------------------------------------------------------------------------
# near[c, :near_count[c]] are the pairs of N_c; bit s of flags[p] tells that p is in the set of its end s.


@inner
def _offer(pairs, chosen, count, limit, p):
    """Insert p into the sorted chosen[:count] of at most ``limit`` pairs; the new count."""
    if count == limit:
        if not _before(pairs, p, chosen[count - 1]):
            return count
        count -= 1
    k = count
    while k > 0 and _before(pairs, p, chosen[k - 1]):
        chosen[k] = chosen[k - 1]
        k -= 1
    chosen[k] = p
    return count + 1


@inner
def _adopt(pairs, near, near_count, c, chosen, count):
    near_count[c] = count
    for k in range(count):
        p = chosen[k]
        near[c, k] = p
        pairs.flags[p] |= 1 << _side(pairs, p, c)


@inner
def _all_nearest(pairs, heap, head, alive, near, near_count, size, node, chosen, k_nearest):
    """N_c of every cluster from all its pairs (the initial sets, and again whenever the sets run out)."""
    for c in range(len(head)):
        if not alive[c]:
            continue
        count = 0
        p = head[c]
        while p >= 0:
            _set_key(pairs, p, size, node)
            count = _offer(pairs, chosen, count, k_nearest, p)
            p = pairs.next[p, _side(pairs, p, c)]
        _adopt(pairs, near, near_count, c, chosen, count)
    for c in range(len(head)):
        if alive[c]:
            for k in range(near_count[c]):
                _restore(pairs, heap, near[c, k])


@inner
def _drop_from(near, near_count, c, p, q):
    """In N_c replace the pair p by q, or remove it where q < 0."""
    for k in range(near_count[c]):
        if near[c, k] == p:
            if q >= 0:
                near[c, k] = q
            else:
                near_count[c] -= 1
                near[c, k] = near[c, near_count[c]]
            return


@inner
def _contains(items, count, p):
    for k in range(count):
        if items[k] == p:
            return True
    return False


# --- the loop --------------------------------------------------------------------------------------------------------


@inner
def _grown(keys, ids):
    new_keys = np.full(2 * len(keys), -1, np.int64)
    new_ids = np.empty(2 * len(keys), np.int32)
    for s in range(len(keys)):
        if keys[s] >= 0:
            position = -1 - _find(new_keys, 0, len(new_keys) - 1, keys[s])
            new_keys[position] = keys[s]
            new_ids[position] = ids[s]
    return new_keys, new_ids


@inner
def _insert(keys, ids, key, p):
    position = -1 - _find(keys, 0, len(keys) - 1, key)
    keys[position] = key
    ids[position] = p


@inner
def _forget(keys, ids, key):
    _erase(keys, ids, 0, len(keys) - 1, _find(keys, 0, len(keys) - 1, key))


@njit
def merge(n_initial, n_target, k_nearest, label, indptr, indices, weights, children, affinities, progress):
    """Merge until ``n_target`` clusters or no positive affinity is left; returns the number of merges.

    k_nearest: 0 for GDL-U, else K^c of AGDL. label (n,) int32: initial clusters, changed here. indptr (n + 1,) int64, indices
    int32, weights float64: W. children (n_initial - 1, 2) int64, affinities (n_initial - 1,) float64: filled. progress (2,) int64:
    merges so far; set the second to stop early.
    """
    n = len(label)
    tptr, tindices, tweights = _transpose(n, indptr, indices, weights)
    tables, entries = _allocate_tables(
        n, n_initial, label, indptr, indices, weights, tptr, tindices, tweights
    )
    _fill_tables(tables, n, label, indptr, indices, weights)

    size = np.zeros(n_initial, np.int64)
    edges = np.zeros(n_initial, np.int64)
    first = np.full(n_initial, -1, np.int32)
    last = np.full(n_initial, -1, np.int32)
    following = np.full(n, -1, np.int32)
    node = np.arange(n_initial).astype(np.int32)
    alive = np.ones(n_initial, np.bool_)
    for i in range(n):
        c = label[i]
        size[c] += 1
        edges[c] += indptr[i + 1] - indptr[i] + tptr[i + 1] - tptr[i]
        if first[c] < 0:
            first[c] = i
        else:
            following[last[c]] = i
        last[c] = i

    both = 0
    for s in range(len(tables.keys)):
        if tables.keys[s] >= 0 and tables.values[s, 0] > 0 and tables.values[s, 2] > 0:
            both += 1
    # a pair needs an entry with both sums positive, and a new such entry uses up two others
    limit = both + (entries - both) // 2 + 1
    pairs = Pairs(
        np.empty((limit, 2), np.int32),
        np.empty((limit, 2), np.int32),
        np.empty((limit, 2), np.int32),
        np.empty((limit, 4), np.float64),
        np.empty(limit, np.float64),
        np.empty((limit, 2), np.int32),
        np.empty(limit, np.uint8),
    )
    head = np.full(n_initial, -1, np.int32)
    free = np.empty(limit, np.int32)  # pair numbers given back
    n_free, n_pairs = 0, 0
    keys = np.full(1024, -1, np.int64)
    ids = np.empty(1024, np.int32)
    heap = Heap(np.empty(limit, np.int32), np.full(limit, -1, np.int32), np.zeros(1, np.int64))
    stamp = np.full(
        n_initial, -1, np.int32
    )  # pair_of[c] is that of {a, c} where stamp[c] is the current merge
    pair_of = np.empty(n_initial, np.int32)
    touched = np.empty(n_initial, np.int32)
    near = np.empty((n_initial if k_nearest else 1, max(k_nearest, 1)), np.int32)
    near_count = np.zeros(n_initial, np.int32)
    union = np.empty(2 * k_nearest + 1, np.int32)
    chosen = np.empty(k_nearest + 1, np.int32)

    for i in range(n):
        c = label[i]
        for s in range(tables.base[i], tables.base[i] + tables.mask[i] + 1):
            v = tables.values[s]
            if tables.keys[s] < 0 or v[0] <= 0 or v[2] <= 0:
                continue
            high, low = multiply(v[0], v[1], v[2], v[3])
            a = tables.keys[s]
            key = _pair_key(a, c, n_initial)
            position = _find(keys, 0, len(keys) - 1, key)
            if position >= 0:
                p = ids[position]
            else:
                if 2 * n_pairs >= len(keys):
                    keys, ids = _grown(keys, ids)
                p = np.int32(n_pairs)
                n_pairs += 1
                _new_pair(pairs, head, p, a, c)
                _insert(keys, ids, key, p)
            _add_sum(pairs, p, a, high, low)
    n_used = n_pairs
    if k_nearest == 0:
        for p in range(n_pairs):
            _set_key(pairs, p, size, node)
            heap.items[p] = p
            heap.place[p] = p
        heap.count[0] = n_pairs
        for k in range(n_pairs // 2 - 1, -1, -1):
            _sift_down(pairs, heap, k)

    n_merges = 0
    while n_initial - n_merges > n_target and progress[1] == 0:
        if heap.count[0] == 0 and k_nearest:
            _all_nearest(pairs, heap, head, alive, near, near_count, size, node, chosen, k_nearest)
        if heap.count[0] == 0:
            break
        top = heap.items[0]
        a, b = pairs.end[top, 0], pairs.end[top, 1]
        if pairs.rank[top, 0] != min(node[a], node[b]) or pairs.rank[top, 1] != max(node[a], node[b]):
            _set_key(pairs, top, size, node)
            _sift_down(pairs, heap, 0)
            continue
        if not pairs.key[top] > 0:
            break
        children[n_merges, 0] = pairs.rank[top, 0]
        children[n_merges, 1] = pairs.rank[top, 1]
        affinities[n_merges] = pairs.key[top]
        if edges[a] < edges[b]:
            a, b = b, a

        n_union, n_touched = 0, 0
        for k in range(near_count[a]):
            p = near[a, k]
            pairs.flags[p] &= ~(1 << _side(pairs, p, a)) & 3
            if p != top:
                union[n_union] = p
                n_union += 1
        near_count[a], near_count[b] = 0, 0

        # the pairs of b become pairs of a: Eq. 9, and the first two terms of S[ab][c]
        p = head[b]
        while p >= 0:
            side = _side(pairs, p, b)
            following_pair = pairs.next[p, side]
            c = pairs.end[p, 1 - side]
            _forget(keys, ids, _pair_key(b, c, n_initial))
            keep = np.int32(-1)
            if c != a:
                key = _pair_key(a, c, n_initial)
                position = _find(keys, 0, len(keys) - 1, key)
                in_b, in_c = (pairs.flags[p] >> side) & 1, (pairs.flags[p] >> (1 - side)) & 1
                if position >= 0:
                    keep = ids[position]
                    s = pairs.sums[p]
                    _add_sum(pairs, keep, a, s[2 * side], s[2 * side + 1])
                    _add_sum(pairs, keep, c, s[2 - 2 * side], s[3 - 2 * side])
                    bit = 1 << _side(pairs, keep, c)
                    if in_c:
                        _drop_from(near, near_count, c, p, -1 if pairs.flags[keep] & bit else keep)
                        pairs.flags[keep] |= bit
                else:
                    keep = p
                    _unlink(pairs, head, p, side)
                    pairs.end[p, side] = a
                    _link(pairs, head, p, side)
                    _insert(keys, ids, key, p)
                    pairs.flags[p] &= ~(1 << side) & 3
                if in_b and not _contains(union, n_union, keep):
                    union[n_union] = keep
                    n_union += 1
                stamp[c] = n_merges
                pair_of[c] = keep
                touched[n_touched] = c
                n_touched += 1
            if keep != p:
                _unlink(pairs, head, p, 0)
                _unlink(pairs, head, p, 1)
                _remove(pairs, heap, p)
                free[n_free] = p
                n_free += 1
                n_pairs -= 1
            p = following_pair

        # the entries of b become entries of a, which gives the third term of S[ab][c]
        m = first[b]
        while m >= 0:
            position = _find(tables.keys, tables.base[m], tables.mask[m], a)
            if position >= 0:
                _erase(tables.keys, tables.values, tables.base[m], tables.mask[m], position)
            out_degree = indptr[m + 1] - indptr[m]
            for e in range(out_degree + tptr[m + 1] - tptr[m]):
                i = indices[indptr[m] + e] if e < out_degree else tindices[tptr[m] + e - out_degree]
                c = label[i]
                if c == b:
                    continue
                base, mask = tables.base[i], tables.mask[i]
                position = _find(tables.keys, base, mask, b)
                if position < 0:
                    continue
                if c == a:
                    _erase(tables.keys, tables.values, base, mask, position)
                    continue
                v = tables.values[position]
                t0, t1, t2, t3 = v[0], v[1], v[2], v[3]
                _erase(tables.keys, tables.values, base, mask, position)
                position = _find(tables.keys, base, mask, a)
                if position < 0:
                    position = -1 - position
                    tables.keys[position] = a
                    v = tables.values[position]
                    v[0], v[1], v[2], v[3] = t0, t1, t2, t3
                    continue
                v = tables.values[position]
                xh, xl = multiply(v[0], v[1], t2, t3)
                yh, yl = multiply(t0, t1, v[2], v[3])
                high, low = add(xh, xl, yh, yl)
                v[0], v[1] = add(v[0], v[1], t0, t1)
                v[2], v[3] = add(v[2], v[3], t2, t3)
                if not high > 0:
                    continue
                if stamp[c] != n_merges:
                    key = _pair_key(a, c, n_initial)
                    position = _find(keys, 0, len(keys) - 1, key)
                    if position >= 0:
                        p = ids[position]
                    else:
                        if 2 * n_pairs >= len(keys):
                            keys, ids = _grown(keys, ids)
                        if n_free:
                            n_free -= 1
                            p = free[n_free]
                        else:
                            p = np.int32(n_used)
                            n_used += 1
                        n_pairs += 1
                        _new_pair(pairs, head, p, a, c)
                        _insert(keys, ids, key, p)
                    stamp[c] = n_merges
                    pair_of[c] = p
                    touched[n_touched] = c
                    n_touched += 1
                _add_sum(pairs, pair_of[c], a, high, low)
            m = following[m]

        m = first[b]
        while m >= 0:
            label[m] = a
            m = following[m]
        following[last[a]] = first[b]
        last[a] = last[b]
        size[a] += size[b]
        edges[a] += edges[b]
        node[a] = n_initial + n_merges
        alive[b] = False

        if k_nearest:
            for k in range(n_union):  # before any key changes: the heap would lose its order
                _remove(pairs, heap, union[k])
            count = 0
            for k in range(n_union):
                _set_key(pairs, union[k], size, node)
                count = _offer(pairs, chosen, count, k_nearest, union[k])
            _adopt(pairs, near, near_count, a, chosen, count)
            for k in range(n_union):
                if pairs.flags[union[k]]:
                    _restore(pairs, heap, union[k])
        for k in range(n_touched):
            p = pair_of[touched[k]]
            if k_nearest == 0 or pairs.flags[p]:
                _set_key(pairs, p, size, node)
                _restore(pairs, heap, p)
        n_merges += 1
        progress[0] = n_merges
    return n_merges
