"""The planes of a scene: one energy over all given matches.

Neighbouring planes of a rigid thing move smoothly together, so grouping leaves them in one object. Here,
homographies are fitted to all matches at once, because matches at the edge of a plane are often in no object,
and because a plane may be in two objects. The labels of matches, the planes and the noise minimise

    E = sum of rho(error)  +  EDGE_PRICE * edges between two labels  +  price * planes
    rho(error) = 3 log(1 + error^2 / (4 noise^2)) - gain,    gain = log(area / (4 pi noise^2))

rho is the negative logarithm of the density of an error, over that of a match anywhere in the pictures; an
outlier costs 0. The density is Student's with four degrees of freedom, because matches of real planes have
errors of ten times the median. The edges join each match to its nearest ones in both pictures. The price of a
plane is what the four matches save that it explains exactly, half the logarithm of the number of matches for
each of its eight numbers (Schwarz 1978), and what it would save among random matches.

The nearest matches around a match propose planes. They are added while they save more than their price. Then
matches choose planes in turn (Besag 1986), planes are fitted again, removed, or merged if they touch, all
while E falls. It starts from several noises; the search that ends with the smallest E counts.

Notation: places are in units of the extent of the pictures, errors are squared Sampson errors, and label
len(planes) is that of outliers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from matching._common.types import Array, Floats, Ints
from matching.drivers.points.homographies import fit_homographies, measure_errors
from matching.drivers.points.scene import Scene, estimate_deviation, find_near, find_places
from matching.drivers.points.trust import choose_best
from matching.drivers.points.units import MAX_SPREADS, UNIT
from matching.grouping.groups import FEW_MATCHES, Group, make_group, number_rows
from matching.grouping.ledger import Ledger

# Figures without a source are the share of wrong matches in AdelaideRMF's homography scenes barrsmith,
# elderhallb, ladysymon, neem and sene; 1.7 % when they were chosen, 1.2 % with other proposals since.
FREEDOM = 4.0  # degrees of freedom of the errors: they have tails, which a normal density would cut off
EDGE_PRICE = 1.0  # of an edge between two labels; 2.4 % with 0.8, over all ten scenes
# Factor of the price of a plane. In rooms with boxes (seeds 100 to 111), 0.8 finds 50 of 61 planes; with 0.6,
# 2.6 % of the matches of all ten scenes are wrong.
PLANE_PRICE = 0.8
# Factor of what a plane saves by chance. With 1, 29 planes are found among 3000 random matches, because the
# best of thousands of proposals is taken; with 3, none.
CHANCE_FACTOR = 3.0
NOISES = 0.000125, 0.0005, 0.002  # of the extent, at first: from large scenes to single ones
MAX_SEARCHES = 2  # from the noises with the smallest energy at first
# Noise, of the size of a plane: walls are not flat and lenses not straight.
MIN_NOISE, MAX_NOISE = 0.001, 0.008
NOISE_STEPS = 50  # of the estimate of the noise, which converges by a factor of about two
PROPOSAL_NOISE = 0.001  # of the extent, by which the best proposal is chosen
N_NEAREST = 8, 16, 32  # matches around a match that propose planes
N_DRAWN = 5  # of them that also propose one, twice, in case others are on another plane
MAX_SEEDS = 400  # matches around which planes are proposed: limits the work
MAX_JUDGES = 500  # matches by which the best proposal around a match is chosen: limits the work
MAX_SEARCHED = 3000  # matches among which planes are searched for: limits the work
MAX_MERGED = 200  # matches of two planes to which a merged one is fitted at first: limits the work
MAX_TRIED = 3  # the most promising merges that are tried before the planes count as settled
MAX_ROUNDS = 4  # of a search; nearly all end by themselves
LEAST_GAIN = 1.0  # of the energy by another fit: less is not worth its time, and follows stray matches
LEAST_CHANGE = 1e-6  # of the energy: less is rounding
BLOCK_SIZE = 2**17  # errors measured at a time, which fit into the processor's cache
EVERYTHING = slice(None)


class PlaneScene(Scene):
    """A scene, and what its matches cost on planes."""

    def gain(self, noise: float) -> float:
        """What a match saves that lies exactly on its plane."""
        return math.log(self.area / (4 * math.pi * noise**2))

    def price(self, noise: float) -> float:
        """The price of a plane.

        n max(-rho, 0), integrated over the area, is what it saves by chance: 2 n (3 w - 3 - gain) / w^3, with
        w^3 = exp(gain), because errors have twice the variance of a point.
        """
        n, gain = len(self.xy0), self.gain(noise)
        w = math.exp(gain / 3)
        by_chance = CHANCE_FACTOR * 2 * n * (3 * w - 3 - gain) / w**3
        return PLANE_PRICE * (4 * gain + max(4 * math.log(n / 4), 0) + by_chance)

    def measure_errors(self, planes: Floats, rows: Ints | slice = EVERYTHING) -> Floats:
        """Measure the errors (p, k) of matches, some rows (k,) or all, from planes (p, 3, 3)."""
        xy0, xy1 = self.xy0[rows], self.xy1[rows]
        step = max(1, BLOCK_SIZE // max(len(xy0), 1))
        blocks = [planes[k : k + step] for k in range(0, len(planes), step)]
        errors = [measure_errors(block, xy0[None], xy1[None])[0] for block in blocks]
        return np.concatenate([np.empty((0, len(xy0))), *errors])

    def measure_costs(self, planes: Floats, noise: float, rows: Ints | slice = EVERYTHING) -> Floats:
        """Measure the costs (p + 1, k) of matches on planes (p, 3, 3) and, in the last row, on none."""
        errors = self.measure_errors(planes, rows) / (FREEDOM * noise**2)
        costs = (FREEDOM / 2 + 1) * np.log1p(errors) - self.gain(noise) - self.odds[rows]
        return np.vstack([costs, np.zeros(costs.shape[1])])

    def measure_savings(
        self, planes: Floats, left: Floats, noise: float, rows: Ints | slice = EVERYTHING
    ) -> Floats:
        """Measure by how much planes (p, 3, 3) lower the costs of matches, now `left` (k,) -> (p,)."""
        return np.asarray(np.maximum(left - self.measure_costs(planes, noise, rows)[:-1], 0).sum(axis=1))

    def sum_energy(self, costs: Floats, labels: Ints, noise: float) -> float:
        """Sum up the energy of labels (n,), rows of costs (p + 1, n)."""
        n_edges = np.count_nonzero(np.repeat(labels, np.diff(self.starts)) != labels[self.neighbours]) / 2
        n_planes = len(np.unique(labels[labels < len(costs) - 1]))
        of_matches = float(costs[labels, np.arange(len(labels))].sum())
        return of_matches + EDGE_PRICE * n_edges + self.price(noise) * n_planes

    def fit(self, rows: Sequence[Ints], planes: Floats, noise: float, n_steps: int) -> Floats:
        """Fit planes (p, 3, 3) to some rows each, in steps from earlier planes, or from zeros for none."""
        counts = np.array([len(some) for some in rows])
        weights = (np.arange(counts.max(initial=1)) < counts[:, None]).astype(float)
        padded = np.zeros(weights.shape, np.int64)
        padded[weights > 0] = np.concatenate(rows)
        for _ in range(n_steps):
            planes = fit_homographies(planes, self.xy0[padded], self.xy1[padded], weights, FREEDOM * noise**2)
        return planes


def split_into_planes(
    xy0: Floats, xy1: Floats, odds: Floats, groups: Sequence[Group], ledger: Ledger
) -> list[Group]:
    """Split objects into planes, with all the matches on them: xy0, xy1 (n, 2); odds (n,), see `Scene`.

    A plane has the score of the object with most of its matches, or the lowest score if it is in no object.
    Without objects there are no planes.
    """
    if not groups:
        return []
    is_near = (np.abs(np.hstack([xy0, xy1])) * UNIT < MAX_SPREADS).all(axis=1)
    labels, found = np.full(len(xy0), -1), list[Group]()
    labels[is_near] = find_planes(xy0[is_near], xy1[is_near], odds[is_near])
    weakest = min(groups, key=lambda group: group.score)
    owner = number_rows(len(xy0), [group.rows for group in groups])
    for group in groups:
        ledger.reach("planes", group.rows)
    for p in range(labels.max(initial=-1) + 1):
        rows = np.flatnonzero(labels == p)
        counts = np.bincount(owner[rows][owner[rows] >= 0], minlength=len(groups))
        group = groups[int(counts.argmax())] if counts.any() else weakest
        found.append(make_group(rows, group.score, group.log_nfa))
    return sorted(found, key=lambda plane: (-plane.score, -len(plane.rows), plane.rows[0]))


def find_planes(xy0: Floats, xy1: Floats, odds: Floats | float = 0.0) -> Ints:
    """Find the plane of each match, -1 for none: xy0, xy1 (n, 2); odds (n,) -> (n,)."""
    places, none = find_places(xy0, xy1), np.full(len(xy0), -1)
    if places is None or len(places.xy) < FEW_MATCHES:
        return none
    if not places.area > 4 * math.pi * max(*NOISES, MAX_NOISE) ** 2:
        return none  # a match on a plane would save nothing
    n_searched = min(len(places.xy), MAX_SEARCHED)
    best_odds = places.best(odds)
    sample = choose_best(-best_odds, np.arange(len(places.xy)), n_searched)
    scene = PlaneScene.from_places(places.xy[sample], places.area, best_odds[sample])
    pool = propose_planes(scene)
    begun = sorted((begin_search(scene, pool, noise) for noise in NOISES), key=lambda start: start[0])
    searches = (search(scene, pool, planes, noise) for _, planes, noise in begun[:MAX_SEARCHES])
    _, planes, labels, noise = min(searches, key=lambda result: result[0])
    if not len(planes):
        return none
    if n_searched < len(places.xy):  # then all matches choose, and the planes are fitted to all
        scene = PlaneScene.from_places(places.xy, places.area, best_odds)
        planes, labels, _ = settle(scene, planes, scene.measure_costs(planes, noise).argmin(axis=0), noise)
    return np.where(labels == len(planes), -1, labels)[places.row]


def propose_planes(scene: PlaneScene) -> Floats:
    """Propose for each of some matches the plane through its nearest ones that saves most -> (p, 3, 3)."""
    rng, n = np.random.default_rng(0), len(scene.xy0)
    near = find_near(np.hstack([scene.xy0, scene.xy1]), max(N_NEAREST))
    near = near[choose_best(-scene.odds, np.arange(n), MAX_SEEDS)]
    rows = list[Array]()
    for k in N_NEAREST:
        rows += [near[:, :k], *(rng.permuted(near[:, :k], axis=1)[:, :N_DRAWN] for _ in range(2))]
    flat = [row for drawn in rows for row in drawn]
    planes = scene.fit(flat, np.zeros((len(flat), 3, 3)), np.inf, 3)
    judges = choose_best(-scene.odds, np.arange(n), MAX_JUDGES)
    saved = scene.measure_savings(planes, np.zeros(len(judges)), PROPOSAL_NOISE, judges)
    best = saved.reshape(len(rows), -1).argmax(axis=0)
    chosen: Floats = planes[best * len(near) + np.arange(len(near))]
    return chosen


def begin_search(scene: PlaneScene, pool: Floats, noise: float) -> tuple[float, Floats, float]:
    """Begin a search with the planes (p, 3, 3) of a pool that save more than their price at a first noise.

    Returns the energy, the planes and the noise.
    """
    n = len(scene.xy0)
    planes = _add_planes(scene, pool, np.empty((0, 3, 3)), np.zeros(n), noise)
    costs = scene.measure_costs(planes, noise)
    labels = scene.choose(costs, costs.argmin(axis=0), EDGE_PRICE)
    return scene.sum_energy(costs, labels, noise), planes, noise


def search(
    scene: PlaneScene, pool: Floats, planes: Floats, noise: float
) -> tuple[float, Floats, Ints, float]:
    """Search for planes (p, 3, 3) and the noise, from first ones, among a pool of proposals.

    Returns the energy, the planes, the labels (n,) and the noise.
    """
    n = len(scene.xy0)
    labels = scene.measure_costs(planes, noise).argmin(axis=0)
    best = 0.0, np.empty((0, 3, 3)), np.zeros(n, np.int64), noise
    for _ in range(MAX_ROUNDS):
        planes, labels, _ = settle(scene, planes, labels, noise)
        if not len(planes):
            break
        noise = _estimate_noise(scene, planes, labels, noise)
        costs = scene.measure_costs(planes, noise)
        energy, n_planes = scene.sum_energy(costs, labels, noise), len(planes)
        if energy >= best[0] - LEAST_CHANGE:
            break
        best = energy, planes, labels, noise
        planes = _add_planes(scene, pool, planes, costs[labels, np.arange(n)], noise)
        labels = np.where(labels == n_planes, len(planes), labels)
    return best


def _add_planes(scene: PlaneScene, pool: Floats, planes: Floats, left: Floats, noise: float) -> Floats:
    """Add planes of a pool that save more than their price, the best first: left (n,) is the cost now."""
    bounds = scene.measure_savings(pool, left, noise)  # of what they save, which falls with each added plane
    while True:
        k = int(bounds.argmax())
        saved = scene.measure_savings(pool[[k]], left, noise)[0]
        if saved < bounds[k]:
            bounds[k] = saved
            continue
        if saved <= scene.price(noise):
            return planes
        plane = pool[[k]]
        cost = scene.measure_costs(plane, noise)[0]
        while True:
            fitted = scene.fit([np.flatnonzero(cost < left)], plane, noise, 2)
            more = scene.measure_savings(fitted, left, noise)[0]
            if more <= saved + LEAST_GAIN:
                break
            plane, saved, cost = fitted, more, scene.measure_costs(fitted, noise)[0]
        planes, left = np.concatenate([planes, plane]), np.minimum(left, cost)


def settle(scene: PlaneScene, planes: Floats, labels: Ints, noise: float) -> tuple[Floats, Ints, float]:
    """Let matches choose, fit, remove and merge planes in turn while the energy falls."""
    found = planes, labels, np.inf
    while True:
        labels = scene.choose(scene.measure_costs(planes, noise), labels, EDGE_PRICE)
        planes, labels = _drop_small(planes, labels)
        planes = _refit(scene, planes, labels, noise)
        planes, labels, energy = _reduce(scene, planes, labels, noise)
        if energy >= found[2] - LEAST_CHANGE:
            return found
        found = planes, labels, energy


def _drop_small(planes: Floats, labels: Ints) -> tuple[Floats, Ints]:
    """Drop planes with few matches, whose labels (n,) become those of outliers."""
    kept = np.flatnonzero(np.bincount(labels, minlength=len(planes) + 1)[:-1] >= FEW_MATCHES)
    number = np.full(len(planes) + 1, len(kept))
    number[kept] = np.arange(len(kept))
    return planes[kept], number[labels]


def _refit(scene: PlaneScene, planes: Floats, labels: Ints, noise: float) -> Floats:
    """Fit planes (p, 3, 3) to the matches that chose them; a fit that costs more does not count."""
    if not len(planes):
        return planes
    fitted = scene.fit([np.flatnonzero(labels == p) for p in range(len(planes))], planes, noise, 3)
    is_member = labels == np.arange(len(planes))[:, None]
    before, after = (
        np.where(is_member, scene.measure_costs(found, noise)[:-1], 0).sum(axis=1)
        for found in (planes, fitted)
    )
    return np.where((after < before)[:, None, None], fitted, planes)


def _reduce(scene: PlaneScene, planes: Floats, labels: Ints, noise: float) -> tuple[Floats, Ints, float]:
    """Remove a plane, or fit one to two that touch, while the energy falls once matches have chosen again."""
    costs = scene.measure_costs(planes, noise)
    energy = scene.sum_energy(costs, labels, noise)
    is_settled = False
    while not is_settled:
        is_settled = True
        for p, q, plane in _rank_merges(scene, planes, costs, labels, noise)[:MAX_TRIED]:
            fewer, fewer_costs = planes, costs
            if p != q:
                plane = scene.fit([np.flatnonzero((labels == p) | (labels == q))], plane, noise, 5)
                fewer, fewer_costs = planes.copy(), costs.copy()
                fewer[p], fewer_costs[p] = plane[0], scene.measure_costs(plane, noise)[0]
            fewer, fewer_costs = np.delete(fewer, q, axis=0), np.delete(fewer_costs, q, axis=0)
            merged = np.where(labels == q, p, labels)
            merged -= merged > q
            is_free = (labels == q) | (fewer_costs[merged, np.arange(len(merged))] > 0)
            merged = np.where(is_free, fewer_costs.argmin(axis=0), merged)
            merged = scene.choose(fewer_costs, merged, EDGE_PRICE)
            lower = scene.sum_energy(fewer_costs, merged, noise)
            if lower < energy - LEAST_CHANGE:
                planes, labels, costs, energy = fewer, merged, fewer_costs, lower
                is_settled = False
                break
    return planes, labels, energy


def _rank_merges(
    scene: PlaneScene, planes: Floats, costs: Floats, labels: Ints, noise: float
) -> list[tuple[int, int, Floats]]:
    """Rank merges by the energy if only their matches choose again, the lowest first.

    A merge (p, q, plane (1, 3, 3)) with p < q puts one plane in place of two that touch; with p = q, a plane
    is removed.
    """
    members = [np.flatnonzero(labels == p) for p in range(len(planes))]
    paid = np.bincount(labels, costs[labels, np.arange(len(labels))], len(planes) + 1)
    ranked = list[tuple[float, int, int, Floats]]()
    for p, rows in enumerate(members):
        cheapest = np.delete(costs[:, rows], p, axis=0).min(axis=0)
        ranked.append((float(cheapest.sum() - paid[p]), p, p, planes[[p]]))
    low, high = np.repeat(labels, np.diff(scene.starts)), labels[scene.neighbours]
    is_pair = (low < high) & (high < len(planes))
    codes, n_edges = np.unique(low[is_pair] * len(planes) + high[is_pair], return_counts=True)
    pairs = np.column_stack(np.divmod(codes, max(len(planes), 1)))
    if len(pairs):
        joined = [np.concatenate([members[p], members[q]]) for p, q in pairs]
        better = [
            pair[costs[pair][:, rows].sum(axis=1).argmin()] for pair, rows in zip(pairs, joined, strict=True)
        ]
        few = [rows[:: 1 + (len(rows) - 1) // MAX_MERGED] for rows in joined]
        fitted = scene.fit(few, planes[better], noise, 3)
        for k, (p, q) in enumerate(pairs.tolist()):
            cost = scene.measure_costs(fitted[[k]], noise, joined[k]).min(axis=0).sum()
            change = float(cost - paid[p] - paid[q] - EDGE_PRICE * n_edges[k])
            ranked.append((change, p, q, fitted[[k]]))
    return [merge[1:] for merge in sorted(ranked, key=lambda merge: merge[:3])]


def _estimate_noise(scene: PlaneScene, planes: Floats, labels: Ints, noise: float) -> float:
    """Estimate the likeliest noise of the matches on planes, within its bounds."""
    rows = np.flatnonzero(labels < len(planes))
    errors = scene.measure_errors(planes)[labels[rows], rows]
    likeliest = estimate_deviation(errors, noise, FREEDOM, 2, NOISE_STEPS)
    sizes = [_measure_size(scene, np.flatnonzero(labels == p)) for p in range(len(planes))]
    size = min(float(np.median(np.array(sizes)[labels[rows]])), 1.0)
    return min(max(likeliest, MIN_NOISE * size), MAX_NOISE * size)


def _measure_size(scene: PlaneScene, rows: Ints) -> float:
    """Measure the size of a plane: twice the extent of the middle half of its matches, rows (k,)."""
    quartiles = np.quantile(np.hstack([scene.xy0[rows], scene.xy1[rows]]), (0.25, 0.75), axis=0)
    return 2 * float(np.ptp(quartiles, axis=0).max())
