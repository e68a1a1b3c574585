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
    u, v, robust = np.empty((k, 2)), np.empty((k, 2)), np.empty(k)
    normal, right, change = np.empty((3, 3)), np.empty((3, 2)), np.empty((3, 2))
    for r in range(start, stop):
        i = rows[r]
        # lengths in pixels of the image where the object is smaller
        unit0, unit1 = max(1.0 / growth[i], 1.0), max(growth[i], 1.0)
        own = maps[i] * (unit0 / unit1)
        for n in range(k):
            j = near[i, n]
            for c in range(2):
                u[n, c] = (x0[j, c] - x0[i, c]) / unit0
            for c in range(2):  # the residual of the map of the match
                there = own[c, 0] * u[n, 0] + own[c, 1] * u[n, 1]
                v[n, c] = (x1[j, c] - x1[i, c]) / unit1 - there
        robust[:] = 1.0
        for _ in range(rounds):
            _normal_equations(u, v, weights[i], robust, ridge, normal, right)
            _solve_symmetric(normal, right, change)
            for n in range(k):
                a = v[n, 0] - (u[n, 0] * change[0, 0] + u[n, 1] * change[1, 0] + change[2, 0])
                b = v[n, 1] - (u[n, 0] * change[0, 1] + u[n, 1] * change[1, 1] + change[2, 1])
                robust[n] = 1.0 / (1.0 + (a * a + b * b) / (scale * scale))
        for a in range(2):
            for c in range(2):
                out[r, a, c] = (own[a, c] + change[c, a]) * (unit1 / unit0)


@inner
def _normal_equations(
    u: Array, v: Array, weight: Array, robust: Array, ridge: Scalar, normal: Array, right: Array
) -> None:
    """D^T W D + diag(ridge, ridge, 1) and D^T W v of the design D = [u | 1], W = diag(weight robust)."""
    normal[:] = 0.0
    right[:] = 0.0
    normal[0, 0] = normal[1, 1] = ridge
    normal[2, 2] = 1.0
    for n in range(len(u)):
        w, a, b = weight[n] * robust[n], u[n, 0], u[n, 1]
        normal[0, 0] += w * a * a
        normal[0, 1] += w * a * b
        normal[0, 2] += w * a
        normal[1, 1] += w * b * b
        normal[1, 2] += w * b
        normal[2, 2] += w
        for c in range(2):
            right[0, c] += w * a * v[n, c]
            right[1, c] += w * b * v[n, c]
            right[2, c] += w * v[n, c]


@inner
def _offsets(points: Array, rows: Array, origin: Array, out: Array) -> Scalar:
    """Fill out (k, 2): rows of the points relative to the origin (2,); return the sum of their squares."""
    total = 0.0
    for n in range(len(rows)):
        for c in range(2):
            out[n, c] = points[rows[n], c] - origin[c]
            total += out[n, c] * out[n, c]
    return total


@inner
def _solve_symmetric(m: Array, right: Array, out: Array) -> None:
    """Solve m out = right for out (3, 2), by m = L L^T: m (3, 3) positive definite, as an upper triangle."""
    l00 = math.sqrt(m[0, 0])
    l10, l20 = m[0, 1] / l00, m[0, 2] / l00
    l11 = math.sqrt(m[1, 1] - l10 * l10)
    l21 = (m[1, 2] - l20 * l10) / l11
    l22 = math.sqrt(m[2, 2] - l20 * l20 - l21 * l21)
    for c in range(2):
        a = right[0, c] / l00
        b = (right[1, c] - l10 * a) / l11
        d = (right[2, c] - l20 * a - l21 * b) / l22
        out[2, c] = d / l22
        out[1, c] = (b - l21 * out[2, c]) / l11
        out[0, c] = (a - l10 * out[1, c] - l20 * out[2, c]) / l00


@njit
def drop_small_degrees(indptr: Array, indices: Array, weights: Array, least: Scalar, labels: Array) -> None:
    """Set labels (m,) to -1 where the degree within the cluster is below `least`, until nothing changes.

    The degree is the product of the sums of weights to and from vertices of the same label.
    """
    outdegree, indegree = np.empty(len(labels)), np.empty(len(labels))
    is_any = True
    while is_any:
        outdegree[:] = 0.0
        indegree[:] = 0.0
        for i in range(len(labels)):
            if labels[i] >= 0:
                for e in range(indptr[i], indptr[i + 1]):
                    if labels[indices[e]] == labels[i]:
                        outdegree[i] += weights[e]
                        indegree[indices[e]] += weights[e]
        is_any = False
        for i in range(len(labels)):
            if labels[i] >= 0 and indegree[i] * outdegree[i] < least:
                labels[i] = -1
                is_any = True


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
        square = _offsets(x, near[r], from_[r], u) / k + 1e-18
        u /= math.sqrt(square)
        _offsets(y, near[r], to[r], v)
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
    _whiten(matrix, right)
    both, ones = 0.0, 0.0
    for n in range(k):
        both += right[0, n] * right[1, n]
        ones += right[1, n] * right[1, n]
    multiplier = (1.0 - both) / ones
    variance = multiplier - free
    for i in range(k - 1, -1, -1):
        bend, total = shares[i], right[0, i] + multiplier * right[1, i]
        for n in range(i + 1, k):
            total -= matrix[n, i] * shares[n]
        shares[i] = total / matrix[i, i]
        variance -= shares[i] * bend
    return variance


@inner
def _whiten(matrix: Array, right: Array) -> None:
    """Replace the lower triangle of matrix (k, k) = L L^T by L, and right (c, k) by right L^-T."""
    for i in range(len(matrix)):
        for j in range(i):
            total = matrix[i, j]
            for n in range(j):
                total -= matrix[i, n] * matrix[j, n]
            matrix[i, j] = total / matrix[j, j]
        diagonal = matrix[i, i]
        for n in range(i):
            diagonal -= matrix[i, n] * matrix[i, n]
        matrix[i, i] = math.sqrt(diagonal)
        for c in range(len(right)):
            total = right[c, i]
            for n in range(i):
                total -= matrix[i, n] * right[c, n]
            right[c, i] = total / matrix[i, i]


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
    _whiten(matrix, right)
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
    square = a * a + b * b
    return 0.5 * square * math.log(square) if square > 0.0 else 0.0


@njit
def least_square_distance(points: Array, others: Array) -> Scalar:
    """The least squared distance of points (n, 2) from others (m, 2)."""
    least = np.inf
    for i in range(len(points)):
        for j in range(len(others)):
            x, y = points[i, 0] - others[j, 0], points[i, 1] - others[j, 1]
            least = min(least, x * x + y * y)
    return least
