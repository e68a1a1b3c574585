"""The compiled search of nearest points in the plane; see `matching.correspondences.points`."""

import math
from typing import Any

import numpy as np

from gdl_core.jit import inner, njit
from matching._common.types import Array, Scalar


@njit
def nearest_points(
    points: Array, at: Array, own: Array, reach: Scalar, index: Array, distance: Array
) -> None:
    """Fill index and distance (q, k) with the k points (n, 2) nearest to each row of `at` (q, 2).

    They are in the order (distance, number), without own[q]; -1 and inf pad them if fewer are within `reach`.
    Rings of square cells around a place are searched until no point beyond them can be nearer.
    """
    for q in range(len(at)):
        for e in range(index.shape[1]):
            index[q, e], distance[q, e] = -1, reach * reach
    _search(_sort_into_cells(points), at, np.arange(len(at)), own, index, distance)
    for q in range(len(at)):
        for e in range(index.shape[1]):
            distance[q, e] = math.sqrt(distance[q, e]) if index[q, e] >= 0 else np.inf


@njit
def renew_nearest(
    points: Array,
    members: Array,
    come: Array,
    gone: Array,
    at: Array,
    near: Array,
    square: Array,
    known: Array,
    renewed: Array,
) -> None:
    """Update rows `at` (q,) of near and square (m, k): the members (n,) nearest to each of points (m, 2).

    gone (m,) bool are the members that have left, come (c,) those that have joined. A `known` row whose
    members have all stayed can change only through members that have joined. Rows of fewer than k members are
    unknown. renewed (q,) tells which rows changed.
    """
    k, n_new, new = near.shape[1], 0, np.empty(len(at), np.int64)
    for q in range(len(at)):
        i = at[q]
        is_known = known[i]
        for e in range(k):
            if is_known and gone[near[i, e]]:
                is_known = False
        if is_known:
            renewed[q] = _enter_others(points, come, i, near[i], square[i])
            continue
        renewed[q], new[n_new] = True, i
        n_new += 1
        for e in range(k):
            near[i, e], square[i, e] = -1, np.inf
    if n_new == 0:
        return
    own = np.empty((len(members), 2))
    for j in range(len(members)):
        own[j, 0], own[j, 1] = points[members[j], 0], points[members[j], 1]
    box, start, order, sorted_ = _sort_into_cells(own)
    for t in range(len(order)):
        order[t] = members[order[t]]
    new = new[:n_new]
    _search((box, start, order, sorted_), points, new, np.arange(len(points)), near, square)
    for i in new:
        known[i] = near[i, k - 1] >= 0


@inner
def _enter_others(points: Array, others: Array, i: Scalar, numbers: Array, values: Array) -> Scalar:
    """Insert the others (c,), except point i, among the nearest of i; return whether any was inserted."""
    x, y, end, is_any = points[i, 0], points[i, 1], len(values) - 1, False
    for j in others:
        a, b = points[j, 0] - x, points[j, 1] - y
        value = a * a + b * b
        if value <= values[end] and j != i and (value < values[end] or j < numbers[end]):
            _insert(j, value, numbers, values)
            is_any = True
    return is_any


@inner
def _search(grid: Any, at: Array, rows: Array, own: Array, index: Array, square: Array) -> None:
    """Find the points of a grid nearest to some rows of `at` (q, 2), by (distance, number), without own[q].

    Fills these rows of index (q, k) and square (q, k), which initially hold -1 and bounds of the squared
    distances.
    """
    (low0, low1, wide, high, side, columns, n_rows), start, order, sorted_ = grid
    rounding = 4e-16 * (abs(low0) + abs(low1) + wide + high)  # error of the places of borders
    k = index.shape[1]
    for q in rows:
        x, y = at[q, 0], at[q, 1]
        numbers, values = index[q], square[q]
        column, row = _cell(x - low0, side, columns), _cell(y - low1, side, n_rows)
        out0 = max(-(x - low0), x - low0 - wide, rounding) - rounding  # how far outside all points
        out1 = max(-(y - low1), y - low1 - high, rounding) - rounding
        ring = 0
        while True:
            left, right = max(column - ring, 0), min(column + ring, columns - 1)
            for r in range(max(row - ring, 0), min(row + ring, n_rows - 1) + 1):
                if abs(r - row) == ring:  # a whole row of cells, contiguous in memory
                    first, last = start[r * columns + left], start[r * columns + right + 1]
                    _enter_run(first, last, sorted_, order, x, y, own[q], numbers, values)
                    continue
                if column - ring >= 0:
                    cell = r * columns + column - ring
                    _enter_run(start[cell], start[cell + 1], sorted_, order, x, y, own[q], numbers, values)
                if column + ring < columns:
                    cell = r * columns + column + ring
                    _enter_run(start[cell], start[cell + 1], sorted_, order, x, y, own[q], numbers, values)
            across = _gap_beyond(x - low0, column, ring, side, columns) - rounding
            along = _gap_beyond(y - low1, row, ring, side, n_rows) - rounding
            if min(across, along) > 0:
                beyond = min(across * across + out1 * out1, along * along + out0 * out0)
                if beyond > values[k - 1] or beyond == np.inf:
                    break
            ring += 1


