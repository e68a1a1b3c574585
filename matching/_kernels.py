"""Compiled loops over plain arrays; what they compute is said where they are called."""

import math

import numpy as np

from gdl_core._jit import inner, njit

PATCH = 20
BINS = 36  # of the orientation histogram


@njit
def region_moments(points, lengths):
    """(n, 6): mean x, mean y, and the central second moments xx, xy, yy of each region, then its area."""
    out = np.empty((len(lengths), 6))
    start = 0
    for r in range(len(lengths)):
        n = lengths[r]
        x0, y0 = points[start, 0], points[start, 1]
        sx = sy = sxx = sxy = syy = 0
        for p in range(start, start + n):
            x, y = points[p, 0] - x0, points[p, 1] - y0
            sx += x
            sy += y
            sxx += x * x
            sxy += x * y
            syy += y * y
        start += n
        mx, my = sx / n, sy / n
        out[r, 0], out[r, 1] = x0 + mx, y0 + my
        out[r, 2] = sxx / n - mx * mx
        out[r, 3] = sxy / n - mx * my
        out[r, 4] = syy / n - my * my
        out[r, 5] = n
    return out


@inner
def _direction(y, x):
    """atan2(y, x) in eighths of a turn, [-4, 4], to 3e-6 of an eighth."""
    ax, ay = abs(x), abs(y)
    low, high = min(ax, ay), max(ax, ay)
    if high == 0.0:
        return 0.0
    a = low / high
    q = a * a
    # odd polynomial of degree 11, fitted to 4 / pi atan on [0, 1]
    t = -0.148238672 + q * (0.067032558 + q * -0.014921218)
    t = a * (1.273210539 + q * (-0.423508528 + q * (0.246423205 + q * t)))
    if ay > ax:
        t = 2.0 - t
    if x < 0.0:
        t = 4.0 - t
    return -t if y < 0.0 else t


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
def _sample_patch(pixels, offset, height, width, step, cx, cy, a, b, c, d, patch):
    """Fill `patch` (s, s) by bilinear samples of one pyramid level on the grid A [-1, 1]^2 + centre (border
    included).
    """
    s = patch.shape[0]
    unit = 2.0 / PATCH
    first = -1.0 - unit / 2.0
    for i in range(s):
        v = first + unit * i
        for j in range(s):
            u = first + unit * j
            x = (cx + a * u + b * v) / step
            y = (cy + c * u + d * v) / step
            patch[i, j] = _bilinear(pixels, offset, height, width, x, y)


@njit
def dominant_orientations(pixels, levels, xy, windows, level, most, ratio, start, stop, angles):
    """For features start..stop: up to `most` peaks of the gradient-orientation histogram, into angles (n,
    most).
    """
    s = PATCH + 2
    patch = np.empty((s, s), np.float32)
    raw, smooth = np.empty(BINS), np.empty(BINS)
    weight = np.empty((PATCH, PATCH))
    for i in range(PATCH):
        for j in range(PATCH):
            v, u = (2 * i + 1) / PATCH - 1, (2 * j + 1) / PATCH - 1
            weight[i, j] = math.exp(-(u * u + v * v) / (2 * 0.5 * 0.5))
    for f in range(start, stop):
        l = level[f]
        w = windows[f]
        _sample_patch(pixels, int(levels[l, 0]), int(levels[l, 1]), int(levels[l, 2]), levels[l, 3],
                      xy[f, 0], xy[f, 1], w[0, 0], w[0, 1], w[1, 0], w[1, 1], patch)  # fmt: skip
        raw[:] = 0.0
        for i in range(PATCH):
            for j in range(PATCH):
                gx = patch[i + 1, j + 2] - patch[i + 1, j]
                gy = patch[i + 2, j + 1] - patch[i, j + 1]
                m = math.sqrt(gx * gx + gy * gy) * weight[i, j]
                t = _direction(gy, gx) * (BINS / 8)
                b = math.floor(t)
                t -= b
                raw[b % BINS] += m * (1 - t)
                raw[(b + 1) % BINS] += m * t
        for _ in range(3):
            for b in range(BINS):
                smooth[b] = 0.25 * raw[b - 1] + 0.5 * raw[b] + 0.25 * raw[(b + 1) % BINS]
            raw[:] = smooth
        top = raw.max()
        angles[f, :] = np.nan
        for k in range(most):
            best, at = 0.0, -1
            for b in range(BINS):
                if raw[b] > best and raw[b] > raw[b - 1] and raw[b] >= raw[(b + 1) % BINS]:
                    taken = False
                    for q in range(k):
                        turn = abs((angles[f, q] * BINS / (2 * math.pi) - b + BINS / 2) % BINS - BINS / 2)
                        taken = taken or turn < 1.0
                    if not taken:
                        best, at = raw[b], b
            if at < 0 or best < ratio * top:
                break
            left, right = raw[at - 1], raw[(at + 1) % BINS]
            peak = at + 0.5 * (left - right) / (left - 2 * best + right)
            angles[f, k] = peak * 2 * math.pi / BINS


