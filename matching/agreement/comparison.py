"""Whether an object is the same in both pictures: what differs, and what difference would have been found."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from matching._common import opencv
from matching._common.types import Bools, Float32s, Floats
from matching.agreement.closeup import Closeup, take_closeup
from matching.agreement.grid import Ends, measure_ratio, to_grey
from matching.agreement.places import Place, find_places
from matching.agreement.residual import MAX_TINT, Residual, measure_residual
from matching.agreement.told import measure_told
from matching.objects.comparison import Comparison
from matching.objects.deformation import SmoothMap
from matching.objects.differences import Difference

MAX_GREY, MIN_COLOUR = 1.0, 4.0  # grey values by which colours lie off grey: pictures in grey and in colour
# Grey values, by which what has a colour lies off grey; degrees by which its hue is another, more than lamps
# turn it; and the share of what has a colour.
MIN_CHROMA, MIN_TURN, MIN_RECOLOURED = 40.0, 40.0, 0.5
COLOUR_STEP = 2  # pixels between those whose colours are measured: cameras and JPEG have half of them
MIN_COLOURED = 0.01  # of the object: less tells nothing
MIN_EXPOSURE = 1.4  # grey values over those of the other picture: one stop
DARK = 8.0  # grey values: what is darker tells less
# Pixels, standard deviation of the blur that makes the sharper picture as sharp as the other one: detail of
# 0.7 pixels becomes 1.5 times as coarse with 0.8.
MIN_BLUR = 0.9
MIN_PIXELS = 500  # that both pictures show: fewer tell nothing
MIN_RELIEF = 20.0  # grey values by which print stands out of its surroundings
SHARE = 0.001  # of the print: a place that large is told in what is the same ...
# ... or one of so many pixels: no pair tells much less.
MIN_SIZE = 8.0
LETTER_RELIEF = 40.0  # grey values by which letters stand out
LETTER_HEIGHTS = 6, 60  # pixels: lower ones are illegible, higher ones are pictures
LETTER_WIDTHS = 0.15, 3.0  # heights of a letter, or of some that touch


def compare(
    base: Ends, other: Ends, smooth_map: SmoothMap, outline: Floats, *, is_swapped: bool, is_largest: bool
) -> Comparison:
    """Compare an object with an outline (k, 2) in the base; `is_swapped`: picture 1 is the base."""
    pair = take_closeup(base, other, smooth_map, outline, is_largest=is_largest)
    use = pair.use
    if pair.matched.sum() < MIN_PIXELS:
        return Comparison()
    some = np.s_[::COLOUR_STEP, ::COLOUR_STEP]
    coloured = [colours[some][pair.matched[some]] for colours in (pair.base, pair.other)]
    colour0, colour1 = map(_measure_colour, coloured)
    is_grey = min(colour0, colour1) < MAX_GREY and max(colour0, colour1) > MIN_COLOUR
    if is_grey:
        base_grey, other_grey = (
            np.repeat(to_grey(colours)[..., None], 3, axis=2) for colours in (pair.base, pair.other)
        )
        pair = replace(pair, base=base_grey, other=other_grey)
    residual = measure_residual(pair)
    scale = pair.pitch * (measure_ratio(base, other) if is_swapped else 1.0)  # to pixels of picture 0
    is_print = use & (residual.relief > MIN_RELIEF)
    n_print = max(int(is_print.sum()), 1)
    smallest = max(
        math.inf if pair.is_loose else measure_told(residual, is_print), _measure_largest(residual.hidden)
    )
    # where noise hides everything, what stands out of it is noise, too
    places, largest_open = ([], math.inf) if math.isinf(smallest) else find_places(pair, residual)
    smallest = max(smallest, largest_open)
    differences = tuple(_outline(place, pair, n_print, scale, is_swapped=is_swapped) for place in places)
    bound = min(max(math.sqrt(SHARE * float(use.sum())), MIN_SIZE), _measure_letters(residual, use))
    is_recoloured = not is_grey and _is_recoloured(*coloured)
    is_measured = smallest <= bound and not (largest_open or residual.is_stepped)
    is_same = False if differences or is_recoloured else is_measured or None
    words = ["in grey"] if is_grey and (colour0 if is_swapped else colour1) < MAX_GREY else []
    words += ["in another colour"] * is_recoloured
    exposure = _measure_exposure(*coloured) ** (-1 if is_swapped else 1)
    words += ["darker"] * (exposure <= 1 / MIN_EXPOSURE) + ["brighter"] * (exposure >= MIN_EXPOSURE)
    blur0, blur1 = residual.blurs[::-1] if is_swapped else residual.blurs
    words += ["less sharp"] * (blur0 >= MIN_BLUR) + ["sharper"] * (blur1 >= MIN_BLUR)
    return Comparison(is_same, differences, smallest * scale, tuple(words))


def _measure_colour(colours: Float32s) -> float:
    """How far colours (n, 3) lie from one tint of grey, grey values."""
    grey = to_grey(colours)
    tint = np.clip(colours.mean(axis=0) / max(float(grey.mean()), 1.0), 1 - MAX_TINT, 1 + MAX_TINT)
    return float(np.abs(colours - grey[:, None] * tint).mean())


def _is_recoloured(*pair: Float32s) -> bool:
    """Whether most of what has a colour in both pictures (n, 3) has another hue in either."""
    angles, is_coloured = [], np.ones(len(pair[0]), bool)
    for colours in pair:
        red, green, blue = colours.T
        x, y = red - (green + blue) / 2, math.sqrt(0.75) * (green - blue)
        is_coloured &= np.hypot(x, y) >= MIN_CHROMA
        angles.append(np.arctan2(y, x))
    turn = np.abs(np.angle(np.exp(1j * (angles[0] - angles[1])[is_coloured])))
    is_enough = len(turn) >= MIN_COLOURED * len(is_coloured)
    return is_enough and float(np.mean(turn > math.radians(MIN_TURN))) >= MIN_RECOLOURED


def _measure_exposure(*pair: Float32s) -> float:
    """How many times as bright the second of two pictures (n, 3) is."""
    grey0, grey1 = (to_grey(colours) + DARK for colours in pair)
    return float(np.median(grey1 / grey0))


def _outline(place: Place, pair: Closeup, n_print: int, scale: float, *, is_swapped: bool) -> Difference:
    """Outline a place in both pictures."""
    columns, rows = opencv.trace_outline(place.mask).astype(int).T + np.array(place.corner)[:, None]
    polygons = [xy[rows, columns].astype(float) for xy in (pair.xy_base, pair.xy_other)]
    polygon0, polygon1 = polygons[::-1] if is_swapped else polygons
    area = int(place.mask.sum())
    return Difference(polygon0, polygon1, area / n_print, place.evidence, math.sqrt(area) * scale)


def _measure_largest(mask: Bools) -> float:
    """The square root of the area of the largest connected part of a mask (h, w), pixels."""
    labels, _ = opencv.box_components(mask)
    return math.sqrt(np.bincount(labels.ravel())[1:].max(initial=0))


def _measure_letters(residual: Residual, use: Bools) -> float:
    """The median height of pieces of print that are as large as letters; inf without any."""
    heights = []
    for grey in (residual.grey, -residual.grey):
        _, boxes = opencv.box_components((grey > LETTER_RELIEF) & use)
        width, height = boxes[:, 2:].T
        is_letter = (LETTER_HEIGHTS[0] <= height) & (height <= LETTER_HEIGHTS[1])
        is_letter &= (LETTER_WIDTHS[0] * height <= width) & (width <= LETTER_WIDTHS[1] * height)
        heights.append(height[is_letter])
    together = np.concatenate(heights)
    return float(np.median(together)) if len(together) else math.inf
