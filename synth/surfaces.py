"""Matches on several moving, bending surfaces, mixed with outliers, with the true object of each match.

Notation: picture k is a window of 1 x 1 (times `size`), seen by a pinhole camera of focal length 1. An object
is a surface: a window of picture 0 and the depth of each of its points. It moves rigidly in space, bends a
little in its picture, and is seen by the second camera.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import ConvexHull, Delaunay

FIELD = 6  # bends and depths are sums of this many waves
NEAREST = 2.0  # least depth of objects, in focal lengths; they are up to twice as far away


@dataclass(frozen=True, eq=False)
class SurfaceMatches:
    """Matches on surfaces, and outliers among them.

    Parameters
    ----------
    xy0, xy1 : (n, 2) float64
        The points of each match in the two pictures.
    label : (n,) int64
        The object of each match, 0, 1, ...; -1 for outliers.
    """

    xy0: NDArray[np.float64]
    xy1: NDArray[np.float64]
    label: NDArray[np.int64]


def moving_surfaces(
    seed: int,
    *,
    n_objects: int = 3,
    matches: tuple[int, int] = (30, 120),
    outliers: float = 0.5,
    noise: float = 1.0,
    size: float = 600.0,
    turn: float = 0.5,
    tilt: float = 0.3,
    zoom: float = 1.5,
    relief: float = 0.1,
    bend: float = 0.01,
) -> SurfaceMatches:
    """Make matches on surfaces that moved.

    Parameters
    ----------
    seed : int
        Seed of all random choices.
    n_objects : int
        Number of surfaces.
    matches : pair of int
        The smallest and the largest number of matches of an object.
    outliers : float
        Share of outliers among all matches. In half of them, a point of an object is matched with a place
        somewhere else, as in false matches of features; both points of the others are anywhere.
    noise : float
        Root mean square distance by which noise moves a point.
    size : float
        Side of both pictures.
    turn, tilt : float
        Standard deviation of the rotation in the plane of the picture, and out of this plane, in radians.
    zoom : float
        Largest factor by which objects come nearer or move away.
    relief : float
        Depth of a surface, in widths of the object; half of the surfaces have a fold, as boxes have.
    bend : float
        Displacement of an object's points in picture 1 beyond rigid motion, in widths of the object.

    Returns
    -------
    SurfaceMatches
        The matches, in a random order.
    """
    if n_objects < 0 or not 0 <= outliers < 1 or matches[0] < 1 or matches[1] < matches[0]:
        raise ValueError(
            "n_objects must be at least 0, outliers in [0, 1), and matches two ascending numbers from 1 on, "
            f"got {n_objects}, {outliers}, {matches}"
        )
    rng = np.random.default_rng(seed)
    surfaces = [
        _surface(rng, int(rng.integers(matches[0], matches[1] + 1)), turn, tilt, zoom, relief, bend)
        for _ in range(n_objects)
    ]
    parts = [part for part in _seen(surfaces) if len(part[0]) >= matches[0]]
    n_true = sum(len(x0) for x0, _ in parts)
    n_false = round(n_true * outliers / (1 - outliers)) if parts else matches[1]
    false0, false1 = rng.uniform(0, 1, (2, n_false, 2))
    if parts:
        half = n_false // 2
        points0, points1 = (np.vstack([part[k] for part in parts]) for k in (0, 1))
        false0[:half] = points0[rng.integers(n_true, size=half)] + rng.normal(0, 0.002, (half, 2))
        false1[half // 2 : half] = points1[rng.integers(n_true, size=half - half // 2)]
    xy0 = np.vstack([*(x0 for x0, _ in parts), false0]) * size
    xy1 = np.vstack([*(x1 for _, x1 in parts), false1]) * size
    label = np.repeat([*range(len(parts)), -1], [*(len(x0) for x0, _ in parts), n_false])
    xy0, xy1 = (xy + rng.normal(0, noise / np.sqrt(2), xy.shape) for xy in (xy0, xy1))
    order = rng.permutation(len(label))
    return SurfaceMatches(xy0[order], xy1[order], label[order])


def _surface(
    rng: np.random.Generator, n: int, turn: float, tilt: float, zoom: float, relief: float, bend: float
) -> tuple[NDArray[np.float64], NDArray[np.float64], float, float]:
    """Points (n, 2) of an object in picture 0, their places in picture 1, and its depths in both."""
    width = rng.uniform(0.15, 0.45)
    shape = rng.uniform(0.6, 1.0, 2) * width
    u = rng.uniform(-0.5, 0.5, (n, 2)) * shape  # relative to the middle
    middle0, middle1 = rng.uniform(width / 2, 1 - width / 2, (2, 2))
    depth = rng.uniform(NEAREST, 2 * NEAREST)
    # the surface in space: z is the height above the object's plane, in the unit of u
    z = relief * width * _waves(rng, u / width)
    if rng.random() < 0.5:  # two faces of a box
        across = np.array([np.cos(a := rng.uniform(0, np.pi)), np.sin(a)])
        z = z + rng.uniform(0.3, 1.0) * np.abs(u @ across - rng.uniform(-0.2, 0.2) * width)
    body = np.column_stack([u, z]) * depth
    rotation = _rotation(rng.normal(0, tilt, 2), rng.normal(0, turn))
    moved = body @ rotation.T
    there = depth * np.exp(rng.uniform(-1, 1) * np.log(zoom))
    x0 = body[:, :2] / (depth + body[:, 2:])
    x1 = moved[:, :2] / np.maximum(there + moved[:, 2:], 0.2 * there)
    x1 = x1 + bend * width * np.column_stack([_waves(rng, u / width), _waves(rng, u / width)])
    return x0 + middle0, x1 + middle1, depth, there


def _seen(
    parts: list[tuple[NDArray[np.float64], NDArray[np.float64], float, float]],
) -> list[tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """Points of the objects in both pictures, without points that a nearer object hides in one of the
    pictures.
    """
    seen = []
    for part in parts:
        hidden = np.zeros(len(part[0]), bool)
        for other in parts:
            for points, own, depth, own_depth in zip(other[:2], part[:2], other[2:], part[2:], strict=True):
                if depth < own_depth:
                    corners = points[ConvexHull(points).vertices]
                    hidden |= Delaunay(corners).find_simplex(own) >= 0
        seen.append((part[0][~hidden], part[1][~hidden]))
    return seen


def _waves(rng: np.random.Generator, u: NDArray[np.float64]) -> NDArray[np.float64]:
    """(n,) a smooth random field of standard deviation about 1, at places (n, 2) in a window of 1 x 1."""
    waves, phase = rng.normal(0, 4.0, (FIELD, 2)), rng.uniform(0, 2 * np.pi, FIELD)
    field: NDArray[np.float64] = np.sqrt(2 / FIELD) * np.cos(u @ waves.T + phase).sum(axis=1)
    return field


def _rotation(tilts: NDArray[np.float64], turn: float) -> NDArray[np.float64]:
    """The rotation (3, 3) by `turn` about the line of sight, after tilts about the axes of the picture."""
    a, b, c = (np.array([np.cos(t), np.sin(t)]) for t in (*tilts, turn))
    about_x = np.array([[1, 0, 0], [0, a[0], -a[1]], [0, a[1], a[0]]])
    about_y = np.array([[b[0], 0, b[1]], [0, 1, 0], [-b[1], 0, b[0]]])
    about_z = np.array([[c[0], -c[1], 0], [c[1], c[0], 0], [0, 0, 1]])
    rotation: NDArray[np.float64] = about_z @ about_y @ about_x
    return rotation
