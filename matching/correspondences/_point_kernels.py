"""The compiled search of nearest points in the plane; see `matching.correspondences.points`."""

import numpy as np

from gdl_core.jit import inner, njit
from matching._common.types import Array, Scalar


@njit
def search(
    points: Array,
    numbers: Array,
    start: Array,
    box: Array,
    columns: Scalar,
    rows: Scalar,
    at: Array,
    own: Array,
    index: Array,
    square: Array,
) -> None:
    """Enter points (n, 2) into the lists of the nearest to each row of `at` (q, 2), without own[q].

    The lists are index and square (q, k), in the order (squared distance, number); initially they hold -1 and
    bounds, or other points. The points lie in square cells, from start[cell] to start[cell + 1]; box (5,) is
    the least x and y, the width, the height, and the side of a cell. Rings of cells around a place are
    searched until no point beyond them can be nearer.
    """
    low0, low1, wide, high, side = box[0], box[1], box[2], box[3], box[4]
    rounding = 4e-16 * (abs(low0) + abs(low1) + wide + high)  # error of the places of borders
    end = index.shape[1] - 1
    for q in range(len(at)):
        x, y = at[q, 0], at[q, 1]
        column = min(max(int((x - low0) / side), 0), columns - 1)
        row = min(max(int((y - low1) / side), 0), rows - 1)
        out0 = max(max(low0 - x, x - low0 - wide), rounding) - rounding  # how far outside all points
        out1 = max(max(low1 - y, y - low1 - high), rounding) - rounding
        for ring in range(max(columns, rows)):
            for r in range(max(row - ring, 0), min(row + ring, rows - 1) + 1):
                step = 1 if abs(r - row) == ring else 2 * ring
                for c in range(column - ring, column + ring + 1, step):
                    if c < 0 or c >= columns:
                        continue
                    for e in range(start[r * columns + c], start[r * columns + c + 1]):
                        a, b, j = points[e, 0] - x, points[e, 1] - y, numbers[e]
                        value = a * a + b * b
                        if value > square[q, end] or j == own[q]:
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
            across = _gap_beyond(x - low0, column, ring, side, columns) - rounding
            along = _gap_beyond(y - low1, row, ring, side, rows) - rounding
            if min(across, along) > 0:
                beyond = min(across * across + out1 * out1, along * along + out0 * out0)
                if beyond > square[q, end] or beyond == np.inf:
                    break


@inner
def _gap_beyond(offset: Scalar, cell: Scalar, ring: Scalar, side: Scalar, n: Scalar) -> Scalar:
    """The distance to the cells beyond a ring along one axis; inf if there are none."""
    below = offset - (cell - ring) * side if cell - ring > 0 else np.inf
    above = (cell + ring + 1) * side - offset if cell + ring < n - 1 else np.inf
    return min(below, above)
