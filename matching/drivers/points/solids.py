"""Solid things among given matches: each takes in the matches that its epipolar lines explain.

The smooth map of a group ends where parallax bends it, as at the far side of a solid thing, and small things
are often in no group. All matches of a solid thing lie on their epipolar lines, and along these lines around
one affine map, within the relief of the thing. As for planes, the labels of matches, the things and the noise
minimise

    E = sum of rho  +  EDGE_PRICE * edges between two labels
    rho = 5/2 log(1 + across^2 / (4 noise^2)) + log(1 + along^2 / relief^2) - gain,
    gain = log(3 / (8 pi) * area / (noise * relief))

rho is the negative logarithm of the density of a match, over that of a match anywhere in the pictures; an
outlier costs 0. The density is Student's, with four degrees of freedom across the epipolar line and one along
it, where a far side may lie at many reliefs. The edges join matches that are near in both pictures, which
move similarly. So a match that two things explain stays with its neighbours, and things are never merged.

A group that no thing explains well enough, such as a bent one, stays as it is, and so does a flat one, whose
epipolar lines are arbitrary: another fundamental matrix explains it nearly as well. Among the matches that
are then in no group, the nearest ones around a match propose affine fundamental matrices: hyperplanes of
places in both pictures. A thing is added if it saves more than its price. It gets no matches of other things
at first, because two matrices explain the matches of any plane better than one does.

Notation: lengths are in thousandths of the extent of the pictures; label len(solids) is that of outliers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from matching._common import opencv
from matching._common.types import Array, Floats, Ints
from matching.correspondences.correspondences import Correspondences
from matching.drivers.points.homographies import normalise
from matching.drivers.points.scene import Scene, estimate_deviation, find_near, find_places
from matching.drivers.points.trust import choose_best
from matching.drivers.points.units import MAX_SPREADS, UNIT
from matching.grouping.groups import Group, ObjectsConfig, is_object, make_group, number_rows
from matching.grouping.ledger import Ledger

# Figures without a source are the shares of right matches in the set bag of Arrigoni and Pajdla (2019), 0.947
# with these settings, and the share of wrong matches on eleven tabletops of AdelaideRMF, 2.1 %.
PER_EXTENT = 1000.0  # units in which the extent is measured
FREEDOM = 4.0  # degrees of freedom across epipolar lines
LINE_FREEDOM = 1.0  # the same along them; alike with 4
PEAK = 3 / (8 * math.pi)  # of the density, in units of the noise and the relief
EDGE_PRICE = 0.5  # of an edge between two labels; with 1, 0.942 and 2.2 %
# With 0.4 at most, 0.231 of the wrong matches of these sets are kept in place of 0.245, and 2.3 % are wrong.
FIRST_NOISE, MIN_NOISE, MAX_NOISE = 0.4, 0.1, 1.0
FIRST_RELIEF, MAX_RELIEF = 30.0, 300.0
# Share of a group that a thing must explain. At 0.85, none of 27 bent prints loses matches, and none of 30
# pairs of solid prints is left as it was. At 0.7, bent prints lose 1 % of theirs.
MIN_SHARE = 0.85
# Ratio of the errors of another matrix to those of the best one, below which a group is flat. At 1.7, 2.1 %
# are wrong as without it, at 2.5 as well, and at 4 it is 2.4 %.
MAX_FLAT_RATIO = 1.7
N_NUMBERS = 13  # of a thing: seven of the fundamental matrix, six of the affine map
SOLID_PRICE = 0.7  # factor of the price of a thing; with 0.8, 0.944
CHANCE_FACTOR = 3.0  # of what a thing saves by chance, as for planes: the best of many proposals is taken
MIN_FITTED = 8  # matches to which a fundamental matrix is fitted by a linear method
MAX_STEPS = 10  # of choices and fits: most end after five
NOISE_STEPS = 30  # of the estimate of the noise, which converges by a factor of about two
MAX_SEEDS = 200  # matches around which things are proposed: limits the work
MAX_SEARCHED = 3000  # matches in no group among which things are searched for: limits the work
N_NEAREST, N_DRAWN, N_DRAWS = 16, 5, 20  # matches around a match; how many of them propose, how often


@dataclass(frozen=True, eq=False)
class Solid:
    """A solid thing."""

    matrix: Array  # (3, 3), the fundamental matrix
    affine: Array  # (2, 3), the map around which its matches lie along their epipolar lines
    relief: float

    def measure(self, xy0: Floats, xy1: Floats) -> tuple[Floats, Floats]:
        """Measure the squared errors (n,) of matches (n, 2) across their epipolar lines and along them."""
        residual, slope, normal = _find_residuals(self.matrix, xy0, xy1)
        offset = xy1 - xy0 @ self.affine[:, :2].T - self.affine[:, 2]
        along = (offset[:, 1] * normal[:, 0] - offset[:, 0] * normal[:, 1]) ** 2
        return residual**2 / slope, along / np.maximum((normal**2).sum(axis=1), np.finfo(float).tiny)

    def measure_costs(self, xy0: Floats, xy1: Floats, noise: float, area: float) -> Floats:
        """Measure the costs (n,) of matches (n, 2)."""
        across, along = self.measure(xy0, xy1)
        cost = (FREEDOM + 1) / 2 * np.log1p(across / (FREEDOM * noise**2)) - self.gain(noise, area)
        return np.asarray(cost + (LINE_FREEDOM + 1) / 2 * np.log1p(along / (LINE_FREEDOM * self.relief**2)))

    def gain(self, noise: float, area: float) -> float:
        """What a match saves that lies exactly where the affine map takes it."""
        return math.log(PEAK * area / (noise * self.relief))

    def price(self, n: int, noise: float, area: float) -> float:
        """The price of a thing among n matches.

        It pays for its numbers, and for max(-rho, 0), integrated over the area: what it saves by chance.
        """
        gain = self.gain(noise, area)
        if not gain > 0:
            return math.inf
        across, along = (
            np.linspace(0, math.asinh(math.sqrt(math.expm1(2 * gain / (freedom + 1)))), 100)
            for freedom in (FREEDOM, LINE_FREEDOM)
        )  # inverse hyperbolic sines of the errors, because the tails are long
        cost = (FREEDOM + 1) * np.log(np.cosh(across))[:, None]
        cost = cost + (LINE_FREEDOM + 1) * np.log(np.cosh(along))
        saved = np.maximum(gain - cost, 0) * np.cosh(across)[:, None] * np.cosh(along)
        sides = math.sqrt(FREEDOM * LINE_FREEDOM) * 4 * noise * self.relief
        by_chance = n * sides / area * float(np.trapezoid(np.trapezoid(saved, along), across))
        of_numbers = N_NUMBERS * (gain + math.log(max(n / N_NUMBERS, 1)) / 2)
        return SOLID_PRICE * (of_numbers + CHANCE_FACTOR * by_chance)

    def fit(self, xy0: Floats, xy1: Floats, noise: float, n_steps: int) -> Solid:
        """Fit the thing to matches (n, 2), in steps of weighted least squares."""
        solid = self
        for _ in range(n_steps):
            across, along = solid.measure(xy0, xy1)
            weights = 1 / (1 + across / (FREEDOM * noise**2))
            matrix = _fit_matrix(xy0, xy1, solid.matrix, weights)
            affine = _fit_affine(xy0, xy1, weights / (1 + along / (LINE_FREEDOM * solid.relief**2)))
            along = Solid(matrix, affine, solid.relief).measure(xy0, xy1)[1]
            relief = estimate_deviation(along, solid.relief, LINE_FREEDOM, 1, 1)
            solid = Solid(matrix, affine, min(max(relief, noise), MAX_RELIEF))
        return solid


def complete_solids(
    xy0: Floats,
    xy1: Floats,
    odds: Floats,
    groups: Sequence[Group],
    mirrored: bool | Literal["auto"],
    config: ObjectsConfig,
    ledger: Ledger,
) -> list[Group]:
    """Let groups that are solid take in the matches on them, and add the solid things that are in no group.

    xy0, xy1 (n, 2): all matches; odds (n,), see `Scene`. mirrored: whether added things are mirrored; "auto"
    stands for either. They have the lowest score of all groups.
    """
    near = np.flatnonzero((np.abs(np.hstack([xy0, xy1])) * UNIT < MAX_SPREADS).all(axis=1))
    places = find_places(xy0[near], xy1[near])
    if not groups or places is None or not places.area > 0:
        return list(groups)
    scene = Scene.from_places(places.xy * PER_EXTENT, places.area * PER_EXTENT**2, places.best(odds[near]))
    before = np.full(len(places.xy), -1)
    before[places.row] = number_rows(len(xy0), [group.rows for group in groups])[near]
    labels, log_nfas = find_solids(scene, before, len(groups), mirrored, config)
    weakest = min(group.score for group in groups)
    solids = [*groups, *(make_group(near[:0], weakest, log_nfa) for log_nfa in log_nfas)]
    found = list[Group]()
    for k, solid in enumerate(solids):
        rows = near[labels[places.row] == k]
        ledger.reach("solids", solid.rows)
        if len(rows):
            found.append(make_group(rows, solid.score, solid.log_nfa))
    return sorted(found, key=lambda solid: (-solid.score, -len(solid.rows), solid.rows[0]))


def find_solids(
    scene: Scene, groups: Ints, n_groups: int, mirrored: bool | Literal["auto"], config: ObjectsConfig
) -> tuple[Ints, list[float]]:
    """Find the solid thing of each match, from its group (n,), -1 for none.

    Returns the labels (n,), first those of the groups, and log10 of the number of false alarms of each added
    thing, which is what it saves beyond its price.
    """
    solids = [_fit_group(scene, np.flatnonzero(groups == k)) for k in range(n_groups)]
    stays = np.flatnonzero((groups >= 0) & np.array([solid is None for solid in solids])[groups])
    labels = np.where(groups < 0, n_groups, groups)
    solids, labels, noise = _settle(scene, solids, labels, stays, FIRST_NOISE, config.min_matches)
    is_free = labels == n_groups
    added, log_nfas = _find_more(scene, np.flatnonzero(is_free), noise, mirrored, config)
    if added:
        costs = _measure_costs(scene, added, noise)
        labels = np.where(is_free, n_groups + costs.argmin(axis=0), labels)
        solids, labels, _ = _settle(scene, [*solids, *added], labels, stays, noise, config.min_matches)
    return np.where(labels == len(solids), -1, labels), log_nfas


def _fit_group(scene: Scene, rows: Ints) -> Solid | None:
    """Fit a thing to a group, rows (k,); None if it does not explain enough of them."""
    xy0, xy1 = scene.xy0[rows], scene.xy1[rows]
    matrix, _ = opencv.fit_fundamental(xy0, xy1, 1.0)
    if matrix is None:
        return None
    affine = _fit_affine(xy0, xy1, np.ones(len(rows)))
    solid = Solid(matrix, affine, FIRST_RELIEF).fit(xy0, xy1, FIRST_NOISE, MAX_STEPS)
    is_explained = solid.measure_costs(xy0, xy1, FIRST_NOISE, scene.area) < 0
    return solid if is_explained.mean() >= MIN_SHARE and not _is_flat(solid, xy0, xy1) else None


def _is_flat(solid: Solid, xy0: Floats, xy1: Floats) -> bool:
    """Whether another matrix explains the matches (n, 2) of a thing nearly as well as its matrix does."""
    across = solid.measure(xy0, xy1)[0]
    weights = 1 / (1 + across / (FREEDOM * FIRST_NOISE**2))
    best, other = (
        np.average(residual**2 / slope, weights=weights)
        for residual, slope, _ in (
            _find_residuals(_fit_matrix(xy0, xy1, solid.matrix, weights, rank), xy0, xy1) for rank in (0, 1)
        )
    )
    return bool(other < max(MAX_FLAT_RATIO**2 * best, MIN_NOISE**2))


def _settle(
    scene: Scene, solids: Sequence[Solid | None], labels: Ints, stays: Ints, noise: float, min_matches: int
) -> tuple[list[Solid | None], Ints, float]:
    """Let matches choose, and fit the things and the noise, in turn; matches `stays` (k,) keep their labels.

    A match that joins a thing costs as much more as outliers are more frequent than matches of the thing.
    """
    solids = list(solids)
    joins = labels != np.arange(len(solids))[:, None]
    for _ in range(MAX_STEPS):
        costs = _measure_costs(scene, solids, noise)
        counts = np.maximum(np.bincount(labels, minlength=len(solids) + 1), 1)
        costs[:-1] -= scene.odds
        costs[:-1] += joins * np.maximum(np.log(counts[-1] / counts[:-1]), 0)[:, None]
        costs[:, stays] = np.inf
        costs[labels[stays], stays] = 0.0
        before, labels = labels, scene.choose(costs, labels, EDGE_PRICE)
        errors = list[Floats]()
        for k, solid in enumerate(solids):
            if solid is None:
                continue
            rows = np.flatnonzero(labels == k)
            if len(rows) < max(min_matches, MIN_FITTED):
                labels[rows] = len(solids)
                continue
            fitted = solids[k] = solid.fit(scene.xy0[rows], scene.xy1[rows], noise, 3)
            errors.append(fitted.measure(scene.xy0[rows], scene.xy1[rows])[0])
        if not errors or np.array_equal(labels, before):
            break
        noise = estimate_deviation(np.concatenate(errors), noise, FREEDOM, 1, NOISE_STEPS)
        noise = min(max(noise, MIN_NOISE), MAX_NOISE)
    return solids, labels, noise


def _measure_costs(scene: Scene, solids: Sequence[Solid | None], noise: float) -> Floats:
    """Measure the costs (p + 1, n) of matches on things and, in the last row, on none."""
    costs = np.zeros((len(solids) + 1, len(scene.xy0)))
    for k, solid in enumerate(solids):
        costs[k] = np.inf if solid is None else solid.measure_costs(scene.xy0, scene.xy1, noise, scene.area)
    return costs


def _find_more(
    scene: Scene, free: Ints, noise: float, mirrored: bool | Literal["auto"], config: ObjectsConfig
) -> tuple[list[Solid], list[float]]:
    """Find things among matches `free` (k,), and log10 of their numbers of false alarms."""
    rng = np.random.default_rng(0)
    free = choose_best(-scene.odds, free, MAX_SEARCHED)
    xy0, xy1 = scene.xy0[free], scene.xy1[free]
    pool, found, log_nfas = _propose(xy0, xy1, rng), list[Solid](), list[float]()
    while pool:
        costs = np.minimum([solid.measure_costs(xy0, xy1, noise, scene.area) for solid in pool], 0)
        best = int(costs.sum(axis=1).argmin())
        solid, cost = pool[best], costs[best]
        energy = float(cost.sum()) + solid.price(len(scene.xy0), noise, scene.area)
        while np.count_nonzero(cost) >= MIN_FITTED:
            fitted = solid.fit(xy0[cost < 0], xy1[cost < 0], noise, 2)
            fitted_cost = np.minimum(fitted.measure_costs(xy0, xy1, noise, scene.area), 0)
            fitted_energy = float(fitted_cost.sum()) + fitted.price(len(scene.xy0), noise, scene.area)
            if fitted_energy >= energy:
                break
            solid, cost, energy = fitted, fitted_cost, fitted_energy
        if energy > config.max_log_nfa * math.log(10):
            break
        has_handedness = mirrored == "auto" or (np.linalg.det(solid.affine[:, :2]) < 0) == mirrored
        matches = Correspondences(xy0, xy1, np.empty((len(xy0), 2, 2)))
        if has_handedness and is_object(matches, np.flatnonzero(cost), config):
            found.append(solid)
            log_nfas.append(energy / math.log(10))
        xy0, xy1 = xy0[cost == 0], xy1[cost == 0]
    return found, log_nfas


def _propose(xy0: Floats, xy1: Floats, rng: np.random.Generator) -> list[Solid]:
    """Propose for each of some matches (n, 2) the thing that explains most of its nearest ones."""
    places = np.hstack([xy0, xy1])
    if len(places) < N_NEAREST:
        return []
    seeds = np.sort(rng.permutation(len(places))[:MAX_SEEDS])
    near = places[find_near(places, N_NEAREST)[seeds]]
    order = np.tile(np.arange(N_NEAREST), (len(near), N_DRAWS, 1))
    drawn = np.take_along_axis(near[:, None], rng.permuted(order, axis=2)[..., :N_DRAWN, None], axis=2)
    middle = drawn.mean(axis=2)
    drawn = drawn - middle[:, :, None]
    normal = np.linalg.eigh(np.swapaxes(drawn, 2, 3) @ drawn)[1][..., 0]  # of the hyperplane
    offset = -(normal * middle).sum(axis=2)
    errors = (np.einsum("sda,ska->sdk", normal, near) + offset[:, :, None]) ** 2
    weights = 1 / (1 + errors / (FREEDOM * FIRST_NOISE**2))
    proposed = list[Solid]()
    for k, best in enumerate(weights.sum(axis=2).argmax(axis=1)):
        matrix = np.zeros((3, 3))
        matrix[2, :2], matrix[:2, 2] = np.split(normal[k, best], 2)
        matrix[2, 2] = offset[k, best]
        ends = near[k, :, :2], near[k, :, 2:]
        affine = _fit_affine(*ends, weights[k, best])
        along = Solid(matrix, affine, FIRST_RELIEF).measure(*ends)[1]
        relief = math.sqrt(np.average(along, weights=weights[k, best]))
        proposed.append(Solid(matrix, affine, min(max(relief, FIRST_NOISE), MAX_RELIEF)))
    return proposed


def _find_residuals(matrix: Array, xy0: Floats, xy1: Floats) -> tuple[Floats, Floats, Floats]:
    """The residuals (n,) of the epipolar constraint, their squared gradients, and the normals (n, 2)."""
    line1, line0 = xy0 @ matrix[:, :2].T + matrix[:, 2], xy1 @ matrix[:2] + matrix[2]
    slope = (line1[:, :2] ** 2).sum(axis=1) + (line0[:, :2] ** 2).sum(axis=1)
    residual = (xy1 * line1[:, :2]).sum(axis=1) + line1[:, 2]
    return residual, np.maximum(slope, np.finfo(float).tiny), line1[:, :2]


def _fit_matrix(xy0: Floats, xy1: Floats, matrix: Array, weights: Floats, rank: int = 0) -> Floats:
    """Fit a fundamental matrix by a weighted eight-point algorithm, whose equations another one scales.

    rank: 0 for the best matrix, 1 for the best one that is orthogonal to it, ...
    """
    weights_of_terms = weights / _find_residuals(matrix, xy0, xy1)[1]
    into0, into1 = (normalise(xy[None], weights[None])[0] for xy in (xy0, xy1))
    one = np.ones((len(xy0), 1))
    x, y = np.hstack([xy0, one]) @ into0.T, np.hstack([xy1, one]) @ into1.T
    terms = (y[:, :, None] * x[:, None]).reshape(-1, 9)
    normal = (terms * (weights_of_terms / weights_of_terms.max())[:, None]).T @ terms
    left, values, right = np.linalg.svd(np.linalg.eigh(normal)[1][:, rank].reshape(3, 3))
    fitted = into1.T @ (left[:, :2] * values[:2]) @ right[:2] @ into0
    return np.asarray(fitted / np.linalg.norm(fitted))


def _fit_affine(xy0: Floats, xy1: Floats, weights: Floats) -> Floats:
    """Fit an affine map (2, 3) to weighted matches (n, 2); matches on a line turn and scale as little."""
    middle0, middle1 = (np.average(xy, axis=0, weights=weights) for xy in (xy0, xy1))
    weighted = (xy0 - middle0) * weights[:, None]
    squares = np.linalg.pinv(weighted.T @ (xy0 - middle0), rcond=1e-6, hermitian=True)
    linear = (squares @ weighted.T @ (xy1 - middle1)).T
    return np.column_stack([linear, middle1 - linear @ middle0])
