"""Labelled sets drawn at random: shapes, further shapes and thin curves.

A kind is a function from a generator of random numbers to a list of clusters (n, d), the last of which may be
`Noise`. Sizes are random, and so are numbers and shapes of some.
"""

from collections.abc import Callable, Iterator
from itertools import product

import numpy as np
from numpy.typing import ArrayLike, NDArray

Rng = np.random.Generator
SHARES = (1.0, 0.5, 0.25)  # of the samples of each cluster that are kept; each share gives a set
MIN_KEPT = 10  # samples of a cluster, below which thinning does not go


class Noise(np.ndarray):
    """Samples (n, d) that belong to no cluster."""


def _blob(rng: Rng, n: int, centre: ArrayLike, deviation: float) -> NDArray:
    centre = np.asarray(centre)
    return centre + deviation * rng.normal(size=(n, len(centre)))


def _arc(rng: Rng, n: int, centre: ArrayLike, radius: float, width: float, start=0.0, end=2 * np.pi):
    angles, radii = rng.uniform(start, end, n), radius + width * rng.normal(size=n)
    return np.asarray(centre) + radii[:, None] * np.c_[np.cos(angles), np.sin(angles)]


def _path(rng: Rng, t: NDArray, y: ArrayLike, width: float) -> NDArray:
    return np.c_[t, np.broadcast_to(y, len(t))] + width * rng.normal(size=(len(t), 2))


def _blobs(rng: Rng, sizes: tuple[int, int], centres: ArrayLike, deviations: ArrayLike) -> list[NDArray]:
    centres = np.asarray(centres)
    deviations = np.broadcast_to(deviations, len(centres))
    return [_blob(rng, rng.integers(*sizes), c, s) for c, s in zip(centres, deviations, strict=True)]


def _spirals(rng: Rng) -> list[NDArray]:
    arms, n = int(rng.integers(2, 4)), rng.integers(90, 160)
    t = np.linspace(1.2, 7, n)
    turned = [t + 2 * np.pi * j / arms for j in range(arms)]
    return [_path(rng, t * np.cos(a), t * np.sin(a), 0.1) for a in turned]


def _moons(rng: Rng) -> list[NDArray]:
    upper = _arc(rng, rng.integers(120, 400), (0, 0), 2, 0.22, 0, np.pi)
    return [upper, _arc(rng, rng.integers(120, 400), (2, 0.7), 2, 0.22, np.pi, 2 * np.pi)]


def _noisy_ring(rng: Rng) -> list[NDArray]:
    line = _path(rng, np.full(300, 4.5), rng.uniform(-4, 4, 300), 0.15)
    ring = _arc(rng, 500, (0, 0), 3, 0.15)
    return [ring, _blob(rng, 500, (0, 0), 0.6), line, rng.uniform(-6, 6, (250, 2)).view(Noise)]


def _bridge(rng: Rng) -> list[NDArray]:
    bridge = _path(rng, rng.uniform(0, 5, 30), np.zeros(30), 0.1).view(Noise)
    return [*_blobs(rng, (60, 300), [(0, 0), (5, 0)], 0.7), bridge]


def _squares(rng: Rng) -> list[NDArray]:
    corners, sides = ((0, 0), (1.2, 0), (0, 1.2), (2.4, 0.3)), ((1, 1), (1, 1), (2.2, 1), (1, 1))
    places = zip(corners, sides, strict=True)
    return [c + rng.uniform(size=(rng.integers(60, 600), 2)) * s for c, s in places]


def _target(rng: Rng) -> list[NDArray]:
    outposts = _blobs(rng, (5, 12), [(5, 5), (-5, 5), (5, -5), (-5, -5)], 0.15)
    return [_arc(rng, 400, (0, 0), 3, 0.12), _blob(rng, 360, (0, 0), 0.5), *outposts]


def _trajectories(rng: Rng) -> list[NDArray]:
    clusters = []
    for j in range(rng.integers(2, 6)):
        t = np.linspace(0, 10, rng.integers(120, 300))
        height, frequency, phase = rng.uniform((0.3, 0.3, 0), (1, 1, 6))
        clusters.append(_path(rng, t, height * np.sin(frequency * t + phase) + 2.5 * j, 0.1))
    return clusters


def _horseshoe(rng: Rng) -> list[NDArray]:
    outer = _arc(rng, rng.integers(200, 500), (0, 0), 4, 0.25, -0.2, np.pi + 0.2)
    return [outer, *_blobs(rng, (80, 300), [(-1.2, 0), (1.4, 0)], 0.5)]


def _unequal_sizes(rng: Rng) -> list[NDArray]:
    return [_blob(rng, 1500, (0, 0), 1), *_blobs(rng, (40, 120), [(8, 0), (0, 9)], (0.8, 1))]


