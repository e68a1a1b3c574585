"""Whether a place shows the whole of picture 0, or only a part of it, such as a logo.

A is picture 0, reduced; B is the part of picture 1 that the map takes to it, reduced likewise. Where the
print or the colours of A and B differ, picture 1 shows something else.
"""

import math
from dataclasses import dataclass

import numpy as np
import shapely

from matching._common.types import Bools, Floats
from matching.objects import agreement
from matching.objects.frames import list_corners
from matching.objects.transforms import apply_transform, fit_corners
from matching.pictures.images import Picture

# Chosen on six photographs of shelves and 75 of film covers; on eight synthetic shelves, all 40 counts are
# right.
COMPARED_SIDE = 64  # pixels of the longer side of both after reduction
MAX_COLOUR_DIFFERENCE = 40.0  # of 255, between equal colours
MIN_WHOLE = 0.6  # completeness of a whole copy: a similar product had 0.54, a copy at least 0.71
MIN_VISIBLE_SHARE = 1 / 3  # of picture 0, that a whole copy shows; no record of a choice


@dataclass(frozen=True)
class Completeness:
    """How much of picture 0 a place shows.

    Parameters
    ----------
    value : float
        In [0, 1]: of the part of picture 0 that should be visible, the share whose print and colours agree.
    visible : float
        In [0, 1]: the share of picture 0 that should be visible because it lies inside picture 1. Only what
        the mask of picture 0 shows counts; without a mask, everything but plain margins counts.
    print_share, colour_share : float
        The share of that part whose print agrees, and the share whose colours agree.
    """

    value: float
    visible: float
    print_share: float
    colour_share: float

    @property
    def is_whole(self) -> bool:
        """Whether the place shows the whole, as far as it is visible; at least a third must be visible."""
        return self.value >= MIN_WHOLE and self.visible >= MIN_VISIBLE_SHARE


def measure_completeness(
    picture0: Picture, picture1: Picture, frame1: Floats, outline0: Floats
) -> Completeness | None:
    """Measure how much of picture 0 a place in picture 1 shows: frame1 (4, 2); outline0 (k, 2)."""
    if not _is_convex(frame1):
        return None
    shape = shapely.Polygon(frame1)
    if shape.area < (2 * agreement.SEARCH_WINDOW) ** 2:  # too small to compare the print
        return None
    box = _find_print(picture0)
    if box is None:
        return None
    xy0 = agreement.lay_grid(box, COMPARED_SIDE)
    corners = list_corners(picture0.box)
    xy1 = apply_transform(fit_corners(corners, frame1), xy0.reshape(-1, 2)).reshape(xy0.shape)
    last = np.array([picture1.width, picture1.height]) - 0.5
    visible: Bools = np.asarray(((xy1 >= -0.5) & (xy1 <= last)).all(axis=2))
    print0 = np.ones_like(visible) if picture0.mask is None else _look_up(picture0.mask, xy0)
    visible &= print0 if picture1.mask is None else print0 & _look_up(picture1.mask, xy1)
    if not visible.any():
        return None
    pixel = math.sqrt(np.prod(np.ptp(box, axis=0)) / visible.size)  # of A, in pixels of picture 0
    zoom = pixel * math.sqrt(shape.area / np.prod(np.ptp(picture0.box, axis=0)))  # in pixels of picture 1
    a, b = agreement.shrink(picture0.rgb, xy0, pixel), agreement.shrink(picture1.rgb, xy1, zoom)
    if zoom < 1:
        a = agreement.blur(a, 0.4 / zoom)  # B is no sharper
    matched = visible & shapely.intersects_xy(shapely.Polygon(outline0).buffer(0), *np.moveaxis(xy0, 2, 0))
    has_print = agreement.correlate(agreement.to_grey(a), agreement.to_grey(b)) > agreement.MIN_CORRELATION
    has_colour = compare_colours(a, b, matched if matched.any() else visible) < MAX_COLOUR_DIFFERENCE
    shares = [float(same[visible].mean()) for same in (has_print & has_colour, has_print, has_colour)]
    return Completeness(shares[0], float(visible.sum() / print0.sum()), *shares[1:])


def _is_convex(frame: Floats) -> bool:
    """Test whether a frame (4, 2) is convex, as any view of a plane is."""
    x, y = (np.roll(frame, -1, axis=0) - frame).T
    turns = np.sign(x * np.roll(y, -1) - y * np.roll(x, -1))
    return bool(abs(turns.sum()) == len(frame))


def _find_print(picture: Picture) -> Floats | None:
    """Find the box of what the mask shows, or of all but plain margins; None if the picture is plain."""
    box = picture.box
    if picture.mask is not None:
        return box
    xy = agreement.lay_grid(box, COMPARED_SIDE)
    size = np.ptp(box, axis=0)
    small = agreement.shrink(picture.rgb, xy, float(size.max() / COMPARED_SIDE))
    low, high = box.copy()
    for axis, n in enumerate(small.shape[1::-1]):
        max_variance = (np.ptp(small, axis=axis).max(axis=1) / 2) ** 2  # the largest that is possible
        full = np.flatnonzero(max_variance >= agreement.MIN_VARIANCE)
        if not len(full):
            return None
        step = size[axis] / n
        low[axis], high[axis] = box[0, axis] + full[0] * step, box[0, axis] + (full[-1] + 1) * step
    return np.array([low, high])


def compare_colours(a: Floats, b: Floats, same: Bools) -> Floats:
    """Compare colours in different light: a, b (h, w, 3) -> (h, w).

    The light is measured where both show the same, same (h, w).
    """
    a, b = agreement.blur(a, agreement.FINE_WINDOW), agreement.blur(b, agreement.FINE_WINDOW)
    light = (b[same].mean(axis=0) + 1) / (a[same].mean(axis=0) + 1)
    off = b / light - a
    return np.asarray(np.linalg.norm(off - off.mean(axis=2, keepdims=True), axis=2))


def _look_up(mask: Bools, xy: Floats) -> Bools:
    """Look up a mask at pixels (h, w, 2); beyond the edges, the nearest pixels count."""
    last = np.array(mask.shape[1::-1]) - 1
    columns, rows = np.moveaxis(np.clip(np.rint(xy), 0, last).astype(int), 2, 0)
    return np.asarray(mask[rows, columns])
