"""Suppression of contained objects, as of overlapping detections elsewhere.

Repeated structure (a logo printed twice on a box, the squares of a cube) gives small clusters that move as
one on top of the object that they belong to: its own matches lie all around, in both images. A copy of an
object, on the other hand, shares its place in one image but has its own in the other, and what moved in
front of a matched background stands where that has no matches.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.spatial import cKDTree

from matching.errors import check_at_least

REACH = 15.0  # pixels
NEIGHBORS = 4  # of a match: where matches are sparse, it covers as far as these are


@dataclass(frozen=True)
class SuppressionConfig:
    """When an object is contained in others.

    Attributes
    ----------
    share : float
        Of its points, in both images, that lie amid matches of larger objects.
    reach : float
        Pixels from a point to a match that covers it, at least.
    """

    share: float = 0.5
    reach: float = REACH

    def __post_init__(self):
        check_at_least(self, share=0, reach=0)


def drop_covered(xy0, xy1, parts, share, reach=REACH):
    """The parts that have a place of their own, in the order given.

    parts : arrays of rows of xy0, xy1 (m, 2), the strongest first. A part goes if in BOTH pictures at least
        `share` of its points are covered by matches of stronger parts that stay.
    """
    kept, places = [], ([], [])
    for part in parts:
        points = xy0[part], xy1[part]
        if all(_covered(there, xy).mean() >= share for there, xy in zip(places, points, strict=True)):
            continue
        kept.append(part)
        for there, xy in zip(places, points, strict=True):
            there.append(_Place(xy, reach))
    return kept


def _covered(places, points):
    """(n,) bool: which of the points one of the places covers."""
    covered = np.zeros(len(points), bool)
    for place in places:
        rest = np.flatnonzero(~covered)
        covered[rest] = place.covers(points[rest])
    return covered


class _Place:
    """Where a part is in one picture."""

    def __init__(self, points, least):
        self.points, self.least = points, least
        self.low, self.high = points.min(axis=0), points.max(axis=0)

    @cached_property
    def tree(self):
        return cKDTree(np.unique(np.rint(self.points), axis=0))

    @cached_property
    def reach(self):
        k = min(NEIGHBORS + 1, self.tree.n)  # the first is the match itself
        return max(self.least, float(np.median(self.tree.query(self.tree.data, [k])[0])))

    def covers(self, points):
        covered = ((points > self.low - self.least) & (points < self.high + self.least)).all(axis=1)
        if covered.any():  # else there is no need to look closer
            gap = self.tree.query(points[covered], distance_upper_bound=self.reach)[0]
            covered[covered] = np.isfinite(gap)
        return covered
