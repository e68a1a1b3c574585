"""Objects as planes: the part of a group that one homography explains in both images.

Matches from simulated views are inaccurate along the direction of foreshortening, so a smooth map would
follow false matches. Things that need simulated views are walls or posters, that is, planes, which hundreds
of matches determine well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import shapely

from matching._common import opencv
from matching._common.types import Array, Floats, Ints
from matching.correspondences.correspondences import Correspondences, measure_magnification
from matching.grouping.groups import Group, make_group, sort_groups
from matching.grouping.ledger import Ledger
from matching.settings import LARGEST, check_settings, setting


@dataclass(frozen=True)
class PlanesConfig:
    """Conditions for matches of simulated views to be an object.

    Parameters
    ----------
    min_places : int
        Smallest number of places of an object. Unrelated pictures reach 33, because views give ten times as
        many features, many of them at the same place.
    """

    min_places: int = setting(50, 4, LARGEST)

    def __post_init__(self) -> None:
        check_settings(self)


def find_planes(
    correspondences: Correspondences,
    groups: Sequence[Group],
    config: PlanesConfig,
    tolerance: float,
    max_overlap: float,
    ledger: Ledger,
) -> list[Group]:
    """Find the plane of each group, with all the matches that it explains.

    A match goes to the first plane that explains it, in descending order of support, which is the number of
    places times the score of the group. A plane that overlaps a plane with more support is dropped: the
    windows of a house also match the next ones, at as many places but with lower scores.
    """
    planes = [_find_explained(correspondences, group.rows, tolerance) for group in groups]
    n_places = [count_places(correspondences[rows], tolerance) for rows in planes]
    support = np.array(n_places) * np.array([group.score for group in groups])
    is_free, chosen = np.ones(len(correspondences), bool), dict[int, Ints]()
    for k in np.argsort(-support, kind="stable").tolist():
        rows = planes[k][is_free[planes[k]]]
        if count_places(correspondences[rows], tolerance) >= config.min_places and not any(
            _overlap(correspondences, rows, planes[other]) >= max_overlap for other in chosen
        ):
            is_free[rows] = False
            chosen[k] = rows
    for k, group in enumerate(groups):
        ledger.reach("planes", group.rows)
        if k not in chosen:
            ledger.drop("planes", group.rows, n_places[k], config.min_places)
    return sort_groups(make_group(chosen[k], groups[k].score, groups[k].log_nfa) for k in sorted(chosen))


def count_places(correspondences: Correspondences, cell: float) -> int:
    """Count the squares that contain correspondences, in the image with fewer of them."""
    return min(
        len(np.unique(np.floor(xy / cell), axis=0)) for xy in (correspondences.xy0, correspondences.xy1)
    )


def transfer_errors(matrix: Array, x: Array, y: Array) -> Floats:
    """The larger of the transfer errors of a homography (3, 3) in both directions: x, y (n, 2) -> (n,)."""
    there, depth = _project(matrix, x)
    home, depth_back = _project(np.linalg.inv(matrix), y)
    errors = np.maximum(np.linalg.norm(there - y, axis=1), np.linalg.norm(home - x, axis=1))
    return np.where((depth > 0) & (depth_back > 0), errors, np.inf)


def _find_explained(correspondences: Correspondences, members: Array, tolerance: float) -> Ints:
    """Rows of all correspondences that the plane of the members explains; none if there is no plane.

    The plane is fitted first to the members, with errors measured in the image where the object is smaller;
    then to all matches near it, with errors measured in the other image.
    """
    no_rows = members[:0]
    x, y = correspondences.xy0, correspondences.xy1
    if measure_magnification(correspondences, members)[1] > 1:
        x, y = y, x
    matrix = opencv.fit_homography(x[members], y[members], tolerance / 2)
    if matrix is None:
        return no_rows
    near = transfer_errors(matrix, x, y) < 2 * tolerance
    back = opencv.fit_homography(y[near], x[near], tolerance / 2)
    return no_rows if back is None else np.flatnonzero(transfer_errors(back, y, x) < tolerance)


def _overlap(correspondences: Correspondences, rows: Array, others: Array) -> float:
    """Measure the share of the hull of matches (k,) that the hull of others covers, the larger of two."""
    shares = [0.0]
    for xy in (correspondences.xy0, correspondences.xy1):
        hull, other_hull = (shapely.MultiPoint(xy[chosen]).convex_hull for chosen in (rows, others))
        if hull.area > 0:
            shares.append(hull.intersection(other_hull).area / hull.area)
    return max(shares)


def _project(matrix: Array, points: Array) -> tuple[Floats, Floats]:
    """Points (n, 2) mapped by a homography, and their depths, positive on the side of most points."""
    homogeneous = points @ matrix[:, :2].T + matrix[:, 2]
    depth = homogeneous[:, 2]
    side = 1.0 if np.count_nonzero(depth > 0) * 2 >= len(depth) else -1.0
    with np.errstate(divide="ignore", invalid="ignore"):
        return homogeneous[:, :2] / depth[:, None], depth * side
