"""Compiled loops over regions and patches; what they compute is said where they are called."""

import math

import numpy as np

from gdl_core._jit import inner, njit

PATCH = 20
BINS = 36  # of the orientation histogram
ATAN = tuple(
    np.float32(c) for c in (1.273210539, -0.423508528, 0.246423205, -0.148238672, 0.067032558, -0.014921218)
)


@njit
def region_moments(points, out):
    """out (5,): mean x, mean y, and the central second moments xx, xy, yy of points (n, 2) int32."""
    n = len(points)
    x0, y0 = points[0, 0], points[0, 1]
    sx = sy = sxx = sxy = syy = 0
    for p in range(n):
        x, y = points[p, 0] - x0, points[p, 1] - y0
        sx += x
        sy += y
        sxx += x * x
        sxy += x * y
        syy += y * y
    mx, my = sx / n, sy / n
    out[0], out[1] = x0 + mx, y0 + my
    out[2] = sxx / n - mx * mx
    out[3] = sxy / n - mx * my
    out[4] = syy / n - my * my


@inner
def _bilinear(pixels, offset, height, width, x, y):
    """The image of a pyramid level at (x, y), its own pixels; the border goes on outside."""
    x = min(max(x, 0.0), width - 1.001)
    y = min(max(y, 0.0), height - 1.001)
    x0, y0 = int(x), int(y)
    fx, fy = np.float32(x - x0), np.float32(y - y0)
    k = offset + y0 * width + x0
    top = pixels[k] + fx * (pixels[k + 1] - pixels[k])
    low = pixels[k + width] + fx * (pixels[k + width + 1] - pixels[k + width])
    return top + fy * (low - top)


@njit
def sample(pixels, levels, xy, level):
    """(n,) float32: the value at each point in its pyramid level."""
    out = np.empty(len(xy), np.float32)
    for f in range(len(xy)):
        offset, height, width, step = levels[level[f]]
        out[f] = _bilinear(pixels, int(offset), int(height), int(width), xy[f, 0] / step, xy[f, 1] / step)
    return out


@inner
def _sample_patch(pixels, level, xy, window, patch, index, part):
    """Fill `patch` (s, s) by bilinear samples of one pyramid level on the grid A [-1, 1]^2 + centre, one
    sample wider on each side; the border goes on outside.

    index (s,) int32, part (2, s) float32 : of a row's samples, where the pixel is and how far beyond it
    """
    offset, height, width, step = np.int32(level[0]), level[1], np.int32(level[2]), level[3]
    unit = 2.0 / PATCH
    first = -1.0 - unit / 2.0
    across, down = window[0, 0] / step, window[1, 0] / step
    for i in range(patch.shape[0]):
        v = first + unit * i
        left, top = (xy[0] + window[0, 1] * v) / step, (xy[1] + window[1, 1] * v) / step
        for j in range(patch.shape[1]):  # vector instructions, as the next loop's gathers are not
            u = first + unit * j
            x = min(max(left + across * u, 0.0), width - 1.001)
            y = min(max(top + down * u, 0.0), height - 1.001)
            x0, y0 = np.int32(x), np.int32(y)
            index[j] = offset + y0 * width + x0
            part[0, j], part[1, j] = x - x0, y - y0
        for j in range(patch.shape[1]):
            k = index[j]
            high = pixels[k] + part[0, j] * (pixels[k + 1] - pixels[k])
            low = pixels[k + width] + part[0, j] * (pixels[k + width + 1] - pixels[k + width])
            patch[i, j] = high + part[1, j] * (low - high)


@inner
def _gradients(patch, weight, magnitude, direction):
    """Gradients (PATCH, PATCH) of a patch that is one sample wider on each side: magnitudes times weight_i
    weight_j, and directions in eighths of a turn, [-4, 4], to 3e-6 of an eighth.
    """
    for i in range(PATCH):
        for j in range(PATCH):
            x = patch[i + 1, j + 2] - patch[i + 1, j]
            y = patch[i + 2, j + 1] - patch[i, j + 1]
            low, high = min(abs(x), abs(y)), max(abs(x), abs(y))
            a = low / (high + np.float32(1e-30))
            q = a * a
            # odd polynomial of degree 11, fitted to 4 / pi atan on [0, 1]
            t = ATAN[4] + q * ATAN[5]
            t = a * (ATAN[0] + q * (ATAN[1] + q * (ATAN[2] + q * (ATAN[3] + q * t))))
            t = np.float32(2) - t if abs(y) > abs(x) else t
            t = np.float32(4) - t if x < 0 else t
            direction[i, j] = -t if y < 0 else t
            magnitude[i, j] = math.sqrt(x * x + y * y) * weight[i] * weight[j]


