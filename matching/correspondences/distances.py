"""The distance between two correspondences (Cho, Lee and Lee, ICCV 2009: ACC), in pixels.

Notation: correspondence i takes the frame T0_i = [A0 | x0] of image 0 to T1_i = [A1 | x1] of image 1, so it
predicts the affine map T_i = T1_i T0_i^-1. The distance measures how badly i and j explain each other:

    d(j|i) = 1/2 (|x1_j - T_i x0_j| + |x0_j - T_i^-1 x1_j|),      d_ij = 1/2 (d(j|i) + d(i|j)).
"""

import numpy as np
import scipy

from gdl_core import KnnGraph
from matching._common.threads import default_threads, run_in_ranges
from matching._common.types import Array, Bools, Floats, Ints
from matching.correspondences import _distance_kernels as _kernels
from matching.correspondences.correspondences import Correspondences


def acc_neighbors(
    correspondences: Correspondences,
    n_neighbors: int,
    nearness: float = 0.0,
    candidates: Array | None = None,
) -> KnnGraph:
    """Find the nearest correspondences by ACC distance plus `nearness` times the mean gap in pixels.

    Ties go to the smaller index. With `candidates` (m, c), each is compared only with the c in its row.
    """
    m = len(correspondences)
    maps = (correspondences.maps.reshape(m, 4), correspondences.inverse_maps.reshape(m, 4))
    table = np.concatenate([correspondences.xy0, correspondences.xy1, *maps], axis=1).astype(np.float32)
    table = np.ascontiguousarray(table.T)  # (12, m)
    nearest = np.full((m, n_neighbors), -1, np.int64)
    distance = np.full((m, n_neighbors), np.inf, np.float32)
    if candidates is not None:
        candidates = np.column_stack([np.arange(m), np.sort(candidates, axis=1)])

    def find(start: int, stop: int) -> None:
        rest = float(nearness), start, stop, nearest, distance
        if candidates is None:
            _kernels.acc_nearest(table, *rest)
        else:
            _kernels.acc_nearest_among(table, candidates, *rest)

    run_in_ranges(find, m, 256)
    return KnnGraph(nearest.astype(np.int32), distance.astype(np.float64))


def measure_agreeing_shares(
    correspondences: Correspondences, rows: Array, near: Array, scale: float, slope: float
) -> Floats:
    """Measure the share (q,) of the neighbours, near (q, k), with which each of `rows` (q,) agrees.

    Two correspondences agree if d_ij < sigma_ij, with sigma_ij^2 = scale^2 + (slope gap_ij)^2, in pixels of
    the image in which the object is smaller. gap_ij is the larger of their separations in the two images.
    """
    c, out = correspondences, np.empty(len(rows))

    def measure(start: int, stop: int) -> None:
        j = near[start:stop]
        is_neighbour, i = j >= 0, rows[start:stop, None]
        unit = np.sqrt(c.growth[i] * c.growth[j])
        unit = np.maximum(unit, 1.0 / unit)
        u, v = (np.moveaxis(x[j] - x[i], -1, 0) for x in (c.xy0, c.xy1))  # (2, q, k)
        total: Array = np.zeros(j.shape)
        for t in (i, j):
            total = total + (_measure_errors(v, c.maps[t], u) + _measure_errors(u, c.inverse_maps[t], v))
        distance = (
            np.where(total < np.inf, total, np.inf) / 4 / ((1.0 + unit) / 2)
        )  # nor does what is no number
        gap = np.sqrt(np.maximum(u[0] * u[0] + u[1] * u[1], v[0] * v[0] + v[1] * v[1]))
        deviation = slope * (gap / unit)
        agrees = distance * distance < scale * scale + deviation * deviation
        out[start:stop] = (agrees & is_neighbour).sum(axis=1) / np.maximum(is_neighbour.sum(axis=1), 1)

    with np.errstate(all="ignore"):  # maps may be singular
        run_in_ranges(measure, len(rows), 1024)
    return out


def _measure_errors(v: Floats, maps: Floats, u: Floats) -> Floats:
    """Compute the lengths of v - M u: u, v (2, q, k); maps M (q, k, 2, 2) -> (q, k)."""
    (a, b), (c, d) = np.moveaxis(maps, (-2, -1), (0, 1))
    x, y = v[0] - (a * u[0] + b * u[1]), v[1] - (c * u[0] + d * u[1])
    return np.asarray(np.sqrt(x * x + y * y))


def find_nearest_in_both(correspondences: Correspondences, k: int) -> Ints:
    """Find the k nearest correspondences by |x0_i - x0_j|^2 + |x1_i - x1_j|^2 -> (m, k), or all if m <= k."""
    places = np.hstack([correspondences.xy0, correspondences.xy1])
    order = scipy.spatial.cKDTree(places).indices  # sorted by it, the query takes half of the time
    places, rows, width = places[order], np.arange(len(places)), min(k, len(places) - 1)
    nearest = scipy.spatial.cKDTree(places).query(places, width + 1, workers=default_threads())[1]
    near = np.empty((len(places), width), np.int64)
    near[order] = order[nearest[exclude_self(nearest, rows)].reshape(near.shape)]
    return near


def find_nearest_among(x: Array, rows: Array, k: int) -> Ints:
    """Find the k nearest other points of each point among some of them: x (n, d), rows (r,) -> (n, k)."""
    near = rows[scipy.spatial.cKDTree(x[rows]).query(x, [*range(1, k + 2)], workers=default_threads())[1]]
    nearest: Ints = near[exclude_self(near, np.arange(len(x)))].reshape(len(x), k)
    return nearest


def exclude_self(near: Ints, rows: Ints) -> Bools:
    """Make a mask of near (n, k + 1) that excludes the row itself (n,), or the last one if it is missing."""
    is_other: Bools = near != rows[:, None]
    is_other[is_other.all(axis=1), -1] = False
    return is_other
