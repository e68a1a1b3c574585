"""Compiled parts of the searches by cells (`cell_search`): k-means, scan of cells, refinement.

x (n, d) float32 holds the points; those of cell c are in rows start[c] : start[c + 1]. neighbours (n, m)
int32 and squared (n, m) float32 hold the nearest points so far and their squared distances, nearest first,
padded with -1 and infinity.

Each row of ``neighbours`` and ``squared`` depends only on the input, so threads may work on ranges of rows.
"""

import numpy as np

from .._common.jit import inner, njit
from .._common.types import Array, Scalar
from .knn_kernel import compute_length, insert

_ANY_ORDER = {"reassoc", "contract", "nsz"}  # options that let the compiler split sums into vector lanes


@njit(fastmath=_ANY_ORDER)
def scan_cells(
    x: Array,
    start: Array,
    max_size: int,
    centroids: Array,
    near: Array,
    n_probes: int,
    neighbours: Array,
    squared: Array,
    first: int,
    last: int,
) -> None:
    """Find the nearest points for the points of the cells c from first to last - 1, among those of the
    ``n_probes`` cells of ``near[c]`` with the nearest centroids. max_size: the size of the largest cell.
    near (n_cells, w) int32: the cells near each cell, with the cell itself first.
    """
    d = x.shape[1]
    columns = np.empty((d, max_size), np.float32)  # the points of one cell, one row per feature
    squares = np.empty(max_size, np.float32)
    distance = np.empty((max_size, near.shape[1]), np.float32)
    farthest = np.empty(max_size, np.float32)  # squared distance of the last centroid probed
    probed, nearest = np.empty(n_probes, np.int32), np.empty(n_probes, np.float32)
    for c in range(first, last):
        i0, i1 = start[c], start[c + 1]
        for i in range(i0, i1):
            neighbours[i], squared[i] = -1, np.inf
            nearest[:] = np.inf
            for p in range(near.shape[1]):
                distance[i - i0, p] = _squared_distance(x[i], centroids[near[c, p]])
                if distance[i - i0, p] < nearest[-1]:
                    insert(p, distance[i - i0, p], probed, nearest)
            farthest[i - i0] = nearest[-1]
        for p in range(near.shape[1]):
            j0, n_points = start[near[c, p]], start[near[c, p] + 1] - start[near[c, p]]
            for j in range(n_points):
                for f in range(d):
                    columns[f, j] = x[j0 + j, f]
            for i in range(i0, i1):
                if distance[i - i0, p] <= farthest[i - i0]:
                    _squares_to_all(x[i], columns, n_points, squares)
                    last_square = squared[i, -1]
                    for j in range(n_points):
                        if squares[j] < last_square and j0 + j != i:
                            insert(j0 + j, squares[j], neighbours[i], squared[i])
                            last_square = squared[i, -1]


