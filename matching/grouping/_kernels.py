"""Compiled loops over the motions of correspondences, documented where they are called."""

import math

import numpy as np

from gdl_core.jit import inner, njit
from matching._common.types import Array, Scalar

# Variance of a plane's level and slopes, in units of the bends or of the smoothing, whichever is larger: so
# large that both are practically free. The level cancels; across a line of points, the slope is undetermined.
FREE_VARIANCE = 2.0**26  # larger ones leave too few of the 52 bits to the rest
MIN_SMOOTHING = (
    6.7108864e-07  # as large as the rounding errors of FREE_VARIANCE: less would merge near points
)


@njit
def edge_weights(
    x0: Array,
    x1: Array,
    growth: Array,
    indices: Array,
    distances: Array,
    scale: Scalar,
    slope: Scalar,
    reach: Scalar,
    start: Scalar,
    stop: Scalar,
    out: Array,
) -> None:
    """Fill rows start..stop of out (m, K): weights of edges i -> indices[i, k] with ACC distances[i, k]."""
    for i in range(start, stop):
        for k in range(indices.shape[1]):
            j = indices[i, k]
            unit = math.sqrt(growth[i] * growth[j])
            unit = max(unit, 1.0 / unit)
            u = _length(x0[j, 0] - x0[i, 0], x0[j, 1] - x0[i, 1])
            v = _length(x1[j, 0] - x1[i, 0], x1[j, 1] - x1[i, 1])
            distance = distances[i, k] / (0.5 + 0.5 * unit)
            gap = max(u, v) / unit
            if gap > reach:
                out[i, k] = 0.0
                continue
            deviation = math.sqrt(scale * scale + (slope * gap) ** 2)
            out[i, k] = math.exp(-((distance / deviation) ** 2)) * (scale / deviation)


@inner
def _length(x: Scalar, y: Scalar) -> Scalar:
    """The length of a vector."""
    return math.sqrt(x * x + y * y)


@njit
def local_maps(
    x0: Array,
    x1: Array,
    maps: Array,
    growth: Array,
    near: Array,
    weights: Array,
    ridge: Scalar,
    scale: Scalar,
    rounds: Scalar,
    rows: Array,
    start: Scalar,
    stop: Scalar,
    out: Array,
) -> None:
    """Fill rows start..stop of out (n, 2, 2): linear parts of maps fitted to the neighbours of `rows` (n,).

    Each affine map is fitted to the displacements of near (m, K) with weights (m, K), from maps (m, 2, 2).
    """
    k = near.shape[1]
    u, v, robust, linear = np.empty((k, 2)), np.empty((k, 2)), np.empty(k), np.empty((2, 2))
    normal, right = np.empty((3, 3)), np.empty((2, 3))
    for r in range(start, stop):
        i = rows[r]
        # lengths in pixels of the image where the object is smaller
        unit0, unit1 = max(1.0 / growth[i], 1.0), max(growth[i], 1.0)
        for a in range(2):
            for c in range(2):
                linear[a, c] = maps[i, a, c] * (unit0 / unit1)
        for n in range(k):
            j = near[i, n]
            for c in range(2):
                u[n, c] = (x0[j, c] - x0[i, c]) / unit0
            for c in range(2):  # the residual of the map of the match
                predicted = linear[c, 0] * u[n, 0] + linear[c, 1] * u[n, 1]
                v[n, c] = (x1[j, c] - x1[i, c]) / unit1 - predicted
            robust[n] = 1.0
        for _ in range(rounds):
            _normal_equations(u, v, weights[i], robust, ridge, normal, right)
            _whiten(normal, right, min(ridge, 1.0))
            _solve_back(normal, right)
            for n in range(k):
                a = v[n, 0] - (u[n, 0] * right[0, 0] + u[n, 1] * right[0, 1] + right[0, 2])
                b = v[n, 1] - (u[n, 0] * right[1, 0] + u[n, 1] * right[1, 1] + right[1, 2])
                robust[n] = 1.0 / (1.0 + (a * a + b * b) / (scale * scale))
        for a in range(2):
            for c in range(2):
                out[r, a, c] = (linear[a, c] + right[a, c]) * (unit1 / unit0)


