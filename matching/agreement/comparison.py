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
from matching.agreement.residual import Residual, measure_residual
from matching.agreement.told import measure_told
from matching.objects.comparison import Comparison
from matching.objects.deformation import SmoothMap
from matching.objects.differences import Difference

MAX_GREY, MIN_COLOUR = 1.0, 4.0  # grey values by which colours lie off grey: pictures in grey and in colour
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
    colour0, colour1 = (_measure_colour(colours, pair.matched) for colours in (pair.base, pair.other))
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
    differences = tuple(
        _outline(place, pair, n_print, scale, is_swapped=is_swapped) for place in find_places(pair, residual)
    )
    told = max(measure_told(residual, is_print), _measure_largest(residual.hidden))
    bound = min(max(math.sqrt(SHARE * float(use.sum())), MIN_SIZE), _measure_letters(residual, use))
    is_same = False if differences else True if told <= bound else None
    words = ["in grey"] if is_grey and (colour0 if is_swapped else colour1) < MAX_GREY else []
    blur0, blur1 = residual.blurs[::-1] if is_swapped else residual.blurs
    words += ["less sharp"] * (blur0 >= MIN_BLUR) + ["sharper"] * (blur1 >= MIN_BLUR)
    return Comparison(is_same, differences, told * scale, tuple(words))


def _measure_colour(colours: Float32s, use: Bools) -> float:
    """How far colours (h, w, 3) lie from one tint of grey on the pixels in use (h, w), grey values."""
    used, grey = colours[use], to_grey(colours)[use]
    tint = used.mean(axis=0) / max(float(grey.mean()), 1.0)
    return float(np.abs(used - grey[:, None] * tint).mean())


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
