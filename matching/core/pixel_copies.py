"""A small picture that another one shows pixel for pixel: a piece of a screenshot, an icon, a button.

It can have few features, so it is correlated with all places of the other picture, at the scales of screens.
A place counts if the pixels are equal, but for resampling, and if the picture fits nowhere near it as well: a
piece of a straight edge could be anywhere along it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from matching._common import opencv
from matching._common.types import Array, Floats
from matching.core.groups import FEW_MATCHES
from matching.core.ledger import IN_OBJECT
from matching.core.proposals import Listing, Proposal
from matching.pictures.images import Picture, to_picture

SCALES = 1.0, 1.25, 1.5, 2.0, 1 / 1.25, 1 / 1.5, 1 / 2  # of screens; the first one with a copy counts
MIN_SIDE, MAX_SIDE = 16, 480  # pixels of the small picture
# Of the area of the other picture: most pairs of alike size, such as covers, are no piece and a screen.
MAX_AREA = 0.25
MAX_PIXELS = 9_000_000  # of the other one, somewhat more than a screen of 3840 x 2160: limits the work
BLOCK = 4  # pixels: side of a square that shows print or not
MIN_RANGE = 24  # grey levels in a square with print
# Log10 of the chance that a square with print is equal; no record of a choice. Most squares are edges.
LOG_CHANCE = -1.0
MIN_LOG_NFA = -16.0  # as low as that of groups of matches
# Correlation at a place that is compared in detail: text on drawn screens that are reduced by half has 0.76.
# If it correlates MAX_SHARE_NEARBY times as well more than MAX_SHIFT pixels away, the place is not certain.
MIN_CORRELATION, MAX_SHARE_NEARBY, MAX_SHIFT = 0.75, 0.98, 3
# Grey levels: largest difference of the means over a square, with 3 pixels a side at the same scale and 5 at
# others. Of 24 pieces of drawn screens, copies have up to 26, and the best other places 49 and more.
MAX_DIFFERENCE, SIDES = 32, (3, 5)
MAX_COPIES = 100  # limits the work


def find_pixel_copies(first: Picture, second: Picture) -> Listing | None:
    """Find the places where one picture shows the other one pixel for pixel; None if there are none."""
    small, large = (first, second) if first.rgb.size <= second.rgb.size else (second, first)
    if small.mask is not None or large.mask is not None:
        return None
    if small.rgb.size > MAX_AREA * large.rgb.size:
        return None
    if not MIN_SIDE <= min(small.width, small.height) <= max(small.width, small.height) <= MAX_SIDE:
        return None
    points = find_print(small.rgb)
    if len(points) < FEW_MATCHES:
        return None
    for scale in SCALES:
        if large.width * large.height > MAX_PIXELS * scale**2:
            continue
        image = opencv.resize(large.rgb, 1 / scale)
        places = list(find_places(small.rgb, image, SIDES[scale != 1]))
        if places:
            step = np.array([large.width, large.height]) / image.shape[1::-1]
            ends = [to_picture(points + place, step) for place in places]
            log_nfa = math.log10(len(SCALES) * large.width * large.height) + LOG_CHANCE * len(points)
            found = make_listing(points, ends, max(log_nfa, MIN_LOG_NFA))
            return found if small is first else found.swapped
    return None


def find_print(rgb: Array) -> Floats:
    """Find the squares of a picture (h, w, 3) that show print -> (n, 2), their centres."""
    height, width = (n // BLOCK for n in rgb.shape[:2])
    grey = opencv.luma(rgb)[: BLOCK * height, : BLOCK * width].reshape(height, BLOCK, width, BLOCK)
    is_print = np.ptp(grey, axis=(1, 3)) >= MIN_RANGE
    return np.asarray(np.argwhere(is_print)[:, ::-1] * float(BLOCK) + (BLOCK - 1) / 2, np.float64)


def find_places(template: Array, image: Array, side: int) -> Iterator[tuple[int, int]]:
    """Find the places x, y where an image (h1, w1, 3) shows a template (h, w, 3), the best ones first."""
    height, width = template.shape[:2]
    if height > image.shape[0] or width > image.shape[1]:
        return
    found = opencv.correlate_template(opencv.luma(image), opencv.luma(template))
    found = np.where(np.isfinite(found), found, 0.0)
    smooth = opencv.box_mean(template, side).astype(int)
    left = found.copy()
    for _ in range(MAX_COPIES):
        y, x = (int(k) for k in np.unravel_index(left.argmax(), left.shape))
        if left[y, x] < MIN_CORRELATION:
            return
        top, start = max(y - height // 2, 0), max(x - width // 2, 0)
        around = slice(top, y + height // 2 + 1), slice(start, x + width // 2 + 1)
        left[around] = 0.0
        rows, columns = np.abs(
            np.indices(found[around].shape) - np.array([y - top, x - start])[:, None, None]
        )
        nearby = found[around][np.maximum(rows, columns) > MAX_SHIFT]
        part = opencv.box_mean(image[y : y + height, x : x + width], side).astype(int)
        is_equal = np.abs(part - smooth).max() <= MAX_DIFFERENCE
        if is_equal and nearby.max(initial=0.0) < MAX_SHARE_NEARBY * found[y, x]:
            yield x, y


def make_listing(points: Floats, ends: Sequence[Floats], log_nfa: float) -> Listing:
    """Propose points (n, 2) and each of the places (n, 2) where they are found."""
    n = len(points)
    proposals = tuple(
        Proposal(
            np.arange(k * n, (k + 1) * n), points, end, np.zeros(n), 1.0, np.ones(2), log_nfa, is_exact=True
        )
        for k, end in enumerate(ends)
    )
    steps = np.full(n * len(ends), IN_OBJECT, np.int8)
    return Listing(
        np.tile(points, (len(ends), 1)), np.concatenate(ends), np.zeros(len(steps)), steps, proposals
    )
