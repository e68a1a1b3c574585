"""Compiled loops of distances between correspondences; see `matching.correspondences.distances`."""

import math

import numpy as np

from gdl_core.jit import inner, njit
from matching._common.types import Array, Scalar
from matching.correspondences._candidate_kernels import bound_smallest

LARGEST = np.finfo(np.float32).max


@njit
def acc_nearest(
    table: Array, slope: Scalar, k: Scalar, start: Scalar, stop: Scalar, nearest: Array, distance: Array
) -> None:
    """Fill rows start..stop of nearest, distance (m, k): the k smallest ACC distances + slope * mean gap.

    They are in the order (distance, index). table (12, m) float32 has a row per quantity, for vector
    instructions over j: x0 (2), x1 (2), the maps (4) and the inverse maps (4).
    """
    row = _make_row(table.shape[1])
    for i in range(start, stop):
        _acc_row(table, i, slope, row)
        row[i] = np.inf
        _smallest(row, k, nearest[i], distance[i])


@njit
def acc_nearest_among(
    table: Array,
    among: Array,
    slope: Scalar,
    k: Scalar,
    start: Scalar,
    stop: Scalar,
    nearest: Array,
    distance: Array,
) -> None:
    """`acc_nearest` among the correspondences in each row of among (m, c), ascending; k is at most c."""
    c = among.shape[1]
    own, row, chosen = np.empty((12, c + 1), np.float32), _make_row(c + 1), np.empty(k, np.int64)
    for i in range(start, stop):
        for q in range(12):
            own[q, 0] = table[q, i]
            for n in range(c):
                own[q, 1 + n] = table[q, among[i, n]]
        _acc_row(own, 0, slope, row)
        row[0] = np.inf
        _smallest(row, k, chosen, distance[i])
        for n in range(k):
            nearest[i, n] = among[i, chosen[n] - 1]


@inner
def _make_row(m: Scalar) -> Array:
    """An array for m distances, padded with infinity to a multiple of 8."""
    return np.full((m + 7) // 8 * 8, np.inf, np.float32)


@inner
def _acc_row(table: Array, i: Scalar, slope: Scalar, row: Array) -> None:
    """Fill the first m of `row` with the distances of `acc_nearest` between i and the table (12, m)."""
    quarter, half_slope = np.float32(0.25), np.float32(slope / 2)
    x0, y0, x1, y1 = table[0], table[1], table[2], table[3]
    f00, f01, f10, f11 = table[4], table[5], table[6], table[7]
    g00, g01, g10, g11 = table[8], table[9], table[10], table[11]
    for j in range(len(x0)):
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


@inner
def _smallest(row: Array, k: Scalar, index: Array, value: Array) -> None:
    """Find the k smallest of `row` and their indices, by (value, index); -1 and infinity pad the result.

    `row` is non-negative, and its length is divisible by 8. Values within a bound are found eight at a time,
    and each goes directly to its rank, so that hardly any branch depends on the values.
    """
    bound, n, most = min(bound_smallest(row, k), LARGEST), 0, 4 * k
    within, keys = np.empty(len(row), np.uint8), np.empty(most + 24, np.int64)
    for j in range(len(row)):  # vector instructions
        within[j] = np.uint8(row[j] <= bound)
    bits, eights = row.view(np.int32), within.view(np.uint64)  # the bits have the same order as the numbers
    for e in range(len(eights)):
        if eights[e] > 0:
            for j in range(8 * e, 8 * e + 8):
                keys[n] = np.int64(bits[j]) << 32 | j
                n += within[j]
            if n > most:  # many are equal
                n = _sort_smallest(keys, n, k)
    n = _sort_smallest(keys, n, k)
    for r in range(k):
        j = keys[r] & 0xFFFFFFFF
        index[r], value[r] = (j, row[j]) if r < n else (-1, np.float32(np.inf))


@inner
def _sort_smallest(keys: Array, n: Scalar, k: Scalar) -> Scalar:
    """Sort the k smallest of the first n keys, which all differ, and count them; overwrites 16 more."""
    keys[n : n + 16] = np.iinfo(np.int64).max  # so that vectors are full
    padded = keys[: (n + 15) // 16 * 16].copy()
    for key in padded[:n]:
        place = np.int64(0)
        for other in padded:  # vector instructions
            place += np.int64(other < key)
        if place < k:
            keys[place] = key
    return min(n, k)


@njit
def agreeing_shares(
    x0: Array,
    x1: Array,
    forth: Array,
    back: Array,
    growth: Array,
    rows: Array,
    near: Array,
    scale: Scalar,
    slope: Scalar,
    out: Array,
) -> None:
    """Fill out (q,): the share of near[r], (q, k) padded with -1, with which rows[r] agrees.

    x0, x1 (m, 2) are points, forth and back (m, 2, 2) maps and inverse maps.
    """
    for r in range(len(rows)):
        i, n_agreeing, n_near = rows[r], 0, 0
        for j in near[r]:
            if j < 0:
                continue
            n_near += 1
            unit = math.sqrt(growth[i] * growth[j])
            unit = max(unit, 1.0 / unit)
            ux, uy = x0[j, 0] - x0[i, 0], x0[j, 1] - x0[i, 1]
            vx, vy = x1[j, 0] - x1[i, 0], x1[j, 1] - x1[i, 1]
            total = 0.0
            for t in (i, j):
                total += _length(
                    vx - (forth[t, 0, 0] * ux + forth[t, 0, 1] * uy),
                    vy - (forth[t, 1, 0] * ux + forth[t, 1, 1] * uy),
                ) + _length(
                    ux - (back[t, 0, 0] * vx + back[t, 0, 1] * vy),
                    uy - (back[t, 1, 0] * vx + back[t, 1, 1] * vy),
                )
            distance = total / 4 / ((1.0 + unit) / 2)
            deviation = slope * (math.sqrt(max(ux * ux + uy * uy, vx * vx + vy * vy)) / unit)
            n_agreeing += distance * distance < scale * scale + deviation * deviation
        out[r] = n_agreeing / n_near


@inner
def _length(x: Scalar, y: Scalar) -> Scalar:
    return math.sqrt(x * x + y * y)
