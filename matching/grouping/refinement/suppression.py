"""Suppression of contained objects, as of overlapping detections elsewhere.

Repeated structure (a logo printed twice on a box, the squares of a cube) gives small clusters that move as
one on top of the object that they belong to: its own matches lie all around, in both images. A copy of an
object, on the other hand, shares its place in one image but has its own in the other, and what moved in
front of a matched background stands where that has no matches.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from matching._common.types import Array, Bools, Floats, Ints
from matching.correspondences.points import is_within_reach, nearest_points
from matching.errors import check_at_least

NEIGHBORS = 8  # of a match: it covers as far as these are


@dataclass(frozen=True)
class SuppressionConfig:
    """When an object is contained in others.

    Parameters
    ----------
    share : float
        Share of its points, in both images, that lie amid matches of larger objects.
    by_one : bool
        Whether one larger object must hold that share in both images: where two things stand twice in either
        image, each of the four objects lies amid others in both.
    """

    share: float = 0.5
    by_one: bool = False

    def __post_init__(self) -> None:
        check_at_least(self, share=0)


def find_uncovered(
    xy0: Array, xy1: Array, parts: Sequence[Array], share: float, by_one: bool = False
) -> Ints:
    """Find the parts that are not contained in stronger ones.

    A part is contained where in BOTH pictures at least `share` of its points are covered by matches of
    stronger parts that are not.

    Parameters
    ----------
    xy0, xy1 : (m, 2) array
        Points of either picture, pixels.
    parts : sequence of arrays of int
        Rows of each part's matches, the strongest part first.
    share : float
        In [0, 1].
    by_one : bool
        Whether one stronger part must cover them in both pictures.

    Returns
    -------
    (k,) int64
        Rising numbers of the parts that are not contained.
    """
    kept: list[int] = []
    places: tuple[list[_Place], list[_Place]] = [], []
    for k, part in enumerate(parts):
        points = xy0[part], xy1[part]
        coverings = [([a], [b]) for a, b in zip(*places, strict=True)] if by_one else [places]
        if any(
            all(_find_covered(there, xy).mean() >= share for there, xy in zip(covering, points, strict=True))
            for covering in coverings
        ):
            continue
        kept.append(k)
        for there, xy in zip(places, points, strict=True):
            there.append(_Place(xy))
    return np.array(kept, np.int64)


def is_amid(points: Array, others: Array) -> Bools:
    """Test which points lie amid others of the same picture.

    Parameters
    ----------
    points : (n, 2) array
        The points to test.
    others : (k, 2) array
        The others.

    Returns
    -------
    (n,) bool
        Whether a point does.
    """
    return _Place(others).covers(points)


def _find_covered(places: Sequence[_Place], points: Array) -> Bools:
    """(n,) bool: which of the points one of the places covers."""
    covered = np.zeros(len(points), bool)
    for place in places:
        rest = np.flatnonzero(~covered)
        covered[rest] = place.covers(points[rest])
    return covered


class _Place:
    """Where a part is in one picture: around each match as far as its neighbours are, on average."""

    def __init__(self, points: Array) -> None:
        self.points = points

    @cached_property
    def pixels(self) -> Floats:
        return np.unique(np.rint(self.points), axis=0)

    @cached_property
    def reach(self) -> float:
        k = min(NEIGHBORS + 1, len(self.pixels))  # the first is the match itself
        return float(np.median(nearest_points(self.pixels, self.pixels, k)[1][:, -1]))

    def covers(self, points: Array) -> Bools:
        return is_within_reach(points, self.pixels, self.reach)
