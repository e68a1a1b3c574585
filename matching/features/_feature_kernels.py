"""Compiled loops over patches, documented where they are called."""

import math

import numpy as np

from gdl_core.jit import inner, njit
from matching._common.types import Array, Scalar

PATCH = 20
SIDE = PATCH + 2  # samples per side, whose differences are the gradients; in one row, for vector instructions
BINS = 36  # of the orientation histogram
ATAN = tuple(
    np.float32(c) for c in (1.273210539, -0.423508528, 0.246423205, -0.148238672, 0.067032558, -0.014921218)
)


@inner
def _sample_patch(
    pixels: Array,
    level: Array,
    xy: Array,
    window: Array,
    grid: Array,
    patch: Array,
    index: Array,
    part: Array,
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
    for t in range(SIDE * SIDE):  # a loop of its own, for vector instructions: the next loop gathers
        x = min(max(x0 + a * grid[0, t] + b * grid[1, t], zero), right)
        y = min(max(y0 + c * grid[0, t] + d * grid[1, t], zero), low)
        column, row = np.int32(x), np.int32(y)
        index[t] = offset + row * width + column
        part[0, t], part[1, t] = x - np.float32(column), y - np.float32(row)
    for t in range(SIDE * SIDE):
        k = index[t]
        top = pixels[k] + part[0, t] * (pixels[k + 1] - pixels[k])
        bottom = pixels[k + width] + part[0, t] * (pixels[k + width + 1] - pixels[k + width])
        patch[t] = top + part[1, t] * (bottom - top)


@inner
def _gradients(patch: Array, weight: Array, magnitude: Array, direction: Array) -> None:
    """Fill the gradients (PATCH * SIDE,) of a patch: weighted magnitudes; directions in eighths of a turn.

    Directions are in [-4, 4], accurate to 3e-6. The last two gradients, which extend over the end of a row,
    are left out.
    """
    for t in range(PATCH * SIDE - 2):
        x = patch[t + SIDE + 2] - patch[t + SIDE]
        y = patch[t + 2 * SIDE + 1] - patch[t + 1]
        low, high = min(abs(x), abs(y)), max(abs(x), abs(y))
        a = low / (high + np.float32(1e-30))
        q = a * a
        # odd polynomial of degree 11, fitted to 4 / pi atan on [0, 1]
        p = ATAN[4] + q * ATAN[5]
        p = a * (ATAN[0] + q * (ATAN[1] + q * (ATAN[2] + q * (ATAN[3] + q * p))))
        p = np.float32(2) - p if abs(y) > abs(x) else p
        p = np.float32(4) - p if x < np.float32(0) else p
        direction[t] = -p if y < np.float32(0) else p
        magnitude[t] = math.sqrt(x * x + y * y) * weight[t]


@njit
def dominant_orientations(
    pixels: Array,
    levels: Array,
    xy: Array,
    windows: Array,
    level: Array,
    most: Scalar,
    ratio: Scalar,
    start: Scalar,
    stop: Scalar,
    angles: Array,
) -> None:
    """Fill rows start..stop of angles (n, most) with peaks of the gradient-orientation histograms."""
    grid, patch, index, part = _patch_buffers()
    weight, magnitude, direction = _gradient_buffers(0.5)
    turns = np.empty((2, BINS + 2), np.float32)  # from -pi to pi plus one bin; gradients alternate
    even, odd = turns[0, :BINS], turns[1, :BINS]
    raw, smooth = np.empty(BINS), np.empty(BINS)
    for f in range(start, stop):
        _sample_patch(pixels, levels[level[f]], xy[f], windows[f], grid, patch, index, part)
        _gradients(patch, weight, magnitude, direction)
        turns[:] = 0.0
        for t in range(PATCH * SIDE):
            turn = (direction[t] + np.float32(4)) * np.float32(BINS / 8)
            b: Scalar = np.int32(turn)
            high = magnitude[t] * (turn - np.float32(b))
            turns[t & 1, b] += magnitude[t] - high
            turns[t & 1, b + 1] += high
        for k in range(2):
            even[k], odd[k] = even[k] + turns[0, BINS + k], odd[k] + turns[1, BINS + k]
        for b in range(BINS):
            raw[b] = even[b - BINS // 2] + odd[b - BINS // 2]
        for _ in range(3):
            for b in range(BINS):
                smooth[b] = 0.25 * raw[b - 1] + 0.5 * raw[b] + 0.25 * raw[b + 1 - BINS]
            for b in range(BINS):
                raw[b] = smooth[b]
        _peaks(raw, most, ratio, angles[f])


@inner
def _peaks(histogram: Array, most: Scalar, ratio: Scalar, angles: Array) -> None:
    """Fill angles with the highest peaks of a circular histogram, from `ratio` times the top, and NaN."""
    top = 0.0
    for b in range(BINS):
        top = max(top, histogram[b])
    angles[:] = np.nan
    for k in range(most):
        best, at = 0.0, -1
        for b in range(BINS):
            value = histogram[b]
            if value > best and value > histogram[b - 1] and value >= histogram[b + 1 - BINS]:
                taken = False
                for q in range(k):
                    turn = abs((angles[q] * BINS / (2 * math.pi) - b + BINS / 2) % BINS - BINS / 2)
                    taken = taken or turn < 1.0
                if not taken:
                    best, at = value, b
        if at < 0 or best < ratio * top:
            return
        left, right = histogram[at - 1], histogram[at + 1 - BINS]
        peak = at + 0.5 * (left - right) / (left - 2 * best + right)
        angles[k] = peak * 2 * math.pi / BINS


@njit
def describe(
    pixels: Array,
    levels: Array,
    xy: Array,
    windows: Array,
    level: Array,
    root: Scalar,
    start: Scalar,
    stop: Scalar,
    out: Array,
) -> None:
    """Write SIFT or RootSIFT of windows start..stop to out (n, 128): whole numbers of norm about 2048."""
    grid, patch, index, part = _patch_buffers()
    weight, magnitude, direction = _gradient_buffers(0.8)
    # The shares of a sample in the 4 x 4 spatial bins are constant. Along each axis, it lies in two adjacent
    # bins of six, of which the outer ones are outside the window.
    place, share = np.empty(PATCH, np.int64), np.empty((PATCH, 2), np.float32)
    for i in range(PATCH):
        v = (i + 0.5) * 5 / PATCH
        place[i] = math.floor(v)
        share[i, 0], share[i, 1] = 1 - (v - place[i]), v - place[i]
    row, bins = np.empty((6, 8), np.float32), np.empty((6, 4, 8), np.float32)
    h = np.empty(128)
    for f in range(start, stop):
        _sample_patch(pixels, levels[level[f]], xy[f], windows[f], grid, patch, index, part)
        _gradients(patch, weight, magnitude, direction)
        bins[:] = 0.0
        for i in range(PATCH):
            row[:] = 0.0
            for j in range(PATCH):
                t = i * SIDE + j
                _add_direction(row, place[j], share[j], magnitude[t], direction[t])
            for x in range(4):
                for o in range(8):
                    bins[place[i], x, o] += share[i, 0] * row[x + 1, o]
                    bins[place[i] + 1, x, o] += share[i, 1] * row[x + 1, o]
        for y in range(4):
            for x in range(4):
                for o in range(8):
                    h[(y * 4 + x) * 8 + o] = bins[y + 1, x, o]
        _normalise(h, root, out[f])


@inner
def _add_direction(row: Array, place: Scalar, share: Array, magnitude: Scalar, direction: Scalar) -> None:
    """Divide a gradient among two spatial bins of a row and the two directions between which it lies."""
    turn = direction + np.float32(4)
    o = np.int32(turn)
    high = magnitude * (turn - np.float32(o))
    low = magnitude - high
    o0, o1 = (o + 4) & 7, (o + 5) & 7
    row[place, o0] += low * share[0]
    row[place, o1] += high * share[0]
    row[place + 1, o0] += low * share[1]
    row[place + 1, o1] += high * share[1]


@inner
def _normalise(h: Array, root: Scalar, out: Array) -> None:
    """Clip a histogram at a fifth of its norm, or take roots; normalise it to 2048. An empty one stays 0."""
    norm = 0.0
    for k in range(128):
        norm += h[k] * h[k]
    if norm == 0.0:
        out[:] = 0
        return
    clip, total, norm = 0.2 * math.sqrt(norm), 0.0, 0.0
    for k in range(128):
        h[k] = min(h[k], clip)
        total += h[k]
        norm += h[k] * h[k]
    if root:
        for k in range(128):
            out[k] = np.rint(2048 * math.sqrt(h[k] / total))
    else:
        norm = math.sqrt(norm)
        for k in range(128):
            out[k] = np.rint(2048 * h[k] / norm)


@inner
def _patch_buffers() -> tuple[Array, Array, Array, Array]:
    """Grid (2, SIDE * SIDE) of samples in the window [-1, 1]^2, and buffers for `_sample_patch`."""
    grid = np.empty((2, SIDE * SIDE), np.float32)
    for t in range(SIDE * SIDE):
        grid[0, t], grid[1, t] = (2 * (t % SIDE) - 1) / PATCH - 1, (2 * (t // SIDE) - 1) / PATCH - 1
    index, part = np.empty(SIDE * SIDE, np.int32), np.empty((2, SIDE * SIDE), np.float32)
    return grid, np.empty(SIDE * SIDE, np.float32), index, part


@inner
def _gradient_buffers(sigma: Scalar) -> tuple[Array, Array, Array]:
    """Gaussian weights of the gradients in the window [-1, 1]^2, and the buffers that `_gradients` fills."""
    weight, filled = np.zeros(PATCH * SIDE, np.float32), np.zeros((2, PATCH * SIDE), np.float32)
    for i in range(PATCH):
        for j in range(PATCH):
            x, y = (2 * j + 1) / PATCH - 1, (2 * i + 1) / PATCH - 1
            weight[i * SIDE + j] = math.exp(-(x * x + y * y) / (2 * sigma * sigma))
    return weight, filled[0], filled[1]
