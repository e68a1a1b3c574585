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

from matching._common.threads import run_in_ranges
from matching._common.types import Array, Bools, Floats, Ints
from matching.correspondences.correspondences import Correspondences, magnification
from matching.correspondences.distances import do_agree
from matching.correspondences.points import nearest_points
from matching.errors import check_at_least
from matching.grouping import _kernels
from matching.grouping.graph import CONFIRMED, GraphConfig


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
        maps = _make_maps(correspondences, members, config, n_threads)
        before: set[bytes] = set()
        while members.tobytes() not in before:
            before.add(members.tobytes())
            available[members] = True
            members = _drop_unexplained(maps, members, config.tolerance)
            available[members] = False
            others = np.flatnonzero(available & alike)
            new = _find_joining(correspondences, maps, members, others, config, graph)
            if len(new) == 0:
                break
            available[new] = False
            members = np.sort(np.concatenate([members, new]))
        refined.append(members)
    return refined


class _Map:
    """The smooth map of one object from one image to the other, as its members come and go.

    Most correspondences keep their neighbours from round to round, and with them what these predict.

    x, y : (m, 2) float64, all correspondences in either image
    """

    def __init__(self, x: Floats, y: Floats, config: SmoothMapConfig, n_threads: int) -> None:
        self.x, self.y, self.config, self.n_threads = x, y, config, n_threads
        self.members = np.empty(0, np.int64)
        self.is_known = np.zeros(len(x), bool)
        self.near = np.empty((len(x), config.n_neighbors), np.int64)  # members, the nearest first
        self.gap = np.empty((len(x), config.n_neighbors))  # how far these are
        self.residual, self.deviation = np.zeros(len(x)), np.zeros(len(x))

    def set_members(self, members: Ints) -> None:
        """Forget what is known of correspondences that lose a neighbour or get a nearer one."""
        before, self.members = self.members, members
        come, gone = np.zeros((2, len(self.x)), bool)
        come[members] = gone[before] = True
        come[before] = gone[members] = False
        known = np.flatnonzero(self.is_known)
        self.is_known[:] = False
        if len(known) == 0:
            return
        known = known[~gone[self.near[known]].any(axis=1)]
        if come.any():
            nearest = nearest_points(self.x[come], self.x[known], 1)[1][:, 0]
            known = known[nearest > self.gap[known, -1]]
        self.is_known[known] = True

    def predict(self, rows: Ints, are_members: bool, reach: float = np.inf) -> tuple[Ints, Floats, Floats]:
        """The members nearest to each row (q, k), itself left out, and the residual and deviation (q,) of
        what they predict; infinite residuals where none is within reach.
        """
        most = self.near.shape[1]
        k, new = min(most, len(self.members) - are_members), rows[~self.is_known[rows]]
        own = np.searchsorted(self.members, new) if are_members else None
        near, gap = nearest_points(self.x[self.members], self.x[new], k, own=own, n_threads=self.n_threads)
        self.near[new, :k], self.gap[new, :k] = self.members[near], gap
        self.is_known[new] = k == most  # of fewer members, more are asked for as they grow
        self.residual[new], self.deviation[new] = np.inf, 1.0
        new = new[self.gap[new, 0] < reach]
        ends = self.x[new], self.y[new]
        self.residual[new], self.deviation[new] = spline_residuals(
            self.x, self.y, self.near[new, :k], self.config.smoothing, ends, self.n_threads
        )
        return self.near[rows, :k], self.residual[rows], self.deviation[rows]


def _make_maps(
    correspondences: Correspondences, members: Ints, config: SmoothMapConfig, n_threads: int
) -> tuple[_Map, _Map]:
    """The smooth maps of an object from image 0 to 1 and back, in pixels of the one where it is smaller."""
    scale = magnification(correspondences[members])
    x, y = correspondences.xy0 / scale[0], correspondences.xy1 / scale[1]
    return _Map(x, y, config, n_threads), _Map(y, x, config, n_threads)


def _drop_unexplained(maps: tuple[_Map, _Map], members: Ints, tolerance: float) -> Ints:
    """The members that are where the others have them. Of those that are not, the worse half leaves, until
    there are none: the map without outliers may explain what they misled.
    """
    while len(members) > CONFIRMED:
        residual, deviation = np.zeros((2, len(members)))  # the larger ones of both ways count
        for way in maps:
            way.set_members(members)
            _, own_residual, own_deviation = way.predict(members, True)
            residual, deviation = np.maximum(residual, own_residual), np.maximum(deviation, own_deviation)
        error = residual / deviation
        wrong = error >= tolerance
        if not wrong.any():
            break
        members = members[~(wrong & (error >= np.median(error[wrong])))]
    return members


def _find_joining(
    correspondences: Correspondences,
    maps: tuple[_Map, _Map],
    members: Ints,
    others: Ints,
    config: SmoothMapConfig,
    graph: GraphConfig,
) -> Ints:
    """Those of `others` that are in reach of an object, where its smooth maps, whose members are set, have
    them, and agree with the matches around, in both images.
    """
    if len(members) <= CONFIRMED:
        return others[:0]
    for way in maps:
        others = others[_is_in_box(way.x[others], way.x[members], config.reach)]
    around = np.empty((len(others), 0), np.int64)
    for way in maps:
        near, residual, deviation = way.predict(others, False, config.reach)
        fits = residual < config.tolerance * deviation
        others, around = others[fits], np.hstack([around[fits], near[fits]])
    coarse = graph.scale * graph.coarseness, graph.slope * graph.coarseness
    agreed = do_agree(correspondences, np.repeat(others, around.shape[1]), around.ravel(), *coarse)
    return others[agreed.reshape(around.shape).mean(axis=1) >= config.agreeing] if len(others) else others


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
