"""Compiled loops of distances between correspondences; see `matching.correspondences.distances`."""

import math

import numpy as np

from gdl_core.jit import inner, njit
from matching._common.types import Array, Scalar
from matching.correspondences._candidate_kernels import enter_smallest


@njit
def acc_nearest(
    table: Array, slope: Scalar, start: Scalar, stop: Scalar, nearest: Array, distance: Array
) -> None:
    """Fill rows start..stop of nearest, distance (m, k): the k smallest of ACC distance + slope * mean gap.

    Both are in the order (distance, index), and initially hold -1 and infinity. table (12, m) float32 has a
    row per quantity, for vector instructions over j: x0 (2), x1 (2), the maps (4) and the inverse maps (4).
    """
    members, row = np.arange(table.shape[1]), np.empty(table.shape[1], np.float32)
    for i in range(start, stop):
        _acc_row(table, i, slope, row)
        row[i] = np.inf
        enter_smallest(row, members, nearest[i], distance[i])


@njit
def acc_nearest_among(
    table: Array,
    candidates: Array,
    slope: Scalar,
    start: Scalar,
    stop: Scalar,
    nearest: Array,
    distance: Array,
) -> None:
    """Do as `acc_nearest`, but search row i of candidates (m, 1 + c): i itself, then others, ascending."""
    n = candidates.shape[1]
    neighbourhood, row = np.empty((12, n), np.float32), np.empty(n, np.float32)
    for i in range(start, stop):
        for q in range(12):
            for k in range(n):
                neighbourhood[q, k] = table[q, candidates[i, k]]
        _acc_row(neighbourhood, 0, slope, row)
        row[0] = np.inf
        enter_smallest(row, candidates[i], nearest[i], distance[i])


@inner
def _acc_row(table: Array, i: Scalar, slope: Scalar, row: Array) -> None:
    """Fill row (m,) with the distances of `acc_nearest` between i and each column of the table (12, m)."""
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
