"""Solid things among given matches: each takes in the matches that its epipolar lines explain.

The smooth map of a group ends where parallax bends it, as at the far side of a solid thing, and small things
are often in no group. All matches of a solid thing lie on their epipolar lines, and along these lines around
one affine map, within the relief of the thing. The energy is that of `energy`, with

    error^2 = across^2 / noise^2 + along^2 / relief^2,    gain = log(area / (2 pi noise relief))

A group that no thing explains well enough, such as a bent one, stays as it is, and so does a flat one, whose
epipolar lines are arbitrary: another fundamental matrix explains it nearly as well. Among the matches that
are in no group, the nearest ones around a match propose affine fundamental matrices: hyperplanes of places in
both pictures.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Literal

import numpy as np

from matching._common.types import Floats, Ints
from matching.correspondences.correspondences import Correspondences
from matching.drivers.points.energy import FREEDOM, MAX_SEARCHED, Energy, propose, search
from matching.drivers.points.matrices import fit_matrices, normalise
from matching.drivers.points.scene import Places
from matching.drivers.points.trust import choose_best
from matching.grouping.groups import FEW_MATCHES, ObjectsConfig, is_object

# Figures without a source are shares of matches in every second pair, from the second, of the sets of
# Arrigoni and Pajdla (2019).
PER_EXTENT = 1000.0  # units in which added things must determine a map
MAX_STEPS = 10  # of the fit of a group: most end after five
FIRST_RELIEF, MAX_RELIEF = 0.03, 0.3  # of the extent: at least at first, at most always
# Share of a group that a thing must explain. At 0.85, none of 27 bent prints loses matches, and none of 30
# pairs of solid prints is left as it was. At 0.7, bent prints lose 1 % of theirs.
MIN_SHARE = 0.85
# Ratio of the errors of another matrix to those of the best one, below which a group is flat. At 1.7, 2.2 %
# of the matches on eleven tabletops of AdelaideRMF are wrong, at 2.5 2.3 %.
MAX_FLAT_RATIO = 1.7
TINY = np.finfo(float).tiny


class Solids(Energy):
    """A scene of solid things (p, 2, 3, 3): a fundamental matrix, and an affine map over the relief."""

    EDGE_PRICE = 0.4  # with 0.7, 0.182 of the wrong matches are kept in place of 0.178
    # Matches, and numbers: seven of the fundamental matrix, six of the affine map. With 13 matches, a thing
    # of 18 right ones is not added.
    N_EXACT, N_NUMBERS = 10, 13
    MIN_NOISE, MAX_NOISE = 0.0001, 0.0004  # with 0.001 at most, 0.212
    DIMENSION = 1

    def gain(self, models: Floats, noise: float) -> Floats:
        """The smaller the relief of a thing, the more."""
        return np.asarray(np.log(self.area / (2 * np.pi * noise) * models[:, 1, 2, 2]))

    def find_errors(self, models: Floats, x: Floats, y: Floats) -> Floats:
        """Find the errors of matches across epipolar lines, and along them from the affine map."""
        matrix, affine = models[:, 0], models[:, 1]
        line = matrix @ x
        a, b = line[:, 0], line[:, 1]
        offset = affine @ x - affine[:, 2, 2, None, None] * y
        along = (offset[:, 1] * a - offset[:, 0] * b) ** 2 / np.maximum(a * a + b * b, TINY)
        return np.stack([(y * line).sum(axis=1) ** 2 / find_slopes(matrix, x, y), along])

    def begin(self, x: Floats, y: Floats, is_given: Floats) -> Floats:
        """Fit things with affine fundamental matrices: hyperplanes of places in both pictures."""
        z = np.concatenate([x[:, :2], y[:, :2]], axis=1)
        middle = z @ is_given[:, :, None] / is_given.sum(axis=1)[:, None, None]
        z = (z - middle) * is_given[:, None]
        normal = np.linalg.eigh(z @ np.swapaxes(z, 1, 2))[1][..., 0]  # of the hyperplane
        matrix = np.zeros((len(x), 3, 3))
        matrix[:, 2, :2], matrix[:, :2, 2] = normal[:, :2], normal[:, 2:]
        matrix[:, 2, 2] = -(normal * middle[:, :, 0]).sum(axis=1)
        return self._fit_along(matrix, x, y, is_given, FIRST_RELIEF)

    def improve(self, models: Floats, x: Floats, y: Floats, is_given: Floats, noise: float) -> Floats:
        """Fit things by the eight-point algorithm and least squares."""
        weights = is_given / self.spread(self.find_errors(models, x, y), noise)
        return self._fit_along(fit_lines(models[:, 0], x, y, weights), x, y, weights, noise)

    def _fit_along(self, matrix: Floats, x: Floats, y: Floats, weights: Floats, least: float) -> Floats:
        """Fit the affine maps and the reliefs of things; matches on a line turn and scale as little."""
        into0, into1 = normalise(x, weights), normalise(y, weights)
        u, v = into0 @ x * weights[:, None], into1 @ y
        linear = v @ np.swapaxes(u, 1, 2) @ np.linalg.pinv(into0 @ x @ np.swapaxes(u, 1, 2), 1e-6, True)
        affine = np.linalg.solve(into1, linear @ into0)
        solids = np.stack([matrix, affine / affine[:, [2]][:, :, [2]]], axis=1)
        along = (weights * self.find_errors(solids, x, y)[1]).sum(axis=1)
        relief = np.sqrt((FREEDOM + 2) / FREEDOM * along / np.maximum((weights > 0).sum(axis=1), 1))
        solids[:, 1] /= np.clip(relief, least, MAX_RELIEF)[:, None, None]
        return solids


def find_slopes(matrix: Floats, x: Floats, y: Floats) -> Floats:
    """Find the squared gradients (p, k) of the epipolar constraint."""
    lines = np.stack([matrix @ x, np.swapaxes(matrix, 1, 2) @ y])[:, :, :2]
    return np.asarray(np.maximum((lines**2).sum(axis=(0, 2)), TINY))


def fit_lines(matrix: Floats, x: Floats, y: Floats, weights: Floats, rank: int = 0) -> Floats:
    """Fit fundamental matrices by a weighted eight-point algorithm, whose equations earlier ones scale.

    rank: 0 for the best matrix, 1 for the best one that is orthogonal to it.
    """
    scaled = weights / find_slopes(matrix, x, y)
    scaled /= np.maximum(scaled.max(axis=1, keepdims=True), TINY)
    fitted, into0, into1 = fit_matrices(
        x, y, weights, lambda v: scaled[:, None, None] * v[:, :, None] * v[:, None], rank
    )
    left, values, right = np.linalg.svd(fitted)
    values[:, 2] = 0
    fitted = np.swapaxes(into1, 1, 2) @ (left * values[:, None]) @ right @ into0
    return np.asarray(fitted / np.linalg.norm(fitted, axis=(1, 2), keepdims=True))


def find_solids(
    places: Places, odds: Floats, before: Ints, mirrored: bool | Literal["auto"], config: ObjectsConfig
) -> tuple[Ints, list[float | None]]:
    """Find the solid thing of each place (m,), from its group (m,), -1 for none.

    Returns the labels (m,), and log10 of the number of false alarms of each thing that is in no group, which
    is what it saves beyond its price.
    """
    scene = Solids.from_places(places.xy, places.area, odds)
    groups = [np.flatnonzero(before == k) for k in range(before.max(initial=-1) + 1)]
    solids = scene.fit(groups, scene.begin(*scene.gather(groups)), Solids.MAX_NOISE, MAX_STEPS)
    is_solid = np.array([_is_solid(scene, *each) for each in zip(groups, solids, strict=True)])
    solids, n_fixed = solids[is_solid], int(is_solid.sum())
    stays = np.append(~is_solid, False)[before]
    scene = replace(scene, odds=np.where(stays, -np.inf, odds), n_fixed=n_fixed)
    thing_of_group = np.append(np.where(is_solid, np.cumsum(is_solid) - 1, n_fixed), n_fixed)
    labels = thing_of_group[before]
    free = choose_best(-odds, np.flatnonzero(before < 0), MAX_SEARCHED)
    pool = propose(scene, free) if len(free) >= FEW_MATCHES else solids[:0]
    _, solids, labels, noise = search(scene, pool, scene.measure(pool), solids, labels, Solids.MAX_NOISE)
    costs, prices = scene.measure_costs(solids, noise), scene.price(solids, noise)
    found = np.where(stays, len(solids) + before, -1)
    log_nfas: list[float | None] = [None] * (len(solids) + len(groups))
    for k, solid in enumerate(solids):
        rows = np.flatnonzero(labels == k)
        of_groups = before[rows][before[rows] >= 0]
        if k >= n_fixed and 2 * len(of_groups) > len(rows):  # a part of a group that bends
            found[rows] = thing_of_group[np.bincount(of_groups).argmax()]
        elif k >= n_fixed:
            log_nfas[k] = log_nfa = float(costs[k, rows].sum() + prices[k]) / math.log(10)
            has_handedness = mirrored == "auto" or (np.linalg.det(solid[1]) < 0) == mirrored
            ends = np.hsplit(PER_EXTENT * places.xy, 2)
            matches = Correspondences(ends[0], ends[1], np.empty((len(labels), 2, 2)))
            if log_nfa > config.max_log_nfa or not has_handedness or not is_object(matches, rows, config):
                continue
            found[rows] = k
        elif len(rows) >= config.min_matches:
            found[rows] = k
    return found, log_nfas


def _is_solid(scene: Solids, rows: Ints, solid: Floats) -> bool:
    """Whether a thing explains enough of a group, rows (k,), and better than another fundamental matrix."""
    x, y, noise = scene.x[None, :, rows], scene.y[None, :, rows], Solids.MAX_NOISE
    if (scene.measure_costs(solid[None], noise, rows)[0] < 0).mean() < MIN_SHARE:
        return False
    weights = 1 / scene.spread(scene.find_errors(solid[None], x, y), noise)
    best, other = (
        np.average(
            scene.find_errors(
                np.stack([fit_lines(solid[:1], x, y, weights, rank), solid[None, 1]], axis=1), x, y
            )[0],
            weights=weights,
        )
        for rank in (0, 1)
    )
    return not other < max(MAX_FLAT_RATIO**2 * best, Solids.MIN_NOISE**2)
