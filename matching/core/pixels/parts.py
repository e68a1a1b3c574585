"""Parts that two drawn pictures show pixel for pixel, each shifted as a whole.

These are a picture and itself, or a part cut out of it, and the blocks of versions of a page.

Their elements may repeat, and be few: that all pixels of a part are equal is evidence of its own. The
shifts are the peaks of the phase correlation of both pictures. The shift after which most print is equal
comes first, and what it explains is no evidence for another one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from matching._common import opencv
from matching._common.types import Array, Bools, Floats, Ints
from matching.core.pixels.equality import (
    LOG_CHANCE,
    MAX_DIFFERENCE,
    MIN_RANGE,
    SIDES,
    is_drawn,
    list_equal,
    measure_difference,
)
from matching.core.proposals import Listing
from matching.pictures.images import Picture

MAX_PIXELS = 500_000  # of either picture, reduced, in which shifts are found: limits the work
N_SHIFTS = 16  # peaks of the phase correlation that are tried
MAX_SAMPLED = 8000  # pixels at edges by which shifts are compared: limits the work
MIN_EDGE = 32.0  # grey levels, curvature of an edge; the most by which that of equal pixels differs
# Share of these that are equal after a shift that is looked at. Different screens have up to .035 by chance.
MIN_SAMPLED = 0.04
MAX_PARTS = 30  # limits the work
CELL = 16  # pixels: side of a cell, which is equal or not
MIN_EQUAL_PIXELS = 8  # pixels with print in a cell that is equal
MAX_UNEQUAL = 0.1  # of the pixels with print of a cell that is equal; more are another print
# Equal cells of a part, at least. Of 66 pairs of different screens, none has a part with so many.
MIN_CELLS = 32
MIN_EQUAL_SHARE = 0.9  # of the cells of a part with print: fewer are what alike pages have in common
JOINED = 5  # cells: side of the square within which equal cells are joined over plain ground
MAX_POINTS = 400  # of a part: limits the work


@dataclass(frozen=True, eq=False)
class Cells:
    """The cells of picture 0, compared with picture 1 after a shift."""

    equal: Bools  # (h, w), print that is equal
    unequal: Bools  # (h, w), print that is not
    centres: Floats  # (h, w, 2), the mean place of equal print, pixels of picture 0


def find_equal_parts(first: Picture, second: Picture) -> Listing | None:
    """Find the parts that two drawn pictures show pixel for pixel; None if there are none."""
    if not (is_drawn(first) and is_drawn(second)):
        return None
    ends, log_nfas, shares = [], [], []
    n_places = math.log10(first.width * first.height * second.width * second.height)
    for xy0, xy1, share, n_cells in list_parts(first, second):
        ends.append((xy0, xy1))
        log_nfas.append(n_places + LOG_CHANCE * n_cells)
        shares.append(share)
    return list_equal(ends, log_nfas, shares) if ends else None


def list_parts(first: Picture, second: Picture) -> Iterator[tuple[Floats, Floats, float, int]]:
    """List points (n, 2) of each part in both pictures, the share that is equal, and the equal cells."""
    free0, free1 = (
        np.ones(picture.rgb.shape[:2], bool) if picture.mask is None else picture.mask.copy()
        for picture in (first, second)
    )
    sample = Sample.draw(first, second)
    shifts = [sample.refine(*peak) for peak in list_shifts(first, second)]
    n_parts = 0
    while shifts and n_parts < MAX_PARTS:
        counts = [sample.count_equal(shift, free0, free1) for shift in shifts]
        best = int(np.argmax(counts))
        if counts[best] <= MIN_SAMPLED * len(sample.xy):
            return
        shift = shifts.pop(best)
        cells = compare_shifted(first.rgb, second.rgb, free0, free1, shift)
        for part, share in split_parts(cells):
            rows, columns = np.nonzero(part & cells.equal)
            step = -(-len(rows) // MAX_POINTS)
            xy0 = cells.centres[rows, columns][::step]
            yield xy0, xy0 + shift, share, len(rows)
            n_parts += 1
            _take(free0, free1, part, shift)


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
        return max(near, key=lambda one: len(self._find_equal(one)))

    def count_equal(self, shift: Ints, free0: Bools, free1: Bools) -> int:
        """Count the pixels that are equal after a shift, and free in both pictures (h, w)."""
        xy = self._find_equal(shift)
        (x0, y0), (x1, y1) = xy.T, (xy + shift).T
        return int((free0[y0, x0] & free1[y1, x1]).sum())

    def _find_equal(self, shift: Ints) -> Ints:
        """The pixels (m, 2) that are equal after a shift."""
        moved = self.xy + shift
        xy = self.xy[((moved >= 0) & (moved < self.edges1.shape[::-1])).all(axis=1)]
        (x0, y0), (x1, y1) = xy.T, (xy + shift).T
        is_equal = np.abs(self.edges0[y0, x0] - self.edges1[y1, x1]) <= MIN_EDGE
        return np.asarray(xy[is_equal])


def list_shifts(first: Picture, second: Picture) -> list[tuple[Ints, int]]:
    """List shifts (2,) from picture 0 to picture 1, and pixels below which they err.

    They are the peaks of the phase correlation of the edges of both.
    """
    n_pixels = max(first.width * first.height, second.width * second.height)
    factor = math.ceil(math.sqrt(n_pixels / MAX_PIXELS))
    edges = [_reduce_edges(opencv.luma(picture.rgb), factor) for picture in (first, second)]
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


def _reduce_edges(grey: Array, factor: int) -> Array:
    """How strong edges are (h, w), reduced by a factor; of mean 0."""
    edges = np.minimum(np.abs(opencv.laplacian(grey)), 64)
    height, width = (max(n // factor, 1) for n in grey.shape)
    edges = opencv.resize_area(
        np.ascontiguousarray(edges[: height * factor, : width * factor]), width, height
    )
    return np.asarray(edges - edges.mean())


def compare_shifted(rgb0: Array, rgb1: Array, free0: Bools, free1: Bools, shift: Ints) -> Cells:
    """Compare the cells of picture 0 with picture 1 after a shift, as far as both are free (h, w)."""
    (height, width), shape1 = free0.shape, free1.shape
    n_rows, n_columns = -(-height // CELL), -(-width // CELL)
    equal, unequal = (np.zeros((n_rows * CELL, n_columns * CELL), bool) for _ in range(2))
    (x, y) = shift.tolist()
    rows, columns = (
        slice(max(-y, 0), min(height, shape1[0] - y)),
        slice(max(-x, 0), min(width, shape1[1] - x)),
    )
    if rows.start < rows.stop and columns.start < columns.stop:
        a = rgb0[rows, columns]
        moved = np.s_[rows.start + y : rows.stop + y, columns.start + x : columns.stop + x]
        b = rgb1[moved]
        is_off = measure_difference(a, b, SIDES[0]) > MAX_DIFFERENCE
        limits = [opencv.neighbourhood_limits(opencv.luma(image)) for image in (a, b)]
        has_print = [high.astype(int) - low >= MIN_RANGE for high, low in limits]
        free = free0[rows, columns] & free1[moved]
        equal[rows, columns] = ~is_off & has_print[0] & has_print[1] & free
        unequal[rows, columns] = is_off & free
    counts = [_split(mask).sum(axis=(1, 3)) for mask in (equal, unequal)]
    is_unequal = counts[1] > np.maximum(MAX_UNEQUAL * counts[0], 1)
    ys, xs = np.indices(equal.shape)
    weight = np.maximum(counts[0], 1)
    centres = np.stack(
        [(_split(xs * equal)).sum(axis=(1, 3)) / weight, (_split(ys * equal)).sum(axis=(1, 3)) / weight],
        axis=2,
    )
    return Cells((counts[0] >= MIN_EQUAL_PIXELS) & ~is_unequal, is_unequal, centres)


def _split(values: Array) -> Array:
    """Pixels (h, w) by cells (h / CELL, CELL, w / CELL, CELL)."""
    return values.reshape(values.shape[0] // CELL, CELL, -1, CELL)


def split_parts(cells: Cells) -> Iterator[tuple[Bools, float]]:
    """The parts (h, w) of connected equal cells that are large enough, and the share that is equal."""
    n, labels = opencv.label_components(opencv.dilate(cells.equal, JOINED) & ~cells.unequal)
    for k in range(1, n):
        part = labels == k
        n_equal = int((part & cells.equal).sum())
        if n_equal < MIN_CELLS:
            continue
        rows, columns = (np.flatnonzero(part.any(axis=axis)) for axis in (1, 0))
        around = np.s_[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
        share = n_equal / (n_equal + int(cells.unequal[around].sum()))
        if share >= MIN_EQUAL_SHARE:
            yield part, share


def _take(free0: Bools, free1: Bools, part: Bools, shift: Ints) -> None:
    """Mark the pixels of the cells of a part (h, w) as explained, in both pictures."""
    taken = np.kron(part, np.ones((CELL, CELL), bool))[: free0.shape[0], : free0.shape[1]]
    free0[taken] = False
    rows, columns = np.nonzero(taken)
    y, x = rows + shift[1], columns + shift[0]
    inside = (y >= 0) & (y < free1.shape[0]) & (x >= 0) & (x < free1.shape[1])
    free1[y[inside], x[inside]] = False