@inner
def _sort_into_cells(points: Array) -> tuple[tuple[Scalar, ...], Array, Array, Array]:
    """Sort points into square cells, two per cell on average: box and cells, starts, numbers, sorted points.

    Numbers are in the order of the cells and ascending in each.
    """
    n = len(points)
    low0, low1, wide, high = _box(points)
    side = max(math.sqrt(2 * wide * high / n), 2 * max(wide, high) / n)
    side = side if side > 0 else 1.0
    columns, rows = int(wide / side) + 1, int(high / side) + 1
    cell, start = np.empty(n, np.int64), np.zeros(columns * rows + 1, np.int64)
    for i in range(n):
        c, r = _cell(points[i, 0] - low0, side, columns), _cell(points[i, 1] - low1, side, rows)
        cell[i] = r * columns + c
        start[cell[i] + 1] += 1
    for c in range(columns * rows):
        start[c + 1] += start[c]
    order, sorted_, at = np.empty(n, np.int64), np.empty((n, 2)), start.copy()
    for i in range(n):
        t = at[cell[i]]
        order[t], sorted_[t, 0], sorted_[t, 1] = i, points[i, 0], points[i, 1]
        at[cell[i]] += 1
    return (low0, low1, wide, high, side, columns, rows), start, order, sorted_


@inner
def _box(points: Array) -> tuple[Scalar, Scalar, Scalar, Scalar]:
    """The least x and y, the width, and the height."""
    x, y, right, low = points[0, 0], points[0, 1], points[0, 0], points[0, 1]
    for i in range(1, len(points)):
        x, y = min(x, points[i, 0]), min(y, points[i, 1])
        right, low = max(right, points[i, 0]), max(low, points[i, 1])
    return x, y, right - x, low - y


@inner
def _cell(offset: Scalar, side: Scalar, n: Scalar) -> Scalar:
    return min(max(math.floor(offset / side), 0), n - 1)


@inner
def _gap_beyond(offset: Scalar, cell: Scalar, ring: Scalar, side: Scalar, n: Scalar) -> Scalar:
    """The distance to the cells beyond a ring along one axis; inf if there are none."""
    below = offset - (cell - ring) * side if cell - ring > 0 else np.inf
    above = (cell + ring + 1) * side - offset if cell + ring < n - 1 else np.inf
    return min(below, above)


@inner
def _enter_run(
    first: Scalar,
    last: Scalar,
    sorted_: Array,
    order: Array,
    x: Scalar,
    y: Scalar,
    own: Scalar,
    numbers: Array,
    values: Array,
) -> None:
    """Insert the points first..last of sorted_ by (distance, number); those past the end drop out."""
    end = len(values) - 1
    for e in range(first, last):
        a, b = sorted_[e, 0] - x, sorted_[e, 1] - y
        value = a * a + b * b
        if value > values[end]:
            continue
        j = order[e]
        if j == own or (value == values[end] and not j < numbers[end]):
            continue
        _insert(j, value, numbers, values)


@inner
def _insert(j: Scalar, value: Scalar, numbers: Array, values: Array) -> None:
    """Insert j by (value, number); the last entry drops out."""
    k = len(values) - 1
    while k > 0 and (values[k - 1] > value or (values[k - 1] == value and numbers[k - 1] > j)):
        values[k], numbers[k] = values[k - 1], numbers[k - 1]
        k -= 1
    values[k], numbers[k] = value, j