@inner
def _normal_equations(
    u: Array, v: Array, weight: Array, robust: Array, ridge: Scalar, normal: Array, right: Array
) -> None:
    """D^T W D + diag(ridge, ridge, 1) and v^T W D of the design D = [u | 1], W = diag(weight robust)."""
    normal[:] = 0.0
    right[:] = 0.0
    normal[0, 0] = normal[1, 1] = ridge
    normal[2, 2] = 1.0
    for n in range(len(u)):
        w, a, b = weight[n] * robust[n], u[n, 0], u[n, 1]
        normal[0, 0] += w * a * a
        normal[1, 0] += w * a * b
        normal[2, 0] += w * a
        normal[1, 1] += w * b * b
        normal[2, 1] += w * b
        normal[2, 2] += w
        for c in range(2):
            right[c, 0] += w * a * v[n, c]
            right[c, 1] += w * b * v[n, c]
            right[c, 2] += w * v[n, c]


@njit
def spline_residuals(
    x: Array,
    y: Array,
    near: Array,
    from_: Array,
    to: Array,
    smoothing: Scalar,
    residual: Array,
    deviation: Array,
) -> None:
    """Fill residual (q,): the distance from to[r] to the point where a smoothing spline takes from_[r].

    The spline, a thin plate, is fitted to x[near[r]], y[near[r]]; deviation (q,) gets the standard deviation
    of the residual.
    """
    k = near.shape[1]
    u, v = np.empty((k, 2)), np.empty((k, 2))
    matrix, right, shares = np.empty((k, k)), np.empty((2, k)), np.empty(k)
    for r in range(len(near)):
        square = 0.0
        for n in range(k):
            for c in range(2):
                u[n, c], v[n, c] = x[near[r, n], c] - from_[r, c], y[near[r, n], c] - to[r, c]
                square += u[n, c] * u[n, c]
        square = square / k + 1e-18
        for n in range(k):
            u[n, 0] /= math.sqrt(square)
            u[n, 1] /= math.sqrt(square)
        variance = _kriging_shares(u, max(smoothing / square, MIN_SMOOTHING), matrix, right, shares)
        a, b = 0.0, 0.0
        for n in range(k):
            a += shares[n] * v[n, 0]
            b += shares[n] * v[n, 1]
        residual[r] = math.sqrt(a * a + b * b)
        deviation[r] = math.sqrt(max(variance, 0.0) * square + smoothing)


@inner
def _kriging_shares(u: Array, smoothing: Scalar, matrix: Array, right: Array, shares: Array) -> Scalar:
    """Fill shares (k,), with sum 1, of the values at u (k, 2) in the value at 0; return the variance at 0.

    The covariance is that of any plane with bends: C_ij = phi(|u_i - u_j|) + free (1 + u_i u_j) + smoothing
    [i = j] and c_i = phi(|u_i|) + free; C shares = c + multiplier. With the plane C is positive definite: C =
    L L^T.
    """
    k, free = len(u), FREE_VARIANCE * max(1.0, smoothing)
    for i in range(k):
        for j in range(i):
            plane = free * (1.0 + u[i, 0] * u[j, 0] + u[i, 1] * u[j, 1])
            matrix[i, j] = _bend(u[i, 0] - u[j, 0], u[i, 1] - u[j, 1]) + plane
        square = u[i, 0] * u[i, 0] + u[i, 1] * u[i, 1]
        matrix[i, i] = free * (1.0 + square) + smoothing
        shares[i] = right[0, i] = _bend(u[i, 0], u[i, 1])
        right[1, i] = 1.0
    _whiten(matrix, right, smoothing)
    both, ones = 0.0, 0.0
    for n in range(k):
        both += right[0, n] * right[1, n]
        ones += right[1, n] * right[1, n]
    multiplier = (1.0 - both) / ones
    variance = multiplier - free
    for n in range(k):
        right[0, n] += multiplier * right[1, n]
    _solve_back(matrix, right)
    for n in range(k - 1, -1, -1):
        variance -= right[0, n] * shares[n]
        shares[n] = right[0, n]
    return variance


