"""The distance between two correspondences (Cho, Lee and Lee, ICCV 2009: ACC), in pixels.

Notation: correspondence i takes the frame T0_i = [A0 | x0] of image 0 to T1_i = [A1 | x1] of image 1, so it
predicts the affine map T_i = T1_i T0_i^-1. How badly it explains correspondence j:

    d(j|i) = 1/2 (|x1_j - T_i x0_j| + |x0_j - T_i^-1 x1_j|),      d_ij = 1/2 (d(j|i) + d(i|j)).
"""

from __future__ import annotations

import numpy as np
from scipy.spatial import cKDTree

from gdl_core import KnnGraph
from matching.correspondences import _distance_kernels as _kernels
from matching.threads import in_ranges


def acc_distances(correspondences):
    """d_ij as defined, all of it: (m, m) float64. Slow and large; the referee of `acc_neighbors`."""
    x0, x1 = correspondences.xy0, correspondences.xy1
    forth, back = correspondences.maps, correspondences.inverse_maps
    u, v = x0[None] - x0[:, None], x1[None] - x1[:, None]  # (i, j, 2): x_j - x_i
    there = np.linalg.norm(v - np.einsum("iab,ijb->ija", forth, u), axis=2)
    home = np.linalg.norm(u - np.einsum("iab,ijb->ija", back, v), axis=2)
    directed = (there + home) / 2  # d(j|i) at [i, j]
    return (directed + directed.T) / 2


def acc_of_pairs(correspondences, i, j):
    """d_ij of the pairs i (p,), j (p,): (p,) float64."""
    maps = correspondences.maps, correspondences.inverse_maps
    return _of_pairs(_kernels.acc_of_pairs, (correspondences.xy0, correspondences.xy1, *maps), i, j)


def gap_of_pairs(correspondences, i, j):
    """Pixels between the correspondences of the pairs i (p,), j (p,), in the image where they are farther
    apart: (p,) float64.
    """
    return _of_pairs(_kernels.gap_of_pairs, (correspondences.xy0, correspondences.xy1), i, j)


def _of_pairs(kernel, arrays, i, j):
    out = np.empty(len(i))
    kernel(*map(np.ascontiguousarray, arrays), *(np.ascontiguousarray(k, np.int64) for k in (i, j)), out)
    return out


def within_reach(points, others, reach):
    """(n,) bool: which of the points (n, 2) have one of the others (k, 2) nearer than reach."""
    return np.isfinite(cKDTree(others).query(points, distance_upper_bound=reach)[0])


def acc_neighbors(correspondences, n_neighbors, n_threads=2, nearness=0.0, parts=None, among=None):
    """The n_neighbors nearest correspondences of each, by ACC distance: a gdl_core.KnnGraph.

    Single precision on coordinates relative to the correspondence; no m x m matrix. Ties: the smaller index
    first. With nearness, distances are d_ij + nearness (|x0_i - x0_j| + |x1_i - x1_j|) / 2. With parts (m,),
    integers, neighbours are of other parts. With among (m, c), integers, neighbours of i are of row i, which
    may be filled up with -1; so are the neighbours then, at an infinite distance.
    """
    m = len(correspondences)
    parts = np.arange(m) if parts is None else parts
    maps = (correspondences.maps.reshape(m, 4), correspondences.inverse_maps.reshape(m, 4))
    table = np.concatenate([correspondences.xy0, correspondences.xy1, *maps], axis=1).astype(np.float32)
    table = np.ascontiguousarray(table.T)  # (12, m)
    nearest = np.empty((m, n_neighbors), np.int64)
    distance = np.empty((m, n_neighbors), np.float32)
    shared = table, parts, nearness, n_neighbors
    in_ranges(lambda a, b: _kernels.acc_nearest(*shared, a, b, nearest, distance), m, n_threads, 256)
    return KnnGraph(nearest, distance)


def agree(correspondences, i, j, scale, slope):
    """(p,) bool: whether the pairs i (p,), j (p,) are nearer than sigma_ij, sigma_ij^2 = scale^2 +
    (slope gap_ij)^2, all in pixels of the image in which the object is smaller.
    """
    unit = np.sqrt(correspondences.growth[i] * correspondences.growth[j])
    unit = np.maximum(unit, 1 / unit)
    distance = acc_of_pairs(correspondences, i, j) / ((1 + unit) / 2)
    gap = gap_of_pairs(correspondences, i, j) / unit
    return distance**2 < scale**2 + (slope * gap) ** 2


def nearest_in_both(correspondences, k, n_threads=1):
    """(m, k) int64: the k others nearest to each, by |x0_i - x0_j|^2 + |x1_i - x1_j|^2; m - 1 where that is
    less. True matches of one object lie on a surface in these four dimensions, false ones are spread thin.
    """
    places = np.hstack([correspondences.xy0, correspondences.xy1])
    return nearest_others(places, min(k, len(places) - 1), n_threads=n_threads)


def nearest_in_other_parts(correspondences, parts, k, reach):
    """(m, k) int64: the k nearest in both images that are of other parts and within reach in both; -1 where
    there are fewer.
    """
    places = np.hstack([correspondences.xy0, correspondences.xy1])
    rows = [np.flatnonzero(parts == p) for p in range(parts.max() + 1)]
    low, high = (np.array([of(places[r], axis=0) for r in rows]) for of in (np.min, np.max))
    pairs = []
    for p, own in enumerate(rows):
        touching = ((low < high[p] + reach) & (high > low[p] - reach)).all(axis=1)
        for other in np.flatnonzero(touching):
            if other == p:
                continue
            inside = own[
                ((places[own] > low[other] - reach) & (places[own] < high[other] + reach)).all(axis=1)
            ]
            n = min(k, len(rows[other]))
            gap, near = cKDTree(places[rows[other]]).query(
                places[inside], [*range(1, n + 1)], distance_upper_bound=2 * reach
            )
            found = np.isfinite(gap)
            i = np.broadcast_to(inside[:, None], gap.shape)[found]
            pairs.append((i, rows[other][near[found]], gap[found]))
    nearest = np.full((len(places), k), -1, np.int64)
    if pairs:
        i, j, gap = (np.concatenate(column) for column in zip(*pairs, strict=True))
        order = np.lexsort((j, gap, i))
        i, j = i[order], j[order]
        rank = np.arange(len(i)) - np.searchsorted(i, i)
        nearest[i[rank < k], rank[rank < k]] = j[rank < k]
    return nearest


def nearest_among(x, rows, k, n_threads=1):
    """(n, k) the k nearest others of each point that are among the rows; k < len(rows)."""
    near = rows[cKDTree(x[rows]).query(x, [*range(1, k + 2)], workers=n_threads)[1]]
    own = near == np.arange(len(x))[:, None]
    own[~own.any(axis=1), -1] = True
    return near[~own].reshape(len(x), k)


def nearest_others(x, k, rows=slice(None), n_threads=1):
    """(n, k) the k nearest others of each point, or of some rows of them; k < n."""
    near = cKDTree(x).query(x[rows], k + 1, workers=n_threads)[1]
    # A point is its own nearest, but where points coincide it may come later, or be crowded out.
    own = near == np.arange(len(x))[rows, None]
    own[~own.any(axis=1), -1] = True
    return near[~own].reshape(len(near), k)
