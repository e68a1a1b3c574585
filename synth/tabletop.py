"""Two pictures of a table with things that move, turn and bend independently, with exact truth everywhere.

Notation: thing k is a piece of a photograph, with pixels u, cut to a shape. In picture 0 it lies flat: u ->
A0 u + t0. In picture 1 it lies at u -> A1 (u - b(u)) + t1, where b, its bend, is a thin-plate spline that is
defined backwards, as in `synth.warp`: so each place of picture 1 shows one place of the thing. Later things
lie on top of earlier ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import cv2
import numpy as np
from scipy.ndimage import map_coordinates

from synth._types import Array, Floats, Int16s, Picture
from synth.warp import ThinPlateWarp

SHADOW = 35.0  # grey levels by which a thing darkens its surroundings
GRAIN = 2.5  # standard deviation of the noise of a pixel


@dataclass(frozen=True, eq=False)
class Pose:
    """How a thing lies in a picture.

    Parameters
    ----------
    centre : pair of float
        The place of its middle, pixels.
    turn : float
        Clockwise angle, degrees.
    scale : float
        Pixels of the picture per pixel of the thing.
    """

    centre: tuple[float, float]
    turn: float = 0.0
    scale: float = 1.0

    def matrix(self, shape: tuple[int, ...]) -> Floats:
        """Compute the affine map from the pixels of a thing to those of the picture.

        Parameters
        ----------
        shape : tuple of int
            Height and width of the thing, pixels.

        Returns
        -------
        (2, 3) float64
            The map of columns (x, y, 1).
        """
        c, s = (self.scale * f(np.radians(self.turn)) for f in (np.cos, np.sin))
        linear = np.array([[c, -s], [s, c]])
        middle = (np.array(shape[1::-1]) - 1) / 2
        return np.column_stack([linear, np.asarray(self.centre) - linear @ middle])


@dataclass(frozen=True, eq=False)
class Thing:
    """A thing on the table.

    Parameters
    ----------
    picture : (h, w, 3) uint8
        The picture of the thing, RGB.
    pose0, pose1 : Pose
        Its poses in picture 0 and 1.
    bend : float
        Standard deviation of the control points of its bend, in pixels of the thing; 0: rigid.
    shape : str
        "rectangle" or "ellipse".
    """

    picture: Picture
    pose0: Pose
    pose1: Pose
    bend: float = 0.0
    shape: str = "rectangle"


@dataclass(frozen=True, eq=False)
class Tabletop:
    """Two pictures of a table, and what each of their pixels shows.

    Parameters
    ----------
    image0, image1 : (h, w, 3) uint8
        The pictures, RGB.
    owner0, owner1 : (h, w) int16
        The thing that a pixel shows, -1 for the table.
    place0, place1 : (h, w, 2) float64
        The place on that thing, in pixels of the thing; NaN on the table.
    """

    image0: Picture
    image1: Picture
    owner0: Int16s
    owner1: Int16s
    place0: Floats = field(repr=False)
    place1: Floats = field(repr=False)

    def find_true(self, xy0: Array, xy1: Array, within: float = 3.0) -> Int16s:
        """Find the thing to which each correspondence belongs.

        Parameters
        ----------
        xy0, xy1 : (n, 2) float64
            The points of the correspondences in the two pictures.
        within : float
            The largest distance between the two places on the thing, in pixels of the thing.

        Returns
        -------
        (n,) int16
            Number of the thing; -1 if the points show the table, two different things, or places that are
            farther apart, or if one of them is within a pixel of the edge of a thing.
        """
        (owner, place), (other, other_place) = (
            (_look_up(owners, xy), _interpolate(places, xy))
            for owners, places, xy in (
                (self.owner0, self.place0, xy0),
                (self.owner1, self.place1, xy1),
            )
        )
        off = np.linalg.norm(place - other_place, axis=1)
        return np.where((owner == other) & (off <= within), owner, -1).astype(np.int16)


def tabletop(
    things: Sequence[Thing],
    seed: int = 0,
    *,
    shape: tuple[int, int] = (720, 960),
    ground: Picture | None = None,
    cell: float = 96.0,
) -> Tabletop:
    """Draw two pictures of things on a table.

    The same arguments give the same pixels. The table is plain, under uneven light and with independent grain
    in each picture, or shows a ground that does not move.

    Parameters
    ----------
    things : sequence of Thing
        From the lowest to the topmost.
    seed : int
        Seed of the table, the bends and the noise.
    shape : pair of int
        Height and width of both pictures, pixels.
    ground : (h, w, 3) uint8, optional
        A picture of the ground, at least as large as the pictures.
    cell : float
        Distance between the control points of a bend, in pixels of the thing.

    Returns
    -------
    Tabletop
        The pictures and their truth.

    Raises
    ------
    ValueError
        If a thing has an unknown shape or a number is out of range.
    """
    for k, thing in enumerate(things):
        if thing.shape not in ("rectangle", "ellipse"):
            raise ValueError(f'shape of thing {k} must be "rectangle" or "ellipse", got {thing.shape!r}')
        if not (0 <= thing.bend < np.inf and min(thing.pose0.scale, thing.pose1.scale) > 0):
            given = f"bend {thing.bend}, scales {thing.pose0.scale} and {thing.pose1.scale}"
            raise ValueError(f"bend of thing {k} must be at least 0 and its scales above 0, got {given}")
    if ground is not None and (ground.shape[0] < shape[0] or ground.shape[1] < shape[1]):
        raise ValueError(f"ground must be at least {shape} pixels, got {ground.shape[:2]}")
    bends, *light = np.random.default_rng(seed).spawn(3)
    warps = [_bend(thing, cell, rng) for thing, rng in zip(things, bends.spawn(len(things)), strict=True)]
    drawn = [
        _draw(things, warps if k else [None] * len(things), k, shape, ground, rng)
        for k, rng in enumerate(light)
    ]
    (image0, owner0, place0), (image1, owner1, place1) = drawn
    return Tabletop(image0, image1, owner0, owner1, place0, place1)


def _bend(thing: Thing, cell: float, rng: np.random.Generator) -> ThinPlateWarp | None:
    """The warp from pixels of a thing, as placed in picture 1, to the pixels that are seen there."""
    if thing.bend == 0:
        return None
    h, w = thing.picture.shape[:2]
    x, y = (np.linspace(0, side - 1, max(2, round(side / cell) + 1)) for side in (w, h))
    controls = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
    return ThinPlateWarp(controls, controls + rng.normal(0, thing.bend, controls.shape))


def _draw(
    things: Sequence[Thing],
    warps: Sequence[ThinPlateWarp | None],
    k: int,
    shape: tuple[int, int],
    ground: Picture | None,
    rng: np.random.Generator,
) -> tuple[Picture, Int16s, Floats]:
    """Picture k, the owner (h, w) of each pixel, and the place (h, w, 2) on the owner."""
    y, x = np.mgrid[: shape[0], : shape[1]].astype(np.float64)
    if ground is None:
        slope = rng.uniform(-0.04, 0.04, 2)
        grain = cv2.GaussianBlur(rng.normal(0, 3.0, shape), (0, 0), 1.0)
        image = np.repeat((rng.uniform(110, 150) + slope[0] * x + slope[1] * y + grain)[..., None], 3, axis=2)
    else:
        image = ground[: shape[0], : shape[1]].astype(np.float64)
    owner, place = np.full(shape, -1, np.int16), np.full((*shape, 2), np.nan)
    for number, (thing, warp) in enumerate(zip(things, warps, strict=True)):
        pose = (thing.pose0, thing.pose1)[k]
        matrix = pose.matrix(thing.picture.shape)
        inverse = np.linalg.inv(matrix[:, :2])
        own = np.stack([x, y], axis=-1) @ inverse.T - inverse @ matrix[:, 2]
        if warp is not None:
            own = _apply(warp, own, thing.picture.shape)
        inside = _is_inside(own, thing)
        u, v = own[..., 0].astype(np.float32), own[..., 1].astype(np.float32)
        seen = cv2.remap(thing.picture, u, v, cv2.INTER_CUBIC, borderMode=cv2.BORDER_REPLICATE)
        dark = cv2.GaussianBlur(np.roll(inside.astype(np.float64), (4, 5), (0, 1)), (0, 0), 4.0)
        image -= SHADOW * dark[..., None]
        image[inside], owner[inside], place[inside] = seen[inside], number, own[inside]
    image += rng.normal(0, GRAIN, image.shape)
    return np.clip(np.rint(image), 0, 255).astype(np.uint8), owner, place


def _apply(warp: ThinPlateWarp, own: Floats, shape: tuple[int, ...]) -> Floats:
    """A bend at places (h, w, 2): exact on the thing and up to a third of its side beyond its edge; places
    farther away stay where they are.
    """
    side = np.array(shape[1::-1])
    near = ((own > -side / 3) & (own < 4 * side / 3)).all(axis=2)
    moved = own.copy()
    moved[near] = warp(own[near])
    return moved


def _is_inside(own: Floats, thing: Thing) -> Array:
    """(h, w) bool: which places (h, w, 2) are on a thing."""
    last = np.array(thing.picture.shape[1::-1]) - 1
    if thing.shape == "ellipse":
        return np.asarray((((own - last / 2) / (last / 2)) ** 2).sum(axis=2) <= 1)
    return np.asarray(((own >= 0) & (own <= last)).all(axis=2))


def _look_up(owners: Int16s, xy: Array) -> Int16s:
    """(n,) the owners of the pixels nearest to points (n, 2)."""
    x, y = np.rint(np.asarray(xy).reshape(-1, 2)).astype(np.int64).T
    (h, w) = owners.shape
    return np.asarray(owners[np.clip(y, 0, h - 1), np.clip(x, 0, w - 1)])


def _interpolate(places: Floats, xy: Array) -> Floats:
    """(n, 2) places at points (n, 2), interpolated bilinearly; NaN on the table and outside the picture."""
    at = np.asarray(xy, np.float64).reshape(-1, 2).T[::-1]
    own = [map_coordinates(places[..., k], at, order=1, cval=np.nan) for k in (0, 1)]
    return np.stack(own, axis=1)
