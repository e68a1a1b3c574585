"""What only one of two versions of a page shows: cells with print that no block explains."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from matching._common import opencv
from matching._common.types import Array, Floats
from matching.objects.description import MatchedObject
from matching.pictures.images import Picture
from matching.searches.pixels.equality import MIN_RANGE, split_squares
from matching.searches.pixels.parts import CELL, MIN_EQUAL_PIXELS, compare_shifted
from matching.searches.proposals import Proposal

Only = tuple[tuple[Floats, ...], tuple[Floats, ...]]  # polygons (k, 2) in picture 0, and in picture 1
NOTHING: Only = (), ()
# Of a side of a page, by which that of another version, and the place of a block across it, may differ.
MAX_OFF = 0.03
REACH = 3  # cells, the side of a square that joins print that is new, or borders what is explained
MIN_CELLS = 3  # of what is new: a word


def find_only(
    first: Picture, second: Picture, objects: Sequence[MatchedObject], proposals: Sequence[Proposal]
) -> Only:
    """Outline what only one of two versions of a page shows; nothing if they are no versions of one."""
    shifts = [np.rint((one.xy1 - one.xy0)[0]).astype(int) for one in proposals if one.is_block]
    if not shifts or not _are_versions(first, second, shifts[0]):
        return NOTHING
    sides = (first, second, [found.outline0 for found in objects], shifts), (
        second, first, [found.outline1 for found in objects], [-shift for shift in shifts],
    )  # fmt: skip
    only0, only1 = (_outline_rest(*side) for side in sides)
    return only0, only1


def _are_versions(first: Picture, second: Picture, shift: Array) -> bool:
    """Whether both pictures are drawn and as wide, or as high, and a block keeps its column, or row."""
    off = np.maximum(np.abs(second.size - first.size), np.abs(shift)) / first.size
    return first.is_drawn and second.is_drawn and bool((off <= MAX_OFF).any())


def _outline_rest(
    picture: Picture, other: Picture, outlines: Sequence[Floats], shifts: Sequence[Array]
) -> tuple[Floats, ...]:
    """Outline the print of a picture that lies in no outline (k, 2), and is equal after no shift (2,)."""
    high, low = opencv.neighbourhood_limits(opencv.luma(picture.rgb))
    has_print = high.astype(np.int16) - low >= MIN_RANGE
    if picture.mask is not None:
        has_print &= picture.mask
    rest = has_print & ~opencv.fill_polygons(has_print.shape, outlines)
    rows, columns = (-(-n // CELL) for n in rest.shape)
    padded = np.pad(rest, [(0, n * CELL - m) for n, m in zip((rows, columns), rest.shape, strict=True)])
    cells = split_squares(padded, CELL).sum(axis=(1, 3)) >= MIN_EQUAL_PIXELS
    for shift in shifts:
        cells &= ~compare_shifted(picture, other, shift).equal
    labels, _ = opencv.box_components(opencv.dilate(cells, REACH))
    height, width = has_print.shape
    found = []
    for k in range(1, int(labels.max()) + 1):
        if (cells & (labels == k)).sum() >= MIN_CELLS:
            part = opencv.erode(labels == k, REACH)
            found.append(opencv.trace_outline(np.kron(part, np.ones((CELL, CELL), bool))[:height, :width]))
    return tuple(found)