@njit  # without `_ANY_ORDER`, so that lengths in float64 have the same bits as elsewhere
def scan_all_cells(
    x: Array,
    start: Array,
    max_size: int,
    centroids: Array,
    near: Array,
    radius: Array,
    exact: tuple[Array, Array, float, float, float, float, bool],
    queries: tuple[Array, Array],
    neighbours: Array,
    distances: Array,
    first: int,
    last: int,
) -> None:
    """Find exactly the nearest points for the queries in the cells from first to last - 1.

    Parameters
    ----------
    near, radius : (n_cells, n_cells) int32, (n_cells,) float32
        For each cell all cells, the cell itself first; the largest distance of its points to its centroid.
    exact : tuple
        points (n, p) of any float and order (n,) int32: row i of x stands for the point ``order[i]``; scale,
        relative, absolute: in x, two points at a distance of r are at most
        ``r * scale * (1 + relative) + absolute`` apart; zero_length, up to which lengths count as 0; and
        whether distances are squares.
    queries : tuple
        query_start (n_cells + 1,) int64 and rows of x (q,) int64, sorted: those of cell c are
        ``query_start[c] : query_start[c + 1]``.
    neighbours, distances : (q, k) int32 and float64
        Filled with rows of the points and their distances, sorted by (distance, row).
    """
    points, order, scale, relative, absolute, zero_length, is_squared = exact
    query_start, query_rows = queries
    d, k = x.shape[1], neighbours.shape[1]
    columns, squares = np.empty((d, max_size), np.float32), np.empty(max_size, np.float32)
    for c in range(first, last):
        q0, q1 = query_start[c], query_start[c + 1]
        for q in range(q0, q1):
            neighbours[q], distances[q] = -1, np.inf
        farthest = np.inf  # bound of the distance from a query to the last of its neighbours
        for p in range(near.shape[1] if q0 < q1 else 0):
            cell = near[c, p]
            gap = np.sqrt(_squared_distance(centroids[c], centroids[cell])) - radius[c] - radius[cell]
            if gap * (1 - relative) > farthest:
                continue
            j0, n_points = start[cell], start[cell + 1] - start[cell]
            is_filled, farthest = False, 0.0
            for q in range(q0, q1):
                i = query_rows[q]
                reach = _find_reach(distances[q, k - 1], scale, is_squared, relative, absolute)
                gap = np.sqrt(_squared_distance(x[i], centroids[cell])) - radius[cell]
                if gap * (1 - relative) <= reach:
                    for j in range(0 if is_filled else n_points):
                        for f in range(d):
                            columns[f, j] = x[j0 + j, f]
                    is_filled = True
                    _squares_to_all(x[i], columns, n_points, squares)
                    limit = np.float32(reach * reach)
                    for j in range(n_points):
                        if squares[j] <= limit and j0 + j != i:
                            length = compute_length(points[order[i]], points[order[j0 + j]])
                            length = 0.0 if length <= zero_length else length
                            distance = length * length if is_squared else length
                            if _insert_sorted(order[j0 + j], distance, neighbours[q], distances[q]):
                                last_distance = distances[q, k - 1]
                                reach = _find_reach(last_distance, scale, is_squared, relative, absolute)
                                limit = np.float32(reach * reach)
                farthest = max(farthest, reach)


@inner
def _find_reach(distance: float, scale: float, is_squared: bool, relative: float, absolute: float) -> Scalar:
    """Bound the length in float32 of points that may be as near as ``distance``."""
    length = np.sqrt(distance) if is_squared else distance
    return length * scale * (1 + relative) + absolute


@inner
def _insert_sorted(j: int, distance: float, neighbours: Array, distances: Array) -> Scalar:
    """Insert j by (distance, j) if it precedes the last point, and return whether it does."""
    if distance > distances[-1] or (distance == distances[-1] and j > neighbours[-1] >= 0):
        return False
    k = insert(j, distance, neighbours, distances)
    while k > 0 and distances[k - 1] == distance and neighbours[k - 1] > j:
        neighbours[k], neighbours[k - 1] = neighbours[k - 1], j
        k -= 1
    return True


@njit(fastmath=_ANY_ORDER)
def rank(
    x: Array, others: Array, candidates: Array, neighbours: Array, squared: Array, first: int, last: int
) -> None:
    """Find the nearest of the candidates (n, c), rows of ``others``, of the points from first to last - 1."""
    for i in range(first, last):
        neighbours[i], squared[i] = -1, np.inf
        for k in range(candidates.shape[1]):
            j = candidates[i, k]
            if j >= 0:
                s = _squared_distance(x[i], others[j])
                if s < squared[i, -1]:
                    insert(j, s, neighbours[i], squared[i])


@njit
def reverse_neighbours(neighbours: Array, max_reverse: int) -> Array:
    """List, for each point, up to ``max_reverse`` points that have it among their neighbours.

    Returns (n, max_reverse) int32, padded with -1: points of which it is the nearest neighbour come first,
    then those of which it is the second nearest, and so on.
    """
    n, m = neighbours.shape
    reverse, count = np.full((n, max_reverse), -1, np.int32), np.zeros(n, np.int32)
    for k in range(m):
        for i in range(n):
            j = neighbours[i, k]
            if j >= 0 and count[j] < max_reverse:
                reverse[j, count[j]] = i
                count[j] += 1
    return reverse


