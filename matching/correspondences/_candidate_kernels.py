"""Compiled loops over pairs of features; what they compute is said where they are called."""

import math

import numpy as np

from gdl_core._jit import njit
from matching._types import Array, Bools, Scalar


@njit
def best_in_row(
    similarity: Array, norm1: Array, first: Scalar, width: Scalar, found: Array, score: Array
) -> None:
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
def pass_over_near(
    similarity: Array, xy0: Array, clearance0: Array, xy1: Array, clearance1: Array, first: Scalar
) -> None:
    """-inf into `similarity` (b, n1) of rows first, first + 1, ... where two points are nearer than either
    clearance.
    """
    for r in range(similarity.shape[0]):
        x, y, own = xy0[first + r, 0], xy0[first + r, 1], clearance0[first + r]
        for j in range(similarity.shape[1]):
            u, v, least = xy1[j, 0] - x, xy1[j, 1] - y, max(own, clearance1[j])
            if u * u + v * v < least * least:
                similarity[r, j] = -np.inf


@njit
def drop_near_duplicates(xy0: Array, xy1: Array, radius: Scalar, most: Scalar) -> Bools:
    """Of pairs in order of preference: a mask of those not within `radius` at both ends of one kept before,
    at most `most`.
    """
    keep = np.zeros(len(xy0), np.bool_)
    buckets = 65536  # of squares as wide as the radius
    head = np.full(buckets, -1, np.int64)
    after = np.empty(len(xy0), np.int64)
    r2 = radius * radius
    kept = 0
    for p in range(len(xy0)):
        gx, gy = math.floor(xy0[p, 0] / radius), math.floor(xy0[p, 1] / radius)
        free = True
        for cy in range(gy - 1, gy + 2):
            for cx in range(gx - 1, gx + 2):
                q = head[(cx * 73856093 ^ cy * 19349663) & (buckets - 1)]
                while q >= 0 and free:
                    a = (xy0[p, 0] - xy0[q, 0]) ** 2 + (xy0[p, 1] - xy0[q, 1]) ** 2
                    b = (xy1[p, 0] - xy1[q, 0]) ** 2 + (xy1[p, 1] - xy1[q, 1]) ** 2
                    free = not (a < r2 and b < r2)
                    q = after[q]
        if free:
            keep[p] = True
            bucket = (gx * 73856093 ^ gy * 19349663) & (buckets - 1)
            after[p] = head[bucket]
            head[bucket] = p
            kept += 1
            if kept == most:
                break
    return keep
