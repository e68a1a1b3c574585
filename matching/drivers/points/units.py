"""Units of given points, from their spread and their middle, and the conversion of objects back from them.

Points may lie far from their origin, like map coordinates, and may have any unit of length. Fits need
differences that single precision can represent, so everything is computed around their middle.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from matching._common.types import Array, Bools, Floats
from matching.objects.description import MatchedObject

UNIT = 0.002  # of the spread: less than a pixel if the points fill a picture
# Spreads from the middle beyond which a point can't be in the picture: there, single precision is too coarse.
MAX_SPREADS = 2.0**11.5


@dataclass(frozen=True, eq=False)
class Unit:
    """A unit and an origin of points."""

    origin: Floats  # (2,), the middle of the points
    spread: float  # median distance from the origin; if the size is known, that of evenly spread points

    @property
    def size(self) -> float:
        """The unit of local coordinates: a share of the spread, whatever the unit of the points."""
        return self.spread * UNIT

    def near(self, xy: Floats) -> Bools:
        """Find points that do not lie far from all others: xy (n, 2) -> (n,) bool."""
        return np.asarray(_distance(xy, self.origin) < MAX_SPREADS * self.spread)

    def to_local(self, xy: Floats) -> Floats:
        """Convert points to local coordinates around the origin: xy (n, 2) -> (n, 2)."""
        return (xy - self.origin) / self.size

    def to_given(self, xy: Floats) -> Floats:
        """Convert local coordinates to points: xy (n, 2) -> (n, 2)."""
        return xy * self.size + self.origin

    @property
    def matrix(self) -> Floats:
        """(3, 3) float64: takes homogeneous local coordinates to points."""
        (x, y), size = self.origin, self.size
        return np.array([[size, 0, x], [0, size, y], [0, 0, 1]])

    def round_to_single(self, xy: Floats) -> Floats:
        """Convert points (n, 2) to units of their spread; single precision hides rounding errors."""
        return ((xy - self.origin) / self.spread).astype(np.float32).astype(np.float64) + 0.0  # no -0.0


def find_unit(xy: Floats, size: Array | None) -> Unit:
    """Find the unit of points: xy (n, 2); size (h, w) or None."""
    middle = _middle(xy)
    if size is not None:
        return Unit(middle, 0.4 * math.sqrt(size[0]) * math.sqrt(size[1]))
    distance = _distance(xy, middle)
    half = float(np.median(distance))
    return Unit(middle, half if half > 0 else float(distance.max()) or 1.0)


def _middle(xy: Floats) -> Floats:
    """The geometric median (2,), by Weiszfeld's iteration, without far points, which would make it slow."""
    rough = np.median(xy, axis=0)
    distance = _distance(xy, rough)
    xy = xy[distance <= MAX_SPREADS * np.median(distance)] if np.median(distance) > 0 else xy
    middle: Floats = rough + (xy - rough).mean(axis=0)
    for _ in range(50):
        distance = _distance(xy, middle)
        if not distance.max() > 0:
            break
        weight = 1 / np.maximum(distance, 1e-9 * distance.max())
        middle = rough + weight @ (xy - rough) / weight.sum()
    return middle


def _distance(xy: Floats, place: Floats) -> Floats:
    """The distances (n,) of points (n, 2) from a place."""
    distance: Floats = np.hypot(*(xy - place).T)
    return distance


def take_back(found: MatchedObject, units: tuple[Unit, Unit], points: tuple[Floats, Floats]) -> MatchedObject:
    """Convert an object from local coordinates back to the units of the points (n, 2)."""
    unit0, unit1 = units
    transform = unit1.matrix @ found.transform @ np.linalg.inv(unit0.matrix)
    motion = found.motion
    if motion is not None:
        motion = replace(
            motion, centre=unit1.to_given(motion.centre), scale=motion.scale * unit1.size / unit0.size
        )
    return replace(
        found,
        outline0=unit0.to_given(found.outline0),
        outline1=unit1.to_given(found.outline1),
        transform=transform / transform[2, 2] if found.transform_kind == "affine" else transform,
        transform_error=found.transform_error * unit1.size,
        frame1=None if found.frame1 is None else unit1.to_given(found.frame1),
        motion=motion,
        points0=points[0],
        points1=points[1],
    )


def hide_shares(found: MatchedObject) -> MatchedObject:
    """Drop the properties of an object that need the sizes of the pictures."""
    motion = None if found.motion is None else replace(found.motion, share=None, share1=None)
    return replace(found, frame1=None, motion=motion)
