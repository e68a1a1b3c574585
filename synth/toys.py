"""Point sets in the plane whose clusters differ in density, size and shape, after the paper's toy figures."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class PointSet:
    """`points` (n, 2) float64 and `labels` (n,) int64: 0, 1, ... the cluster, -1 noise. No unit."""

    points: NDArray[np.float64]
    labels: NDArray[np.int64]

    def __getitem__(self, mask) -> "PointSet":
        return PointSet(self.points[mask], self.labels[mask])

    def __len__(self) -> int:
        return len(self.points)


def multiscale(seed: int = 0, n_noise: int = 30, scale: float = 1.0) -> PointSet:
    """Three clusters as in the paper's multiscale figure: a dense disc, a sparse half ring, a long bar.

    The disc (250 * scale points) is ten times as dense as the half ring (180) that bends around it, the bar
    (150) lies between. `n_noise` points are uniform over the whole square and may fall on a cluster.
    Raises ValueError where `scale` is not positive or `n_noise` is negative.
    """
    _check(scale, n_noise)
    rng = np.random.default_rng(seed)
    parts = [
        _disc(round(250 * scale), (0.0, 0.0), 0.5, rng),
        _half_ring(round(180 * scale), (0.0, 0.0), (1.7, 2.6), rng),
        rng.uniform((-2.2, -1.8), (2.2, -1.4), (round(150 * scale), 2)),
        rng.uniform((-3.2, -2.4), (3.2, 3.2), (n_noise, 2)),
    ]
    return _labelled(parts)


def crowded(seed: int = 0, gap: float = 0.21) -> PointSet:
    """The clusters of `multiscale`, without noise and only `gap` apart: wider than the spacing of each, but
    narrower than the neighbourhood of a point in the sparse one.

    A dense disc (250 points), a half ring around it of a tenth of its density (180), and below both a long
    bar (400). Raises ValueError where `gap` is not positive.
    """
    if not gap > 0:
        raise ValueError(f"gap must be above 0, got {gap}")
    rng = np.random.default_rng(seed)
    inner = 0.5 + gap
    parts = [
        _disc(250, (0.0, 0.0), 0.5, rng),
        _half_ring(180, (0.0, 0.0), (inner, inner + 0.9), rng),
        rng.uniform((-2.2, -inner - 0.4), (2.2, -inner), (400, 2)),
        np.empty((0, 2)),
    ]
    return _labelled(parts)


def two_densities(seed: int = 0, n_noise: int = 5, scale: float = 1.0) -> PointSet:
    """A dense and a sparse disc that nearly touch, as in the paper's figure of the indegree.

    60 * scale points within a radius of 1 and as many within a radius of 3, with a gap of 0.5; `n_noise`
    points are uniform over the surroundings. Raises ValueError as `multiscale` does.
    """
    _check(scale, n_noise)
    rng = np.random.default_rng(seed)
    n = round(60 * scale)
    parts = [
        _disc(n, (0.0, 0.0), 1.0, rng),
        _disc(n, (4.5, 0.0), 3.0, rng),
        rng.uniform((-2.0, -4.0), (8.0, 4.0), (n_noise, 2)),
    ]
    return _labelled(parts)


def _disc(n: int, centre: tuple[float, float], radius: float, rng: np.random.Generator) -> NDArray:
    return _polar(centre, radius * np.sqrt(rng.uniform(0, 1, n)), rng.uniform(0, 2 * np.pi, n))


def _half_ring(n: int, centre, radii: tuple[float, float], rng: np.random.Generator) -> NDArray:
    # uniform over the area: the square of the radius is uniform
    return _polar(centre, np.sqrt(rng.uniform(radii[0] ** 2, radii[1] ** 2, n)), rng.uniform(0, np.pi, n))


def _polar(centre, radius: NDArray, angle: NDArray) -> NDArray:
    return np.asarray(centre) + radius[:, None] * np.c_[np.cos(angle), np.sin(angle)]


def _labelled(parts: list[NDArray]) -> PointSet:
    """The last part is the noise."""
    labels = np.repeat([*range(len(parts) - 1), -1], [len(p) for p in parts])
    return PointSet(np.concatenate(parts), labels)


def _check(scale: float, n_noise: int) -> None:
    if not scale > 0:
        raise ValueError(f"scale must be above 0, got {scale}")
    if n_noise < 0:
        raise ValueError(f"n_noise must be 0 or more, got {n_noise}")
