"""Correlation of windows of both pictures in place, and with places around.

A window of the base is correlated with the other picture *in place*, free to move by REACH pixels, and with
the blocks around, each with the same freedom. What the places around reach is what chance gives with these
very elements, this blur and this noise: the pair is its own null. Lengths are pixels of the map.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Literal

import numpy as np

from matching._common import opencv
from matching._common.types import Array, Bools, Float32s
from matching.agreement.grid import Grid

WINDOW = 7  # pixels: the side of a window; letters and modules of codes are about as large
WINDOW_AREA = WINDOW**2  # pixels: windows farther apart are independent
# Pixels by which a window is free to move, in place and around, because registration is not exact.
REACH = 2
STRICT_REACH = 1  # pixels, where prints are told apart: two would fit most print to any other
BLOCKS = 2  # blocks of 2 REACH + 1 pixels to each side, so 24 places around
NOISE_VARIANCE = 4.0  # of grey values: that of rounding, compression and a good sensor
# Places farther away that windows must also win against: a row of alike elements agrees one period farther,
# too. Of 64 pairs with rows of alike elements in different pictures, 13 have an object without them, five
# with four, and none with six.
N_PERIODS = 6
PERIOD_CLEARANCE = 5  # pixels around a period in which no other one is looked for
ROW_STEP = 2  # pixels between the rows of windows that are displaced, as those of neighbours are alike
# More is no lead: a texture that repeats correlates as well after a shift by its period, but for half a
# pixel. Two drawn sheets of checks have four objects at 0.995; smooth print correlates by 0.98 a window away.
MAX_CORRELATION = 0.99
PRINT_VARIANCE = 12.0  # of grey values: windows with less are flat, and correlate by chance
MIN_CORRELATION = 0.6  # of windows that show the same print
# Ratio of variances: below it, one of two windows is washed out by light, or the print is missing.
MIN_VARIANCE_RATIO = 0.1
LONE_VARIANCE = 100.0  # of grey values: print so strong is missing in the other picture, or light hides it

Mean = Callable[[Float32s], Float32s]  # the mean of the window around each pixel (h, w)
Measured = tuple[Float32s, Float32s, Float32s]  # grey values (h, w), and the mean and variance of the windows


@dataclass(frozen=True, eq=False)
class Windows:
    """Correlations of the windows around the pixels of a map.

    Parameters
    ----------
    strict : (h, w) float32
        The best correlation in place, free by STRICT_REACH.
    lead : (h, w) float32
        By how much the best correlation in place, free by REACH, exceeds the best one around, both as
        Fisher's z, whose deviation does not depend on the correlation; nan where that was not measured:
        outside the hull, and in all but every ROW_STEP-th row.
    variance : (h, w) float32
        The smaller of both variances, of grey values.
    seen : (h, w) bool
        Where both pictures show something.
    both, either : (h, w) bool
        Where both pictures have print, and where any has.
    comparable : (h, w) bool
        Where both have print of comparable contrast.
    lone : (h, w) bool
        Where one has strong print, and the other none that is comparable.
    """

    strict: Float32s
    lead: Float32s
    variance: Float32s
    seen: Bools
    both: Bools
    either: Bools
    comparable: Bools
    lone: Bools


def correlate_windows(grid: Grid, *, has_leads: bool = True) -> Windows:
    """Correlate the windows of both pictures in place and, for the leads, around."""
    a, b = (grey - grey.mean() for grey in (grid.grey0, grid.grey1))
    (mean0, variance0), (mean1, variance1) = measure_windows(a), measure_windows(b)
    strict = correlate_moved((a, mean0, variance0), (b, mean1, variance1), STRICT_REACH)
    low, high = np.minimum(variance0, variance1), np.maximum(variance0, variance1)
    both = grid.seen & (low > PRINT_VARIANCE)
    comparable = both & (low > MIN_VARIANCE_RATIO * high)
    lead = np.full(a.shape, np.nan, np.float32)
    if has_leads:
        unit0, unit1 = (1 / np.sqrt(variance + NOISE_VARIANCE) for variance in (variance0, variance1))
        lead = _find_leads(a, mean0, unit0, b, mean1, unit1, grid.hull)
    either, lone = grid.seen & (high > PRINT_VARIANCE), grid.seen & (high > LONE_VARIANCE) & ~comparable
    return Windows(strict, lead, low, grid.seen, both, either, comparable, lone)


def _find_leads(
    a: Float32s, mean0: Float32s, unit0: Float32s, b: Float32s, mean1: Float32s, unit1: Float32s, hull: Bools
) -> Float32s:
    """By how much windows correlate better in place than around (h, w); nan outside and between rows."""
    from matching.agreement._kernels import correlate_displaced

    lead = np.full(a.shape, np.nan, np.float32)
    if not hull.any():
        return lead
    part = bound(hull)
    far, half = BLOCKS * (2 * REACH + 1) + REACH, WINDOW // 2
    wide = [_cut(values, part, margin) for values, margin in ((a, half), (b, half + far))]
    shape = len(range(part[0].start, part[0].stop, ROW_STEP)), part[1].stop - part[1].start
    free, around = np.full(shape, -1, np.float32), np.full(shape, -1, np.float32)
    correlate_displaced(
        wide[0], _cut(mean0, part, 0), wide[1], _cut(mean1, part, far), _cut(unit1, part, far),
        half, ROW_STEP, REACH, free, around,
    )  # fmt: skip
    rows = slice(part[0].start, part[0].stop, ROW_STEP)
    dummy, inner = np.empty_like(around), np.zeros_like(unit1)
    inner[half:-half, half:-half] = unit1[half:-half, half:-half]  # windows across the edge have no content
    for shift in find_periods((a - mean0) * unit0, (b - mean1) * unit1, hull, far):
        moved = [
            _cut(values, part, margin, shift, "constant")
            for values, margin in ((b, half + REACH), (mean1, REACH), (inner, REACH))
        ]
        correlate_displaced(
            wide[0], _cut(mean0, part, 0), *moved, half, ROW_STEP, REACH, around, dummy
        )  # fmt: skip
    in_place, elsewhere = (
        to_z(product * unit0[rows, part[1]], -MAX_CORRELATION, MAX_CORRELATION) for product in (free, around)
    )
    lead[rows, part[1]] = in_place - elsewhere
    lead[~hull] = np.nan
    return lead


def find_periods(a: Float32s, b: Float32s, hull: Bools, far: int) -> Iterator[tuple[int, int]]:
    """Find the shifts (y, x) by more than `far` pixels after which A in the hull looks most like B (h, w).

    They are the highest peaks of the cross-correlation of both.
    """
    part = bound(hull)
    inside = hull[part].astype(np.float32)
    height, width = inside.shape
    top, left = part[0].start, part[1].start
    pad = ((height, height), (width, width))
    peaks = opencv.cross_correlate(np.pad(b, pad), a[part] * inside)
    y0, x0 = height + top, width + left  # of no shift
    peaks[max(y0 - far, 0) : y0 + far + 1, max(x0 - far, 0) : x0 + far + 1] = 0
    for _ in range(N_PERIODS):
        y, x = (int(k) for k in np.unravel_index(peaks.argmax(), peaks.shape))
        if peaks[y, x] <= 0:
            return
        yield y - y0, x - x0
        rows, columns = (slice(max(k - PERIOD_CLEARANCE, 0), k + PERIOD_CLEARANCE + 1) for k in (y, x))
        peaks[rows, columns] = 0


def to_z(correlation: Array, low: float, high: float) -> Array:
    """Fisher's transform of correlations, cut to [low, high]; its spread does not depend on them."""
    return np.asarray(np.arctanh(np.clip(correlation, low, high)))


