"""A test, pixel by pixel, of whether two pictures that a similarity aligns show the same print."""

import math

import numpy as np

from matching._common.types import Array
from matching.objects.agreement import correlate_in_place, lay_grid, shrink, to_grey
from matching.objects.transforms import apply_transform
from matching.pictures.images import Picture

COMPARED_SIDE = 128  # pixels of the longer side of the inner picture when both are compared
MIN_CORRELATION = 0.82  # median: a reduced copy has 0.84, a photograph of a print 0.76


def is_alike(picture0: Picture, picture1: Picture, transform: Array) -> bool:
    """Test whether two pictures show the same print when a similarity (3, 3) maps picture 0 to picture 1."""
    return measure_likeness(picture0, picture1, transform) >= MIN_CORRELATION


def measure_likeness(picture0: Picture, picture1: Picture, transform: Array) -> float:
    """Measure the median correlation of picture 0 inside picture 1, by a transform (3, 3)."""
    scale = math.sqrt(abs(np.linalg.det(transform[:2, :2])))
    longest = float(np.ptp(picture0.box, axis=0).max())
    side = math.ceil(min(COMPARED_SIDE, longest, longest * scale))  # no picture is enlarged
    xy0 = lay_grid(picture0.box, side)
    xy1 = apply_transform(transform, xy0.reshape(-1, 2)).reshape(xy0.shape)
    is_inside = ((xy1 >= -0.5) & (xy1 <= np.array([picture1.width, picture1.height]) - 0.5)).all(axis=2)
    a = shrink(picture0.rgb, xy0, longest / side)
    b = shrink(picture1.rgb, xy1, longest * scale / side)
    correlation, has_print = correlate_in_place(to_grey(a), to_grey(b))
    is_compared = is_inside & has_print
    return float(np.median(correlation[is_compared])) if is_compared.any() else 0.0
