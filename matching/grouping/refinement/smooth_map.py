"""What one smooth map explains: matches of an object that it does not explain leave it, others join.

A correspondence is predicted from the n_neighbors matches of the object nearest to it, itself left out, in
both directions: by the thin-plate spline that smooths them by as much as points are inaccurate. The same
spline is the best linear prediction (kriging) of a random field, which tells how far off it may be: by more
where matches are few and far. (Wahba, Spline Models for Observational Data, 1990; Kent and Mardia, The link
between kriging and thin-plate splines, 1994.)

Notation: x, y (n, 2) are the object's points in either image, in pixels of the one where it is smaller.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree

from matching._types import Array, Bools, Floats
from matching.correspondences.correspondences import Correspondences, magnification
from matching.correspondences.distances import do_agree, find_nearest_others
from matching.errors import check_at_least
from matching.grouping import _kernels
from matching.grouping.graph import CONFIRMED, GraphConfig
from matching.threads import run_in_ranges


@dataclass(frozen=True)
class SmoothMapConfig:
    """How far a match may be from what the smooth map of its object predicts.

    All lengths are pixels of the image where the object is smaller.

    Parameters
    ----------
    n_neighbors : int
        Matches that a prediction is made from.
    smoothing : float
        Square pixels: variance of the points over that of the bends.
    tolerance : float
        Residual of a match over the deviation of its prediction, at most: four times the strongest bends
        that objects have. Amid many matches, where only the point itself is uncertain, 2.4 pixels.
    reach : float
        Pixels of a joining match from the object's nearest one, in both images.
    agreeing : float
        Share of the object's matches nearby that a joining match must agree with, by its own affine map:
        places alone let outliers join.
    """

    n_neighbors: int = 12
    smoothing: float = 100.0
    tolerance: float = 0.24
    reach: float = 45.0
    agreeing: float = 0.25

    def __post_init__(self) -> None:
        check_at_least(self, n_neighbors=CONFIRMED, smoothing=1e-3, tolerance=0, reach=0, agreeing=0)


def refine_objects(
    correspondences: Correspondences,
    objects: list[Array],
    free: Array,
    config: SmoothMapConfig,
    graph: GraphConfig,
    n_threads: int = 1,
) -> list[Array]:
    """Remove the matches that the smooth map of their object does not explain, and add others that it does.

    That is repeated until no match joins, or an object is what it was before. What joins is mirrored if most
    of the object is, and only then.

    Parameters
    ----------
    correspondences : Correspondences
        All matches.
    objects : list of arrays of int
        Rows of each object's matches. The first object chooses first.
    free : array of int
        Rows that may join.
    config : SmoothMapConfig
        What a smooth map explains.
    graph : GraphConfig
        When two matches agree.
    n_threads : int
        Threads; the result is the same for any number.

    Returns
    -------
    list of arrays of int
        Rows of each object's matches.
    """
    available = np.zeros(len(correspondences), bool)
    available[free] = True
    for members in objects:
        available[members] = False
    refined, mirrored = [], correspondences.mirrored
    for members in objects:
        alike = mirrored == (2 * np.count_nonzero(mirrored[members]) > len(members))
        before: set[bytes] = set()
        while len(members) > CONFIRMED and members.tobytes() not in before:
            before.add(members.tobytes())
            residual, deviation = _measure_members(correspondences, members, config, n_threads)
            explained = residual < config.tolerance * deviation
            available[members[~explained]] = True
            members = members[explained]
            others = np.flatnonzero(available & alike)
            new = _find_joining(correspondences, members, others, config, graph, n_threads)
            if len(new) == 0:
                break
            available[new] = False
            members = np.sort(np.concatenate([members, new]))
        refined.append(members)
    return refined


def _measure_members(
    correspondences: Correspondences, members: Array, config: SmoothMapConfig, n_threads: int
) -> Floats:
    """Residuals and deviations (n,) of the members, the larger of both directions."""
    x, y = _scale_points(correspondences, members, magnification(correspondences[members]))
    k = min(config.n_neighbors, len(members) - 1)
    there = spline_residuals(
        x, y, find_nearest_others(x, k, n_threads=n_threads), config.smoothing, n_threads=n_threads
    )
    back = spline_residuals(
        y, x, find_nearest_others(y, k, n_threads=n_threads), config.smoothing, n_threads=n_threads
    )
    return np.maximum(there, back)


def _find_joining(
    correspondences: Correspondences,
    members: Array,
    others: Array,
    config: SmoothMapConfig,
    graph: GraphConfig,
    n_threads: int,
) -> Array:
    """Those of `others` that are in reach of an object, where its smooth map has them, and agree with the
    matches around, in both images.
    """
    if len(members) < CONFIRMED:
        return others[:0]
    scale = magnification(correspondences[members])
    points, near = _scale_points(correspondences, members, scale), np.empty((len(others), 0), np.int64)
    for own, there in ((0, 1), (1, 0)):
        at = _scale_points(correspondences, others, scale)
        rows = np.flatnonzero(_is_in_box(at[own], points[own], config.reach))
        gap, nearest = cKDTree(points[own]).query(
            at[own][rows], min(config.n_neighbors, len(members)), workers=n_threads
        )
        within = gap[:, 0] < config.reach
        rows, nearest = rows[within], nearest[within]
        ends = at[own][rows], at[there][rows]
        residual, deviation = spline_residuals(
            points[own], points[there], nearest, config.smoothing, ends, n_threads
        )
        explained = residual < config.tolerance * deviation
        rows, nearest = rows[explained], nearest[explained]
        others, near = others[rows], np.hstack([near[rows], members[nearest]])
    coarse = graph.scale * graph.coarseness, graph.slope * graph.coarseness
    agreed = do_agree(correspondences, np.repeat(others, near.shape[1]), near.ravel(), *coarse)
    return others[agreed.reshape(near.shape).mean(axis=1) >= config.agreeing] if len(others) else others


def _scale_points(
    correspondences: Correspondences, members: Array, scale: tuple[float, float]
) -> tuple[Floats, Floats]:
    return correspondences.xy0[members] / scale[0], correspondences.xy1[members] / scale[1]


def _is_in_box(points: Array, others: Array, reach: float) -> Bools:
    """(n,) bool: whether a point lies within reach of the box around the others."""
    return np.asarray(
        ((points > others.min(axis=0) - reach) & (points < others.max(axis=0) + reach)).all(axis=1)
    )


def spline_residuals(
    x: Array,
    y: Array,
    near: Array,
    smoothing: float,
    at: tuple[Array, Array] | None = None,
    n_threads: int = 1,
) -> tuple[Floats, Floats]:
    """How far correspondences are from where the smooth map of their neighbours takes them.

    The spline is f(p) = sum_j c_j phi(|p - x_j|) and an affine map, phi(r) = r^2 log r, with f(x_j) +
    smoothing c_j = y_j.

    Parameters
    ----------
    x, y : (n, 2) float64
        The neighbours' points.
    near : (q, k) int64
        The neighbours of each correspondence.
    smoothing : float
        Square pixels: variance of the points over that of the bends.
    at : pair of (q, 2) float64, optional
        The correspondences' own points, by default x and y themselves.
    n_threads : int
        Threads; the result is the same for any number.

    Returns
    -------
    residual : (q,) float64
        The distances.
    deviation : (q,) float64
        Their standard deviations in units of the bends: the square root of the kriging variance for phi, and
        the smoothing on top.
    """
    from_, to = (x, y) if at is None else at
    residual, deviation = np.empty(len(near)), np.empty(len(near))

    def measure(start: int, stop: int) -> None:
        rows = slice(start, stop)
        own = near[rows], from_[rows], to[rows], float(smoothing), residual[rows], deviation[rows]
        _kernels.spline_residuals(x, y, *own)

    run_in_ranges(measure, len(near), n_threads, 512)
    return residual, deviation
