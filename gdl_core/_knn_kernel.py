"""Euclidean distances of chosen pairs, from differences in float64, compiled."""

import numpy as np

from ._jit import njit


@njit
def candidate_distances(x, rows, candidates, out):
    """out[r, k] = |x[rows[r]] - x[candidates[r, k]]|, added up in one fixed order whatever the machine."""
    d = x.shape[1]
    whole = d - d % 4
    for r in range(len(rows)):
        i = rows[r]
        for k in range(candidates.shape[1]):
            j = candidates[r, k]
            s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
            for f in range(0, whole, 4):  # four sums, so that one addition need not wait for the last
                d0 = np.float64(x[i, f]) - np.float64(x[j, f])
                d1 = np.float64(x[i, f + 1]) - np.float64(x[j, f + 1])
                d2 = np.float64(x[i, f + 2]) - np.float64(x[j, f + 2])
                d3 = np.float64(x[i, f + 3]) - np.float64(x[j, f + 3])
                s0 += d0 * d0
                s1 += d1 * d1
                s2 += d2 * d2
                s3 += d3 * d3
            for f in range(whole, d):
                d0 = np.float64(x[i, f]) - np.float64(x[j, f])
                s0 += d0 * d0
            out[r, k] = np.sqrt((s0 + s1) + (s2 + s3))
