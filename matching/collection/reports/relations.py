"""The relation of two pictures, from the motion of the objects that both show: copy, crop, thumbnail...

The frame is the quadrilateral of the corners of picture 0 in picture 1. share0 is the share of picture 0
inside picture 1, and share1 the share of picture 1 inside the frame.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import shapely

from matching._common.arrays import count_distinct
from matching._common.types import Array, Floats
from matching.objects.frames import describe_motion, list_corners, polygon_area
from matching.objects.transforms import apply_transform

# Share of a picture from which it counts as the whole: fits err by a few percent at the borders.
MIN_WHOLE_SHARE = 0.93
STRAIGHT_DEGREES = 3.0  # a turn this close to a multiple of 90 degrees counts as one
MAX_EQUAL_RATIO = 1.05  # ratio of sizes up to which they count as equal
# Share of both pictures that a copy shows at least if it is turned by any angle, with filled corners.
MIN_FILLED_SHARE = 0.35
OFF_CENTRE_SHARE = 0.03  # of the diagonal: largest shift of a copy that is turned about its middle
# A match may err by this many pixels of the coarser picture, or by this share of the diagonal of the part
# shown, which is less than the error of a photograph.
TOLERANCE_PIXELS, TOLERANCE_SHARE = 2.0, 0.005
N_FIT_ROUNDS = 5


@dataclass(frozen=True)
class Relation:
    """The relation of two pictures."""

    kind: str  # "copy", "thumbnail", "crop", "turned", "mirrored" or "same thing"
    derived: int | None  # 0 or 1, the one that is a thumbnail or crop; None for other kinds
    # share of each picture that the other one shows, if one motion holds throughout; in a group, the objects
    # measure it for the kind "same thing"
    share0: float
    share1: float
    # degrees by which picture 0 is turned in picture 1, clockwise, in (-180, 180], after any flip
    turn: float
    scale: float  # size of picture 0 in picture 1; NaN, like the turn, if no frame is known
    mirrored: bool

    @property
    def role(self) -> str:
        """The role of picture 0, as words that stand before the name of picture 1."""
        if self.kind == "crop":
            return "crop of" if self.derived == 0 else "shows more than"
        if self.kind == "thumbnail":
            return "thumbnail of" if self.derived == 0 else "larger copy of"
        return {"copy": "copy of", "same thing": "same thing as"}.get(self.kind, f"{self.kind} copy of")

    def reverse(self) -> Relation:
        """Exchange the two pictures."""
        derived = None if self.derived is None else 1 - self.derived
        turn = self.turn if self.mirrored or self.turn == 180 else -self.turn
        return Relation(self.kind, derived, self.share1, self.share0, turn, 1 / self.scale, self.mirrored)


# If no frame is known.
UNMEASURED = Relation("same thing", None, math.nan, math.nan, math.nan, math.nan, False)


def map_frame(transform: Array, size: tuple[int, int]) -> Array | None:
    """Map the corners of a picture to the other one: transform (3, 3) -> (4, 2) or None."""
    corners = _corners(size)
    w = np.column_stack([corners, np.ones(4)]) @ transform[2]
    if not ((w > 0).all() or (w < 0).all()):
        return None
    frame: Floats = apply_transform(transform, corners)
    return frame


def fit_motion(
    xy0: Array, xy1: Array, transform: Array, size0: tuple[int, int], size1: tuple[int, int]
) -> Array | None:
    """Fit the similarity that explains the most matches xy0, xy1 (n, 2), from a transform -> (3, 3) or None.

    It must explain more than half of the places in one of the pictures: a wallpaper matches itself elsewhere.
    """
    frame = map_frame(transform, size0)
    if frame is None:
        return None
    diagonal = min(math.hypot(*np.ptp(frame, axis=0)), math.hypot(*size1))
    enlargement = max(math.sqrt(polygon_area(frame) / (size0[0] * size0[1])), 1.0)
    tolerance = max(TOLERANCE_SHARE * diagonal, TOLERANCE_PIXELS * enlargement)
    is_explained = np.linalg.norm(apply_transform(transform, xy0) - xy1, axis=1) <= 4 * tolerance
    for _ in range(N_FIT_ROUNDS):
        if is_explained.sum() < 3:
            return None
        transform = fit_similarity(xy0[is_explained], xy1[is_explained])
        is_explained = np.linalg.norm(apply_transform(transform, xy0) - xy1, axis=1) <= tolerance
    largest_share = max(count_distinct(xy[is_explained]) / count_distinct(xy) for xy in (xy0, xy1))
    return transform if largest_share > 0.5 else None


def find_relation(transform: Array, size0: tuple[int, int], size1: tuple[int, int]) -> Relation:
    """Find the relation of two pictures if one similarity (3, 3) maps everything that both of them show."""
    frame = map_frame(transform, size0)
    if frame is None:
        return UNMEASURED
    motion = describe_motion(transform, _corners(size0), frame, _box(size0))
    turn, scale, mirrored = motion.turn, motion.scale, motion.mirrored
    common = shapely.Polygon(frame).intersection(shapely.box(*_box(size1).ravel())).area
    share0 = min(common / max(polygon_area(frame), 1e-9), 1.0)
    share1 = min(common / (size1[0] * size1[1]), 1.0)
    kind, derived = _choose_kind(share0, share1, turn, scale, mirrored)
    if (
        kind == "same thing"
        and abs(turn) > STRAIGHT_DEGREES
        and _is_within_canvas(frame, scale, size0, size1)
    ):
        kind = "mirrored" if mirrored else "turned"
    return Relation(kind, derived, share0, share1, turn, scale, mirrored)


def fit_similarity(xy0: Array, xy1: Array) -> Array:
    """Fit a similarity, mirrored or not, by least squares: xy0, xy1 (n, 2) -> (3, 3)."""
    mean0, mean1 = xy0.mean(axis=0), xy1.mean(axis=0)
    z0, z1 = (xy0 - mean0) @ (1, 1j), (xy1 - mean1) @ (1, 1j)
    best: tuple[Any, Array] | None = None
    for z, flip in ((z0, 1), (z0.conj(), -1)):
        factor = np.vdot(z, z1) / max(np.vdot(z, z).real, 1e-9)
        error = np.linalg.norm(z1 - factor * z)
        if best is None or error < best[0]:
            best = error, np.array([[factor.real, -flip * factor.imag], [factor.imag, flip * factor.real]])
    assert best is not None
    return np.vstack([np.column_stack([best[1], mean1 - best[1] @ mean0]), [0.0, 0.0, 1.0]])


def _choose_kind(
    share0: float, share1: float, turn: float, scale: float, mirrored: bool
) -> tuple[str, int | None]:
    """Choose the kind of a relation, and which picture is the derived one, as in `Relation`."""
    off_straight = abs((turn + 45) % 90 - 45)
    if min(share0, share1) >= MIN_WHOLE_SHARE:
        if mirrored:
            return "mirrored", None
        if abs(turn) > STRAIGHT_DEGREES:
            return "turned", None
        if max(scale, 1 / scale) <= MAX_EQUAL_RATIO:
            return "copy", None
        return "thumbnail", 0 if scale > 1 else 1
    if max(share0, share1) >= MIN_WHOLE_SHARE:
        if off_straight <= STRAIGHT_DEGREES:
            return "crop", 0 if share0 > share1 else 1
        if min(share0, share1) >= MIN_FILLED_SHARE:  # turned by any angle, corners cut off or filled
            return "turned", None
    return "same thing", None


def _is_within_canvas(frame: Floats, scale: float, size0: tuple[int, int], size1: tuple[int, int]) -> bool:
    """Test whether a picture was turned about its middle, and cut off at its former borders."""
    offset = np.linalg.norm(frame.mean(axis=0) - _corners(size1).mean(axis=0))
    sides = (size1[k] / (scale * size0[k]) for k in range(2))
    fits = all(1 / MAX_EQUAL_RATIO <= side <= MAX_EQUAL_RATIO for side in sides)
    return fits and bool(offset <= OFF_CENTRE_SHARE * math.hypot(*size1))


def _corners(size: tuple[int, int]) -> Floats:
    """The corners (4, 2) of a picture of this width and height."""
    return list_corners(_box(size))


def _box(size: tuple[int, int]) -> Floats:
    """The smallest and the largest x and y (2, 2) of a picture of this width and height."""
    return np.array([(0, 0), size]) - 0.5