@inner
def _whiten(matrix: Array, right: Array, least: Scalar) -> None:
    """Replace the lower triangle of matrix (k, k) = L L^T by L, and right (c, k) by right L^-T.

    least: no eigenvalue is smaller, so no L_ii^2 is, whatever the rounding errors.
    """
    for i in range(len(matrix)):
        for j in range(i):
            total = matrix[i, j]
            for n in range(j):
                total -= matrix[i, n] * matrix[j, n]
            matrix[i, j] = total / matrix[j, j]
        diagonal = matrix[i, i]
        for n in range(i):
            diagonal -= matrix[i, n] * matrix[i, n]
        matrix[i, i] = math.sqrt(max(diagonal, least))
        for c in range(len(right)):
            total = right[c, i]
            for n in range(i):
                total -= matrix[i, n] * right[c, n]
            right[c, i] = total / matrix[i, i]


@inner
def _solve_back(lower: Array, right: Array) -> None:
    """Replace right (c, k) by right lower^-1, for a lower triangle (k, k)."""
    for c in range(len(right)):
        for i in range(len(lower) - 1, -1, -1):
            total = right[c, i]
            for n in range(i + 1, len(lower)):
                total -= lower[n, i] * right[c, n]
            right[c, i] = total / lower[i, i]


@njit
def fit_random_field(x: Array, y: Array, bends: Scalar, noise: Scalar) -> tuple[Scalar, Scalar]:
    """The squared residual y^T P y and log|K| + log|T^T K^-1 T|, summed over both coordinates of y (n, 2).

    Neither depends on K along T, so a plane is added to make K positive definite, and phi may have any unit.
    """
    k = len(x)
    matrix, right = np.empty((k, k)), np.ones((5, k))  # covariance; 1, x and y relative to their middles
    square = 0.0
    for c in range(4):
        middle = 0.0
        for i in range(k):
            right[1 + c, i] = x[i, c] if c < 2 else y[i, c - 2]
            middle += right[1 + c, i] / k
        for i in range(k):
            right[1 + c, i] -= middle
            square += right[1 + c, i] ** 2 / k if c < 2 else 0.0
    unit = math.sqrt(square) if square > 0.0 else 1.0
    for i in range(k):
        right[1, i] /= unit
        right[2, i] /= unit
        for j in range(i + 1):
            plane = 100.0 * (1.0 + right[1, i] * right[1, j] + right[2, i] * right[2, j])
            bend = _bend(right[1, i] - right[1, j], right[2, i] - right[2, j])
            matrix[i, j] = bends * unit * unit * (bend + plane)
        matrix[i, i] += noise
    _whiten(matrix, right, noise)
    volume, rest = 2.0 * math.log(unit), 0.0
    for i in range(k):
        volume += math.log(matrix[i, i])
    for c in range(5):  # residuals from the rows before; done twice, because of rounding errors
        for n in range(2 * min(c, 3)):
            d, share = n % min(c, 3), 0.0
            for i in range(k):
                share += right[c, i] * right[d, i]
            for i in range(k):
                right[c, i] -= share * right[d, i]
        square = 0.0
        for i in range(k):
            square += right[c, i] * right[c, i]
        if c >= 3:
            rest += square
            continue
        volume += math.log(square) / 2
        for i in range(k):
            right[c, i] /= math.sqrt(square)
    return rest, 4.0 * volume


@inner
def _bend(a: Scalar, b: Scalar) -> Scalar:
    """The thin-plate spline phi at the distance |(a, b)|."""
    square = a * a + b * b
    return 0.5 * square * math.log(square) if square > 0.0 else 0.0
