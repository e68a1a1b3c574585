"""Groups of matches that became no object: which stage dropped them, and by which bound."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from matching._common.types import Floats, Ints

REASONS = {  # of each stage
    "clusters": "a cluster of fewer matches than an object needs",
    "smooth map": "too few matches follow one smooth map, or they lie along a line",
    "suppression": "its points are those of larger objects in both pictures",
    "largest gap": "its score lies below the largest gap between the scores",
    "significance": "chance gives such a group: it has more false alarms than an object may",
    "textures": "a periodic texture: one shift leads to places that are as much alike",
}
MOST = 20  # that are listed


@dataclass(frozen=True, eq=False)
class Rejection:
    """A group of matches that is no object.

    Parameters
    ----------
    stage : str
        Which dropped it, a key of REASONS.
    measure, bound : float or None
        What was measured of it, and what it needs: matches ("clusters", "smooth map"), the score of the
        object above the gap ("largest gap"), the decimal logarithm of false alarms ("significance"); None
        where the stage has no number.
    points0, points1 : (n_matches, 2) float64
        Its matches in image 0 and 1, pixels.
    """

    stage: str
    measure: float | None
    bound: float | None
    points0: Floats
    points1: Floats

    @property
    def reason(self) -> str:
        """A sentence."""
        return REASONS[self.stage]

    @property
    def n_matches(self) -> int:
        """How many matches it has."""
        return len(self.points0)


@dataclass(frozen=True, eq=False)
class Dropped:
    """A group of correspondences that is no object.

    Parameters
    ----------
    stage : str
        Which dropped it, a key of REASONS.
    members : (k,) int64
        The rows of its correspondences, rising.
    measure, bound : float or None
        As of a `Rejection`.
    """

    stage: str
    members: Ints
    measure: float | None = None
    bound: float | None = None

    def locate(self, xy0: Floats, xy1: Floats) -> Rejection:
        """The Rejection; xy0, xy1 (m, 2) float64 are the points of the correspondences."""
        return Rejection(self.stage, self.measure, self.bound, xy0[self.members], xy1[self.members])


def choose_dropped(dropped: Sequence[Dropped], labels: Ints) -> tuple[Dropped, ...]:
    """The largest ones, each once: none of which most matches are in an object, or in a larger one.

    labels (m,) int64.
    """
    taken = labels >= 0
    found: list[Dropped] = []
    for group in sorted(dropped, key=lambda group: (-len(group.members), group.members[0])):
        if 2 * np.count_nonzero(taken[group.members]) < len(group.members) and len(found) < MOST:
            taken[group.members] = True
            found.append(group)
    return tuple(found)
