"""One energy over all matches of a scene: which of several models each of them is on, or none.

A model is what the matches of a thing have in common: a homography if the thing is flat (`planes`), epipolar
lines if it is solid (`solids`). The labels of matches, the models and the noise minimise

    E = sum of rho(error)  +  edge_price * edges between two labels  +  prices of the models
    rho(error) = 7/2 log(1 + error^2 / 5) - gain - odds

rho is the negative logarithm of the density of a match, over that of a match anywhere in the pictures; an
outlier costs 0. The density is Student's, in two dimensions, with five degrees of freedom, because true
matches have errors of ten times the median. The edges join each match to its nearest ones in both pictures.
The price of a model is what the matches save that it explains exactly, half the logarithm of the number of
matches for each of its numbers (Schwarz 1978), and what it would save among random matches.

The nearest matches around a match propose models. They are added while they save more than their price. Then
matches choose models in turn (Besag 1986), models are fitted again, removed, or merged if they touch, all
while E falls.

Notation: lengths are in units of the extent of the pictures, errors are squared, points are homogeneous,
models are arrays (p, ...), and label len(models) is that of outliers.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from matching._common.types import Array, Bools, Floats, Ints
from matching.drivers.points.scene import Scene, find_near
from matching.drivers.points.trust import choose_best
from matching.grouping.groups import FEW_MATCHES

FREEDOM = 5.0  # degrees of freedom of the errors: they have tails, which a normal density would cut off
POWER = FREEDOM / 2 + 1  # of the density in two dimensions
# Factor of the price of a model. In rooms with boxes (seeds 100 to 111), 0.8 finds 50 of 61 planes; with 0.6,
# 2.6 % of the matches of ten scenes of buildings are wrong.
PRICE = 0.8
# Factor of what a model saves by chance. With 1, 29 planes are found among 3000 random matches, because the
# best of thousands of proposals is taken; with 3, none.
CHANCE_FACTOR = 3.0
NOISE_STEPS = 50  # of the estimate of the noise, which converges by a factor of about two
PROPOSAL_NOISE = 0.001  # of the extent, by which the best proposal is chosen
N_NEAREST = 8, 16, 32  # matches around a match that propose models
N_DRAWN, N_DRAWS = 5, 2  # of them that also propose one, in case others are on another thing; how often
MAX_SEEDS = 400  # matches around which models are proposed: limits the work
MAX_JUDGES = 500  # matches by which the best proposal around a match is chosen: limits the work
MAX_SEARCHED = 3000  # matches among which models are searched for: limits the work
MAX_FITTED = 300  # matches to which a model is fitted: limits the work
MAX_TRIED = 3  # the most promising merges that are tried before the models count as settled
MAX_ROUNDS = 4  # of a search; nearly all end by themselves
LEAST_GAIN = 1.0  # of the energy by another fit: less is not worth its time, and follows stray matches
BLOCK_SIZE = 2**15  # errors measured at a time, which fit into the processor's cache
EVERYTHING = slice(None)


@dataclass(frozen=True, eq=False)
class Energy(Scene):
    """A scene, and what its matches cost on models of one kind, which subclasses define."""

    n_fixed: int = 0  # the first models, which are neither removed nor merged

    EDGE_PRICE: ClassVar[float]
    N_EXACT: ClassVar[float]  # matches that a model explains exactly
    N_NUMBERS: ClassVar[int]  # of a model
    MIN_NOISE: ClassVar[float]
    MAX_NOISE: ClassVar[float]
    DIMENSION: ClassVar[int]  # of the errors across

    @abstractmethod
    def find_errors(self, models: Floats, x: Floats, y: Floats) -> Floats:
        """Find errors (2, p, k) of matches (p, 3, k) or (1, 3, k): what the noise explains, in squared
        extents, and what the model itself explains, in its squared deviations.
        """

    @abstractmethod
    def begin(self, x: Floats, y: Floats, is_given: Floats) -> Floats:
        """Fit models to matches (p, 3, k) that are given, 1 or 0 (p, k), all alike."""

    @abstractmethod
    def improve(self, models: Floats, x: Floats, y: Floats, is_given: Floats, noise: float) -> Floats:
        """Fit models to matches (p, 3, k) that are given, weighted by their density from earlier models."""

    @abstractmethod
    def gain(self, models: Floats, noise: float) -> Floats:
        """What a match saves that lies exactly on each model (p,)."""

    def price(self, models: Floats, noise: float) -> Floats:
        """The price of each model (p,).

        n max(-rho, 0), integrated over the area, is what it saves by chance:
        n FREEDOM / 2 (POWER w - POWER - gain) / exp(gain), with w = exp(gain / POWER).
        """
        n, gain = len(self.odds), self.gain(models, noise)
        by_chance = n * FREEDOM / 2 * (POWER * np.exp(gain / POWER) - POWER - gain) / np.exp(gain)
        numbers = self.N_NUMBERS / 2 * np.log(max(n / self.N_EXACT, 1))
        return np.where(gain > 0, PRICE * (self.N_EXACT * gain + numbers + CHANCE_FACTOR * by_chance), np.inf)

    def measure(self, models: Floats, rows: Ints | slice = EVERYTHING) -> Floats:
        """Measure the errors (2, p, k) of matches, some rows (k,) or all, from models."""
        x, y = self.x[None, :, rows], self.y[None, :, rows]
        step = max(1, BLOCK_SIZE // max(x.shape[2], 1))
        blocks = [self.find_errors(models[k : k + step], x, y) for k in range(0, len(models), step)]
        return np.concatenate([np.empty((2, 0, x.shape[2])), *blocks], axis=1)

    def spread(self, errors: Floats | tuple[Floats, float], noise: float) -> Floats:
        """1 + error^2 / FREEDOM (p, k), one over the weights of matches in fits."""
        return np.asarray(1 + (errors[0] / noise**2 + errors[1]) / FREEDOM)

    def measure_costs(
        self,
        models: Floats,
        noise: float,
        rows: Ints | slice = EVERYTHING,
        errors: Floats | None = None,
    ) -> Floats:
        """Measure the costs (p + 1, k) of matches on models and, in the last row, on none.

        errors (2, p, k): those of the matches, if known.
        """
        costs = POWER * np.log(self.spread(self.measure(models, rows) if errors is None else errors, noise))
        costs -= self.gain(models, noise)[:, None] + self.odds[rows]
        return np.vstack([costs, np.zeros(costs.shape[1])])

    def sum_energy(self, models: Floats, costs: Floats, labels: Ints, noise: float) -> float:
        """Sum up the energy of labels (n,), rows of costs (p + 1, n)."""
        n_edges = np.count_nonzero(np.repeat(labels, np.diff(self.starts)) != labels[self.neighbours]) / 2
        used = np.unique(labels[labels < len(models)])
        of_matches = costs[labels, np.arange(len(labels))].sum()
        return float(of_matches + self.EDGE_PRICE * n_edges + self.price(models[used], noise).sum())

    def gather(self, rows: Sequence[Ints]) -> tuple[Floats, Floats, Floats]:
        """Gather points (p, 3, k) of some rows each, and which of them are given (p, k), 1 or 0."""
        counts = np.array([len(some) for some in rows], np.int64)
        is_given = np.arange(counts.max(initial=1)) < counts[:, None]
        padded = np.zeros(is_given.shape, np.int64)
        padded[is_given] = np.concatenate([*rows, padded[:0, 0]])
        return self.x[:, padded].swapaxes(0, 1), self.y[:, padded].swapaxes(0, 1), is_given.astype(float)

    def fit(self, rows: Sequence[Ints], models: Floats, noise: float, n_steps: int) -> Floats:
        """Fit models to some rows each, in steps from earlier models."""
        if not len(models):
            return models
        points = self.gather([some[:: 1 + (len(some) - 1) // MAX_FITTED] for some in rows])
        for _ in range(n_steps):
            models = self.improve(models, *points, noise)
        return models

    def estimate_noise(self, models: Floats, labels: Ints, noise: float) -> float:
        """Estimate the likeliest noise of the matches on models, within its bounds."""
        rows = np.flatnonzero(labels < len(models))
        across, along = self.measure(models)[:, labels[rows], rows]
        variance = noise**2
        for _ in range(NOISE_STEPS):
            mean = np.mean((FREEDOM + 2) * across / (FREEDOM + across / variance + along))
            variance = np.clip(mean / self.DIMENSION, self.MIN_NOISE**2, self.MAX_NOISE**2)
        return float(np.sqrt(variance))


def propose(scene: Energy, rows: Ints) -> Floats:
    """Propose for each of some of the rows (k,) the model through its nearest ones that saves most."""
    rng = np.random.default_rng(0)
    places = np.vstack([scene.x[:2], scene.y[:2]])[:, rows].T
    seeds = choose_best(-scene.odds[rows], np.arange(len(rows)), MAX_SEEDS)
    near, drawn = rows[find_near(places, max(N_NEAREST))[seeds]], list[Ints]()
    for k in N_NEAREST:
        drawn += near[:, :k], *(rng.permuted(near[:, :k], axis=1)[:, :N_DRAWN] for _ in range(N_DRAWS))
    models = np.concatenate([scene.begin(*scene.gather([*some])) for some in drawn])
    judges = choose_best(-scene.odds, rows, MAX_JUDGES)
    costs = scene.measure_costs(models, PROPOSAL_NOISE, judges)[:-1]
    best = np.minimum(costs, 0).sum(axis=1).reshape(len(drawn), -1).argmin(axis=0)
    chosen: Floats = models[best * len(near) + np.arange(len(near))]
    return chosen


def search(
    scene: Energy, pool: Floats, errors: Floats, models: Floats, labels: Ints, noise: float
) -> tuple[float, Floats, Ints, float]:
    """Search for models and the noise, from first ones, among a pool of proposals with errors (2, p, n).

    Returns the energy, the models, the labels (n,) and the noise.
    """
    best = np.inf, models[:0], np.zeros_like(labels), noise
    for _ in range(MAX_ROUNDS):
        models, labels, _ = settle(scene, models, labels, noise)
        if len(models):
            noise = scene.estimate_noise(models, labels, noise)
        costs = scene.measure_costs(models, noise)
        energy, n_models = scene.sum_energy(models, costs, labels, noise), len(models)
        if energy > best[0] - LEAST_GAIN:
            break
        best = energy, models, labels, noise
        models = add_models(scene, pool, errors, models, costs[labels, np.arange(len(labels))], noise)
        labels = np.where(labels == n_models, len(models), labels)
    return best


def add_models(
    scene: Energy, pool: Floats, errors: Floats, models: Floats, left: Floats, noise: float
) -> Floats:
    """Add models of a pool that save more than their price, the best first: left (n,) is the cost now."""
    costs = scene.measure_costs(pool, noise, errors=errors)[:-1]

    def weigh(models: Floats, costs: Floats) -> Floats:
        return np.asarray(np.maximum(left - costs, 0).sum(axis=1) - scene.price(models, noise))

    while len(pool):
        worth = weigh(pool, costs)
        best = [worth.argmax()]
        model, cost, most = pool[best], costs[best], float(worth.max())
        pool, costs = pool[worth > 0], costs[worth > 0]
        if not len(pool):
            break
        while True:
            fitted = scene.fit([np.flatnonzero(cost[0] < left)], model, noise, 2)
            fitted_cost = scene.measure_costs(fitted, noise)[:1]
            more = float(weigh(fitted, fitted_cost)[0])
            if more <= most + LEAST_GAIN:
                break
            model, cost, most = fitted, fitted_cost, more
        models, left = np.concatenate([models, model]), np.minimum(left, cost[0])
    return models


def settle(scene: Energy, models: Floats, labels: Ints, noise: float) -> tuple[Floats, Ints, float]:
    """Let matches choose, fit, remove and merge models in turn while the energy falls."""
    found = models, labels, np.inf
    while True:
        labels = scene.choose(scene.measure_costs(models, noise), labels, scene.EDGE_PRICE)
        models, labels = _drop_small(scene, models, labels)
        models = _refit(scene, models, labels, noise)
        models, labels, energy = _reduce(scene, models, labels, noise)
        if energy > found[2] - LEAST_GAIN:
            return found
        found = models, labels, energy


def _drop_small(scene: Energy, models: Floats, labels: Ints) -> tuple[Floats, Ints]:
    """Drop models with few matches, whose labels (n,) become those of outliers."""
    is_kept = np.bincount(labels, minlength=len(models) + 1)[:-1] >= FEW_MATCHES
    is_kept[: scene.n_fixed] = True
    number = np.append(np.where(is_kept, np.cumsum(is_kept) - 1, is_kept.sum()), is_kept.sum())
    return models[is_kept], number[labels]


def _refit(scene: Energy, models: Floats, labels: Ints, noise: float) -> Floats:
    """Fit models to the matches that chose them; a fit that costs more does not count."""
    is_member = labels == np.arange(len(models))[:, None]
    fitted = scene.fit([np.flatnonzero(members) for members in is_member], models, noise, 3)
    before, after = (
        np.where(is_member, scene.measure_costs(found, noise)[:-1], 0).sum(axis=1)
        for found in (models, fitted)
    )
    return np.where((after < before).reshape(-1, *[1] * (models.ndim - 1)), fitted, models)


def _reduce(scene: Energy, models: Floats, labels: Ints, noise: float) -> tuple[Floats, Ints, float]:
    """Remove a model, or put one in place of two that touch, while the energy falls after another choice."""
    costs = scene.measure_costs(models, noise)
    energy, is_settled = scene.sum_energy(models, costs, labels, noise), False
    while not is_settled:
        is_settled = True
        for p, q, model, cost in _rank_merges(scene, models, costs, labels, noise)[:MAX_TRIED]:
            fewer, fewer_costs = models.copy(), costs.copy()
            fewer[p], fewer_costs[p] = model, cost
            fewer, fewer_costs = np.delete(fewer, q, axis=0), np.delete(fewer_costs, q, axis=0)
            merged = np.where(labels == q, p, labels)
            merged -= merged > q
            is_free = (labels == q) | (fewer_costs[merged, np.arange(len(merged))] > 0)
            merged = np.where(is_free, fewer_costs.argmin(axis=0), merged)
            merged = scene.choose(fewer_costs, merged, scene.EDGE_PRICE)
            lower = scene.sum_energy(fewer, fewer_costs, merged, noise)
            if lower < energy - LEAST_GAIN:
                models, labels, costs, energy, is_settled = fewer, merged, fewer_costs, lower, False
                break
    return models, labels, energy


def _rank_merges(
    scene: Energy, models: Floats, costs: Floats, labels: Ints, noise: float
) -> list[tuple[int, int, Array, Array]]:
    """Rank merges by the energy if only their matches choose again, the lowest first.

    A merge (p, q, model, its costs (n,)) with p < q puts one model in place of two that touch; with p = q, a
    model is removed.
    """
    n = len(models)
    alone = np.arange(scene.n_fixed, n)
    low, high = np.repeat(labels, np.diff(scene.starts)), labels[scene.neighbours]
    is_pair = (low >= scene.n_fixed) & (low < high) & (high < n)
    codes, n_edges = np.unique(low[is_pair] * n + high[is_pair], return_counts=True)
    p, q = np.divmod(codes, max(n, 1))
    is_member: Bools = labels == np.arange(n)[:, None]
    is_joined, counts = is_member[p] | is_member[q], is_member.sum(axis=1)
    rows = [np.flatnonzero(joined) for joined in is_joined]
    fitted = scene.fit(rows, models[np.where(counts[p] < counts[q], q, p)], noise, 3)
    new = scene.measure_costs(fitted, noise)[:-1]
    others = [np.delete(costs, k, axis=0).min(axis=0) for k in alone]
    left = np.vstack([np.minimum(new, 0), *others]) - costs[labels, np.arange(len(labels))]
    change = (left * np.vstack([is_joined, is_member[alone]])).sum(axis=1)
    change[: len(p)] -= scene.EDGE_PRICE * n_edges
    p, q = np.append(p, alone), np.append(q, alone)
    by, costs_by = np.concatenate([fitted, models[alone]]), np.vstack([new, costs[alone]])
    return [(int(p[k]), int(q[k]), by[k], costs_by[k]) for k in np.argsort(change, kind="stable")]
