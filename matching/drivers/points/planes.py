"""The planes of a scene: homographies, fitted to all given matches at once.

Neighbouring planes of a rigid thing move smoothly together, so grouping leaves them in one object. Here, all
matches of the scene choose planes, because matches at the edge of a plane are often in no object, and because
a plane may be in two objects. The energy is that of `energy`, with

    error^2 = r' (I + J J')^-1 r / noise^2,    gain = log(area / (4 pi noise^2))

for the distance r from where the plane takes a match (Sampson), and the derivatives J of the plane there. The
search starts from several noises; the one that ends with the smallest energy counts.
"""

from __future__ import annotations

import numpy as np

from matching._common.types import Floats, Ints
from matching.drivers.points.energy import (
    MAX_SEARCHED,
    Energy,
    add_models,
    propose,
    search,
    settle,
)
from matching.drivers.points.matrices import fit_matrices
from matching.drivers.points.scene import Places
from matching.drivers.points.trust import choose_best
from matching.grouping.groups import FEW_MATCHES

# Figures without a source are the share of wrong matches in AdelaideRMF's homography scenes barrsmith,
# elderhallb, ladysymon, neem and sene; 1.7 % when they were chosen, 1.3 % with other proposals since.
NOISES = 0.000125, 0.0005, 0.002  # of the extent, at first: from large scenes to single ones
MAX_SEARCHES = 2  # from the noises with the smallest energy at first
MIN_DEPTH = 1e-6  # of the mean depth of the fitted matches; nearer ones lie beyond the horizon


beyond_horizon = np.errstate(over="ignore", invalid="ignore", divide="ignore")  # for matches that are there


class Planes(Energy):
    """A scene of planes: homographies (p, 3, 3)."""

    EDGE_PRICE = 1.0  # 2.4 % with 0.8, over all ten scenes
    N_EXACT, N_NUMBERS = 4, 8
    # Walls are not flat and lenses not straight. With 0.001 and 0.008, 1.9 % over all ten scenes, in place of
    # 1.6 %.
    MIN_NOISE, MAX_NOISE = 0.0005, 0.004
    DIMENSION = 2

    def gain(self, models: Floats, noise: float) -> Floats:
        """The same for all planes, because errors have twice the variance of a point."""
        return np.full(len(models), np.log(self.area / (4 * np.pi * noise**2)))

    def find_errors(self, models: Floats, x: Floats, y: Floats) -> Floats:
        """Find the squared Sampson errors of matches; a plane itself explains none."""
        errors = linearise(models, x, y)[0]
        return np.stack([errors, np.zeros_like(errors)])

    def begin(self, x: Floats, y: Floats, is_given: Floats) -> Floats:
        """Fit planes by a direct linear transform."""
        return self.improve(np.tile(np.eye(3), (len(x), 1, 1)), x, y, is_given, np.inf)

    @beyond_horizon
    def improve(self, models: Floats, x: Floats, y: Floats, is_given: Floats, noise: float) -> Floats:
        """Fit planes by one whose equations are also weighted by the covariance at the planes before."""
        errors, inverse = linearise(models, x, y)
        is_usable = np.isfinite(inverse).all(axis=0) & (errors < np.inf)
        weights = np.where(is_usable, is_given / self.spread((errors, 0.0), noise), 0)
        e, f, g = np.where(is_usable, weights * inverse, 0)

        def square(v: Floats) -> Floats:
            p, q = v[:, 0], v[:, 1]
            r, s = -(e * p + f * q), -(f * p + g * q)
            return np.stack([e, f, r, f, g, s, r, s, -(p * r + q * s)], axis=1)

        normalised, into0, into1 = fit_matrices(x, y, weights, square)
        fitted = np.linalg.solve(into1, normalised @ into0)
        # the depth of the middle of the matches is 1, so it is positive in front of the horizon
        middle = -into0[:, :2, 2] / into0[:, [0], 0]
        depth = ((fitted[:, 2, :2] * middle).sum(axis=1) + fitted[:, 2, 2])[:, None, None]
        return np.asarray(fitted / np.where(np.abs(depth) > np.finfo(float).tiny, depth, 1))


@beyond_horizon
def linearise(planes: Floats, x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Find the squared Sampson errors (p, k), infinite where there is none, and the inverse covariances
    (3, p, k), as e, f, g of [e f; f g], of the equations whose residuals are depth r.

    The errors are written as sums of squares, so that nothing cancels.
    """
    mapped = planes @ x
    depth = mapped[:, 2]
    place = mapped[:, :2] / depth[:, None]
    (a, b), (c, d) = (
        [(planes[:, k, m, None] - place[:, k] * planes[:, 2, m, None]) / depth for m in (0, 1)]
        for k in (0, 1)
    )
    r, s = np.moveaxis(place - y[:, :2], 1, 0)
    of_x, of_y = 1 + a * a + b * b, 1 + c * c + d * d
    determinant = of_x + of_y - 1 + (a * d - b * c) ** 2
    errors = (r * r + s * s + (r * c - s * a) ** 2 + (r * d - s * b) ** 2) / determinant
    errors = np.where((depth > MIN_DEPTH) & (errors < np.inf), errors, np.inf)
    return errors, np.array([of_y, -(a * c + b * d), of_x]) / (determinant * depth**2)


def find_planes(places: Places, odds: Floats, _: Ints) -> tuple[Ints, list[float | None]]:
    """Find the plane of each place (m,), -1 for none: odds (m,), see `Scene`."""
    n = len(places.xy)
    none = np.full(n, -1), list[float | None]()
    if n < FEW_MATCHES or not places.area > 4 * np.pi * max(*NOISES, Planes.MAX_NOISE) ** 2:
        return none  # a match on a plane would save nothing
    sample = choose_best(-odds, np.arange(n), min(n, MAX_SEARCHED))
    scene = Planes.from_places(places.xy[sample], places.area, odds[sample])
    pool = propose(scene, np.arange(len(sample)))
    errors = scene.measure(pool)
    begun = sorted((_begin(scene, pool, errors, noise) for noise in NOISES), key=lambda start: start[0])
    searches = (search(scene, pool, errors, *start[1:]) for start in begun[:MAX_SEARCHES])
    least, planes, labels, noise = min(searches, key=lambda result: result[0])
    if not least < 0:
        return none
    if len(sample) < n:  # then all matches choose, and the planes are fitted to all
        scene = Planes.from_places(places.xy, places.area, odds)
        labels = scene.measure_costs(planes, noise).argmin(axis=0)
        planes, labels = settle(scene, planes, labels, noise)[:2]
    return np.where(labels == len(planes), -1, labels), [None] * len(planes)


def _begin(scene: Planes, pool: Floats, errors: Floats, noise: float) -> tuple[float, Floats, Ints, float]:
    """Begin a search with the planes of a pool that save more than their price at a first noise."""
    planes = add_models(scene, pool, errors, pool[:0], np.zeros(len(scene.odds)), noise)
    costs = scene.measure_costs(planes, noise)
    labels = scene.choose(costs, costs.argmin(axis=0), scene.EDGE_PRICE)
    return scene.sum_energy(planes, costs, labels, noise), planes, labels, noise
