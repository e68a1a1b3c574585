"""Compiled loops over matches and planes, documented where they are called."""

import math

import numpy as np

from gdl_core.jit import inner, njit
from matching._common.types import Array, Scalar

MIN_DEPTH = 1e-6  # of the mean depth of the fitted matches; nearer ones lie beyond the horizon
MAX_SWEEPS = 20  # of choices in turn: they end by themselves after three to six


@inner
def _linearise(plane: Array, x: Scalar, y: Scalar) -> tuple[Scalar, ...]:
    """The depth of a point, the place where it goes, and the derivatives there, row by row."""
    depth = plane[2, 0] * x + plane[2, 1] * y + plane[2, 2]
    p = (plane[0, 0] * x + plane[0, 1] * y + plane[0, 2]) / depth
    q = (plane[1, 0] * x + plane[1, 1] * y + plane[1, 2]) / depth
    a, b = (plane[0, 0] - p * plane[2, 0]) / depth, (plane[0, 1] - p * plane[2, 1]) / depth
    c, d = (plane[1, 0] - q * plane[2, 0]) / depth, (plane[1, 1] - q * plane[2, 1]) / depth
    return depth, p, q, a, b, c, d


@inner
def _measure(plane: Array, x: Scalar, y: Scalar, u: Scalar, v: Scalar) -> Scalar:
    """The squared Sampson error r' (I + J J')^-1 r, written as sums of squares, so that nothing cancels."""
    depth, p, q, a, b, c, d = _linearise(plane, x, y)
    if not depth > MIN_DEPTH:
        return np.inf
    r, s = p - u, q - v
    error = r * r + s * s + (r * c - s * a) ** 2 + (r * d - s * b) ** 2
    error /= 1.0 + a * a + b * b + c * c + d * d + (a * d - b * c) ** 2
    return error if error < np.inf else np.inf  # not a number counts as infinite


@njit
def squared_errors(planes: Array, xy0: Array, xy1: Array, out: Array) -> None:
    """Fill out (p, n): the squared error of each match from each plane."""
    for p in range(len(planes)):
        for i in range(len(xy0)):
            out[p, i] = _measure(planes[p], xy0[i, 0], xy0[i, 1], xy1[i, 0], xy1[i, 1])


@njit
def savings(
    planes: Array,
    xy0: Array,
    xy1: Array,
    left: Array,
    freedom: Scalar,
    variance: Scalar,
    gain: Scalar,
    out: Array,
) -> None:
    """Fill out (p,): how much less matches cost on each plane than now, left (n,), if they choose freely."""
    power = 0.5 * freedom + 1.0
    reach = freedom * variance * (math.exp(gain / power) - 1.0)  # where a match costs as much as an outlier
    for p in range(len(planes)):
        total = 0.0
        for i in range(len(xy0)):
            error = _measure(planes[p], xy0[i, 0], xy0[i, 1], xy1[i, 0], xy1[i, 1])
            if error < reach:
                cost = power * math.log1p(error / (freedom * variance)) - gain
                total += max(left[i] - cost, 0.0)
        out[p] = total


