"""A small picture that another one shows pixel for pixel: a piece of a screenshot, an icon, a button.

It can have few features, so it is compared with all places of the other picture, at the scales of screens:
first with both reduced, then around the best places. A place counts if the pixels are equal, but for
resampling, and if the picture fits nowhere near it as well: a piece of a straight edge could be anywhere
along it. What a mask or an alpha channel hides counts nowhere.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from matching._common import opencv
from matching._common.types import Array, Bools, Ints
from matching.grouping.groups import FEW_MATCHES
from matching.pictures.images import Picture, to_picture
from matching.searches.pixels.equality import (
    BLOCK,
    LOG_CHANCE,
    MAX_DIFFERENCE,
    SIDES,
    find_print,
    list_equal,
    list_inside,
    measure_difference,
)
from matching.searches.proposals import Listing

SCALES = 1.0, 1.25, 1.5, 2.0, 1 / 1.25, 1 / 1.5, 1 / 2  # of screens; the first one with a copy counts
MIN_SIDE = 12  # pixels of the small picture
MAX_PIXELS = 40_000_000  # of the other one, enlarged: limits the memory
# Pixels of the pictures in which all places are tried: the larger one is reduced to so many, unless the
# shorter side of the small one would be less than MIN_COARSE_SIDE.
COARSE_PIXELS, MIN_COARSE_SIDE = 500_000, 10
# Mean squared difference of reduced pictures at a place that is looked at in full, at most: of the variance
# of the small one, because their pixels lie up to half a pixel apart, or grey levels squared.
MAX_COARSE_SHARE, MAX_COARSE_DIFFERENCE = 0.8, 100.0
# If the picture fits as well more than MAX_SHIFT pixels away, the place is not certain: the mean squared
# difference must be larger there by a share of the variance, or by grey levels squared.
MAX_SHIFT, MIN_SHARE_NEARBY, MIN_DIFFERENCE_NEARBY = 3, 0.04, 25.0
# Log10 of the chance that a square without print is equal, in an icon with an alpha channel, whose outline is
# evidence, too.
LOG_CHANCE_PLAIN = -0.3
MAX_COPIES = 100  # limits the work


def find_pixel_copies(first: Picture, second: Picture) -> Listing | None:
    """Find the places where one picture shows the other one pixel for pixel; None if there are none."""
    small, large = (first, second) if first.rgb.size <= second.rgb.size else (second, first)
    if min(small.width, small.height) < MIN_SIDE or not (small.is_drawn or large.is_drawn):
        return None
    mask = small.mask if small.shape is None else small.shape
    for scale in SCALES:
        does_fit = bool((_scale_size(large, scale) >= small.size).all())
        if not does_fit or large.width * large.height > MAX_PIXELS * scale**2:
            continue
        side = SIDES[scale != 1]
        core = None if mask is None else opencv.erode(mask, 2 * (side // 2) + 3)  # edges mix with the ground
        points = find_print(small.rgb, core)
        n_squares, log_chance = len(points), LOG_CHANCE * len(points)
        if core is not None:
            points = list_inside(core)
            log_chance += LOG_CHANCE_PLAIN * (core.sum() / BLOCK**2 - n_squares)
        if len(points) < FEW_MATCHES:
            continue
        places = list(find_places(small.rgb, large, scale, core, side))
        if places:
            step = large.size / _scale_size(large, scale)
            ends = [(points, to_picture(points + place, step)) for place in places]
            log_nfa = math.log10(len(SCALES) * large.width * large.height) + log_chance
            found = list_equal(ends, [log_nfa] * len(ends), [1.0] * len(ends))
            return found if small is first else found.swapped
    return None


def _scale_size(large: Picture, scale: float) -> Ints:
    """Width and height of a picture reduced by a scale, as `opencv.resize` makes it."""
    return np.array([max(round(n * (1 / scale)), 1) for n in large.size.tolist()])


def find_places(
    template: Array, large: Picture, scale: float, core: Bools | None, side: int
) -> Iterator[tuple[int, int]]:
    """Find the places x, y where a picture, reduced by a scale, shows a template (h, w, 3), the best first.

    core (h, w): the pixels of the template that count; None for all. side: of compared squares, pixels.
    """
    height, width = template.shape[:2]
    size = _scale_size(large, scale)
    count = np.ones((height, width), bool) if core is None else core
    margin = max(MIN_SHARE_NEARBY * opencv.mean_variance(template, core), MIN_DIFFERENCE_NEARBY)
    reach, last = np.array([width, height]) // 2, size - (width, height)
    taken, image, shown = list[Ints](), None, None
    for guess, error in _find_coarsely(large.rgb, size, template, core):
        if image is None:
            image = opencv.resize(large.rgb, 1 / scale)
            shown = (
                None if large.mask is None else opencv.resize(np.uint8(255) * large.mask, 1 / scale) == 255
            )
        if any((np.abs(guess - place) <= reach).all() for place in taken):
            continue
        low, high = (np.clip(guess + sign * np.maximum(reach, error), 0, last) for sign in (-1, 1))
        around = np.s_[low[1] : high[1] + height, low[0] : high[0] + width]
        off = opencv.measure_template(image[around], template, core)
        rows, columns = np.indices(off.shape)
        is_near = np.maximum(abs(columns + low[0] - guess[0]), abs(rows + low[1] - guess[1])) <= error
        y, x = np.unravel_index(np.where(is_near, off, np.inf).argmin(), off.shape)
        nearby = off[np.maximum(abs(columns - x), abs(rows - y)) > MAX_SHIFT]
        place = np.array([x, y]) + low
        here = np.s_[place[1] : place[1] + height, place[0] : place[0] + width]
        is_shown = shown is None or shown[here][count].all()
        if not is_shown or nearby.min(initial=np.inf) < off[y, x] + margin:
            continue
        if measure_difference(image[here], template, side)[count].max() <= MAX_DIFFERENCE:
            taken.append(place)
            yield int(place[0]), int(place[1])


def _find_coarsely(rgb: Array, size: Ints, template: Array, core: Bools | None) -> Iterator[tuple[Ints, int]]:
    """Find where reduced pictures look alike, the best first: places (2,), and by how much they may err.

    rgb: the larger picture, whose width and height (2,) are to be `size`, in the pixels of the template.
    """
    height, width = template.shape[:2]
    factor = max(math.sqrt(COARSE_PIXELS / np.prod(size)), MIN_COARSE_SIDE / min(height, width))
    factor = min(factor, 1.0)
    error = MAX_SHIFT + (math.ceil(1 / factor) if factor < 1 else 0)
    small = [max(round(n * factor), 1) for n in (width, height)]
    coarse = [max(round(n * factor), k) for n, k in zip(size.tolist(), small, strict=True)]
    if core is not None:
        core = opencv.resize_area(core.astype(np.float32), *small) > 0.99
        if not core.any():
            return
    image, template = opencv.resize_area(rgb, *coarse), opencv.resize_area(template, *small)
    off = opencv.measure_template(image, template, core)
    bound = max(MAX_COARSE_SHARE * opencv.mean_variance(template, core), MAX_COARSE_DIFFERENCE)
    reach, step = np.array(template.shape[:2]) // 2, size / coarse
    for _ in range(MAX_COPIES):
        y, x = np.unravel_index(off.argmin(), off.shape)
        if off[y, x] > bound:
            return
        yield np.rint(np.array([x, y]) * step).astype(int), error
        off[max(y - reach[0], 0) : y + reach[0] + 1, max(x - reach[1], 0) : x + reach[1] + 1] = np.inf
