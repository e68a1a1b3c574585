"""The compiled search for nearest points in the plane, see `matching.correspondences.points`."""

from typing import Any

import numpy as np

from gdl_core.jit import inner, njit
from matching._common.types import Array, Scalar


@njit
def search_nearest(grid: Any, places: Array, excluded: Array, index: Array, square: Array) -> None:
    """Enter points (n, 2) into lists of the nearest to each row of places (q, 2), except excluded[q].

    The lists are index and square (q, k), in the order (squared distance, number). Initially they hold -1 and
    bounds. Rings of cells around a place are searched until no point beyond them can be nearer.

    grid: the points, sorted by square cells; their numbers (n,); start: cell c has the points from start[c]
    to start[c + 1]; box (5,): the smallest x and y, the width, the height, and the side of a cell; and the
    numbers of columns and rows.
    """
    points, numbers, start, box, columns, rows = grid
    left, top, width, height, side = box[0], box[1], box[2], box[3], box[4]
    rounding = 4e-16 * (abs(left) + abs(top) + width + height)  # largest error of the borders of cells
    end = index.shape[1] - 1
    for q in range(len(places)):
        x, y = places[q, 0], places[q, 1]
        column = min(max(int((x - left) / side), 0), columns - 1)
        row = min(max(int((y - top) / side), 0), rows - 1)
        # distances from the box of all points along both axes
        outside_x = max(max(left - x, x - left - width), rounding) - rounding
        outside_y = max(max(top - y, y - top - height), rounding) - rounding
        for ring in range(max(columns, rows)):
            for r in range(max(row - ring, 0), min(row + ring, rows - 1) + 1):
                step = 1 if abs(r - row) == ring else 2 * ring
                for c in range(column - ring, column + ring + 1, step):
                    if c < 0 or c >= columns:
                        continue
                    for position in range(start[r * columns + c], start[r * columns + c + 1]):
                        a, b, j = points[position, 0] - x, points[position, 1] - y, numbers[position]
                        value = a * a + b * b
                        if value > square[q, end] or j == excluded[q]:
                            continue
                        k = end
                        if value == square[q, k] and j >= index[q, k]:
                            continue
                        while k > 0 and (
                            square[q, k - 1] > value or (square[q, k - 1] == value and index[q, k - 1] > j)
                        ):
                            square[q, k], index[q, k] = square[q, k - 1], index[q, k - 1]
                            k -= 1
                        square[q, k], index[q, k] = value, j
            gap_x = _gap_beyond(x - left, column, ring, side, columns) - rounding
            gap_y = _gap_beyond(y - top, row, ring, side, rows) - rounding
            if min(gap_x, gap_y) > 0:
                min_square = min(gap_x * gap_x + outside_y * outside_y, gap_y * gap_y + outside_x * outside_x)
                if min_square > square[q, end] or min_square == np.inf:
                    break


@inner
def _gap_beyond(offset: Scalar, cell: Scalar, ring: Scalar, side: Scalar, n: Scalar) -> Scalar:
    """Compute the distance to the cells beyond a ring along one axis; inf if there are none."""
    below = offset - (cell - ring) * side if cell - ring > 0 else np.inf
    above = (cell + ring + 1) * side - offset if cell + ring < n - 1 else np.inf
    return min(below, above)
