"""Objects as planes: what stays of a group is what one homography explains, exactly and both ways.

Matches from simulated views lie where a feature of a squeezed picture was, to a few pixels along the
direction of the squeezing, and a smooth map that bends to follow them takes in false ones. What needs
simulated views to be found is a wall or a poster: a plane, which hundreds of such matches determine well.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from matching import _opencv
from matching.correspondences.correspondences import Correspondences, magnification
from matching.errors import check_at_least
from matching.grouping.objects import Groups
from matching.grouping.suppression import find_uncovered

LEAST = 8  # matches that a plane is fitted to: twice as many as fix it
WORST_CONDITION = 1e8  # of a homography between coordinates of about 1
START = 3.0  # pixels: tolerance of the robust fit to the group's own matches
NEAR = 30.0  # pixels: farther off, a match has no weight
ROUNDS = 4  # in which the matches that are near are chosen anew, each of ...
STEPS = 5  # ... so many of reweighting; the fit has settled after about ten


@dataclass(frozen=True)
class PlanesConfig:
    """When matches of simulated views are an object.

    All lengths are pixels of either image: an error counts in that image where it is larger.

    Attributes
    ----------
    tolerance : float
        How far a match may be from where the plane has it.
    scale : float
        Error at which a match has a quarter of its weight in the fit.
    min_score : float
        Least score of its group. Unrelated pictures reach 0.24 with views: there are ten times as many
        features, among them many of the same place.
    cell, min_places : float, int
        Squares of so many pixels that its matches take in either image, at least. Unrelated pictures reach
        33, and where they have a better score, as two lines of print, 18.
    min_width : float
        As of other objects (`ObjectsConfig.min_width`): what is seen from the side is narrow.
    covered : float
        Share of its places amid those of larger objects, in one of the images, from which on it is no
        object: a place shows one thing, and windows match the next ones on a house.
    """

    tolerance: float = 6.0
    scale: float = 2.0
    min_score: float = 0.25
    cell: float = 8.0
    min_places: int = 35
    min_width: float = 0.04
    covered: float = 0.25

    def __post_init__(self):
        check_at_least(self, tolerance=0, scale=1e-3, min_score=0, cell=1e-3, min_places=4, min_width=0)
        check_at_least(self, covered=0)


def find_planes(correspondences: Correspondences, groups: Groups, config: PlanesConfig) -> Groups:
    """The groups that are planes, with all matches that their planes explain.

    A group is replaced by the correspondences, anywhere, that its plane explains. The group with most of
    them chooses first, and those behind it must have places of their own.

    Parameters
    ----------
    correspondences : Correspondences
    groups : Groups
    config : PlanesConfig
    """
    strong = np.flatnonzero(groups.scores >= config.min_score)
    planes = [_on_plane(correspondences, np.flatnonzero(groups.labels == k), config) for k in strong]
    free, parts, scores = np.ones(len(correspondences), bool), [], []
    for k in sorted(range(len(planes)), key=lambda k: (-len(planes[k]), k)):
        rows = planes[k][free[planes[k]]]
        if count_places(correspondences[rows], config.cell) >= config.min_places:
            free[rows] = False
            parts.append(rows)
            scores.append(groups.scores[strong[k]])
    kept = set(range(len(parts)))
    for xy in (correspondences.xy0, correspondences.xy1):
        kept &= set(find_uncovered(xy, xy, parts, config.covered).tolist())
    order = sorted(kept, key=lambda k: (-scores[k], k))
    labels = np.full(len(correspondences), -1, np.int64)
    for label, k in enumerate(order):
        labels[parts[k]] = label
    return Groups(labels, np.array([scores[k] for k in order], float))


def count_places(correspondences: Correspondences, cell: float) -> int:
    """Squares of `cell` pixels that correspondences take, in the image where these are fewer."""
    return min(
        len(np.unique(np.floor(xy / cell), axis=0)) for xy in (correspondences.xy0, correspondences.xy1)
    )


def _on_plane(correspondences, members, config):
    """Rows of the correspondences that the plane of some of them explains; none where there is no plane."""
    c = correspondences
    start = _start(c, members)
    if start is None:
        return members[:0]
    matrix = fit_plane(c.xy0, c.xy1, start, config.scale, members)
    if matrix is None:
        return members[:0]
    return np.flatnonzero(transfer_errors(matrix, c.xy0, c.xy1) < config.tolerance)


def _start(correspondences, members):
    """A homography that many of the members agree with, fitted in the image where the object is smaller."""
    x, y = correspondences.xy0[members], correspondences.xy1[members]
    if magnification(correspondences[members])[1] <= 1:
        return _opencv.fit_homography(x, y, START)
    back = _opencv.fit_homography(y, x, START)
    return None if back is None or np.linalg.matrix_rank(back) < 3 else np.linalg.inv(back)


def transfer_errors(matrix: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """(n,) float64: how far a homography takes x (n, 2) from y, or y back from x, whichever is more; infinite
    where a point is beyond the horizon.
    """
    there, depth = _project(matrix, x)
    home, depth_back = _project(np.linalg.inv(matrix), y)
    errors = np.maximum(np.linalg.norm(there - y, axis=1), np.linalg.norm(home - x, axis=1))
    return np.where((depth > 0) & (depth_back > 0), errors, np.inf)


def _project(matrix, points):
    """Points (n, 2) as a homography takes them, and whether they are before the horizon, as a sign: positive
    on the side of the points that most are on.
    """
    homogeneous = points @ matrix[:, :2].T + matrix[:, 2]
    depth = homogeneous[:, 2]
    side = 1.0 if np.count_nonzero(depth > 0) * 2 >= len(depth) else -1.0
    with np.errstate(divide="ignore", invalid="ignore"):
        return homogeneous[:, :2] / depth[:, None], depth * side


def fit_plane(
    x: np.ndarray, y: np.ndarray, start: np.ndarray, scale: float, members: np.ndarray
) -> np.ndarray | None:
    """The homography (3, 3) that takes x (n, 2) to y with the least errors in both images, robustly.

    Iteratively reweighted least squares with the weights of Geman and McClure, from a start near the
    solution. None where it gets lost.

    Parameters
    ----------
    x, y : (n, 2) float64
    start : (3, 3) float64
    scale : float
        Error, in pixels, at which a weight is a half.
    members : (k,) int64
        Points that give the scale of the coordinates.
    """
    to_unit = [_normaliser(points[members]) for points in (x, y)]
    units = [1 / t[0, 0] for t in to_unit]  # pixels
    matrix = start
    for _ in range(ROUNDS):
        near = transfer_errors(matrix, x, y) < NEAR
        if np.count_nonzero(near) < LEAST:
            return None
        u, v = (xy[near] @ t[:2, :2].T + t[:2, 2] for xy, t in zip((x, y), to_unit, strict=True))
        matrix = to_unit[1] @ matrix @ np.linalg.inv(to_unit[0])
        for _ in range(STEPS):
            rows, weights = _equations(matrix, u, v, units, scale)
            normal = np.einsum("nai,nab,nbj->ij", rows, weights, rows)
            if not np.isfinite(normal).all():
                return None
            matrix = np.linalg.eigh(normal)[1][:, 0].reshape(3, 3)
            if np.linalg.cond(matrix) > WORST_CONDITION:
                return None
        matrix = np.linalg.inv(to_unit[1]) @ matrix @ to_unit[0]
    return matrix


def _equations(matrix, u, v, units, scale):
    """Rows (n, 2, 9) whose products with the nine numbers of a homography near `matrix` are its errors at v,
    and their weights (n, 2, 2), which count errors in both images.
    """
    homogeneous = np.column_stack([u, np.ones(len(u))])
    there = homogeneous @ matrix.T
    depth = there[:, 2]
    near = there[:, :2] / depth[:, None]
    jacobian = (matrix[None, :2, :2] - near[:, :, None] * matrix[None, 2:, :2]) / depth[:, None, None]
    back = np.linalg.inv(jacobian)
    metric = units[1] ** 2 * np.eye(2) + units[0] ** 2 * np.swapaxes(back, 1, 2) @ back
    residual = v - near
    squared = np.einsum("na,nab,nb->n", residual, metric, residual)
    weight = 1 / (1 + squared / scale**2)
    zero = np.zeros_like(homogeneous)
    rows = np.stack(
        [
            np.hstack([homogeneous, zero, -v[:, :1] * homogeneous]),
            np.hstack([zero, homogeneous, -v[:, 1:] * homogeneous]),
        ],
        axis=1,
    )
    return rows / depth[:, None, None], metric * (weight**2)[:, None, None]


def _normaliser(points):
    """(3, 3): takes points to mean 0 and standard deviation 1."""
    centre, unit = points.mean(axis=0), points.std()
    return np.array([[1 / unit, 0, -centre[0] / unit], [0, 1 / unit, -centre[1] / unit], [0, 0, 1]])