def _cut(
    values: Float32s, part: tuple[slice, slice], margin: int, shift: tuple[int, int] = (0, 0),
    beyond: Literal["reflect", "constant"] = "reflect",
) -> Float32s:  # fmt: skip
    """A part of a picture (h, w) after a shift (y, x), and a margin around it; mirrored or 0 beyond edges."""
    reach = margin + max(map(abs, shift))
    rows, columns = (
        slice(s.start + d + reach - margin, s.stop + d + reach + margin)
        for s, d in zip(part, shift, strict=True)
    )
    return np.ascontiguousarray(np.pad(values, reach, beyond)[rows, columns])


def mean_in_window(values: Float32s) -> Float32s:
    """The mean of the window around each pixel (h, w)."""
    mean: Float32s = opencv.box_mean(values, WINDOW)
    return mean


def measure_windows(values: Float32s, mean: Mean = mean_in_window) -> tuple[Float32s, Float32s]:
    """The mean and the variance of the window around each pixel: (h, w) -> (h, w), (h, w)."""
    of_values = mean(values)
    return of_values, np.maximum(mean(values * values) - of_values * of_values, 0)


def correlate_moved(
    a: Measured, b: Measured, reach: int, step: int = 1, mean: Mean = mean_in_window
) -> Float32s:
    """The best correlation of the windows of A with those of B, moved by up to `reach` in steps -> (h, w)."""
    (grey, mean0, variance0), (other, mean1, variance1) = a, b
    height, width = grey.shape
    best = np.full(grey.shape, -np.inf, np.float32)
    padded = [np.pad(v, reach, "edge") for v in (other, mean1, 1 / np.sqrt(variance1 + NOISE_VARIANCE))]
    for y, x in product(range(0, 2 * reach + 1, step), repeat=2):
        moved, moved_mean, unit = (values[y : y + height, x : x + width] for values in padded)
        np.maximum(best, (mean(grey * moved) - mean0 * moved_mean) * unit, out=best)
    return np.asarray(best * (1 / np.sqrt(variance0 + NOISE_VARIANCE)))


def bound(mask: Bools) -> tuple[slice, slice]:
    """The rows and columns of the box around a mask (h, w)."""
    rows, columns = (np.flatnonzero(mask.any(axis=axis)) for axis in (1, 0))
    return slice(int(rows[0]), int(rows[-1]) + 1), slice(int(columns[0]), int(columns[-1]) + 1)
