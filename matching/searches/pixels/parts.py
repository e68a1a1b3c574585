"""Parts that two drawn pictures show pixel for pixel, each shifted as a whole.

These are a picture and itself, or a part cut out of it, and the blocks of versions of a page.

Their elements may repeat, and be few: that all pixels of a part are equal is evidence of its own. The
shifts are the peaks of the phase correlation of both pictures. The shift after which most print is equal
comes first, and what it explains is no evidence for another one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from matching._common import opencv
from matching._common.types import Array, Bools, Floats, Ints
from matching.pictures.images import Picture
from matching.searches.pixels.equality import (
    LOG_CHANCE,
    MAX_DIFFERENCE,
    MIN_RANGE,
    SIDES,
    list_equal,
    measure_difference,
    split_squares,
)
from matching.searches.proposals import Listing

MAX_PIXELS = 500_000  # of either picture, reduced, in which shifts are found: limits the work
N_SHIFTS = 16  # peaks of the phase correlation that are tried
MAX_SAMPLED = 8000  # pixels at edges by which shifts are compared: limits the work
MIN_EDGE = 32.0  # grey levels, curvature of an edge; the most by which that of equal pixels differs
# Share of these that are equal after a shift that is looked at. Different screens have up to .035 by chance.
MIN_SAMPLED = 0.04
MAX_BOXES = 30  # limits the work
CELL = 16  # pixels: side of a cell, which is equal or not
MIN_EQUAL_PIXELS = 8  # pixels with print in a cell that is equal
MAX_UNEQUAL = 0.1  # of the pixels with print of a cell that is equal; more are another print
MIN_EDGE_PIXELS = 4  # pixels of a cell where grey values change across, and along, if it has a corner
MIN_CELLS = 24  # equal cells with a corner in a box of a part, at least: a few words, or a large icon
MIN_EQUAL_SHARE = 0.9  # of the cells of a part with print: fewer are what alike pages have in common
MAX_POINTS = 400  # of a part: limits the work


@dataclass(frozen=True, eq=False)
class Cells:
    """The cells of picture 0, compared with picture 1 after a shift."""

    shift: Ints  # (2,)
    equal: Bools  # (h, w), print that is equal
    unequal: Bools  # (h, w), print that is not
    has_corner: Bools  # (h, w), print that could not as well be elsewhere along a line
    centres: Floats  # (h, w, 2), the mean place of equal print, pixels of picture 0

    def find_box(self) -> tuple[slice, slice]:
        """The box of rows and columns in which equal cells outweigh the others by most."""
        weight = self.equal - MIN_EQUAL_SHARE / (1 - MIN_EQUAL_SHARE) * self.unequal
        rows = find_best_interval(weight.sum(axis=1))
        columns = find_best_interval(weight[rows].sum(axis=0))
        return find_best_interval(weight[:, columns].sum(axis=1)), columns

    def without(self, xy0: Floats, xy1: Floats) -> Cells:
        """The same without the cells that hold points (n, 2) of picture 0, or of picture 1."""
        equal = self.equal.copy()
        for xy in (xy0, xy1 - self.shift):
            columns, rows = np.floor(xy / CELL).astype(int).T
            is_inside = (rows >= 0) & (rows < equal.shape[0]) & (columns >= 0) & (columns < equal.shape[1])
            equal[rows[is_inside], columns[is_inside]] = False
        return replace(self, equal=equal)


def find_best_interval(values: Floats) -> slice:
    """The interval of values (n,) with the largest sum."""
    sums = np.concatenate([[0.0], np.cumsum(values)])
    lowest = np.minimum.accumulate(sums)
    stop = int(np.argmax(sums - lowest))
    return slice(int(np.flatnonzero(sums[: stop + 1] == lowest[stop])[-1]), stop)


def find_equal_parts(first: Picture, second: Picture) -> Listing | None:
    """Find the parts that two drawn pictures show pixel for pixel; None if there are none."""
    if not (first.is_drawn and second.is_drawn):
        return None
    boxes = list_boxes(first, second)
    n_places = math.log10(first.width * first.height * second.width * second.height)
    ends, log_nfas, shares = [], [], []
    for shift in dict.fromkeys(shift for shift, *_ in boxes):  # what is shifted alike is one part
        points = np.concatenate([xy for other, xy, _ in boxes if other == shift])
        n_unequal = sum(n for other, _, n in boxes if other == shift)
        xy0 = points[:: -(-len(points) // MAX_POINTS)]
        ends.append((xy0, xy0 + shift))
        log_nfas.append(n_places + LOG_CHANCE * len(points))
        shares.append(len(points) / (len(points) + n_unequal))
    return list_equal(ends, log_nfas, shares) if ends else None


def list_boxes(first: Picture, second: Picture) -> list[tuple[tuple[int, ...], Floats, int]]:
    """List boxes of equal cells, the largest first: shift, points (n, 2), and number of unequal cells."""
    sample = Sample.draw(first, second)
    shifts = {tuple(sample.refine(*peak).tolist()) for peak in list_shifts(sample.edges0, sample.edges1)}
    compared = [
        compare_shifted(first, second, np.array(shift))
        for shift in sorted(shifts)
        if sample.count_equal(np.array(shift)) > MIN_SAMPLED * len(sample.xy)
    ]
    found = list[tuple[tuple[int, ...], Floats, int]]()
    while compared and len(found) < MAX_BOXES:
        boxes = [cells.find_box() for cells in compared]
        counts = [
            int((cells.equal & cells.has_corner)[box].sum())
            for cells, box in zip(compared, boxes, strict=True)
        ]
        best = int(np.argmax(counts))
        if counts[best] < MIN_CELLS:
            break
        cells, box = compared[best], boxes[best]
        xy0 = cells.centres[box][cells.equal[box]]
        found.append((tuple(cells.shift.tolist()), xy0, int(cells.unequal[box].sum())))
        compared = [other.without(xy0, xy0 + cells.shift) for other in compared]
    return found


@dataclass(frozen=True, eq=False)
class Sample:
    """Pixels of picture 0 with print, to count those that are equal after a shift."""

    edges0: Array  # (h, w), the curvature of grey values
    edges1: Array
    xy: Ints  # (n, 2)

    @classmethod
    def draw(cls, first: Picture, second: Picture) -> Sample:
        """Sample the pixels at edges, evenly."""
        edges = [opencv.laplacian(opencv.luma(picture.rgb)) for picture in (first, second)]
        xy = np.argwhere(np.abs(edges[0]) >= MIN_EDGE)[:, ::-1]
        return cls(edges[0], edges[1], xy[:: max(len(xy) // MAX_SAMPLED, 1)])

    def refine(self, shift: Ints, factor: int) -> Ints:
        """The shift less than a factor from one after which most pixels are equal."""
        reach = np.arange(1 - factor, factor)
        near = [shift + np.array([x, y]) for y in reach for x in reach]
        return max(near, key=self.count_equal)

    def count_equal(self, shift: Ints) -> int:
        """Count the pixels that are equal after a shift."""
        moved = self.xy + shift
        xy = self.xy[((moved >= 0) & (moved < self.edges1.shape[::-1])).all(axis=1)]
        (x0, y0), (x1, y1) = xy.T, (xy + shift).T
        return int((np.abs(self.edges0[y0, x0] - self.edges1[y1, x1]) <= MIN_EDGE).sum())


def list_shifts(edges0: Array, edges1: Array) -> list[tuple[Ints, int]]:
    """List shifts (2,) from picture 0 to picture 1, and pixels below which they err.

    They are the peaks of the phase correlation of the edges of both, (h, w), the curvature of grey values.
    """
    factor = math.ceil(math.sqrt(max(edges0.size, edges1.size) / MAX_PIXELS))
    edges = [_reduce_edges(each, factor) for each in (edges0, edges1)]
    height, width = (opencv.fast_length(sum(each.shape[axis] for each in edges)) for axis in (0, 1))
    spectra = [np.fft.rfft2(each, (height, width)) for each in edges]
    power = np.conj(spectra[0]) * spectra[1]
    peaks = np.fft.irfft2(power / (np.abs(power) + 1e-9), (height, width))
    found = []
    for _ in range(N_SHIFTS):
        y, x = np.unravel_index(peaks.argmax(), peaks.shape)
        rows, columns = np.arange(y - 1, y + 2) % height, np.arange(x - 1, x + 2) % width
        peaks[np.ix_(rows, columns)] = -1
        ends = width * (x >= edges[1].shape[1]), height * (y >= edges[1].shape[0])
        found.append((factor * (np.array([x, y]) - ends), factor))
    return found


def _reduce_edges(edges: Array, factor: int) -> Array:
    """How strong edges are (h, w), reduced by a factor; of mean 0."""
    height, width = (max(n // factor, 1) for n in edges.shape)
    strength = np.minimum(np.abs(edges[: height * factor, : width * factor]), 64)
    strength = opencv.resize_area(np.ascontiguousarray(strength), width, height)
    return np.asarray(strength - strength.mean())


def compare_shifted(first: Picture, second: Picture, shift: Ints) -> Cells:
    """Compare the cells of picture 0 with picture 1 after a shift, as far as the masks show both."""
    height, width = first.rgb.shape[:2]
    n_rows, n_columns = -(-height // CELL), -(-width // CELL)
    equal, unequal, across, along = (np.zeros((n_rows * CELL, n_columns * CELL), bool) for _ in range(4))
    x, y = shift.tolist()
    here = np.s_[max(-y, 0) : min(height, second.height - y), max(-x, 0) : min(width, second.width - x)]
    there = np.s_[here[0].start + y : here[0].stop + y, here[1].start + x : here[1].stop + x]
    a, b = first.rgb[here], second.rgb[there]
    if a.size and b.size:
        is_off = measure_difference(a, b, SIDES[0]) > MAX_DIFFERENCE
        limits = [opencv.neighbourhood_limits(opencv.luma(image)) for image in (a, b)]
        has_print = np.logical_and(*(high.astype(np.int16) - low >= MIN_RANGE for high, low in limits))
        equal[here], unequal[here] = ~is_off & has_print, is_off
        for edges, step in zip((across, along), opencv.gradients(opencv.luma(a)), strict=True):
            edges[here] = np.abs(step) >= MIN_RANGE
        for picture, part in ((first, here), (second, there)):
            if picture.mask is not None:
                equal[here] &= picture.mask[part]
                unequal[here] &= picture.mask[part]
    n_equal, n_unequal = (split_squares(mask, CELL).sum(axis=(1, 3)) for mask in (equal, unequal))
    has_corner = np.logical_and(
        *(split_squares(edges, CELL).sum(axis=(1, 3)) >= MIN_EDGE_PIXELS for edges in (across, along))
    )
    is_unequal = n_unequal > np.maximum(MAX_UNEQUAL * n_equal, 1)
    squares, places = split_squares(equal, CELL), np.arange(CELL)
    sums = squares.sum(axis=1) @ places, places @ squares.sum(axis=3)
    centres = np.stack(sums, axis=2) / np.maximum(n_equal, 1)[..., None]
    centres += CELL * np.indices(n_equal.shape)[::-1].transpose(1, 2, 0)
    return Cells(shift, (n_equal >= MIN_EQUAL_PIXELS) & ~is_unequal, is_unequal, has_corner, centres)
