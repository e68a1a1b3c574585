"""The static scene of two images, and COLMAP's configuration of what is known of their geometry.

Objects that stand still move as one rigid scene when the camera does: one fundamental matrix F explains them
all, x1' F x0 = 0. An object that moved by itself follows another matrix. COLMAP reconstructs one rigid scene,
so it needs the largest set of objects that one matrix explains, and nothing of the others.

COLMAP's rules for a configuration (its `TwoViewGeometryOptions` and their defaults): matches that less than
15 fit are degenerate; where both focal lengths are known and an essential matrix explains 95 % as many
matches as F does, the pair is calibrated, otherwise uncalibrated; it is planar or panoramic where a
homography explains more than 80 % as many.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from matching._common import opencv
from matching._common.types import Array, Bools, Floats
from matching.objects.transforms import apply_transform

DEGENERATE, CALIBRATED, UNCALIBRATED, PLANAR_OR_PANORAMIC, MULTIPLE = 1, 2, 3, 6, 8
MAX_ERROR = 4.0  # px, of an inlier
LEAST = 15  # inliers of a geometry
ESSENTIAL_SHARE = 0.95  # of the inliers of F, that an essential matrix needs
PLANAR_SHARE = 0.8  # of the inliers of F or E, above which a homography is the geometry
TRIALS = 10_000  # most of a robust fit

BELONGS = 0.5  # share of an object's matches that F explains if the object belongs to its scene
STEPS = 4  # times that F is fitted again to what it explains
CELLS = 16  # along the longer side of an image, in which places are counted


@dataclass(frozen=True)
class Camera:
    """A camera as COLMAP's database has it.

    Parameters
    ----------
    model : int
        Number of COLMAP's camera model.
    parameters : tuple of float
        Of the model.
    has_prior : bool
        Whether its focal length is known.
    """

    model: int
    parameters: tuple[float, ...]
    has_prior: bool

    def normalise(self, xy: Floats) -> Floats | None:
        """Take points to the plane at depth 1, without the lens distortion.

        Parameters
        ----------
        xy : (n, 2) float64
            COLMAP's pixels.

        Returns
        -------
        (n, 2) float64 or None
            None for models of cameras that are not known here.
        """
        p = self.parameters
        if len(p) != {0: 3, 1: 4, 2: 4, 3: 5, 4: 8, 5: 8, 6: 12}.get(self.model):
            return None
        if self.model in (0, 2, 3):  # one focal length
            p = p[0], *p
        return opencv.undistort(xy, p[:4], p[4:], fisheye=self.model == 5)

    @property
    def focal_length(self) -> float:
        """In pixels; the mean of two."""
        return self.parameters[0] if self.model in (0, 2, 3) else sum(self.parameters[:2]) / 2


@dataclass(frozen=True, eq=False)
class TwoViews:
    """What COLMAP's table of two-view geometries says of a pair.

    Parameters
    ----------
    config : int
        The configuration.
    fundamental, essential, homography : (3, 3) float64, optional
        F, E and H, as far as they were found.
    """

    config: int
    fundamental: Floats | None = None
    essential: Floats | None = None
    homography: Floats | None = None


def estimate_two_views(xy0: Floats, xy1: Floats, cameras: tuple[Camera, Camera] | None = None) -> TwoViews:
    """Estimate the geometry of matches, and choose its configuration by COLMAP's rules.

    Parameters
    ----------
    xy0, xy1 : (n, 2) float64
        COLMAP's pixels.
    cameras : pair of Camera, optional
        Those of the images.

    Returns
    -------
    TwoViews
        The geometry.
    """
    fundamental, homography = fit_fundamental(xy0, xy1), opencv.fit_homography(xy0, xy1, MAX_ERROR)
    by_f = 0 if fundamental is None else int((epipolar_error(fundamental, xy0, xy1) <= MAX_ERROR).sum())
    by_h = 0
    if homography is not None:
        homography = homography / homography[2, 2]
        error = np.linalg.norm(apply_transform(homography, xy0) - xy1, axis=1)
        by_h = int((error <= MAX_ERROR).sum())
    essential, by_e = _fit_essential(xy0, xy1, cameras)
    if max(by_f, by_h, by_e) < LEAST:
        return TwoViews(DEGENERATE)
    is_calibrated = by_e >= max(LEAST, ESSENTIAL_SHARE * by_f)
    if by_h >= LEAST and by_h > PLANAR_SHARE * (by_e if is_calibrated else by_f):
        config = PLANAR_OR_PANORAMIC
    else:
        config = CALIBRATED if is_calibrated else UNCALIBRATED
    return TwoViews(config, fundamental, essential, homography)


def _fit_essential(
    xy0: Floats, xy1: Floats, cameras: tuple[Camera, Camera] | None
) -> tuple[Floats | None, int]:
    """The essential matrix, and how many matches it explains; none where a focal length is not known."""
    if cameras is None or not all(camera.has_prior for camera in cameras):
        return None, 0
    x0, x1 = cameras[0].normalise(xy0), cameras[1].normalise(xy1)
    if x0 is None or x1 is None:
        return None, 0
    error = MAX_ERROR * (1 / cameras[0].focal_length + 1 / cameras[1].focal_length) / 2
    essential = opencv.fit_essential(x0, x1, error, TRIALS)
    if essential is None:
        return None, 0
    return essential, int((epipolar_error(essential, x0, x1) <= error).sum())


def fit_fundamental(xy0: Floats, xy1: Floats) -> Floats | None:
    """Fit the fundamental matrix that explains most matches.

    Parameters
    ----------
    xy0, xy1 : (n, 2) float64
        Pixels.

    Returns
    -------
    (3, 3) float64 or None
        None where there is none.
    """
    return opencv.fit_fundamental(xy0, xy1, MAX_ERROR, TRIALS)[0]


def epipolar_error(fundamental: Floats, xy0: Floats, xy1: Floats) -> Floats:
    """Measure how far matches are from what a fundamental matrix allows.

    Parameters
    ----------
    fundamental : (3, 3) float64
        F.
    xy0, xy1 : (n, 2) float64
        Points of either image.

    Returns
    -------
    (n,) float64
        Sampson's approximation of the distance, in the unit of the points.
    """
    a, b = (np.column_stack([xy, np.ones(len(xy))]) for xy in (xy0, xy1))
    line1, line0 = a @ fundamental.T, b @ fundamental
    slope = (line1[:, :2] ** 2).sum(axis=1) + (line0[:, :2] ** 2).sum(axis=1)
    error: Floats = np.abs((b * line1).sum(axis=1)) / np.sqrt(np.maximum(slope, np.finfo(float).tiny))
    return error


def find_static(xy0: Floats, xy1: Floats, cluster: Array) -> Bools:
    """Find the matches of the static scene: of the largest set of objects that one matrix explains.

    An object belongs to it with all its matches if a fundamental matrix explains at least half of them.
    Matches of no object belong to it where the matrix explains them. The largest set is the one whose matches
    lie in most cells of both images: what is near or finely textured has more matches, and may have moved.

    Parameters
    ----------
    xy0, xy1 : (n, 2) float64
        Pixels.
    cluster : (n,) array of int
        The object of each match, -1 for none.

    Returns
    -------
    (n,) bool
        Which matches belong to it; none where there is no object.
    """
    best, most = np.zeros(len(cluster), bool), (0, 0)
    if not len(cluster):
        return best
    cells = _cells(xy0), _cells(xy1)
    for rows in _scenes(xy0, xy1, cluster):
        covered = sum(len(np.unique(cell[rows])) for cell in cells)
        if (covered, rows.sum()) > most:
            best, most = rows, (covered, int(rows.sum()))
    return best


def _scenes(xy0: Floats, xy1: Floats, cluster: Array) -> Iterator[Bools]:
    """Rows (n,) bool of each rigid scene: the objects that the best matrix explains, then those that the best
    matrix of the other objects explains, and so on.
    """
    left = np.ones(len(cluster), bool)  # without the objects of the scenes that were found
    while (cluster[left] >= 0).any():
        rows, objects = _scene(xy0, xy1, cluster, left)
        if not len(objects):
            largest = np.bincount(cluster[left & (cluster >= 0)]).argmax()
            left &= cluster != largest  # no matrix explains it with others
            continue
        yield rows
        left &= ~np.isin(cluster, objects)


def _scene(xy0: Floats, xy1: Floats, cluster: Array, left: Bools) -> tuple[Bools, Array]:
    """Rows (n,) bool of the scene that explains most of the matches left, and its objects (k,) int."""
    best, objects, most = np.zeros(len(cluster), bool), np.empty(0, np.int64), 0
    rows = left
    for _ in range(STEPS):
        fundamental = fit_fundamental(xy0[rows], xy1[rows])
        if fundamental is None:
            break
        explained = left & (epipolar_error(fundamental, xy0, xy1) <= MAX_ERROR)
        own, member = np.unique(cluster[left & (cluster >= 0)]), cluster >= 0
        share = [explained[cluster == k].mean() for k in own]
        belonging = own[np.array(share) >= BELONGS]
        inside = np.isin(cluster, belonging)
        agreeing = explained & (inside | ~member)
        if agreeing.sum() > most and len(belonging):
            best, objects, most = inside | (explained & ~member), belonging, int(agreeing.sum())
        if np.array_equal(agreeing, rows):
            break
        rows = agreeing
    return best, objects


def _cells(xy: Floats) -> Array:
    """(n,) the cell of each point, of which the longer side of all points has CELLS."""
    side = max(float(np.ptp(xy, axis=0).max()) / CELLS, np.finfo(float).tiny)
    column, row = np.minimum((xy - xy.min(axis=0)) // side, CELLS - 1).T
    cell: Array = (column * CELLS + row).astype(np.int64)
    return cell
