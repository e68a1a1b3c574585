"""Euclidean distances from differences in float64, compiled."""

import numpy as np

from .._common.jit import inner, njit
from .._common.types import Array, Arrays, Scalar


@njit
def candidate_distances(x: Array, rows: Array, candidates: Array, out: Array, first: int, last: int) -> None:
    """Set out[r, k] to |x[rows[r]] - x[candidates[r, k]]| for r from first to last - 1."""
    for r in range(first, last):
        for k in range(candidates.shape[1]):
            out[r, k] = compute_length(x[rows[r]], x[candidates[r, k]])


@inner
def compute_length(a: Array, b: Array) -> Scalar:
    """Compute |a - b| of a, b (d,) in float64."""
    d_unrolled = len(a) - len(a) % 4
    s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
    for f in range(0, d_unrolled, 4):  # four sums, so that no addition has to wait for the one before
        d0 = np.float64(a[f]) - np.float64(b[f])
        d1 = np.float64(a[f + 1]) - np.float64(b[f + 1])
        d2 = np.float64(a[f + 2]) - np.float64(b[f + 2])
        d3 = np.float64(a[f + 3]) - np.float64(b[f + 3])
        s0 += d0 * d0
        s1 += d1 * d1
        s2 += d2 * d2
        s3 += d3 * d3
    for f in range(d_unrolled, len(a)):
        d0 = np.float64(a[f]) - np.float64(b[f])
        s0 += d0 * d0
    return np.sqrt((s0 + s1) + (s2 + s3))


@njit
def nearest_of_sparse(
    by_row: Arrays,
    by_feature: Arrays,
    squares: Array,
    d: int,
    rows: Array,
    rounding: float,
    zero_length: float,
    is_squared: bool,
    neighbours: Array,
    distances: Array,
    first: int,
    last: int,
) -> None:
    """Find the nearest of the other samples to ``rows[first:last]``, from the features that are not zero.

    by_row: samples in compressed rows (indptr, indices, data), with ascending features, d in total.
    by_feature: the same values in compressed columns. squares (n,) float64: squared lengths of the samples.
    neighbours (r, K) int32 and distances (r, K) float64 are filled, sorted by (distance, index). Lengths have
    the same bits as those of `compute_length`, which also adds zeros; those up to ``zero_length`` count as 0.
    Distances are their squares if ``is_squared``. Products rule out samples that are farther away, although
    they are inexact by the share ``rounding``.
    """
    indptr, indices, data = by_row
    product = np.empty(len(squares))
    for r in range(first, last):
        i, nearest, farthest = rows[r], neighbours[r], distances[r]
        nearest[:], farthest[:], product[:] = -1, np.inf, 0.0
        for e in range(indptr[i], indptr[i + 1]):
            for t in range(by_feature[0][indices[e]], by_feature[0][indices[e] + 1]):
                product[by_feature[1][t]] += data[e] * by_feature[2][t]
        for j in range(len(squares)):
            total = squares[i] + squares[j]
            limit = farthest[-1] if is_squared else farthest[-1] * farthest[-1]
            if total * (1 - rounding) - 2 * product[j] <= limit * (1 + rounding) and j != i:
                length = _sparse_length(indptr[i : i + 2], indptr[j : j + 2], indices, data, d)
                length = 0.0 if length <= zero_length else length
                distance = length * length if is_squared else length
                if distance < farthest[-1]:
                    insert(j, distance, nearest, farthest)


@inner
def _sparse_length(row_a: Array, row_b: Array, indices: Array, data: Array, d: int) -> Scalar:
    """Compute the length of the difference of two rows, which begin and end at ``row_a`` and ``row_b``."""
    d_unrolled = d - d % 4
    a, b = row_a[0], row_b[0]
    lanes = np.zeros(4)
    while a < row_a[1] or b < row_b[1]:
        f = indices[a] if a < row_a[1] else d
        g = indices[b] if b < row_b[1] else d
        difference = 0.0
        if f <= g:
            difference = data[a]
            a += 1
        if g <= f:
            difference -= data[b]
            b += 1
        feature = min(f, g)
        lanes[feature & 3 if feature < d_unrolled else 0] += difference * difference
    return np.sqrt((lanes[0] + lanes[1]) + (lanes[2] + lanes[3]))


@inner
def insert(j: int, distance: float, neighbours: Array, distances: Array) -> Scalar:
    """Insert j behind points at the same distance, drop the last point, and return the place of j."""
    k = len(distances) - 1
    while k > 0 and distance < distances[k - 1]:
        neighbours[k], distances[k] = neighbours[k - 1], distances[k - 1]
        k -= 1
    neighbours[k], distances[k] = j, distance
    return k
