"""Euclidean distances from differences in float64, compiled."""

import numpy as np

from .._common.jit import inner, njit
from .._common.types import Array, Scalar


@njit
def candidate_distances(x: Array, rows: Array, candidates: Array, out: Array) -> None:
    """Set out[r, k] to |x[rows[r]] - x[candidates[r, k]]|, summed in the same order on any machine."""
    for r in range(len(rows)):
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
    indptr: Array,
    indices: Array,
    data: Array,
    d: int,
    rows: Array,
    zero_length: float,
    neighbours: Array,
    distances: Array,
) -> None:
    """Find the nearest of all samples to each of ``rows``, using only the features that are not zero.

    indptr, indices, data: samples in compressed rows, with ascending features; d features in total.
    neighbours (r, m) int64 and distances (r, m) float64 are filled, sorted by (distance, index), with the
    sample itself. Distances have the same bits as those of `candidate_distances`, which also adds zeros;
    those up to ``zero_length`` count as 0.
    """
    d_unrolled, m = d - d % 4, distances.shape[1]
    for r in range(len(rows)):
        i, nearest, lengths = rows[r], neighbours[r], distances[r]
        lengths[:] = np.inf
        for j in range(len(indptr) - 1):
            a, b = indptr[i], indptr[j]
            s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
            while a < indptr[i + 1] or b < indptr[j + 1]:
                f = indices[a] if a < indptr[i + 1] else d
                g = indices[b] if b < indptr[j + 1] else d
                difference = 0.0
                if f <= g:
                    difference = np.float64(data[a])
                    a += 1
                if g <= f:
                    difference -= np.float64(data[b])
                    b += 1
                square, feature = difference * difference, min(f, g)
                lane = feature & 3 if feature < d_unrolled else 0
                if lane == 0:
                    s0 += square
                elif lane == 1:
                    s1 += square
                elif lane == 2:
                    s2 += square
                else:
                    s3 += square
            length = np.sqrt((s0 + s1) + (s2 + s3))
            if length <= zero_length:
                length = 0.0
            if length < lengths[m - 1]:
                insert(j, length, nearest, lengths)


@inner
def insert(j: int, distance: float, neighbours: Array, distances: Array) -> Scalar:
    """Insert j behind points at the same distance, drop the last point, and return the place of j."""
    k = len(distances) - 1
    while k > 0 and distance < distances[k - 1]:
        neighbours[k], distances[k] = neighbours[k - 1], distances[k - 1]
        k -= 1
    neighbours[k], distances[k] = j, distance
    return k
