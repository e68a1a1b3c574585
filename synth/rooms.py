"""Rooms of planes with boxes: matches with exact truth, for any camera.

A plane is a parallelogram in space, visible from one side. The ray of each pixel is intersected with each
plane. Coordinates in space are those of a camera that is not turned: x to the right, y down, z ahead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np

from synth._types import Array, Floats, Ints


@dataclass(frozen=True, eq=False)
class Plane:
    """A parallelogram.

    Parameters
    ----------
    corner : (3,) float64
        Its top-left corner, as seen from its front.
    right, down : (3,) float64
        The vectors from there to the top-right and the bottom-left corner.
    """

    corner: Floats
    right: Floats
    down: Floats


@dataclass(frozen=True, eq=False)
class RoomCamera:
    """A pinhole camera.

    Parameters
    ----------
    focal : float
        Focal length, pixels.
    size : (h, w)
        Height and width of the pictures.
    rotation : (3, 3) float64
        Takes directions in space to directions of the camera.
    centre : (3,) float64
        The position of the camera.
    """

    focal: float
    size: tuple[int, int]
    rotation: Floats
    centre: Floats

    @property
    def matrix(self) -> Floats:
        """(3, 3): takes directions of the camera to homogeneous pixels."""
        height, width = self.size
        return np.array([[self.focal, 0, (width - 1) / 2], [0, self.focal, (height - 1) / 2], [0, 0, 1.0]])

    def project(self, points: Floats) -> Floats:
        """Find the pixels of points in space.

        Parameters
        ----------
        points : (n, 3) float64
            Points in front of the camera.

        Returns
        -------
        (n, 2) float64
        """
        seen = (points - self.centre) @ self.rotation.T @ self.matrix.T
        return np.asarray(seen[:, :2] / seen[:, 2:])


def cast_rays(planes: Sequence[Plane], camera: RoomCamera, xy: Floats) -> tuple[Ints, Floats]:
    """Find the places that pixels show.

    Parameters
    ----------
    planes : sequence of Plane
        The room and the things in it.
    camera : RoomCamera
        The camera.
    xy : (n, 2) float64
        Pixels.

    Returns
    -------
    plane : (n,) int64
        The nearest plane, -1 for none.
    place : (n, 2) float64
        The place on it, along its sides `right` and `down`, in [0, 1].
    """
    x, y = xy.T
    nearest, shown, place = np.full(len(xy), np.inf), np.full(len(xy), -1), np.zeros((len(xy), 2))
    for k, plane in enumerate(planes):
        sides = np.column_stack([plane.right, plane.down, plane.corner - camera.centre])
        to_pixels = camera.matrix @ camera.rotation @ sides  # from (a, b, 1), times the depth
        if np.linalg.det(to_pixels) <= 0:  # the camera sees the plane from behind
            continue
        a, b, inverse_depth = (p * x + q * y + r for p, q, r in np.linalg.inv(to_pixels))
        hit = (a >= 0) & (b >= 0) & (a <= inverse_depth) & (b <= inverse_depth)
        hit &= inverse_depth * nearest > 1
        nearest[hit], shown[hit] = 1 / inverse_depth[hit], k
        place[hit] = np.column_stack([a[hit], b[hit]]) / inverse_depth[hit, None]
    return shown, place


def find_places(
    planes: Sequence[Plane], camera: RoomCamera, shown: Ints, place: Floats
) -> tuple[Floats, Array]:
    """Find the pixels at which a camera sees places on planes.

    Parameters
    ----------
    planes : sequence of Plane
        The room and the things in it.
    camera : RoomCamera
        The camera.
    shown : (n,) int64
        The planes of the places, none of them -1.
    place : (n, 2) float64
        The places on these planes.

    Returns
    -------
    xy : (n, 2) float64
        Pixels.
    is_seen : (n,) bool
        Whether the places are inside the picture and nothing hides them.
    """
    corner, right, down = (
        np.array([getattr(p, name) for p in planes]) for name in ("corner", "right", "down")
    )
    points = corner[shown] + place[:, :1] * right[shown] + place[:, 1:] * down[shown]
    ahead = ((points - camera.centre) @ camera.rotation.T)[:, 2] > 0
    xy = np.full((len(points), 2), -1.0)
    xy[ahead] = camera.project(points[ahead])
    height, width = camera.size
    inside = ahead & ((xy >= 0) & (xy <= [width - 1, height - 1])).all(axis=1)
    is_seen = inside.copy()
    is_seen[inside] = cast_rays(planes, camera, xy[inside])[0] == shown[inside]
    return xy, is_seen


def make_room(width: float = 6.0, height: float = 4.0, depth: float = 7.0) -> list[Plane]:
    """Make an empty room around the origin: its back wall, left wall, right wall, floor and ceiling.

    Parameters
    ----------
    width, height, depth : float
        Size of the room; its back wall is `depth` ahead of the origin.

    Returns
    -------
    list of Plane
    """
    x, y = width / 2, height / 2
    sides = [
        ((-x, -y, depth), (width, 0, 0), (0, height, 0)),
        ((-x, -y, 0), (0, 0, depth), (0, height, 0)),
        ((x, -y, depth), (0, 0, -depth), (0, height, 0)),
        ((-x, y, depth), (width, 0, 0), (0, 0, -depth)),
        ((-x, -y, 0), (width, 0, 0), (0, 0, depth)),
    ]
    return [
        Plane(np.array(corner, float), np.array(right, float), np.array(down, float))
        for corner, right, down in sides
    ]


def make_box(size: Array, middle: Array, turn: float) -> list[Plane]:
    """Make a box: its front, left, right and top.

    Parameters
    ----------
    size : (3,) array
        Its width, height and depth.
    middle : (3,) array
        The place of its middle.
    turn : float
        Angle about the vertical axis, radians.

    Returns
    -------
    list of Plane
    """
    x, y, z = np.array(size) / 2
    sides = [
        ((-x, -y, -z), (2 * x, 0, 0), (0, 2 * y, 0)),
        ((-x, -y, z), (0, 0, -2 * z), (0, 2 * y, 0)),
        ((x, -y, -z), (0, 0, 2 * z), (0, 2 * y, 0)),
        ((-x, -y, z), (2 * x, 0, 0), (0, 0, -2 * z)),
    ]
    about = turn_about(1, turn)
    return [
        Plane(about @ corner + middle, about @ right, about @ down)
        for corner, right, down in np.array(sides, float)
    ]


def turn_about(axis: int, angle: float) -> Floats:
    """Make a rotation about an axis.

    Parameters
    ----------
    axis : int
        0, 1 or 2.
    angle : float
        Radians.

    Returns
    -------
    (3, 3) float64
    """
    return np.asarray(cv2.Rodrigues(angle * np.eye(3)[axis])[0])


@dataclass(frozen=True, eq=False)
class PlaneMatches:
    """Matches on planes, and outliers among them.

    Parameters
    ----------
    xy0, xy1 : (n, 2) float64
        The points of each match in the two pictures.
    label : (n,) int64
        The plane of each match, 0, 1, ...; -1 for outliers.
    """

    xy0: Floats
    xy1: Floats
    label: Ints


def match_planes(
    seed: int,
    *,
    outliers: float = 0.3,
    noise: float = 0.7,
    density: tuple[int, int] = (20, 120),
    least: int = 12,
) -> PlaneMatches:
    """Make matches between two pictures of a room in which only the camera moves.

    Parameters
    ----------
    seed : int
        Seed of all random choices.
    outliers : float
        Share of outliers, which are anywhere in both pictures.
    noise : float
        Standard deviation of the noise of each coordinate, pixels.
    density : pair of int
        The smallest and the largest number of matches that are tried on a plane; those that both pictures
        show are kept.
    least : int
        Planes with fewer matches than this are left without any.

    Returns
    -------
    PlaneMatches
        The matches, in a random order.
    """
    rng = np.random.default_rng(seed)
    planes = make_room()
    for _ in range(int(rng.integers(1, 4))):
        size = rng.uniform(0.8, 2.0, 3)
        middle = np.array([rng.uniform(-2, 2), 2 - size[1] / 2, rng.uniform(3, 5.5)])
        planes += make_box(size, middle, rng.uniform(-0.8, 0.8))
    cameras = [
        RoomCamera(
            520.0,
            (480, 640),
            turn_about(1, rng.uniform(-0.25, 0.25)) @ turn_about(0, rng.uniform(-0.1, 0.1)),
            rng.uniform((-1.0, -0.6, -0.5), (1.0, 0.6, 0.5)),
        )
        for _ in range(2)
    ]
    parts = []
    for k in range(len(planes)):
        place = rng.uniform(0, 1, (int(rng.integers(density[0], density[1] + 1)), 2))
        shown = np.full(len(place), k)
        seen = [find_places(planes, camera, shown, place) for camera in cameras]
        both = seen[0][1] & seen[1][1]
        if both.sum() >= least:
            parts.append([xy[both] + rng.normal(0, noise, (both.sum(), 2)) for xy, _ in seen])
    n_true = sum(len(part[0]) for part in parts)
    false = rng.uniform((0, 0), (640, 480), (2, round(n_true * outliers / (1 - outliers)), 2))
    xy0, xy1 = (np.vstack([*(part[k] for part in parts), false[k]]) for k in range(2))
    label = np.repeat([*range(len(parts)), -1], [*(len(part[0]) for part in parts), len(false[0])])
    order = rng.permutation(len(label))
    return PlaneMatches(xy0[order], xy1[order], label[order])
