"""The static scene of two images, and COLMAP's configuration for their geometry.

One fundamental matrix F, x1' F x0 = 0, explains all objects that stand still; an object that moved follows a
different matrix. COLMAP is given the largest set of objects that one matrix explains.

Its rules (`TwoViewGeometryOptions`): fewer than 15 fitting matches are degenerate; with known focal lengths
and an essential matrix that explains 95 % as many matches as F, the pair is calibrated, otherwise
uncalibrated; if a homography explains more than 80 % as many, it is planar or panoramic.
"""

from dataclasses import dataclass

import numpy as np
import scipy
import shapely

from matching._common import opencv
from matching._common.types import Array, Bools, Floats
from matching.objects.transforms import apply_transform
from matching.output.exchange import MAX_ERROR, MOST, Geometry, TwoViews

# COLMAP's options of these names
MIN_NUM_INLIERS = 15  # fewest inliers of a geometry
MIN_E_F_INLIER_RATIO = 0.95  # share of the inliers of F that an essential matrix needs
MAX_H_INLIER_RATIO = 0.8  # share of the inliers of F or E above which a homography is chosen
MAX_NUM_TRIALS = 10_000  # the most trials of a robust fit
MINIMAL = 7  # matches that define a fundamental matrix: only further ones can confirm it
CORES = 5  # the number of largest objects with which a scene may begin
N_NEIGHBORS = 8  # nearest matches that tell whether a match lies among explained ones
MAX_LOG_NFA = -2.0  # log10 of the largest number of false alarms of a geometry
LEAST_ERROR, ALIKE = 0.1, 2.5  # pixels; factor by which a scene's matrix may exceed an object's own error


@dataclass(frozen=True)
class Camera:
    """A camera of COLMAP's database."""

    model: int  # COLMAP's number of the camera model
    parameters: tuple[float, ...]
    has_prior: bool  # whether the focal length is known

    def normalise(self, xy: Floats) -> Floats | None:
        """Take points to the plane at depth 1, without the lens distortion: xy (n, 2) -> (n, 2) or None."""
        p = self.parameters
        if len(p) != {0: 3, 1: 4, 2: 4, 3: 5, 4: 8, 5: 8, 6: 12}.get(self.model):
            return None
        if self.model in (0, 2, 3):  # one focal length
            p = p[0], *p
        return opencv.undistort(xy, p[:4], p[4:], fisheye=self.model == 5)

    @property
    def focal_length(self) -> float:
        """The focal length in pixels, or the mean of two."""
        return self.parameters[0] if self.model in (0, 2, 3) else sum(self.parameters[:2]) / 2


def estimate_two_views(xy0: Floats, xy1: Floats, cameras: tuple[Camera, Camera] | None = None) -> TwoViews:
    """Estimate the geometry of matches, and choose its configuration by COLMAP's rules: xy0, xy1 (n, 2)."""
    fundamental, homography = fit_fundamental(xy0, xy1), opencv.fit_homography(xy0, xy1, MAX_ERROR)
    by_f = 0 if fundamental is None else int((epipolar_error(fundamental, xy0, xy1) <= MAX_ERROR).sum())
    by_h = 0
    if homography is not None:
        homography = homography / homography[2, 2]
        error = np.linalg.norm(apply_transform(homography, xy0) - xy1, axis=1)
        by_h = int((error <= MAX_ERROR).sum())
    essential, by_e = _fit_essential(xy0, xy1, cameras)
    if max(by_f, by_h, by_e) < MIN_NUM_INLIERS:
        return TwoViews(Geometry.DEGENERATE)
    is_calibrated = by_e >= max(MIN_NUM_INLIERS, MIN_E_F_INLIER_RATIO * by_f)
    most_h = MAX_H_INLIER_RATIO * (by_e if is_calibrated else by_f)
    if by_h >= MIN_NUM_INLIERS and by_h > most_h:
        config = Geometry.PLANAR_OR_PANORAMIC
    else:
        config = Geometry.CALIBRATED if is_calibrated else Geometry.UNCALIBRATED
    return TwoViews(config, fundamental, essential, homography)


