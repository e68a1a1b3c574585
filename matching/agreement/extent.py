"""Where an object ends: where agreement ends, not where matches end."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy

from matching._common import opencv
from matching._common.types import Bools, Float32s, Floats, Ints
from matching.agreement.grid import Grid
from matching.agreement.likelihood import Likelihood
from matching.agreement.windows import Windows

SMOOTHNESS = 8.0  # pixels of the map, standard deviation: an object has no finer inlets
PRIOR = 0.5  # nats, for the hull of the matches and against what lies outside it
MAX_VOTE = 3.0  # nats: a single window says no more, because neighbours are not independent
LONE_VOTE = -1.0  # nats, where only one picture has print
MIN_PRINT_SHARE = 0.05  # of the smoothed window: with less print, the hull decides
OPENING = 5  # pixels of the map: thinner bridges join nothing, and windows see as much beyond an edge


@dataclass(frozen=True, eq=False)
class Extent:
    """Where an object ends.

    Parameters
    ----------
    outline0, outline1 : (k, 2) float64
        Its outline in picture 0 and 1, pixels; corner k of one lies at corner k of the other.
    """

    outline0: Floats
    outline1: Floats


def find_extent(grid: Grid, windows: Windows, likelihood: Likelihood) -> Extent:
    """Find the connected region around the matches in which agreement outweighs chance.

    `outline0` is that in the base.
    """
    inside = grid.hull & grid.seen
    vote = np.where(windows.comparable, np.clip(-likelihood.ratio, -MAX_VOTE, MAX_VOTE), LONE_VOTE)
    weight = _blur(windows.either)
    score = _blur(vote * windows.either) / (weight + 1e-3)
    bound = np.where(inside, -PRIOR, PRIOR)
    region = np.where(weight > MIN_PRINT_SHARE, score > bound, inside) & grid.seen
    region = opencv.dilate(opencv.erode(region, OPENING), OPENING)
    outline = opencv.trace_outline(_choose_component(grid, region, inside))
    columns, rows = outline.astype(int).T
    return Extent(grid.xy_base[rows, columns].astype(float), grid.xy_other[rows, columns].astype(float))


def _choose_component(grid: Grid, region: Bools, inside: Bools) -> Bools:
    """The component of a region (h, w) with most matches, without holes; the hull if none has any."""
    n, labels = opencv.label_components(region)
    counts = np.bincount(labels[_round(grid.points, region.shape)], minlength=n)
    counts[0] = 0
    if not counts.any():
        return inside
    whole = np.asarray(scipy.ndimage.binary_fill_holes(labels == counts.argmax()), bool)
    return opencv.dilate(whole, OPENING) & grid.seen


def _round(points: Floats, shape: tuple[int, ...]) -> tuple[Ints, Ints]:
    """Rows (m,) and columns (m,) of the pixels nearest to points (m, 2)."""
    nearest = np.clip(np.rint(points), 0, np.array(shape[::-1]) - 1).astype(int)
    return nearest[:, 1], nearest[:, 0]


def _blur(values: Floats | Bools) -> Float32s:
    return np.asarray(opencv.gaussian_blur(np.asarray(values, np.float32), SMOOTHNESS))
