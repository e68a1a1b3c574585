"""The static scene of two images, and its geometry as COLMAP stores it.

One fundamental matrix F, x1' F x0 = 0, explains all objects that stand still; an object that moved follows a
different matrix. COLMAP is given the largest set of objects that one matrix explains.
"""

import numpy as np
import scipy
import shapely

from matching._common import opencv
from matching._common.types import Array, Bools, Floats
from matching.output.exchange import MAX_ERROR, MOST, Geometry, TwoViews

# COLMAP's options of these names
MIN_NUM_INLIERS = 15  # fewest inliers of a geometry
MAX_NUM_TRIALS = 10_000  # the most trials of a robust fit
MINIMAL = 7  # matches that define a fundamental matrix: only further ones can confirm it
CORES = 5  # the number of largest objects with which a scene may begin
N_NEIGHBORS = 8  # nearest matches that tell whether a match lies among explained ones
LEAST_ERROR, ALIKE = 0.1, 2.5  # pixels; factor by which a scene's matrix may exceed an object's own error


def estimate_two_views(xy0: Floats, xy1: Floats) -> TwoViews:
    """Estimate the geometry of matches xy0, xy1 (n, 2), uncalibrated: COLMAP's mapper fits it again."""
    fundamental = fit_fundamental(xy0, xy1)
    if fundamental is None or (epipolar_error(fundamental, xy0, xy1) <= MAX_ERROR).sum() < MIN_NUM_INLIERS:
        return TwoViews(Geometry.DEGENERATE)
    return TwoViews(Geometry.UNCALIBRATED, fundamental)


def fit_fundamental(xy0: Floats, xy1: Floats) -> Floats | None:
    """Fit the fundamental matrix that explains the most matches: xy0, xy1 (n, 2) -> (3, 3) or None."""
    return opencv.fit_fundamental(xy0, xy1, MAX_ERROR, MAX_NUM_TRIALS)[0]


def epipolar_error(fundamental: Floats, xy0: Floats, xy1: Floats) -> Floats:
    """Distances of matches from what a fundamental matrix (3, 3) allows: xy0, xy1 (n, 2) -> (n,)."""
    a, b = (np.column_stack([xy, np.ones(len(xy))]) for xy in (xy0, xy1))
    line1, line0 = a @ fundamental.T, b @ fundamental
    slope = (line1[:, :2] ** 2).sum(axis=1) + (line0[:, :2] ** 2).sum(axis=1)
    error: Floats = np.abs((b * line1).sum(axis=1)) / np.sqrt(np.maximum(slope, np.finfo(float).tiny))
    return error


def find_static(xy0: Floats, xy1: Floats, cluster: Array, verified: Bools | None = None) -> Bools:
    """Find the matches of the static scene: the largest set of objects that one fundamental matrix explains.

    A set grows from one object by adding others, those with the most matches first. An object joins if the
    common matrix is nearly as accurate for each object as the object's own matrix. (One matrix may nearly fit
    two small objects that moved apart, but it is then off by a pixel.) The largest set is the one that covers
    most of both images, not the one with the most matches, because near or finely textured objects have more
    matches, and may have moved. An object of the scene contributes all its matches or, if the matrix does not
    explain a part of it, only those matches for which it explains most of the nearest ones. Unassigned
    matches count if the matrix explains them.

    At wide baselines, near and far objects do not move smoothly together, and there may be no such set. Then
    the scene consists of the `verified` matches.

    xy0, xy1 (n, 2); cluster (n,); verified (n,) bool -> (n,) bool.
    """
    verified = np.zeros(len(cluster), bool) if verified is None else verified
    objects = [np.flatnonzero(cluster == k) for k in range(int(cluster.max(initial=-1)) + 1)]
    objects = sorted(
        (rows for rows in objects if len(rows) > MINIMAL), key=lambda rows: (-len(rows), rows[0])
    )
    scene = _largest_scene(xy0, xy1, objects)
    if not scene:
        return verified.copy()
    rows = np.concatenate(scene)
    fundamental = fit_fundamental(xy0[rows], xy1[rows])
    if fundamental is None:
        return verified.copy()
    explained = epipolar_error(fundamental, xy0, xy1) <= MAX_ERROR
    static, places = explained & (cluster < 0), np.hstack([xy0, xy1])
    for rows in scene:
        static[rows] = _agree(explained, rows, places)
    is_verified = static.any() and verified[static].mean() >= MOST
    return static | (verified & (cluster < 0)) if is_verified else static


def _largest_scene(xy0: Floats, xy1: Floats, objects: list[Array]) -> list[Array]:
    """The set of objects, each rows (m,), that covers most of both images."""
    own = [_measure_error(xy0, xy1, rows, rows) for rows in objects]
    areas = [_area(xy0[rows]) + _area(xy1[rows]) for rows in objects]
    best: list[int] = []
    for first in np.argsort(areas, kind="stable")[::-1][:CORES]:
        scene = _gather(xy0, xy1, objects, own, int(first))
        if sum(areas[k] for k in scene) > sum(areas[k] for k in best):
            best = scene
    return [objects[k] for k in best]


def _gather(xy0: Floats, xy1: Floats, objects: list[Array], own: list[float], first: int) -> list[int]:
    """The numbers of the objects of the scene that begins with the first of them."""
    if not np.isfinite(own[first]):
        return []
    scene = [first]
    for k, rows in enumerate(objects):
        if k == first:
            continue
        together = np.concatenate([rows, *(objects[n] for n in scene)])
        bound = ALIKE * max(LEAST_ERROR, own[k], *(own[n] for n in scene))
        if all(_measure_error(xy0, xy1, together, objects[n]) <= bound for n in (k, *scene)):
            scene.append(k)
    return scene


def _measure_error(xy0: Floats, xy1: Floats, fitted: Array, rows: Array) -> float:
    """The median error of rows under the matrix of the fitted rows; inf if it explains too few."""
    fundamental = fit_fundamental(xy0[fitted], xy1[fitted])
    if fundamental is None:
        return np.inf
    error = epipolar_error(fundamental, xy0[rows], xy1[rows])
    return float(np.median(error)) if (error <= MAX_ERROR).mean() > 0.5 else np.inf


def _area(xy: Floats) -> float:
    return float(shapely.MultiPoint(xy).convex_hull.area)


def _agree(explained: Bools, rows: Array, places: Floats) -> Bools:
    """Whether most matches near each of `rows` (m,) are explained; places (n, 4) in both images."""
    if explained[rows].mean() >= MOST:
        return np.ones(len(rows), bool)
    _, near = scipy.spatial.cKDTree(places[rows]).query(places[rows], min(N_NEIGHBORS + 1, len(rows)))
    return np.asarray(explained[rows][near.reshape(len(rows), -1)].mean(axis=1) > 0.5)