def _fit_essential(
    xy0: Floats, xy1: Floats, cameras: tuple[Camera, Camera] | None
) -> tuple[Floats | None, int]:
    """The essential matrix, and how many matches it explains; None and 0 if a focal length is unknown."""
    if cameras is None or not all(camera.has_prior for camera in cameras):
        return None, 0
    x0, x1 = cameras[0].normalise(xy0), cameras[1].normalise(xy1)
    if x0 is None or x1 is None:
        return None, 0
    error = MAX_ERROR * (1 / cameras[0].focal_length + 1 / cameras[1].focal_length) / 2
    essential = opencv.fit_essential(x0, x1, error, MAX_NUM_TRIALS)
    if essential is None:
        return None, 0
    return essential, int((epipolar_error(essential, x0, x1) <= error).sum())


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
    the scene consists of the `verified` matches or, without these, of the matches that one matrix explains,
    if they are significant.

    xy0, xy1 (n, 2); cluster (n,); verified (n,) bool -> (n,) bool.
    """
    verified = np.zeros(len(cluster), bool) if verified is None else verified
    objects = [np.flatnonzero(cluster == k) for k in range(int(cluster.max(initial=-1)) + 1)]
    objects = sorted((rows for rows in objects if len(rows) > MINIMAL), key=lambda own: (-len(own), own[0]))
    scene = _largest_scene(xy0, xy1, objects)
    static, free = np.zeros(len(cluster), bool), cluster < 0
    if scene:
        explained = _explain(xy0, xy1, np.concatenate(scene), np.flatnonzero(free))
        places = np.hstack([xy0, xy1])
        for rows in scene:
            static[rows] = _agree(explained, rows, places)
        static |= explained & free
    else:
        static = verified.copy() if verified.any() else _find_significant(xy0, xy1)
    if static.any() and verified[static].mean() >= MOST:
        static |= verified & free
    elif scene and is_wider(xy0, xy1, scene, static, verified):
        static = verified
    return static


def is_wider(xy0: Floats, xy1: Floats, scene: list[Array], static: Bools, verified: Bools) -> bool:
    """Whether the matrix of `verified` (n,) explains `scene`, and `verified` covers more than `static`."""
    areas = [_area(xy0[rows]) + _area(xy1[rows]) for rows in (static, verified)]
    if not static.any() or areas[1] <= areas[0]:
        return False
    fundamental = fit_fundamental(xy0[verified], xy1[verified])
    if fundamental is None:
        return False
    explained = epipolar_error(fundamental, xy0, xy1) <= MAX_ERROR
    return all(explained[rows].mean() > 0.5 for rows in scene)


def _find_significant(xy0: Floats, xy1: Floats) -> Bools:
    """The matches (n,) that one matrix explains, if it is significant; otherwise none."""
    fundamental = fit_fundamental(xy0, xy1)
    if fundamental is None or measure_significance(fundamental, xy0, xy1) > MAX_LOG_NFA:
        return np.zeros(len(xy0), bool)
    return epipolar_error(fundamental, xy0, xy1) <= MAX_ERROR


def measure_significance(fundamental: Floats, xy0: Floats, xy1: Floats) -> float:
    """Log10 of the number of false alarms of a fundamental matrix: xy0, xy1 (n, 2).

    This is the expected number of matrices, each fitted to seven of the matches, that explain as many matches
    as accurately if the points are random (Moisan and Stival 2004), minimised over all errors up to
    MAX_ERROR. A random point is at most d from a line with probability 2 d diagonal / area of the box around
    all points, in the image where this is larger. A point in several matches counts once.
    """
    new = np.zeros((2, len(xy0)), bool)
    for image, xy in enumerate((xy0, xy1)):
        new[image, np.unique(xy, axis=0, return_index=True)[1]] = True
    xy0, xy1 = xy0[new.all(axis=0)], xy1[new.all(axis=0)]
    n = len(xy0)
    near = epipolar_error(fundamental, xy0, xy1) <= MAX_ERROR
    if near.sum() <= MINIMAL:
        return np.inf
    chance = np.zeros(near.sum())
    for matrix, start, end in ((fundamental, xy0, xy1), (fundamental.T, xy1, xy0)):
        line = np.column_stack([start, np.ones(n)])[near] @ matrix.T
        far = np.abs((line[:, :2] * end[near]).sum(axis=1) + line[:, 2]) / np.hypot(*line[:, :2].T)
        width, height = np.ptp(end, axis=0)
        with np.errstate(divide="ignore"):
            chance = np.maximum(chance, 2 * far * np.hypot(width, height) / (width * height))
    k = np.arange(1, len(chance) + 1)[MINIMAL:]
    ways = sum(_log_choose(*pair) for pair in ((n, k), (k, MINIMAL)))
    log_chance = np.log(np.clip(np.sort(chance)[MINIMAL:], 1e-300, 1))
    logs = np.log(3 * (n - MINIMAL)) + ways + (k - MINIMAL) * log_chance
    return float(logs.min() / np.log(10))


def _log_choose(n: Array | int, k: Array | int) -> Floats:
    """Natural logarithms of the numbers of ways to choose k of n."""
    gamma = scipy.special.gammaln
    return np.asarray(gamma(np.add(n, 1)) - gamma(np.add(k, 1)) - gamma(np.subtract(n, k) + 1))


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


def _explain(xy0: Floats, xy1: Floats, scene: Array, free: Array) -> Bools:
    """Whether the matrix of a scene explains each match (n,); free ones take part if the fit is as good."""
    explained, both = np.zeros(len(xy0), bool), np.concatenate([scene, free])
    for rows in (scene, both):
        fundamental = fit_fundamental(xy0[rows], xy1[rows])
        if fundamental is not None:
            found = epipolar_error(fundamental, xy0, xy1) <= MAX_ERROR
            is_same = found[scene].sum() >= MIN_E_F_INLIER_RATIO * explained[scene].sum()
            if is_same and found[both].sum() > explained[both].sum():
                explained = found
    return explained


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
