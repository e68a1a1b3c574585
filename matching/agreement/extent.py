"""Where an object ends: where agreement ends, not where matches end."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from matching._common import opencv
from matching._common.arrays import at_pixels
from matching._common.types import Bools, Float32s, Floats
from matching.agreement.grid import Grid
from matching.agreement.windows import WINDOW, Windows
from matching.objects.description import simplify

SMOOTHNESS = 8.0  # pixels of the map, standard deviation: an object has no finer inlets
PRIOR = 0.5  # nats, for the hull of the matches and against what lies outside it
MAX_VOTE = 3.0  # nats: a single window says no more, because neighbours are not independent
LONE_VOTE = -1.0  # nats, where only one picture has print
OPENING = 5  # pixels of the map: thinner bridges join nothing
OUTLINE_ERROR = 0.8  # pixels of the map: corners nearer to a line between others are left out
EDGE = 13  # pixels of the map, side: windows this near to the edge of a picture see what lies beyond it
# Share of a picture that the matches fill at least, so that its edge bounds the object, as that of a page.
# They fill 0.4 and more of made pages and covers, and at most 0.1 of what lies on a table among other things.
MIN_FILLED = 0.25
# Share of the border of plain ground that is the edge of a picture, from which on it goes on there.
# With 0.2 and 0.35 outlines are the same; with 0, those of bent tiles lose a part of their plain corners.
MAX_OPEN_SHARE = 0.25


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


def find_extent(grid: Grid, windows: Windows, ratio: Floats, filled: float) -> Extent:
    """Find the connected region around the matches in which agreement outweighs chance.

    `outline0` is that in the base. ratio (h, w): the log likelihood ratio of another print, nats. filled: the
    share of a picture that the hull of the matches fills.
    """
    inside = grid.hull & grid.seen
    either = windows.either & opencv.erode(grid.seen, EDGE)
    vote = np.where(windows.comparable, np.clip(-ratio, -MAX_VOTE, MAX_VOTE), LONE_VOTE)
    score = _blur(vote * either) / (_blur(either) + 1e-3)
    agrees = score > np.where(inside, -PRIOR, PRIOR)
    plain = _judge_plain(grid, windows.either, either, agrees, may_end=filled >= MIN_FILLED)
    beyond = opencv.dilate(
        grid.seen & ~windows.either & ~plain, WINDOW
    )  # windows there see the edge of print
    region = np.where(either, agrees & (inside | ~beyond), plain) & grid.seen
    region = opencv.dilate(opencv.erode(region, OPENING), OPENING)
    # windows inside of an edge see the other print beyond it
    region |= opencv.dilate(region, WINDOW) & ~beyond & grid.seen
    outline = opencv.trace_outline(_choose_component(grid, region, inside))
    columns, rows = simplify(outline, OUTLINE_ERROR).astype(int).T
    return Extent(grid.xy_base[rows, columns].astype(float), grid.xy_other[rows, columns].astype(float))


def _judge_plain(grid: Grid, has_print: Bools, judged: Bools, agrees: Bools, *, may_end: bool) -> Bools:
    """Which of the pixels that are not judged belong to the object (h, w): those nearest to agreeing print.

    Plain ground belongs to it only if print bounds it, or, where may_end, the edge of a picture, as the
    margin of a page. Where it goes on, only the hull of the matches belongs to the object.
    """
    inside = grid.hull & grid.seen
    if not judged.any():
        return inside
    labels, boxes = opencv.box_components(grid.seen & ~has_print)
    n = 1 + len(boxes)
    goes_on = np.zeros(n, bool)
    for edge in (labels[0], labels[-1], labels[:, 0], labels[:, -1]):
        goes_on[edge] = True
    if not may_end:
        edge = labels[opencv.dilate(~grid.seen, 3)]
        around = labels[opencv.dilate(has_print | ~grid.seen, 3)]
        goes_on |= np.bincount(edge, minlength=n) > MAX_OPEN_SHARE * np.bincount(around, minlength=n)
    goes_on[0] = False
    return np.asarray(inside | ~goes_on[labels] & opencv.extend_nearest(agrees, judged))


def _choose_component(grid: Grid, region: Bools, inside: Bools) -> Bools:
    """The component of a region (h, w) with most matches; the hull if none has any."""
    labels, _ = opencv.box_components(region)
    counts = np.bincount(at_pixels(labels, grid.points), minlength=1)
    counts[0] = 0
    if not counts.any():
        return inside
    return np.asarray(labels == counts.argmax())


def _blur(values: Floats | Bools) -> Float32s:
    return np.asarray(opencv.gaussian_blur(np.asarray(values, np.float32), SMOOTHNESS))
