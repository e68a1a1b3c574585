"""The distance between two correspondences (Cho, Lee and Lee, ICCV 2009: ACC), in pixels.

Notation: correspondence i takes the frame T0_i = [A0 | x0] of image 0 to T1_i = [A1 | x1] of image 1, so it
predicts the affine map T_i = T1_i T0_i^-1. The distance measures how badly i and j explain each other:

    d(j|i) = 1/2 (|x1_j - T_i x0_j| + |x0_j - T_i^-1 x1_j|),      d_ij = 1/2 (d(j|i) + d(i|j)).
"""

from typing import Any

import numpy as np
import scipy

from gdl_core import KnnGraph
from matching._common.threads import run_in_ranges
from matching._common.types import Array, Bools, Floats, Ints
from matching.correspondences import _distance_kernels as _kernels
from matching.correspondences.correspondences import Correspondences


def acc_neighbors(
    correspondences: Correspondences,
    n_neighbors: int,
    n_threads: int = 2,
    nearness: float = 0.0,
    among: Array | None = None,
) -> KnnGraph:
    """Find the nearest correspondences by ACC distance, among (m, c); ties go to the smaller index."""
    m = len(correspondences)
    maps = (correspondences.maps.reshape(m, 4), correspondences.inverse_maps.reshape(m, 4))
    table = np.concatenate([correspondences.xy0, correspondences.xy1, *maps], axis=1).astype(np.float32)
    table = np.ascontiguousarray(table.T)  # (12, m)
    nearest = np.empty((m, n_neighbors), np.int64)
    distance = np.empty((m, n_neighbors), np.float32)
    shared = table, nearness, n_neighbors
    if among is None:
        run_in_ranges(lambda a, b: _kernels.acc_nearest(*shared, a, b, nearest, distance), m, n_threads, 256)
    else:
        chosen = table, np.sort(among, axis=1), nearness, n_neighbors
        run_in_ranges(
            lambda a, b: _kernels.acc_nearest_among(*chosen, a, b, nearest, distance), m, n_threads, 256
        )
    return KnnGraph(nearest.astype(np.int32), distance.astype(np.float64))


def find_agreeing_shares(
    correspondences: Correspondences, rows: Array, near: Array, scale: float, slope: float, n_threads: int = 1
) -> Floats:
    """Find the share (q,) of the neighbours near (q, k) with which each of `rows` (q,) agrees.

    Two of them agree if d_ij < sigma_ij, sigma_ij^2 = scale^2 + (slope gap_ij)^2, in pixels of the image in
    which the object is smaller; gap_ij is the larger of their separations in both images.
    """
    c, out = correspondences, np.empty(len(rows))
    arrays = [np.ascontiguousarray(a) for a in (c.xy0, c.xy1, c.maps, c.inverse_maps, c.growth)]

    def measure(start: int, stop: int) -> None:
        part = slice(start, stop)
        _kernels.agreeing_shares(*arrays, rows[part], near[part], float(scale), float(slope), out[part])

    run_in_ranges(measure, len(rows), n_threads, 1024)
    return out


def find_nearest_in_both(correspondences: Correspondences, k: int, n_threads: int = 1) -> Ints:
    """Find the nearest by |x0_i - x0_j|^2 + |x1_i - x1_j|^2 -> (m, k)."""
    places = np.hstack([correspondences.xy0, correspondences.xy1])
    order = scipy.spatial.cKDTree(places).indices  # with neighbours close in memory: half of the time
    near = np.empty((len(places), min(k, len(places) - 1)), np.int64)
    near[order] = order[find_nearest_others(places[order], near.shape[1], n_threads=n_threads)]
    return near


def find_nearest_among(x: Array, rows: Array, k: int, n_threads: int = 1) -> Ints:
    """Find the nearest other points of each point among some of them: x (n, d); rows (r,) -> (n, k)."""
    near = rows[scipy.spatial.cKDTree(x[rows]).query(x, [*range(1, k + 2)], workers=n_threads)[1]]
    nearest: Ints = near[find_others(near, np.arange(len(x)))].reshape(len(x), k)
    return nearest


def find_others(near: Ints, own: Ints) -> Bools:
    """Mask of near (n, k + 1) that excludes the point itself, own (n,), or else the last one."""
    others: Bools = near != own[:, None]
    others[others.all(axis=1), -1] = False
    return others


def find_nearest_others(x: Array, k: int, rows: Any = slice(None), n_threads: int = 1) -> Ints:
    """Find the k nearest other points of each point: x (n, d) -> (r, k)."""
    near = scipy.spatial.cKDTree(x).query(x[rows], k + 1, workers=n_threads)[1]
    nearest: Ints = near[find_others(near, np.arange(len(x))[rows])].reshape(len(near), k)
    return nearest