@njit
def describe(pixels, levels, xy, windows, level, start, stop, out):
    """RootSIFT of the windows start..stop into out (n, 128), rounded to whole numbers, Euclidean norm about
    2048.
    """
    s = PATCH + 2
    patch = np.empty((s, s), np.float32)
    # A sample's share in the 4 x 4 cells never changes: at most two cells along each axis.
    cell = np.empty((PATCH, 2), np.int64)
    share = np.empty((PATCH, 2))
    gauss = np.empty(PATCH)
    for i in range(PATCH):
        v = (i + 0.5) * 5 / PATCH - 1.0
        low = math.floor(v)
        cell[i, 0], cell[i, 1] = low, low + 1
        share[i, 0], share[i, 1] = 1 - (v - low), v - low
        t = (2 * i + 1) / PATCH - 1
        gauss[i] = math.exp(-t * t * 1.5625 / 2)
        for k in range(2):
            if cell[i, k] < 0 or cell[i, k] > 3:
                cell[i, k], share[i, k] = 0, 0.0
    hist = np.empty((4, 4, 8))
    for f in range(start, stop):
        l = level[f]
        w = windows[f]
        _sample_patch(pixels, int(levels[l, 0]), int(levels[l, 1]), int(levels[l, 2]), levels[l, 3],
                      xy[f, 0], xy[f, 1], w[0, 0], w[0, 1], w[1, 0], w[1, 1], patch)  # fmt: skip
        hist[:] = 0.0
        for i in range(PATCH):
            for j in range(PATCH):
                gx = patch[i + 1, j + 2] - patch[i + 1, j]
                gy = patch[i + 2, j + 1] - patch[i, j + 1]
                m = math.sqrt(gx * gx + gy * gy) * gauss[i] * gauss[j]
                t = _direction(gy, gx)
                o = math.floor(t)
                t -= o
                o0, o1 = o & 7, (o + 1) & 7
                for p in range(2):
                    for q in range(2):
                        n = m * share[i, p] * share[j, q]
                        hist[cell[i, p], cell[j, q], o0] += n * (1 - t)
                        hist[cell[i, p], cell[j, q], o1] += n * t
        h = hist.reshape(128)
        norm = 0.0
        for k in range(128):
            norm += h[k] * h[k]
        if norm == 0.0:
            out[f, :] = 0
            continue
        clip = 0.2 * math.sqrt(norm)
        total = 0.0
        for k in range(128):
            h[k] = min(h[k], clip)
            total += h[k]
        for k in range(128):
            out[f, k] = np.rint(2048 * math.sqrt(h[k] / total))


@njit
def best_in_row(similarity, norm1, first, width, found, score):
    """Of each row of `similarity` (b, n1): the `width` columns of least norm1 - 2 similarity, into found,
    score.
    """
    for r in range(similarity.shape[0]):
        for k in range(width):
            score[first + r, k] = np.inf
            found[first + r, k] = -1
        worst = np.float32(np.inf)
        for j in range(similarity.shape[1]):
            d = norm1[j] - 2 * similarity[r, j]
            if d < worst:
                k = width - 1
                while k > 0 and score[first + r, k - 1] > d:
                    score[first + r, k] = score[first + r, k - 1]
                    found[first + r, k] = found[first + r, k - 1]
                    k -= 1
                score[first + r, k] = d
                found[first + r, k] = j
                worst = score[first + r, width - 1]


@njit
def drop_near_duplicates(xy0, xy1, radius, most):
    """Of pairs in order of preference: a mask of those not within `radius` at both ends of one kept before,
    at most `most`.
    """
    keep = np.zeros(len(xy0), np.bool_)
    cells = 65536
    head = np.full(cells, -1, np.int64)
    after = np.empty(len(xy0), np.int64)
    r2 = radius * radius
    kept = 0
    for p in range(len(xy0)):
        gx, gy = math.floor(xy0[p, 0] / radius), math.floor(xy0[p, 1] / radius)
        free = True
        for cy in range(gy - 1, gy + 2):
            for cx in range(gx - 1, gx + 2):
                q = head[(cx * 73856093 ^ cy * 19349663) & (cells - 1)]
                while q >= 0 and free:
                    a = (xy0[p, 0] - xy0[q, 0]) ** 2 + (xy0[p, 1] - xy0[q, 1]) ** 2
                    b = (xy1[p, 0] - xy1[q, 0]) ** 2 + (xy1[p, 1] - xy1[q, 1]) ** 2
                    free = not (a < r2 and b < r2)
                    q = after[q]
        if free:
            keep[p] = True
            cell = (gx * 73856093 ^ gy * 19349663) & (cells - 1)
            after[p] = head[cell]
            head[cell] = p
            kept += 1
            if kept == most:
                break
    return keep