def _ellipses(rng: Rng) -> list[NDArray]:
    axes = rng.normal(size=(2, 2))
    axes /= np.sqrt(np.abs(np.linalg.det(axes)))
    if np.linalg.cond(axes) >= 5:
        axes = np.diag([2, 0.5])
    return [x @ axes for x in _blobs(rng, (100, 400), [(0, 0), (5, 0), (2, 5), (-4, 4)], 0.6)]


def _noisy_blobs(rng: Rng) -> list[NDArray]:
    clusters = _blobs(rng, (80, 300), rng.uniform(-8, 8, (6, 2)), 0.5)
    return [*clusters, rng.uniform(-10, 10, (200, 2)).view(Noise)]


def _thin_circles(rng: Rng) -> list[NDArray]:
    count = rng.integers(2, 4)
    sizes = (int(rng.integers(60, 160) * (1 + j / 2)) for j in range(count))
    return [_arc(rng, n, (0, 0), 1 + 1.5 * j, 0.05) for j, n in enumerate(sizes)]


def _tracks(rng: Rng) -> list[NDArray]:
    clusters = []
    for j in range(rng.integers(3, 6)):
        t = np.sort(rng.uniform(0, 10, rng.integers(60, 140)))
        walk = np.cumsum(0.12 * rng.normal(size=len(t)))
        clusters.append(_path(rng, t, walk - walk.mean() + 3 * j, 0.05))
    return clusters


# A kind's name is part of the seed: another name would draw other sets.
KINDS: dict[str, dict[str, Callable[[Rng], list[NDArray]]]] = {
    "shapes": {
        "spirals": _spirals,
        "lines": lambda r: [
            _path(r, r.uniform(0, r.uniform(8, 14), r.integers(80, 400)), j, 0.12)
            for j in range(r.integers(2, 5))
        ],
        "densities": lambda r: _blobs(r, (100, 500), [(0, 0), (5, 0), (0, 4)], (0.3, 1.5, 0.6)),
        "moons": _moons,
        "many": lambda r: _blobs(r, (50, 500), r.uniform(0, 30, (14, 2)), r.uniform(0.6, 1.3, 14)),
        "noisyring": _noisy_ring,
        "features": lambda r: _blobs(r, (60, 400), r.normal(size=(5, 20)) * 1.6, 1),
        "bridge": _bridge,
        "squares": _squares,
        "target": _target,
    },
    "further shapes": {
        "circles": lambda r: [
            _arc(r, r.integers(150, 400), (0, 0), 1 + 1.2 * j, 0.1) for j in range(r.integers(2, 4))
        ],
        "trajectories": _trajectories,
        "horseshoe": _horseshoe,
        "overlap": lambda r: [
            _blob(r, r.integers(150, 500), (0, 0), 1),
            _blob(r, r.integers(150, 500), (r.uniform(2.7, 3.5), 0), 1),
        ],
        "uneven": _unequal_sizes,
        "aniso": _ellipses,
        "hdsub": lambda r: _blobs(r, (60, 300), r.normal(size=(4, 10)) * 3, r.uniform(0.5, 1.8, 4)),
        "noiseblobs": _noisy_blobs,
    },
    "thin curves": {
        "thinlines": lambda r: [
            _path(r, r.uniform(0, 10, r.integers(60, 160)), 1.5 * j, 0.05) for j in range(r.integers(2, 5))
        ],
        "thincircles": _thin_circles,
        "tracks": _tracks,
        "arcs": lambda r: [_arc(r, r.integers(60, 200), (3 * j, 0), 1.2, 0.06, 0, 4.5) for j in range(3)],
    },
}


def draw_shapes(group: str, seeds: tuple[int, ...]) -> Iterator[tuple[str, NDArray, NDArray]]:
    """Name, X (n, d) and labels (1, n), 0 for noise, of a set for each seed, kind of the group and share."""
    for seed, (name, kind), (i, share) in product(seeds, KINDS[group].items(), enumerate(SHARES)):
        rng = np.random.default_rng([seed, *name.encode(), i])
        clusters = {0 if isinstance(c, Noise) else j: np.asarray(c) for j, c in enumerate(kind(rng), 1)}
        thinned = {
            label: clusters[label][rng.permutation(len(clusters[label]))[: _kept(clusters[label], share)]]
            for label in sorted(clusters)
        }
        labels = np.repeat(list(thinned), [len(c) for c in thinned.values()])
        yield f"{name} {seed} {share}", np.vstack(list(thinned.values())), labels[None]


def _kept(cluster: NDArray, share: float) -> int:
    return max(MIN_KEPT, int(share * len(cluster)))
