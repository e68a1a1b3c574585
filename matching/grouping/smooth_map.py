"""What one smooth map explains: members of a part that it does not explain leave it, correspondences that it does
explain join.

A correspondence is told from the n_neighbors members nearest to it, itself left out, in both directions: by
the thin-plate spline through them that lets go of them within the accuracy of the points. The same spline is
the best linear prediction (kriging) of a random field, and that tells how far off it may be: by more where
members are few and far. (Wahba, Spline Models for Observational Data, 1990; Kent and Mardia, The link between
kriging and thin-plate splines, 1994.)

Notation: x, y (n, 2) are the members' points in either image, in pixels of the one where the part is smaller.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree

from matching.errors import check_at_least
from matching.grouping import _kernels
from matching.grouping.correspondences import magnification
from matching.grouping.distances import agree, nearest_others
from matching.grouping.graph import GraphConfig

LEAST_NEIGHBORS = 4  # an affine map and one more
BEND_SAMPLE = 200  # members, about, that tell how a part bends


@dataclass(frozen=True)
class SmoothMapConfig:
    """How far a correspondence may be from what the smooth map of its part predicts.

    All lengths are pixels of the image where the part is smaller.
    """

    n_neighbors: int = 12
    smoothing: float = 100.0  # square pixels; variance of the points over that of the bends
    tolerance: float = 3.0  # pixels, or ...
    spread: float = 4.0  # ... so many times the deviation there, where that is more
    most_bend: float = 0.06  # deviations count as much as members are off, up to this: strangers bend more
    reach: float = 60.0  # pixels of a candidate from the nearest member, in both images
    close_share: float = 0.25  # of the members near a candidate, that it must hang together with
    rounds: int = 3

    def __post_init__(self):
        check_at_least(self, n_neighbors=LEAST_NEIGHBORS, smoothing=1e-3, tolerance=0, spread=0)
        check_at_least(self, most_bend=0, reach=0, close_share=0, rounds=0)


def refine_parts(correspondences, parts, allowed, config=SmoothMapConfig(), graph=GraphConfig()):
    """The parts without the members that their smooth maps do not explain, and with the correspondences of
    `allowed` that are in none and that they do explain. The first part chooses first.
    """
    return _refined(correspondences, parts, allowed, config, graph, all_stay=False)


def grow_parts(correspondences, parts, allowed, config=SmoothMapConfig(), graph=GraphConfig()):
    """As `refine_parts`, but every member stays."""
    return _refined(correspondences, parts, allowed, config, graph, all_stay=True)


def _refined(correspondences, parts, allowed, config, graph, all_stay):
    free = np.zeros(len(correspondences), bool)
    free[allowed] = True
    for part in parts:
        free[part] = False
    refined = []
    for part in parts:
        for check in range(config.rounds):
            if len(part) <= LEAST_NEIGHBORS:
                break
            if check == 0 or not all_stay:
                rows = np.arange(0, len(part), max(len(part) // BEND_SAMPLE, 1) if all_stay else 1)
                residual, deviation = _of_members(correspondences, part, rows, config)
                bend = min(np.median(residual / deviation), config.most_bend)
            if not all_stay:
                stays = residual < _tolerance(bend, deviation, config)
                free[part[~stays]] = True
                part = part[stays]
            new = _explained(correspondences, part, np.flatnonzero(free), bend, config, graph)
            if len(new) == 0:
                break
            free[new] = False
            part = np.sort(np.concatenate([part, new]))
        refined.append(part)
    return refined


def _of_members(correspondences, part, rows, config):
    """Residuals and deviations (q,) of those rows of the members, the larger of both directions."""
    x, y = _points(correspondences, part, magnification(correspondences[part]))
    k = min(config.n_neighbors, len(part) - 1)
    there = spline_residuals(x, y, nearest_others(x, k, rows), config.smoothing, (x[rows], y[rows]))
    back = spline_residuals(y, x, nearest_others(y, k, rows), config.smoothing, (y[rows], x[rows]))
    return np.maximum(there, back)


def _explained(correspondences, part, others, bend, config, graph):
    """Those correspondences of `others` that are in reach of a part, as its smooth map has it, and have neighbours
    that they hang together with: places alone let strangers join.
    """
    if len(part) < LEAST_NEIGHBORS or len(others) == 0:
        return others[:0]
    scale = magnification(correspondences[part])
    points, at = _points(correspondences, part, scale), _points(correspondences, others, scale)
    near = np.empty((len(others), 0), np.int64)
    for own, there in ((0, 1), (1, 0)):
        rows = np.flatnonzero(_in_box(at[own], points[own], config.reach))
        gap, nearest = cKDTree(points[own]).query(at[own][rows], min(config.n_neighbors, len(part)))
        within = gap[:, 0] < config.reach
        rows, nearest = rows[within], nearest[within]
        ends = at[own][rows], at[there][rows]
        residual, deviation = spline_residuals(points[own], points[there], nearest, config.smoothing, ends)
        agree = residual < _tolerance(bend, deviation, config)
        rows, nearest = rows[agree], nearest[agree]
        others, at, near = others[rows], [xy[rows] for xy in at], np.hstack([near[rows], nearest])
    return others[_close_share(correspondences, part, others, near, graph) >= config.close_share]


def _close_share(correspondences, part, others, near, config):
    """(q,) the share of the members near (q, k) that each of `others` agrees with."""
    i, j = np.repeat(others, near.shape[1]), part[near.ravel()]
    coarse = config.scale * config.coarseness, config.slope * config.coarseness
    return agree(correspondences, i, j, *coarse).reshape(near.shape).mean(axis=1)


def _points(correspondences, members, scale):
    return correspondences.xy0[members] / scale[0], correspondences.xy1[members] / scale[1]


def _tolerance(bend, deviation, config):
    return np.maximum(config.tolerance, config.spread * bend * deviation)


def _in_box(points, others, reach):
    """(n,) bool: whether a point lies within reach of the box around the others."""
    return ((points > others.min(axis=0) - reach) & (points < others.max(axis=0) + reach)).all(axis=1)


def spline_residuals(x, y, near, smoothing, at=None):
    """(q,) the distance of a correspondence from where the smoothing thin-plate spline through its neighbours
    takes it, and (q,) the standard deviation of that distance, in units of the bends.

    x, y (n, 2) are the neighbours' points, near (q, k) the neighbours of each; `at` is the pair of the
    correspondences' own points (q, 2), by default x and y themselves. The spline is f(p) = sum_j c_j
    phi(|p - x_j|) and an affine map, phi(r) = r^2 log r, with f(x_j) + smoothing c_j = y_j. The square of the
    deviation is the kriging variance for phi, and the smoothing on top.
    """
    from_, to = (x, y) if at is None else at
    residual, deviation = np.empty(len(near)), np.empty(len(near))
    _kernels.spline_residuals(x, y, near, from_, to, float(smoothing), residual, deviation)
    return residual, deviation
