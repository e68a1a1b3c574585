"""Compiled loops over the motions of correspondences; what they compute is said where they are called."""

import math

import numpy as np

from gdl_core._jit import inner, njit


@njit
def acc_nearest(table, part, slope, k, start, stop, nearest, distance):
    """Rows start..stop of the k smallest ACC distances plus slope times the mean gap, to correspondences of
    another part: nearest (m, k), distance (m, k), by (distance, index).

    table : (12, m) float32, rows x0 (2), x1 (2), the maps (4) and the inverse maps (4), C order: a row a
        quantity, so that the compiler makes vector instructions of the loop over j
    """
    m = table.shape[1]
    row = np.empty(m, np.float32)
    quarter, half_slope = np.float32(0.25), np.float32(slope / 2)
    x0, y0, x1, y1 = table[0], table[1], table[2], table[3]
    f00, f01, f10, f11 = table[4], table[5], table[6], table[7]
    g00, g01, g10, g11 = table[8], table[9], table[10], table[11]
    for i in range(start, stop):
        for j in range(m):
            ux, uy = x0[j] - x0[i], y0[j] - y0[i]
            vx, vy = x1[j] - x1[i], y1[j] - y1[i]
            px, py = vx - (f00[i] * ux + f01[i] * uy), vy - (f10[i] * ux + f11[i] * uy)
            qx, qy = ux - (g00[i] * vx + g01[i] * vy), uy - (g10[i] * vx + g11[i] * vy)
            rx, ry = vx - (f00[j] * ux + f01[j] * uy), vy - (f10[j] * ux + f11[j] * uy)
            sx, sy = ux - (g00[j] * vx + g01[j] * vy), uy - (g10[j] * vx + g11[j] * vy)
            row[j] = quarter * (
                math.sqrt(px * px + py * py) + math.sqrt(qx * qx + qy * qy)
                + math.sqrt(rx * rx + ry * ry) + math.sqrt(sx * sx + sy * sy)
            ) + half_slope * (math.sqrt(ux * ux + uy * uy) + math.sqrt(vx * vx + vy * vy))  # fmt: skip
        for j in range(m):
            if part[j] == part[i]:
                row[j] = np.inf
        _smallest(row, k, nearest[i], distance[i])


@inner
def _smallest(row, k, index, value):
    """The k smallest of `row` and where they stand, by (value, index)."""
    for t in range(k):
        value[t] = np.inf
        index[t] = -1
    worst = np.float32(np.inf)
    for j in range(len(row)):
        d = row[j]
        if d < worst:
            t = k - 1
            while t > 0 and value[t - 1] > d:
                value[t], index[t] = value[t - 1], index[t - 1]
                t -= 1
            value[t], index[t] = d, j
            worst = value[k - 1]


@njit
def acc_of_pairs(x0, x1, forth, back, i, j, out):
    """out (p,): d_ij of the pairs i, j; x0, x1 (m, 2) points, forth, back (m, 2, 2) maps and inverse maps."""
    for n in range(len(i)):
        a, b = i[n], j[n]
        ux, uy = x0[b, 0] - x0[a, 0], x0[b, 1] - x0[a, 1]
        vx, vy = x1[b, 0] - x1[a, 0], x1[b, 1] - x1[a, 1]
        total = 0.0
        for t in (a, b):
            total += _length(
                vx - (forth[t, 0, 0] * ux + forth[t, 0, 1] * uy),
                vy - (forth[t, 1, 0] * ux + forth[t, 1, 1] * uy),
            ) + _length(
                ux - (back[t, 0, 0] * vx + back[t, 0, 1] * vy), uy - (back[t, 1, 0] * vx + back[t, 1, 1] * vy)
            )
        out[n] = total / 4


@inner
def _length(x, y):
    return math.sqrt(x * x + y * y)


@njit
def gap_of_pairs(x0, x1, i, j, out):
    """out (p,): how far apart i and j are, in the image where it is more."""
    for n in range(len(i)):
        a, b = i[n], j[n]
        ux, uy = x0[b, 0] - x0[a, 0], x0[b, 1] - x0[a, 1]
        vx, vy = x1[b, 0] - x1[a, 0], x1[b, 1] - x1[a, 1]
        out[n] = math.sqrt(max(ux * ux + uy * uy, vx * vx + vy * vy))


@njit
def edge_weights(x0, x1, growth, indices, distances, scale, slope, reach, out):
    """out (m, K): the weight of each edge i -> j = indices[i, k] of ACC distance distances[i, k]."""
    for i in range(len(indices)):
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


