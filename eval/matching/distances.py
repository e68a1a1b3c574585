"""The full matrix of ACC distances, on which baselines work (see `matching.correspondences.distances`)."""

import numpy as np
from numpy.typing import NDArray

from gdl_core.jit import njit


def distance_matrix(candidates) -> NDArray[np.float32]:
    """(m, m) float32 ACC distance of every pair of candidates, pixels; symmetric, zero on the diagonal.

    Single precision, on coordinates relative to one of the two correspondences.
    """
    forth = candidates.maps
    arrays = candidates.xy0, candidates.xy1, forth, np.linalg.inv(forth)
    return _distances(*(np.ascontiguousarray(a, np.float32) for a in arrays))


@njit
def _distances(x0, x1, forth, back):
    m = len(x0)
    d = np.zeros((m, m), np.float32)
    for i in range(m):
        for j in range(i + 1, m):
            u0, u1 = x0[j, 0] - x0[i, 0], x0[j, 1] - x0[i, 1]
            v0, v1 = x1[j, 0] - x1[i, 0], x1[j, 1] - x1[i, 1]
            total = np.float32(0)
            for a, b in ((forth[i], back[i]), (forth[j], back[j])):
                e0, e1 = v0 - a[0, 0] * u0 - a[0, 1] * u1, v1 - a[1, 0] * u0 - a[1, 1] * u1
                f0, f1 = u0 - b[0, 0] * v0 - b[0, 1] * v1, u1 - b[1, 0] * v0 - b[1, 1] * v1
                total += np.sqrt(e0 * e0 + e1 * e1) + np.sqrt(f0 * f0 + f1 * f1)
            d[i, j] = d[j, i] = total / 4
    return d
