"""Homographies and affine maps between two images: fitted to matched points, and applied."""

from __future__ import annotations

import numpy as np

from matching._common import opencv
from matching._common.types import Array, Floats


def fit_transform(xy0: Floats, xy1: Floats, tolerance: float = 5.0) -> tuple[Floats, str]:
    """Fit matched points robustly: by a homography if it is sound and better than an affine map.

    Parameters
    ----------
    xy0, xy1 : (n, 2) float64
        Points of either image, pixels.
    tolerance : float
        Largest error of an inlier, pixels of image 1.

    Returns
    -------
    transform : (3, 3) float64
        Takes homogeneous pixels of image 0 to image 1.
    kind : str
        "homography" or "affine".
    """
    xy0, xy1 = xy0 / tolerance, xy1 / tolerance  # so that the unit of the points does not matter
    unit = np.array([tolerance, tolerance, 1.0])
    back = unit[:, None] / unit
    affine = _affine(xy0, xy1)
    homography = opencv.fit_homography(xy0, xy1, 1.0) if len(xy0) >= 8 else None
    if homography is not None and is_sound(homography, opencv.convex_hull(xy0)):
        error = [
            np.median(np.linalg.norm(apply_transform(t, xy0) - xy1, axis=1)) for t in (homography, affine)
        ]
        if error[0] < 0.95 * error[1]:
            return homography / homography[2, 2] * back, "homography"
    return affine * back, "affine"


def _affine(xy0: Floats, xy1: Floats) -> Floats:
    affine = opencv.fit_affine(xy0, xy1, 1.0)
    if affine is None or not np.isfinite(affine).all():
        # fewer than three points, or all in one line: the shift alone
        affine = np.column_stack([np.eye(2), np.median(xy1 - xy0, axis=0)])
    return np.vstack([affine, [0.0, 0.0, 1.0]])


def apply_transform(transform: Array, xy: Array) -> Floats:
    """Map points by a transform.

    Parameters
    ----------
    transform : (3, 3) float64
        Takes homogeneous points to others.
    xy : (n, 2) array
        Points.

    Returns
    -------
    (n, 2) float64
    """
    mapped: Floats = np.column_stack([xy, np.ones(len(xy))]) @ transform.T
    return mapped[:, :2] / mapped[:, 2:]


def is_sound(transform: Array, polygon: Array) -> bool:
    """Test whether a transform keeps a polygon on one side of the horizon, and well away from it.

    Parameters
    ----------
    transform : (3, 3) float64
        Takes homogeneous points to others.
    polygon : (k, 2) float64
        Its corners.

    Returns
    -------
    bool
    """
    w = np.column_stack([polygon, np.ones(len(polygon))]) @ transform[2]
    one_side = (w > 0).all() or (w < 0).all()
    return bool(np.isfinite(transform).all() and one_side and abs(w).min() > 0.2 * abs(w).max())


def linear_part(transform: Array, point: Array) -> Floats:
    """Find the derivative of a transform.

    Parameters
    ----------
    transform : (3, 3) float64
        Takes homogeneous points to others.
    point : (2,) float64
        Where.

    Returns
    -------
    (2, 2) float64
    """
    u, v, w = transform @ [*point, 1.0]
    derivative: Floats = (transform[:2, :2] - np.outer([u / w, v / w], transform[2, :2])) / w
    return derivative
