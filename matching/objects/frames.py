"""Where picture 0 lies in picture 1, according to the matches of one object, and how the object moved.

The matches may cover only a small part of picture 0. Then the corners are extrapolated, and the errors of a
plain homography there are many times as large as at the matches. The map fitted here has priors that apply to
the whole picture; see `matching.objects.transforms`.
"""

from dataclasses import dataclass

import numpy as np

from matching._common.arrays import find_box
from matching._common.types import Array, Floats
from matching.objects import transforms

# Letters, logos and watermarks cover less of a picture. Chosen on 400 pairs of products and film covers:
# without it, four of them have objects in negative.
MIN_PICTURE_SHARE = 0.1
MAX_TILT = 1e-5  # of what is only shifted: equal pixels have no other motion, and photographs always have one


@dataclass(frozen=True, eq=False)
class Motion:
    """How an object lies in picture 1, compared with picture 0."""

    centre: Array  # (2,) float64, in picture 1, pixels
    turn: float  # degrees clockwise, in (-180, 180]; for a mirrored object, after flipping left to right
    scale: float  # pixels of picture 1 per pixel of picture 0
    mirrored: bool
    # in [0, 1], the share of picture 0 (the box of its mask) within the outlines; None if sizes are unknown
    share: float | None
    share1: float | None = 0.0
    # (2,), pixels by which it moved if it is upright, in its size, as a block of a page; None for others
    shift: Array | None = None

    @property
    def covered(self) -> float | None:
        """The share of a picture that the object covers, the larger one of the two; None if unknown."""
        return None if self.share is None else max(self.share, self.share1 or 0.0)

    @property
    def words(self) -> str:
        """The motion in a few words."""
        parts = ["mirrored"] if self.mirrored else []
        degrees = round(abs(self.turn))
        if degrees:
            parts.append(f"turned {degrees}° {'anti' if self.turn < 0 and degrees < 180 else ''}clockwise")
        parts.append(f"{self.scale:.2f} times as large" if abs(self.scale - 1) >= 0.005 else "same size")
        if self.shift is not None and (moved := np.rint(self.shift).astype(int)).any():
            parts.append(f"moved by {moved[0]}, {moved[1]}")
        return ", ".join(parts)


def list_corners(box: Array) -> Floats:
    """List the corners of a box: box (2, 2) -> (4, 2)."""
    (left, top), (right, bottom) = box
    return np.array([[left, top], [right, top], [right, bottom], [left, bottom]])


def fit_frame(xy0: Floats, xy1: Floats, box: Floats, transform: Floats) -> Floats:
    """Find the corners (4, 2) in picture 1 of a box (2, 2) in picture 0; xy0, xy1 (n, 2)."""
    corners, middle = list_corners(box), np.median(xy0, axis=0)
    derivative = transforms.linear_part(transform, middle)
    if len(xy0) >= 3 and abs(np.linalg.det(derivative)) > 0:
        error = transforms.median_error(transform, xy0, xy1)
        fitted = transforms.refine_homography(xy0, xy1, transform, error, box)
        if transforms.is_sound(fitted, corners):
            return transforms.apply_transform(fitted, corners)
    return np.asarray((corners - middle) @ derivative.T + np.median(xy1, axis=0))


def describe_motion(
    transform: Array, outline0: Array, outline1: Array, box: Array, box1: Array | None = None
) -> Motion:
    """Describe how an object moved: transform (3, 3); outline0, outline1 (k, 2); box, box1 (2, 2)."""
    linear = transforms.linear_part(transform, _middle(outline0))
    mirrored = bool(np.linalg.det(linear) < 0)
    (a, b), (c, d) = linear @ np.diag([-1.0, 1.0]) if mirrored else linear
    turn = float(np.degrees(np.arctan2(c - b, a + d)))
    scale = float(np.sqrt(abs(np.linalg.det(linear))))
    shares = _share(outline0, box), 0.0 if box1 is None else _share(outline1, box1)
    off = transform / transform[2, 2] - np.eye(3)
    shift = off[:2, 2] if np.allclose(off[:, :2], 0, atol=MAX_TILT) else None
    return Motion(_middle(outline1), 180.0 if turn == -180 else turn, scale, mirrored, *shares, shift)


def _share(outline: Array, box: Array) -> float:
    """Compute the share of a box (2, 2) that an outline (k, 2) covers."""
    return min(polygon_area(outline) / max(float(np.prod(np.ptp(box, axis=0))), 1e-9), 1.0)


def polygon_area(polygon: Array) -> float:
    """Compute the area of a polygon: polygon (k, 2)."""
    x, y = (polygon - polygon[0]).T
    return abs(float(x @ np.roll(y, -1) - y @ np.roll(x, -1))) / 2


def _middle(polygon: Array) -> Floats:
    """Find the middle (2,) of the box around a polygon (k, 2)."""
    return np.asarray(find_box(polygon).sum(axis=0) / 2)