@njit
def dominant_orientations(pixels, levels, xy, windows, level, most, ratio, start, stop, angles):
    """For features start..stop: up to `most` peaks of the gradient-orientation histogram, into angles (n,
    most).
    """
    patch, index, part = _patch_buffers()
    magnitude, direction = np.empty((2, PATCH, PATCH), np.float32)
    raw, smooth = np.empty(BINS), np.empty(BINS)
    weight = _gaussian(0.5)
    for f in range(start, stop):
        _sample_patch(pixels, levels[level[f]], xy[f], windows[f], patch, index, part)
        _gradients(patch, weight, magnitude, direction)
        raw[:] = 0.0
        for i in range(PATCH):
            for j in range(PATCH):
                t = direction[i, j] * (BINS / 8)
                b = math.floor(t)
                t -= b
                raw[b % BINS] += magnitude[i, j] * (1 - t)
                raw[(b + 1) % BINS] += magnitude[i, j] * t
        for _ in range(3):
            for b in range(BINS):
                smooth[b] = 0.25 * raw[b - 1] + 0.5 * raw[b] + 0.25 * raw[(b + 1) % BINS]
            raw[:] = smooth
        _peaks(raw, most, ratio, angles[f])


@inner
def _peaks(histogram, most, ratio, angles):
    """Radians of the highest peaks of a circular histogram, those of at least `ratio` times the top; then
    nan.
    """
    top = histogram.max()
    angles[:] = np.nan
    for k in range(most):
        best, at = 0.0, -1
        for b in range(BINS):
            value = histogram[b]
            if value > best and value > histogram[b - 1] and value >= histogram[(b + 1) % BINS]:
                taken = False
                for q in range(k):
                    turn = abs((angles[q] * BINS / (2 * math.pi) - b + BINS / 2) % BINS - BINS / 2)
                    taken = taken or turn < 1.0
                if not taken:
                    best, at = value, b
        if at < 0 or best < ratio * top:
            return
        left, right = histogram[at - 1], histogram[(at + 1) % BINS]
        peak = at + 0.5 * (left - right) / (left - 2 * best + right)
        angles[k] = peak * 2 * math.pi / BINS


@njit
def describe(pixels, levels, xy, windows, level, start, stop, out):
    """RootSIFT of the windows start..stop into out (n, 128), rounded to whole numbers, Euclidean norm about
    2048.
    """
    patch, index, part = _patch_buffers()
    magnitude, direction = np.empty((2, PATCH, PATCH), np.float32)
    weight = _gaussian(0.8)
    # A sample's share in the 4 x 4 cells never changes: two neighbouring cells along each axis, of six, the
    # outer ones beyond the window.
    cell, share = np.empty(PATCH, np.int64), np.empty((PATCH, 2), np.float32)
    for i in range(PATCH):
        v = (i + 0.5) * 5 / PATCH
        cell[i] = math.floor(v)
        share[i, 0], share[i, 1] = 1 - (v - cell[i]), v - cell[i]
    row, cells = np.empty((6, 8), np.float32), np.empty((6, 4, 8), np.float32)
    h = np.empty(128)
    for f in range(start, stop):
        _sample_patch(pixels, levels[level[f]], xy[f], windows[f], patch, index, part)
        _gradients(patch, weight, magnitude, direction)
        cells[:] = 0.0
        for i in range(PATCH):
            row[:] = 0.0
            for j in range(PATCH):
                _add_direction(row, cell[j], share[j], magnitude[i, j], direction[i, j])
            for x in range(4):
                for o in range(8):
                    cells[cell[i], x, o] += share[i, 0] * row[x + 1, o]
                    cells[cell[i] + 1, x, o] += share[i, 1] * row[x + 1, o]
        h[:] = cells[1:5].copy().reshape(128)
        _root_sift(h, out[f])


@inner
def _add_direction(row, cell, share, magnitude, direction):
    """Spread a gradient over the two cells of a row and the two directions that it lies between."""
    o = math.floor(direction)
    high = magnitude * (direction - np.float32(o))
    low = magnitude - high
    o0, o1 = int(o) & 7, (int(o) + 1) & 7
    row[cell, o0] += low * share[0]
    row[cell, o1] += high * share[0]
    row[cell + 1, o0] += low * share[1]
    row[cell + 1, o1] += high * share[1]


@inner
def _root_sift(h, out):
    """Clip at a fifth of the norm, divide by the sum, take roots; zero for an empty histogram."""
    norm = 0.0
    for k in range(128):
        norm += h[k] * h[k]
    if norm == 0.0:
        out[:] = 0
        return
    clip, total = 0.2 * math.sqrt(norm), 0.0
    for k in range(128):
        h[k] = min(h[k], clip)
        total += h[k]
    for k in range(128):
        out[k] = np.rint(2048 * math.sqrt(h[k] / total))


@inner
def _patch_buffers():
    side = PATCH + 2
    return np.empty((side, side), np.float32), np.empty(side, np.int32), np.empty((2, side), np.float32)


@inner
def _gaussian(sigma):
    """(PATCH,) float32: weights of the samples along one axis of the window [-1, 1]."""
    weight = np.empty(PATCH, np.float32)
    for i in range(PATCH):
        t = (2 * i + 1) / PATCH - 1
        weight[i] = math.exp(-t * t / (2 * sigma * sigma))
    return weight
