"""Where an object differs: connected places with another print, which neither light nor bends explain."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import scipy

from matching._common import opencv
from matching._common.types import Array, Bools
from matching.agreement.grid import Grid
from matching.agreement.light import Unlike, compare_in_light
from matching.agreement.likelihood import MIN_EVIDENCE, Likelihood
from matching.agreement.windows import PRINT_VARIANCE, WINDOW, WINDOW_AREA, Windows
Difference = object

# The numbers below were chosen on 191 made prints with one altered place and their true copies, and on what
# differs nowhere: photographs of 74 film covers, 23 products on shelves, 43 bent prints.
CLEANING = 5  # pixels of the map, side of the square: smaller places and smaller gaps in places are chance
# Pixels of the map: a square of this side lies in a place. Another print spoils all windows that touch it, so
# even a letter has one. Edges of bent prints and of covers leave narrower ones.
CORE = 9
# Share of what is unlike that white light added to either picture can't explain. Glare on most film covers
# leaves 0.00; labels of another colour leave 0.02 to 0.8.
MIN_UNEXPLAINED = 0.015
MIN_UNEXPLAINED_LEVEL = 5.0  # grey values, root mean square: glare on most covers leaves 1 to 5 of them
# The same over the noise of the pair: 19 of 20 labels leave 2.1 and more, glare and fingers on four film
# covers 1.3 to 1.8, prints that are bent or in other colours throughout 0.6 to 0.7.
MIN_UNEXPLAINED_RATIO = 1.8
# Correlation of the parts of a place, each moved at will, from which on they show the same print, bent. For
# other prints chance is enough for 0.63 in one of ten, and for up to 0.72.
MAX_CORRELATION = 0.73
# The same in places that are unlike by this many times the noise: without noise, the same print correlates
# better. Two words on one plain ground correlate by 0.74, as most of both is ground.
MAX_CLEAN_CORRELATION, CLEAN_RATIO = 0.8, 6.0
PART = 13  # pixels of the map, side: larger parts are bent themselves, and smaller ones fit anything
PART_STEP = 4  # pixels between the parts of a place
MAX_MOVE = 8  # pixels of the map: raised and strongly bent parts move by so much


def find_differences(
    grid: Grid, windows: Windows, likelihood: Likelihood
) -> tuple[tuple[Difference, ...], float]:
    """Find the places of an object with another print, the one with most evidence first.

    `polygon0` is that in the base. Also returns the share of the print in other places, which may as well be
    another print as light or a bend.
    """
    places = list(find_places(grid, windows, likelihood))
    if not places:
        return (), 0.0
    seen = grid.hull & grid.seen
    # Light lies on the one picture or on the other.
    base, other = grid.equally_sharp
    both = compare_in_light(base, other, seen), compare_in_light(other, base, seen)
    n_print = max(int((windows.either & grid.hull).sum()), 1)
    found, unclear = [], 0.0
    for place, evidence in places:
        share = float(place.sum()) / n_print
        unexplained = _measure_unexplained(both, opencv.dilate(place, CLEANING))
        correlation = 1.0 if unexplained is None else correlate_parts(grid.grey0, grid.grey1, place)
        is_clean = unexplained is not None and unexplained[1] >= CLEAN_RATIO
        if unexplained is None or correlation >= (MAX_CLEAN_CORRELATION if is_clean else MAX_CORRELATION):
            unclear += share
            continue
        columns, rows = opencv.trace_outline(place).astype(int).T
        polygon0, polygon1 = (xy[rows, columns].astype(float) for xy in (grid.xy_base, grid.xy_other))
        found.append(Difference(polygon0, polygon1, share, evidence, unexplained[0], correlation))
    return tuple(sorted(found, key=lambda one: -one.evidence)), unclear


def find_places(grid: Grid, windows: Windows, likelihood: Likelihood) -> Iterator[tuple[Bools, float]]:
    """The connected places (h, w) where another print is likelier by MIN_EVIDENCE, and their evidence."""
    # windows across the edge of the hull may see something else
    use = (windows.comparable | windows.lone) & opencv.erode(grid.hull & grid.seen, WINDOW)
    unlike = (likelihood.ratio > 0) & use
    unlike &= opencv.dilate(opencv.erode(unlike | ~use, CLEANING), CLEANING)
    n, labels = opencv.label_components(opencv.erode(opencv.dilate(unlike, CLEANING), CLEANING))
    weights = np.where(unlike, likelihood.ratio, 0)
    evidence = np.asarray(scipy.ndimage.sum(weights, labels, np.arange(n))) / WINDOW_AREA
    for k in np.flatnonzero(evidence > MIN_EVIDENCE):
        place = labels == k
        if k > 0 and opencv.erode(place, CORE).any():
            yield place, float(evidence[k])


def _measure_unexplained(both: tuple[Unlike, Unlike], place: Bools) -> tuple[float, float] | None:
    """What of a place (h, w) light can't explain, its share and over the noise; None if light is enough."""
    measured = [(*unlike.measure(place), unlike.noise) for unlike in both]
    share, ratio, noise = min(measured)
    is_print = ratio >= MIN_UNEXPLAINED_RATIO and ratio * noise >= MIN_UNEXPLAINED_LEVEL
    return (share, ratio) if share >= MIN_UNEXPLAINED and is_print else None


def correlate_parts(grey0: Array, grey1: Array, place: Bools) -> float:
    """The median of the best correlations of the parts of a place (h, w), each moved by up to MAX_MOVE.

    Parts of both pictures are searched in the other one, and the lower median counts.
    """
    half = PART // 2
    margin = half + MAX_MOVE
    wide = [np.pad(grey, margin, "reflect") for grey in (grey0, grey1)]
    rows, columns = (np.flatnonzero(place.any(axis=axis)) for axis in (1, 0))
    centres = [
        (y, x)
        for y in range(rows[0], rows[-1] + 1, PART_STEP)
        for x in range(columns[0], columns[-1] + 1, PART_STEP)
        if place[y, x]
    ]
    medians = []
    for parts, fields in (wide, wide[::-1]):
        best = [0.0]
        for y, x in centres:
            field = fields[y : y + 2 * margin + 1, x : x + 2 * margin + 1]
            part = parts[y + MAX_MOVE : y + MAX_MOVE + PART, x + MAX_MOVE : x + MAX_MOVE + PART]
            if part.var() > PRINT_VARIANCE:
                best.append(float(opencv.correlate_template(field, part).max()))
        medians.append(float(np.median(best)))
    return min(medians)
