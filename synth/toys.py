"""Point sets in the plane whose clusters differ in density, size and shape, after the paper's toy figures."""

from dataclasses import dataclass

import numpy as np

from synth._types import Array, Floats, Ints


@dataclass(frozen=True, eq=False)
class PointSet:
    """Points in the plane with their clusters.

    Parameters
    ----------
    points : (n, 2) float64
        The points, without a unit.
    labels : (n,) int64
        The cluster of each point: 0, 1, ...
    """

    points: Floats
    labels: Ints

    def __getitem__(self, mask: Array) -> "PointSet":
        return PointSet(self.points[mask], self.labels[mask])

    def __len__(self) -> int:
        return len(self.points)


def make_crowded(seed: int = 0, gap: float = 0.21) -> PointSet:
    """Make three clusters as in the paper's multiscale figure, without noise and close to each other.

    They are a dense disc (250 points), a half ring around it with about a sixth of its density (180), and a
    long bar below both (400). The `gap` between them is wider than the spacing of points in each cluster, but
    narrower than the neighbourhood of a point in the sparse cluster.

    Parameters
    ----------
    seed : int
        Seed of the points.
    gap : float
        Distance between the clusters.

    Returns
    -------
    PointSet
        The points and their clusters.

    Raises
    ------
    ValueError
        If `gap` is not above 0 and finite.
    """
    if not 0 < gap < np.inf:
        raise ValueError(f"gap must be above 0 and finite, got {gap}")
    rng = np.random.default_rng(seed)
    inner = 0.5 + gap
    parts = [
        _disc(250, (0.0, 0.0), 0.5, rng),
        _half_ring(180, (0.0, 0.0), (inner, inner + 0.9), rng),
        rng.uniform((-2.2, -inner - 0.4), (2.2, -inner), (400, 2)),
    ]
    labels = np.repeat(np.arange(3), [len(p) for p in parts])
    return PointSet(np.concatenate(parts), labels)


def _disc(n: int, centre: tuple[float, float], radius: float, rng: np.random.Generator) -> Floats:
    return _polar(centre, radius * np.sqrt(rng.uniform(0, 1, n)), rng.uniform(0, 2 * np.pi, n))


def _half_ring(
    n: int, centre: tuple[float, float], radii: tuple[float, float], rng: np.random.Generator
) -> Floats:
    # uniform over the area: the square of the radius is uniform
    return _polar(centre, np.sqrt(rng.uniform(radii[0] ** 2, radii[1] ** 2, n)), rng.uniform(0, np.pi, n))


def _polar(centre: tuple[float, float], radius: Array, angle: Array) -> Floats:
    moved: Floats = np.asarray(centre) + radius[:, None] * np.c_[np.cos(angle), np.sin(angle)]
    return moved
