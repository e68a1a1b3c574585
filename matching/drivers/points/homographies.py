"""Homographies of many planes at once: the errors of matches, and fits that weigh them by their density.

Planes are homographies (p, 3, 3) from x to y, the places (p, k, 2) of matches in both pictures, or (1, k, 2)
if they are the same for all planes.
"""

from __future__ import annotations

import numpy as np

from matching._common.types import Floats

MIN_DEPTH = 1e-6  # of the mean depth of the fitted matches; nearer ones lie beyond the horizon
TINY = 1e-12  # variance of points at one place


beyond_horizon = np.errstate(over="ignore", invalid="ignore", divide="ignore")  # for matches that are there


@beyond_horizon
def measure_errors(planes: Floats, x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Measure squared Sampson errors (p, k), r' (I + J J')^-1 r, infinite where there is none, and the
    inverse covariances (p, k, 2, 2) of the equations whose residuals are depth r.

    The errors are written as sums of squares, so that nothing cancels.
    """
    mapped = x @ np.swapaxes(planes[:, :, :2], 1, 2) + planes[:, None, :, 2]
    depth = mapped[..., 2]
    place = mapped[..., :2] / depth[..., None]
    a, b, c, d = (
        (planes[:, None, k, m] - place[..., k] * planes[:, None, 2, m]) / depth
        for k in (0, 1)
        for m in (0, 1)
    )
    r, s = np.moveaxis(place - y, -1, 0)
    of_x, of_y = 1 + a * a + b * b, 1 + c * c + d * d
    determinant = of_x + of_y - 1 + (a * d - b * c) ** 2
    errors = (r * r + s * s + (r * c - s * a) ** 2 + (r * d - s * b) ** 2) / determinant
    errors = np.where((depth > MIN_DEPTH) & (errors < np.inf), errors, np.inf)
    across = -(a * c + b * d)
    inverse = np.array([[of_y, across], [across, of_x]]) / (determinant * depth**2)
    return errors, np.moveaxis(inverse, (0, 1), (2, 3))


@beyond_horizon
def fit_homographies(planes: Floats, x: Floats, y: Floats, weights: Floats, scale: float) -> Floats:
    """Fit planes to matches by a direct linear transform, with equations weighted by the covariance and by
    the density 1 / (1 + error / scale) from the planes before, or alike if these are zeros.
    """
    inverse = np.broadcast_to(np.eye(2), (*weights.shape, 2, 2))
    if planes.any():
        errors, inverse = measure_errors(planes, x, y)
        is_usable = np.isfinite(inverse).all(axis=(2, 3)) & (errors < np.inf)
        weights = np.where(is_usable, weights / (1 + errors / scale), 0)
        inverse = np.where(is_usable[..., None, None], inverse, 0)
    into0, into1 = normalise(x, weights), normalise(y, weights)
    one = np.ones((*weights.shape, 1))
    u = np.concatenate([x, one], axis=2) @ np.swapaxes(into0, 1, 2)
    v = np.concatenate([y, one], axis=2) @ np.swapaxes(into1, 1, 2)
    terms = np.zeros((*weights.shape, 2, 9))
    terms[:, :, 0, :3] = terms[:, :, 1, 3:6] = u
    terms[..., 6:] = -v[..., :2, None] * u[..., None, :]
    weighted = (weights[..., None, None] * inverse) @ terms
    rows = len(weights), -1, 9
    normal = np.swapaxes(terms.reshape(rows), 1, 2) @ weighted.reshape(rows)
    fitted = np.linalg.eigh(normal)[1][:, :, 0].reshape(-1, 3, 3)
    fitted = np.linalg.solve(into1, fitted @ into0)
    # the depth of the middle of the matches is 1, so it is positive in front of the horizon
    middle = -into0[:, :2, 2] / into0[:, [0], 0]
    depth = ((fitted[:, 2, :2] * middle).sum(axis=1) + fitted[:, 2, 2])[:, None, None]
    return np.asarray(fitted / np.where(np.abs(depth) > np.finfo(float).tiny, depth, 1))


def normalise(xy: Floats, weights: Floats) -> Floats:
    """Make matrices (p, 3, 3) that take points (p, k, 2) to mean 0 and deviation 1: weights (p, k)."""
    share = weights[..., None] / np.maximum(weights.sum(axis=1), np.finfo(float).tiny)[:, None, None]
    middle = (share * xy).sum(axis=1)
    scale = 1 / np.sqrt((share * (xy - middle[:, None]) ** 2).sum(axis=(1, 2)) / 2 + TINY)
    into = np.zeros((len(xy), 3, 3))
    into[:, 0, 0] = into[:, 1, 1] = scale
    into[:, :2, 2], into[:, 2, 2] = -scale[:, None] * middle, 1
    return into
