"""The static scene of two images, and its geometry as COLMAP stores it.

One fundamental matrix F, x1' F x0 = 0, explains all objects that stand still; an object that moved follows a
different matrix. COLMAP is given the largest set of objects that one matrix explains.
"""

import numpy as np
import scipy
import shapely

from matching._common import opencv
from matching._common.types import Array, Bools, Floats
from matching.output.exchange import MAX_ERROR, MIN_EXPLAINED_SHARE, Geometry, TwoViews

# COLMAP's options of these names
MIN_NUM_INLIERS = 15  # fewest inliers of a geometry
MAX_NUM_TRIALS = 10_000  # largest number of trials of a robust fit
SAMPLE_SIZE = 7  # matches that define a fundamental matrix: only further ones can confirm it
MAX_STARTS = 5  # the scene is grown from each of this many objects, the largest ones
N_NEIGHBORS = 8  # nearest matches, most of which must be explained around a match of the scene
MIN_ERROR = 0.1  # pixels: smaller errors of a matrix count as this
MAX_ERROR_RATIO = 2.5  # between the error of a scene's matrix and that of the matrix of one object


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
    return np.asarray(np.abs((b * line1).sum(axis=1)) / np.sqrt(np.maximum(slope, np.finfo(float).tiny)))


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
    objects = [np.flatnonzero(cluster == k) for k in range(count_groups(cluster))]
    objects = [rows for rows in objects if len(rows) > SAMPLE_SIZE]
    scene = _find_largest_scene(xy0, xy1, sorted(objects, key=lambda rows: (-len(rows), rows[0])))
    if not scene:
        return verified.copy()
    rows = np.concatenate(scene)
    fundamental = fit_fundamental(xy0[rows], xy1[rows])
    if fundamental is None:
        return verified.copy()
    explained = epipolar_error(fundamental, xy0, xy1) <= MAX_ERROR
    static, places = explained & (cluster < 0), np.hstack([xy0, xy1])
    for rows in scene:
        static[rows] = _find_explained(explained, rows, places)
    is_verified = static.any() and verified[static].mean() >= MIN_EXPLAINED_SHARE
    return static | (verified & (cluster < 0)) if is_verified else static


def count_groups(cluster: Array) -> int:
    """Count the groups that labels (n,) number from 0; -1 is none."""
    return int(cluster.max(initial=-1)) + 1


def _find_largest_scene(xy0: Floats, xy1: Floats, objects: list[Array]) -> list[Array]:
    """Find the set of objects, each rows (m,), that covers most of both images."""
    errors = [_measure_errors(xy0, xy1, [rows])[0] for rows in objects]
    hulls = [[shapely.MultiPoint(xy[rows]).convex_hull for xy in (xy0, xy1)] for rows in objects]
    areas = [hull0.area + hull1.area for hull0, hull1 in hulls]
    best: list[int] = []
    for first in np.argsort(areas, kind="stable")[::-1][:MAX_STARTS]:
        scene = _grow_scene(xy0, xy1, objects, errors, int(first))
        if sum(areas[k] for k in scene) > sum(areas[k] for k in best):
            best = scene
    return [objects[k] for k in best]


def _grow_scene(xy0: Floats, xy1: Floats, objects: list[Array], errors: list[float], first: int) -> list[int]:
    """Grow a scene from the object `first`, and return the numbers of its objects.

    `errors` are those of the matrix of each object alone.
    """
    if not np.isfinite(errors[first]):
        return []
    scene = [first]
    for k in (k for k in range(len(objects)) if k != first):
        together = (k, *scene)
        bound = MAX_ERROR_RATIO * max(MIN_ERROR, *(errors[n] for n in together))
        if max(_measure_errors(xy0, xy1, [objects[n] for n in together])) <= bound:
            scene.append(k)
    return scene


def _measure_errors(xy0: Floats, xy1: Floats, objects: list[Array]) -> list[float]:
    """Measure the median error of each object under the matrix of all; inf if it explains less than half."""
    together = np.concatenate(objects)
    fundamental = fit_fundamental(xy0[together], xy1[together])
    if fundamental is None:
        return [np.inf] * len(objects)
    errors = [epipolar_error(fundamental, xy0[rows], xy1[rows]) for rows in objects]
    return [float(np.median(e)) if (e <= MAX_ERROR).mean() > 0.5 else np.inf for e in errors]


def _find_explained(explained: Bools, rows: Array, places: Floats) -> Bools:
    """Find those of `rows` (m,) near which most matches are explained; places (n, 4) in both images."""
    if explained[rows].mean() >= MIN_EXPLAINED_SHARE:
        return np.ones(len(rows), bool)
    _, near = scipy.spatial.cKDTree(places[rows]).query(places[rows], min(N_NEIGHBORS + 1, len(rows)))
    return np.asarray(explained[rows][near.reshape(len(rows), -1)].mean(axis=1) > 0.5)
