"""The compiled loop over windows, documented where it is called.

A window is sampled at SIDE x SIDE points, which are stored in one row, for vector instructions. Their
differences are its PATCH x PATCH gradients. Directions are in eighths of a turn.
"""

import math
from typing import Any

import numpy as np

from gdl_core.jit import inner, njit
from matching._common.types import Array, Scalar

PATCH = 20  # gradients along a side of a window
SIDE = PATCH + 2  # samples along a side
BINS = 36  # bins of the histogram of directions
# coefficients of an odd polynomial of degree 11, fitted to 4 / pi atan on [0, 1]
ATAN = tuple(
    np.float32(c) for c in (1.273210539, -0.423508528, 0.246423205, -0.148238672, 0.067032558, -0.014921218)
)


@njit
def window_histograms(
    pyramid: Any, xy: Array, windows: Array, level: Array, sampling: Any, buffers: Any, out: Array
) -> None:
    """Fill out (n, bins), initially 0, with histograms of the gradients in windows (n, 2, 2) at xy (n, 2).

    There are (2, BINS + 2) bins of directions, which begin at -4, or (6, 4, 8) bins of rows, columns and
    directions. pyramid: its pixels and its levels; sampling: the grid of samples, their weights, their shares
    of bins and the places of these; buffers: for numbers of pixels (SIDE * SIDE,) and for samples (6, ...).
    """
    (pixels, levels), (grid, weight, shares, places), (index, buffer) = pyramid, sampling, buffers
    patch, fraction, magnitude, direction, row = buffer[0], buffer[1:3], buffer[3], buffer[4], buffer[5]
    for f in range(len(out)):
        bins = out[f]
        _sample_patch(pixels, levels[level[f]], xy[f], windows[f], grid, patch, index, fraction)
        _gradients(patch, weight, magnitude, direction)
        if out.shape[1] == 2 * (BINS + 2):
            for t in range(PATCH * SIDE):
                turn = (direction[t] + np.float32(4)) * np.float32(BINS / 8)
                b: Scalar = np.int32(turn)
                high = magnitude[t] * (turn - np.float32(b))
                b += (t & 1) * (BINS + 2)  # gradients alternate between two histograms, which is faster
                bins[b] += magnitude[t] - high
                bins[b + 1] += high
            continue
        for i in range(PATCH):
            for k in range(48):
                row[k] = np.float32(0)
            for j in range(PATCH):
                turn = direction[i * SIDE + j] + np.float32(4)
                o = np.int32(turn)
                high = magnitude[i * SIDE + j] * (turn - np.float32(o))
                low = magnitude[i * SIDE + j] - high
                b, c = 8 * places[j] + ((o + 4) & 7), 8 * places[j] + ((o + 5) & 7)
                row[b] += low * shares[0, j]
                row[c] += high * shares[0, j]
                row[b + 8] += low * shares[1, j]
                row[c + 8] += high * shares[1, j]
            b, share, other = 32 * places[i], shares[0, i], shares[1, i]
            for k in range(32):
                bins[b + k] += share * row[k + 8]
                bins[b + 32 + k] += other * row[k + 8]


@inner
def _sample_patch(
    pixels: Array,
    level: Array,
    xy: Array,
    window: Array,
    grid: Array,
    patch: Array,
    index: Array,
    fraction: Array,
) -> None:
    """Fill `patch` (SIDE * SIDE,) with bilinear samples of a pyramid level on A u + centre, u in [-1, 1]^2.

    The grid is one sample wider on each side; the image's border pixels are repeated outwards. index
    (SIDE * SIDE,) int32 is a buffer for the pixel of each sample, and part (2, SIDE * SIDE) float32 one for
    the offset from it.
    """
    offset, height, width = np.int32(level[0]), level[1], np.int32(level[2])
    step, zero = level[3], np.float32(0)
    a, b, x0 = np.float32(window[0, 0] / step), np.float32(window[0, 1] / step), np.float32(xy[0] / step)
    c, d, y0 = np.float32(window[1, 0] / step), np.float32(window[1, 1] / step), np.float32(xy[1] / step)
    right, low = np.float32(width - 1.001), np.float32(height - 1.001)
    # two loops, because the second one gathers pixels and could not use vector instructions for the rest
    for t in range(SIDE * SIDE):
        x = min(max(x0 + a * grid[0, t] + b * grid[1, t], zero), right)
        y = min(max(y0 + c * grid[0, t] + d * grid[1, t], zero), low)
        column, row = np.int32(x), np.int32(y)
        index[t] = offset + row * width + column
        fraction[0, t], fraction[1, t] = x - np.float32(column), y - np.float32(row)
    for t in range(SIDE * SIDE):
        k = index[t]
        top = pixels[k] + fraction[0, t] * (pixels[k + 1] - pixels[k])
        bottom = pixels[k + width] + fraction[0, t] * (pixels[k + width + 1] - pixels[k + width])
        patch[t] = top + fraction[1, t] * (bottom - top)


@inner
def _gradients(patch: Array, weight: Array, magnitude: Array, direction: Array) -> None:
    """Fill the gradients (PATCH * SIDE,) of a patch: weighted magnitudes; directions in eighths of a turn.

    Directions are in [-4, 4], accurate to 3e-6. The last two gradients are left out, because they would
    extend beyond the end of a row.
    """
    for t in range(PATCH * SIDE - 2):
        x = patch[t + SIDE + 2] - patch[t + SIDE]
        y = patch[t + 2 * SIDE + 1] - patch[t + 1]
        low, high = min(abs(x), abs(y)), max(abs(x), abs(y))
        a = low / (high + np.float32(1e-30))
        q = a * a
        p = ATAN[4] + q * ATAN[5]
        p = a * (ATAN[0] + q * (ATAN[1] + q * (ATAN[2] + q * (ATAN[3] + q * p))))
        p = np.float32(2) - p if abs(y) > abs(x) else p
        p = np.float32(4) - p if x < np.float32(0) else p
        direction[t] = -p if y < np.float32(0) else p
        magnitude[t] = math.sqrt(x * x + y * y) * weight[t]