@njit
def moments(
    planes: Array,
    xy0: Array,
    xy1: Array,
    rows: Array,
    starts: Array,
    freedom: Scalar,
    variance: Scalar,
    frames: Array,
    out: Array,
) -> None:
    """Fill out (p, 9, 9) and frames (p, 2, 3): the normal equations of the matches of each plane.

    Those of plane p are rows[starts[p]:starts[p + 1]]. A plane of zeros stands for none: then all matches
    have the same weight. frames: the mean of the points in each picture, and one over their deviation.
    """
    for p in range(len(planes)):
        plane, first, last = planes[p], starts[p], starts[p + 1]
        is_known = np.any(plane != 0.0)
        weights, inverse = np.ones(last - first), np.zeros((last - first, 3))
        inverse[:, 0] = inverse[:, 2] = 1.0
        for k in range(last - first):
            if not is_known:
                continue
            i = rows[first + k]
            depth, _, _, a, b, c, d = _linearise(plane, xy0[i, 0], xy0[i, 1])
            error = _measure(plane, xy0[i, 0], xy0[i, 1], xy1[i, 0], xy1[i, 1])
            weights[k] = 1.0 / (1.0 + error / (freedom * variance)) if error < np.inf else 0.0
            if weights[k] > 0:
                e, f, g = 1.0 + a * a + b * b, a * c + b * d, 1.0 + c * c + d * d
                scale = depth * depth * (e + g - 1.0 + (a * d - b * c) ** 2)  # e g - f^2; nothing cancels
                if scale < np.inf:
                    inverse[k] = g / scale, -f / scale, e / scale
                else:
                    weights[k] = 0.0
        _normalise(xy0, rows[first:last], weights, frames[p, 0])
        _normalise(xy1, rows[first:last], weights, frames[p, 1])
        out[p] = 0.0
        for k in range(last - first):
            i = rows[first + k]
            x = (xy0[i, 0] - frames[p, 0, 0]) * frames[p, 0, 2]
            y = (xy0[i, 1] - frames[p, 0, 1]) * frames[p, 0, 2]
            u = (xy1[i, 0] - frames[p, 1, 0]) * frames[p, 1, 2]
            v = (xy1[i, 1] - frames[p, 1, 1]) * frames[p, 1, 2]
            point = (x, y, 1.0)
            e, f, g = weights[k] * inverse[k, 0], weights[k] * inverse[k, 1], weights[k] * inverse[k, 2]
            factors = (
                (e, f, -e * u - f * v),
                (f, g, -f * u - g * v),
                (0.0, 0.0, e * u * u + 2 * f * u * v + g * v * v),
            )
            for m in range(3):
                for n in range(m, 3):
                    for r in range(3):
                        for s in range(3):
                            out[p, 3 * m + r, 3 * n + s] += factors[m][n] * point[r] * point[s]
        for r in range(9):
            for s in range(r):
                out[p, r, s] = out[p, s, r]


@inner
def _normalise(xy: Array, rows: Array, weights: Array, out: Array) -> None:
    """Fill out (3,): the weighted mean of some points, and one over their deviation."""
    total, x, y, spread = 0.0, 0.0, 0.0, 0.0
    for k in range(len(rows)):
        total += weights[k]
        x += weights[k] * xy[rows[k], 0]
        y += weights[k] * xy[rows[k], 1]
    total = max(total, 1e-300)
    x, y = x / total, y / total
    for k in range(len(rows)):
        spread += weights[k] * ((xy[rows[k], 0] - x) ** 2 + (xy[rows[k], 1] - y) ** 2)
    out[0], out[1], out[2] = x, y, 1.0 / (math.sqrt(spread / total) + 1e-12)


@njit
def choose_in_turn(costs: Array, neighbours: Array, starts: Array, price: Scalar, labels: Array) -> None:
    """Change labels (n,): each match in turn takes the row of costs (p, n) that is cheapest for it.

    Its neighbours are neighbours[starts[i]:starts[i + 1]]; each one with another label costs `price`.
    """
    for _ in range(MAX_SWEEPS):
        is_changed = False
        for i in range(len(labels)):
            chosen = labels[i]
            lowest = _total(costs, neighbours, starts, price, labels, i, chosen)
            for p in range(len(costs)):
                if p != labels[i] and costs[p, i] - price * (starts[i + 1] - starts[i]) < lowest:
                    total = _total(costs, neighbours, starts, price, labels, i, p)
                    if total < lowest:
                        chosen, lowest = p, total
            is_changed |= chosen != labels[i]
            labels[i] = chosen
        if not is_changed:
            break


@inner
def _total(
    costs: Array, neighbours: Array, starts: Array, price: Scalar, labels: Array, i: Scalar, label: Scalar
) -> Scalar:
    """What a label costs match i, less the price of all its neighbours."""
    agreeing = 0
    for k in range(starts[i], starts[i + 1]):
        agreeing += labels[neighbours[k]] == label
    return costs[label, i] - price * agreeing