@njit
def local_maps(x0, x1, maps, growth, near, weights, ridge, scale, rounds, out):
    """out (m, 2, 2): the linear part of an affine map fitted to the displacements of the neighbours near
    (m, K), with weights (m, K), from maps (m, 2, 2).
    """
    k = near.shape[1]
    u, v, robust = np.empty((k, 2)), np.empty((k, 2)), np.empty(k)
    normal, right, change = np.empty((3, 3)), np.empty((3, 2)), np.empty((3, 2))
    for i in range(len(near)):
        # lengths in pixels of the image where the object is smaller
        unit0, unit1 = max(1.0 / growth[i], 1.0), max(growth[i], 1.0)
        own = maps[i] * (unit0 / unit1)
        for n in range(k):
            j = near[i, n]
            for c in range(2):
                u[n, c] = (x0[j, c] - x0[i, c]) / unit0
            for c in range(2):  # what the own map leaves over
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
                out[i, a, c] = (own[a, c] + change[c, a]) * (unit1 / unit0)


@inner
def _normal_equations(u, v, weight, robust, ridge, normal, right):
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
def _offsets(points, rows, origin, out):
    """out (k, 2): those rows of the points as seen from the origin (2,); the sum of their squares."""
    total = 0.0
    for n in range(len(rows)):
        for c in range(2):
            out[n, c] = points[rows[n], c] - origin[c]
            total += out[n, c] * out[n, c]
    return total


@inner
def _solve_symmetric(m, right, out):
    """out (3, 2) of m out = right, m (3, 3) positive definite, its upper triangle given: m = L L^T."""
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
def spline_residuals(x, y, near, from_, to, smoothing, residual, deviation):
    """residual (q,): how far from to[r] the smoothing thin-plate spline takes from_[r] that is fitted to
    x[near[r]], y[near[r]]; deviation (q,): the standard deviation of that.
    """
    k = near.shape[1]
    u, v, matrix = np.empty((k, 2)), np.empty((k, 2)), np.empty((k + 3, k + 3))
    right, solved = np.empty(k + 3), np.empty(k + 3)
    for r in range(len(near)):
        square = _offsets(x, near[r], from_[r], u) / k + 1e-18
        u /= math.sqrt(square)
        _offsets(y, near[r], to[r], v)
        _spline_equations(u, smoothing / square, matrix, right)
        solved[:] = right
        _solve_in_place(matrix, solved)
        a, b, variance = 0.0, 0.0, 0.0
        for n in range(k):
            a += solved[n] * v[n, 0]
            b += solved[n] * v[n, 1]
        for n in range(k + 3):
            variance -= solved[n] * right[n]
        residual[r] = math.sqrt(a * a + b * b)
        deviation[r] = math.sqrt(max(variance, 0.0) * square + smoothing)


@inner
def _spline_equations(u, smoothing, matrix, right):
    """The equations [[K + smoothing I, P], [P^T, -ridge]] of the shares that the values at u (k, 2) have in
    the value at 0, K_ij = |u_i - u_j|^2 log |u_i - u_j|, P = [1 | u].
    """
    k = len(u)
    matrix[:] = 0.0
    for i in range(k):
        for j in range(i):
            matrix[i, j] = matrix[j, i] = _bend(u[i, 0] - u[j, 0], u[i, 1] - u[j, 1])
        matrix[i, i] = smoothing
        matrix[i, k] = matrix[k, i] = 1.0
        for c in range(2):
            matrix[i, k + 1 + c] = matrix[k + 1 + c, i] = u[i, c]
        right[i] = _bend(u[i, 0], u[i, 1])
    # points in one line leave the map across it open
    matrix[k + 1, k + 1] = matrix[k + 2, k + 2] = -1e-6
    right[k], right[k + 1], right[k + 2] = 1.0, 0.0, 0.0


@inner
def _bend(a, b):
    square = a * a + b * b
    return 0.5 * square * math.log(square) if square > 0.0 else 0.0


@inner
def _solve_in_place(matrix, b):
    """b becomes the solution of matrix b' = b, by elimination with row pivots; the matrix is used up."""
    size = len(b)
    for p in range(size):
        best = p
        for r in range(p + 1, size):
            if abs(matrix[r, p]) > abs(matrix[best, p]):
                best = r
        for c in range(p, size):
            matrix[p, c], matrix[best, c] = matrix[best, c], matrix[p, c]
        b[p], b[best] = b[best], b[p]
        for r in range(p + 1, size):
            factor = matrix[r, p] / matrix[p, p]
            for c in range(p + 1, size):
                matrix[r, c] -= factor * matrix[p, c]
            b[r] -= factor * b[p]
    for p in range(size - 1, -1, -1):
        for c in range(p + 1, size):
            b[p] -= matrix[p, c] * b[c]
        b[p] /= matrix[p, p]
