"""Compiled loops over differences of Gaussians, documented where they are called.

Notation: dog (l, h, w) float32 are the differences of an octave; s is a layer; y, x are half pixels.
"""

import numpy as np

from gdl_core.jit import inner, njit
from matching._common.types import Array, Scalar

TAPS = np.array([3, -25, 150, 150, -25, 3], np.float32) / np.float32(256)  # Lagrange's formula, midway
MARGIN = 4  # pixels at the border without key points: the reach of a key point's taps
STEPS = 8  # the most steps from the extremum among pixels to the one among half pixels


@njit
def layer_extrema(dog: Array, layer: Scalar, least: Scalar, slack: Scalar) -> Array:
    """(n, 2): y, x of those pixels of a layer whose absolute value is above `least` and an extremum.

    The value must be at least that of its eight neighbours; `slack` times the value must be at least that of
    the nine pixels in each adjacent layer.
    """
    at, n = np.empty((1024, 2), np.int64), 0
    height, width = dog.shape[1:]
    may_be = np.zeros((width + 7) // 8 * 8, np.uint8)
    eights = may_be.view(np.uint64)
    for y in range(MARGIN, height - MARGIN):
        _mark_extrema(dog[layer, y - 1], dog[layer, y], dog[layer, y + 1], least, may_be[:width])
        for e in range(len(eights)):  # eight pixels at a time: few are marked
            if eights[e] == 0:
                continue
            for x in range(8 * e, 8 * e + 8):
                if may_be[x] and _is_extremum(dog, layer, y, x, dog[layer, y, x], slack):
                    if n == len(at):
                        at = _longer(at)
                    at[n, 0], at[n, 1] = y, x
                    n += 1
    return at[:n]


@inner
def _mark_extrema(above: Array, row: Array, below: Array, least: Scalar, out: Array) -> None:
    """Set out (w,) to 1 where |pixel| is above `least` and no less than its four neighbours, else to 0."""
    left, right = row[MARGIN - 1 : -MARGIN - 1], row[MARGIN + 1 :]
    row, above, below, out = row[MARGIN:], above[MARGIN:], below[MARGIN:], out[MARGIN:]
    for x in range(len(left)):  # vector instructions
        highest = max(max(left[x], right[x]), max(above[x], below[x]))
        lowest = min(min(left[x], right[x]), min(above[x], below[x]))
        out[x] = np.uint8(((row[x] > least) & (row[x] >= highest)) | ((row[x] < -least) & (row[x] <= lowest)))


@inner
def _longer(at: Array) -> Array:
    longer = np.empty((2 * len(at), 2), np.int64)
    for k in range(len(at)):
        longer[k, 0], longer[k, 1] = at[k, 0], at[k, 1]
    return longer


@inner
def _is_extremum(dog: Array, layer: Scalar, y: Scalar, x: Scalar, value: Scalar, slack: Scalar) -> Scalar:
    sign = np.float32(1) if value > 0 else np.float32(-1)
    high = value * sign
    for b in (0, -1, 1):
        for c in (-1, 1, 0):
            if dog[layer, y + b, x + c] * sign > high:
                return False
    high *= slack
    for b in (-1, 0, 1):
        for c in (-1, 0, 1):
            if max(dog[layer - 1, y + b, x + c] * sign, dog[layer + 1, y + b, x + c] * sign) > high:
                return False
    return True


@njit
def refine(
    dog: Array, layer: Scalar, at: Array, least: Scalar, edge: Scalar, places: Array, peaks: Array
) -> int:
    """Refine pixels at (n, 2) of a layer to extrema among half pixels, then to the vertex of a quadric.

    Fills places (n, 3): layer and half pixels y, x; and peaks (n, 4): x, y, layer and value of the vertex.
    Returns the number of points that qualify.
    """
    n = 0
    cube = np.empty((3, 3, 3), np.float32)
    height, width = dog.shape[1:]
    for r in range(len(at)):
        s, y, x = layer, 2 * at[r, 0], 2 * at[r, 1]
        sign = np.float32(1) if dog[s, at[r, 0], at[r, 1]] > 0 else np.float32(-1)
        found = False
        for _ in range(STEPS):
            if not (
                0 < s < len(dog) - 1
                and 2 * MARGIN <= x < 2 * (width - MARGIN)
                and 2 * MARGIN <= y < 2 * (height - MARGIN)
            ):
                break
            up, down, right = _highest(dog, s, y, x, sign, cube)
            found = up == 0 and down == 0 and right == 0
            if found:
                break
            s, y, x = s + up, y + down, x + right
        if found and _vertex(cube, edge, peaks[n]) and peaks[n, 3] >= least:
            places[n, 0], places[n, 1], places[n, 2] = s, y, x
            peaks[n, 0], peaks[n, 1] = (x + peaks[n, 0]) / 2, (y + peaks[n, 1]) / 2
            peaks[n, 2] += s
            peaks[n, 3] *= sign
            n += 1
    return n


@inner
def _highest(dog: Array, s: Scalar, y: Scalar, x: Scalar, sign: Scalar, cube: Array) -> tuple[int, int, int]:
    """Steps in layer, y and x from a half pixel to its highest neighbour, or 0; fills cube (3, 3, 3)."""
    first = (y - 1 >> 1) - 2  # the first row that the taps reach
    column = np.empty(7, np.float32)
    for a in range(3):
        for c in range(3):
            _sample_column(dog[s + a - 1], first, 7 - (y & 1), x + c - 1, column)
            for b in range(3):
                cube[a, b, c] = _half_way(column, y + b - 1 - 2 * first) * sign
    best, up, down, right = np.float32(-np.inf), 0, 0, 0
    for a in range(3):
        for b in range(3):
            for c in range(3):
                if cube[a, b, c] > best:
                    best, up, down, right = cube[a, b, c], a - 1, b - 1, c - 1
    if best == cube[1, 1, 1]:
        return 0, 0, 0
    return up, down, right


@inner
def _sample_column(image: Array, first: Scalar, n: Scalar, x: Scalar, column: Array) -> None:
    """Write the values of an image at x / 2, in n rows from `first` on, to column (n,)."""
    for k in range(n):
        column[k] = _half_way(image[first + k], x)


@inner
def _half_way(values: Array, x: Scalar) -> Scalar:
    """The value at x / 2 of a row or column."""
    j = x >> 1
    if x & 1 == 0:
        return values[j]
    value = np.float32(0)
    for k in range(6):
        value += TAPS[k] * values[j - 2 + k]
    return value


@inner
def _vertex(cube: Array, edge: Scalar, peak: Array) -> Scalar:
    """Fit a quadric to cube (3, 3, 3), by layer, row and column; peak gets x, y, layer, value of its vertex.

    Returns whether the vertex is near and not on an edge, that is, whether the curvatures in the layer have
    one sign, and neither is `edge` times the other.
    """
    middle = 2.0 * cube[1, 1, 1]
    gx = (cube[1, 1, 2] - cube[1, 1, 0]) / 2.0
    gy = (cube[1, 2, 1] - cube[1, 0, 1]) / 2.0
    gs = (cube[2, 1, 1] - cube[0, 1, 1]) / 2.0
    xx = cube[1, 1, 2] + cube[1, 1, 0] - middle
    yy = cube[1, 2, 1] + cube[1, 0, 1] - middle
    ss = cube[2, 1, 1] + cube[0, 1, 1] - middle
    xy = (cube[1, 2, 2] - cube[1, 2, 0] - cube[1, 0, 2] + cube[1, 0, 0]) / 4.0
    xs = (cube[2, 1, 2] - cube[2, 1, 0] - cube[0, 1, 2] + cube[0, 1, 0]) / 4.0
    ys = (cube[2, 2, 1] - cube[2, 0, 1] - cube[0, 2, 1] + cube[0, 0, 1]) / 4.0
    minor_x, minor_y, minor_s = yy * ss - ys * ys, xs * ys - xy * ss, xy * ys - xs * yy
    in_layer = xx * yy - xy * xy
    determinant = xx * minor_x + xy * minor_y + xs * minor_s
    if determinant == 0.0 or in_layer <= 0.0 or (xx + yy) ** 2 * edge >= (edge + 1) ** 2 * in_layer:
        return False
    mixed = xy * xs - xx * ys
    peak[0] = -(minor_x * gx + minor_y * gy + minor_s * gs) / determinant
    peak[1] = -(minor_y * gx + (xx * ss - xs * xs) * gy + mixed * gs) / determinant
    peak[2] = -(minor_s * gx + mixed * gy + in_layer * gs) / determinant
    peak[3] = cube[1, 1, 1] + (gx * peak[0] + gy * peak[1] + gs * peak[2]) / 2.0
    return abs(peak[0]) <= 1.0 and abs(peak[1]) <= 1.0 and abs(peak[2]) <= 1.0