@njit(fastmath=_ANY_ORDER)
def refine(
    x: Array,
    old: Array,
    is_fresh: Array,
    reverse: Array,
    neighbours: Array,
    squared: Array,
    is_changed: Array,
    step: int,
    first: int,
    last: int,
) -> Scalar:
    """Offer the points first, first + step, ... before last the neighbours of their neighbours.

    Returns the number of offers that were accepted. old (n, m) int32: the neighbours before this round, which
    ``neighbours`` and ``squared`` also hold at the start. is_fresh, is_changed (n, m) bool: which of ``old``
    the last round added, and which of ``neighbours`` this round adds. A neighbour's neighbour is offered only
    if one of the two links is fresh. reverse (n, r), from `reverse_neighbours`: the reverse neighbours of a
    point and of its neighbours are offered, too.
    """
    n, m = old.shape
    seen_by = np.full(n, -1, np.int32)
    offers = np.empty((m + 1) * (m + reverse.shape[1]), np.int32)
    n_accepted = 0
    for i in range(first, last, step):
        n_offers = _list_offers(i, old, is_fresh, reverse, seen_by, offers)
        for k in range(m):
            is_changed[i, k] = False
        farthest = squared[i, -1]
        for q in range(n_offers):
            s = _squared_distance(x[i], x[offers[q]])
            if s < farthest:
                k = insert(offers[q], s, neighbours[i], squared[i])
                for later in range(m - 1, k, -1):
                    is_changed[i, later] = is_changed[i, later - 1]
                is_changed[i, k] = True
                farthest = squared[i, -1]
                n_accepted += 1
    return n_accepted


@inner
def _list_offers(
    i: int, old: Array, is_fresh: Array, reverse: Array, seen_by: Array, offers: Array
) -> Scalar:
    """Fill ``offers`` with the points that point i is offered, each once, and return their number."""
    m, count = old.shape[1], 0
    seen_by[i] = i
    for k in range(m):
        if old[i, k] >= 0:
            seen_by[old[i, k]] = i
    for k in range(-1, m):
        j = old[i, k] if k >= 0 else i
        if j < 0:
            break
        for q in range(m if k >= 0 else 0):
            candidate = old[j, q]
            if candidate >= 0 and (is_fresh[i, k] or is_fresh[j, q]) and seen_by[candidate] != i:
                seen_by[candidate] = i
                offers[count] = candidate
                count += 1
        for q in range(reverse.shape[1]):
            candidate = reverse[j, q]
            if candidate < 0:
                break
            if seen_by[candidate] != i:
                seen_by[candidate] = i
                offers[count] = candidate
                count += 1
    return count


@inner(fastmath=_ANY_ORDER)
def _squares_to_all(point: Array, columns: Array, n_points: int, squares: Array) -> None:
    """Set squares[j] = |point - columns[:, j]|^2, four features at a time, in a loop that is vectorised."""
    d = len(point)
    d_unrolled = d - d % 4
    for j in range(n_points):
        squares[j] = 0
    for f in range(0, d_unrolled, 4):
        x0, x1, x2, x3 = point[f], point[f + 1], point[f + 2], point[f + 3]
        c0, c1, c2, c3 = columns[f], columns[f + 1], columns[f + 2], columns[f + 3]
        for j in range(n_points):
            t0, t1, t2, t3 = x0 - c0[j], x1 - c1[j], x2 - c2[j], x3 - c3[j]
            squares[j] += (t0 * t0 + t1 * t1) + (t2 * t2 + t3 * t3)
    for f in range(d_unrolled, d):
        for j in range(n_points):
            t0 = point[f] - columns[f, j]
            squares[j] += t0 * t0


@inner(fastmath=_ANY_ORDER)
def _squared_distance(a: Array, b: Array) -> Scalar:
    """Compute |a - b|^2 of a, b (d,) float32."""
    s = np.float32(0)
    for f in range(len(a)):
        t = a[f] - b[f]
        s += t * t
    return s
