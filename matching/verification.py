"""Does a correspondence move as its neighbours do? A local affine check inside each cluster, in both
directions.

Notation: x (n, 2) are a cluster's points in one image, y (n, 2) where they go in the other, near (n, k)
each point's nearest others in x. All lengths are pixels.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree

from matching import _motion_kernels
from matching.errors import InputError, check_at_least
from matching.geometry import lengths


@dataclass(frozen=True)
class VerificationConfig:
    """How far a correspondence may be from what its neighbours predict.

    Tolerances hold in the image where the object is smaller; in the other they grow by its magnification.
    An affine map misses a bend by more the farther the neighbours are, so the tolerance grows with them.
    """

    n_neighbors: int = 10
    frame_tolerance: float = 15.0  # pixels, for what the neighbours' own frames predict, or ...
    frame_slope: float = 0.3  # ... of the mean distance to the neighbours, where that is more ...
    most_frame_tolerance: float = 40.0  # ... up to so many pixels
    frame_share: float = 0.3  # of the neighbours must predict it that well
    tolerance: float = 4.0  # pixels, for the affine map fitted to the neighbours' centres, or ...
    slope: float = 0.2  # ... of the mean distance to the neighbours, where that is more ...
    most_tolerance: float = 12.0  # ... up to so many pixels

    def __post_init__(self):
        check_at_least(self, n_neighbors=4, frame_tolerance=0, frame_slope=0, most_frame_tolerance=0)
        check_at_least(self, tolerance=1e-3, slope=0, most_tolerance=0)
        if not 0 <= self.frame_share < 1:
            raise InputError(f"frame_share must be in [0, 1), got {self.frame_share}")


def verify_cluster(candidates, members, config=VerificationConfig()):
    """Those of `members` (n,) that agree with their neighbours in the cluster.

    First, the maps of a share of the nearest neighbours' own frames must predict a correspondence: a
    cluster may be strangers for the greater part. Then, the affine map fitted to the nearest neighbours
    that are left.
    """
    checks = (
        (_frame_residuals, config.frame_tolerance, config.frame_slope, config.most_frame_tolerance),
        (_own_residuals, config.tolerance, config.slope, config.most_tolerance),
    )
    scale = scales(candidates, members)
    for residuals_of, tolerance, slope, most in checks:
        k = min(config.n_neighbors, len(members) - 1)
        if k < config.n_neighbors // 2:
            return members[:0]
        near = nearest_in_both(candidates, members, k)
        distance = _mean_distances(candidates, members, near, scale)
        there, back = residuals_of(candidates, members, near, config)
        allowed = np.maximum(tolerance, np.minimum(slope * distance, most))
        members = members[(there < allowed * scale[1]) & (back < allowed * scale[0])]
    return members


def _frame_residuals(candidates, members, near, config):
    x, y = candidates.xy0[members], candidates.xy1[members]
    maps, inverse = candidates.maps[members], candidates.inverse_maps[members]
    there = frame_residuals(x, y, maps, near[0], config.frame_share)
    return there, frame_residuals(y, x, inverse, near[1], config.frame_share)


def nearest_in_both(candidates, members, k):
    """The k nearest others of members in image 0 and in image 1, as in `nearest_others`."""
    return [nearest_others(xy[members], k) for xy in (candidates.xy0, candidates.xy1)]


def _own_residuals(candidates, members, near, config):
    """Affine residuals of members from the others near them, in image 1 and in image 0."""
    x, y = candidates.xy0[members], candidates.xy1[members]
    scale = scales(candidates, members)
    there = affine_residuals(x, y, near[0], config.tolerance * scale[1] / 2)
    return there, affine_residuals(y, x, near[1], config.tolerance * scale[0] / 2)


def _mean_distances(candidates, members, near, scale):
    """(n,) pixels, the mean distance to the neighbours in the image where they are farther."""
    points = (candidates.xy0[members], candidates.xy1[members])
    means = [lengths(x[:, None] - x[j]).mean(axis=1) / s for x, j, s in zip(points, near, scale, strict=True)]
    return np.maximum(*means)


def frame_residuals(x, y, maps, near, share):
    """(n,) the quantile `share` over the neighbours j of |y_i - (y_j + A_j (x_i - x_j))|, A_j (n, 2, 2)
    their frames' linear maps.
    """
    u, v = x[:, None] - x[near], y[:, None] - y[near]  # (n, k, 2)
    predicted = (maps[near] @ u[..., None])[..., 0]
    residual = np.sort(lengths(v - predicted), axis=1)
    return residual[:, int(share * near.shape[1])]


def affine_residuals(x, y, near, scale, at=None, iterations=5):
    """(q,) the distance of a correspondence from where an affine map fitted to its neighbours takes it.

    x, y (n, 2) are the neighbours' points, near (q, k) the neighbours of each; `at` is the pair of the
    correspondences' own points (q, 2), by default x and y themselves. Iteratively reweighted least squares
    with Cauchy weights 1 / (1 + (r / s)^2), s the larger of `scale` and the median residual.
    """
    from_, to = (x, y) if at is None else at
    residuals = np.empty(len(near))
    _motion_kernels.affine_residuals(x, y, near, from_, to, float(scale), iterations, residuals)
    return residuals


def scales(candidates, members):
    """How many pixels of image 0 and of image 1 a pixel of the image where the object is smaller is."""
    growth = float(np.median(candidates.growth[members])) if len(members) else 1.0
    return max(1 / growth, 1.0), max(growth, 1.0)


def nearest_others(x, k, rows=slice(None)):
    """(n, k) the k nearest others of each point, or of some rows of them; k < n."""
    near = cKDTree(x).query(x[rows], k + 1)[1]
    # A point is its own nearest, but where points coincide it may come later, or be crowded out.
    self = near == np.arange(len(x))[rows, None]
    self[~self.any(axis=1), -1] = True
    return near[~self].reshape(len(near), k)
