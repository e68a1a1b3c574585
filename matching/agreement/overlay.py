"""Where two pictures differ that one similarity lays on each other, as it does copies, crops and thumbnails.

Nothing bends, so there is no flow that could turn one letter into another, and the map is much finer than
that of an object in a photograph.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from matching._common import opencv
from matching._common.arrays import find_box
from matching._common.types import Array, Bools, Floats
from matching.agreement.grid import Ends, Grid, cut_level, find_seen, list_places, to_grey
from matching.agreement.likelihood import MIN_EVIDENCE, Z_LIMITS, learn, weigh_windows
from matching.agreement.registration import equalise_sharpness
from matching.agreement.windows import WINDOW, WINDOW_AREA, Windows, correlate_windows, to_z
from matching.objects.transforms import apply_transform

# The numbers below were chosen on every second of ten photographs, with 13 pictures made from each, and on
# five pairs of documents that were filled in differently.
MAX_SIDE = 640  # pixels of the map along the longer side of what both show: letters are legible
MIN_SIDE = 16  # pixels of the map
MIN_CORRELATION = 0.5  # of windows that agree: strong compression and blur leave as much
# Fisher's z of a place that differs, over that of all windows: other words have 0.24 and less, places of
# strongly blurred copies 0.4 and more.
MAX_Z_RATIO = 0.35
CLEANING = 5  # pixels of the map, side of the square: smaller places and smaller gaps in places are chance
# Pixels of the map: a square of this side lies in a place. Another print spoils all windows that touch it, so
# even a letter has one.
CORE = 9
NEAR_SHARE = 0.02  # of the diagonal: places that are so near are one, as letters of a word are


@dataclass(frozen=True, eq=False)
class Overlay:
    """What two pictures show where one is laid on the other.

    Parameters
    ----------
    agreeing : float
        The share of the print that agrees; 0 without print.
    n_places : int
        The number of places that differ.
    differing : float
        The share of the map that these places cover.
    gaps : float
        The share of the map inside their convex hull and outside them.
    """

    agreeing: float
    n_places: int
    differing: float
    gaps: float


def compare_overlaid(image0: Array, image1: Array, motion: Floats) -> Overlay:
    """Compare two pictures (h, w, 3) uint8 where a similarity (3, 3) lays picture 0 on picture 1."""
    scale = math.sqrt(abs(np.linalg.det(motion[:2, :2])))
    if scale < 1:  # the coarser picture is the base
        image0, image1, motion, scale = image1, image0, np.asarray(np.linalg.inv(motion)), 1 / scale
    grid = _lay_grid(image0, image1, motion, scale)
    windows = correlate_windows(grid, has_leads=False)
    ratio = weigh_windows(windows, learn(grid, windows))
    use = windows.comparable | windows.lone
    z = to_z(windows.strict, *Z_LIMITS)
    bound = MAX_Z_RATIO * float(np.median(z[use])) if use.any() else 0.0
    found = [place for place in find_places(grid, windows, ratio) if np.median(z[place]) < bound]
    differing = np.any([np.zeros(use.shape, bool), *found], axis=0)
    near = max(round(NEAR_SHARE * math.hypot(*differing.shape)), 1)
    _, boxes = opencv.box_components(opencv.dilate(differing, near))
    hull = opencv.convex_hull(np.argwhere(differing).astype(float)) if differing.any() else np.zeros((1, 2))
    return Overlay(
        float((windows.strict[use] > MIN_CORRELATION).mean()) if use.any() else 0.0,
        len(boxes),
        float(differing.mean()),
        max(opencv.polygon_area(hull) / differing.size - float(differing.mean()), 0.0),
    )


def find_places(grid: Grid, windows: Windows, ratio: Floats) -> Iterator[Bools]:
    """The connected places (h, w) where another print is likelier by MIN_EVIDENCE; ratio (h, w), log."""
    # windows across the edge of the hull may see something else
    use = (windows.comparable | windows.lone) & opencv.erode(grid.hull & grid.seen, WINDOW)
    unlike = (ratio > 0) & use
    unlike &= opencv.dilate(opencv.erode(unlike | ~use, CLEANING), CLEANING)
    labels, _ = opencv.box_components(opencv.erode(opencv.dilate(unlike, CLEANING), CLEANING))
    weights = np.where(unlike, ratio, 0)
    evidence = np.bincount(labels.ravel(), weights.ravel()) / WINDOW_AREA
    for k in np.flatnonzero(evidence > MIN_EVIDENCE):
        place = labels == k
        if k > 0 and opencv.erode(place, CORE).any():
            yield place


def _lay_grid(image0: Array, image1: Array, motion: Floats, scale: float) -> Grid:
    """Take both pictures to one map of what both show."""
    sizes = [np.array(image.shape[1::-1]) for image in (image0, image1)]
    corners = np.array([[0, 0], [1, 0], [1, 1], [0, 1]]) * sizes[1] - 0.5
    frame = apply_transform(np.linalg.inv(motion), corners)
    low, high = np.clip(find_box(frame), -0.5, sizes[0] - 0.5)
    pitch = max(1.0, float((high - low).max()) / MAX_SIDE)
    width, height = np.maximum(np.rint((high - low) / pitch), MIN_SIDE).astype(int).tolist()
    xy_base = list_places(low, pitch, 1, (height, width))
    mapped = apply_transform(motion, xy_base.reshape(-1, 2).astype(float))
    xy_other = mapped.reshape(xy_base.shape).astype(np.float32)
    base = cut_level(image0, xy_base, pitch).sample(xy_base)
    other = cut_level(image1, xy_other, pitch * scale).sample(xy_other)
    nothing, still = np.empty((0, 2)), np.zeros((0, 0, 2), np.float32)
    seen = find_seen(Ends(image0, nothing), xy_base) & find_seen(Ends(image1, nothing), xy_other)
    grey0, grey1, blurs = equalise_sharpness(to_grey(base), to_grey(other), seen)
    return Grid(base, other, grey0, grey1, seen, seen, nothing, xy_base, xy_other, still, blurs)
