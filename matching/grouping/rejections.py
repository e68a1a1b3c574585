"""Why matches are in no object: the stage that dropped each, and groups with what was measured of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from matching._common.types import Array, Bools, Floats, Int8s, Ints
from matching.correspondences.points import is_within_reach

# Why matches are in no object, by the stage that dropped them. Stages come in this order, and the last one
# that dropped a match counts: the others had let it pass.
REASONS = {
    "stray": "so far from the others that it is in neither picture",
    "candidates": "fewer matches than an object needs",
    "evidence": "too few mutual candidates agree with their neighbours: nothing was clustered",
    "graph": "its neighbours do not move as it does",
    "degree": "few edges to the other matches of its cluster",
    "clusters": "a cluster of fewer matches than an object needs",
    "smooth map": "too few matches follow one smooth map, or they lie along a line",
    "suppression": "its points are those of larger objects in both pictures",
    "largest gap": "its score lies below the largest gap between the scores",
    "significance": "chance gives such a group: it has more false alarms than an object may",
    "planes": "no plane of a scene explains enough of its matches",
    "textures": "a periodic texture: one shift leads to places that are as much alike",
    "places": "its two places overlap, or it repeats what another object joins",
    "method": "an outlier of the method that was chosen",
    "details": "more matches of the same object were found at the size of the picture itself",
}
STAGES = tuple(REASONS)
IN_OBJECT = -1  # in place of a stage's number
MOST = 20  # groups that are listed


@dataclass(frozen=True, eq=False)
class Rejection:
    """A group of matches that is no object.

    Parameters
    ----------
    stage : str
        Which dropped it, a key of REASONS.
    measure, bound : float or None
        What was measured of it, and what it needs: matches ("clusters", "smooth map"), mutual candidates that
        agree ("evidence"), the score of the object above the gap ("largest gap"), the decimal logarithm of
        false alarms ("significance"), places ("planes"), the share of confusable matches ("textures"); None
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

    @property
    def swapped(self) -> Rejection:
        """The same of the pictures in the other order."""
        return Rejection(self.stage, self.measure, self.bound, self.points1, self.points0)


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


class Trace:
    """What becomes of m correspondences, as the stages write it down."""

    def __init__(self, m: int) -> None:
        self.stages = np.full(m, STAGES.index("candidates"), np.int8)
        self.groups: list[Dropped] = []

    def drop(self, stage: str, rows: Array) -> None:
        """Note that single correspondences were dropped.

        rows (k,) int64 or (m,) bool.
        """
        self.stages[rows] = np.maximum(self.stages[rows], STAGES.index(stage))

    def drop_group(
        self, stage: str, members: Ints, measure: float | None = None, bound: float | None = None
    ) -> None:
        """Note that a group was dropped.

        members (k,) int64, rising.
        """
        self.drop(stage, members)
        self.groups.append(Dropped(stage, members, measure, bound))

    def close(self, labels: Ints) -> tuple[tuple[Dropped, ...], Int8s]:
        """The groups to list, and (m,) int8 the stage of each correspondence; labels (m,) int64."""
        chosen, stages = choose_dropped(self.groups, labels), self.stages.copy()
        for group in reversed(chosen):  # a match is told the same as the largest group that it is listed in
            stages[group.members] = STAGES.index(group.stage)
        stages[labels >= 0] = IN_OBJECT
        return chosen, stages


def choose_dropped(dropped: Sequence[Dropped], labels: Ints) -> tuple[Dropped, ...]:
    """The largest ones, each once: none of which most matches are in an object, or in a larger one.

    labels (m,) int64.
    """
    taken = labels >= 0
    found: list[Dropped] = []
    for group in sorted(dropped, key=lambda group: (-len(group.members), *group.members[:1])):
        if 2 * np.count_nonzero(taken[group.members]) < len(group.members) and len(found) < MOST:
            taken[group.members] = True
            found.append(group)
    return tuple(found)


def choose_apart(
    rejected: Sequence[Rejection], xy0: Floats, xy1: Floats, reaches: Floats
) -> tuple[Rejection, ...]:
    """The largest ones, none of which most matches lie near those of objects, or of a larger one.

    xy0, xy1 (n, 2) float64, the matches of objects; reaches (2,) float64, of either picture.
    """
    taken, found = [np.asarray(xy0), np.asarray(xy1)], list[Rejection]()
    for item in sorted(rejected, key=lambda item: (-item.n_matches, *item.points0[:1].tolist())):
        points = item.points0, item.points1
        near = [
            is_within_reach(own, others, float(reach))
            for own, others, reach in zip(points, taken, reaches, strict=True)
        ]
        if 2 * np.count_nonzero(near[0] & near[1]) < item.n_matches and len(found) < MOST:
            taken = [np.concatenate(both) for both in zip(taken, points, strict=True)]
            found.append(item)
    return tuple(found)


def name_stages(stages: Int8s) -> Array:
    """The names of stages, "" for a match of an object.

    stages (m,) int8 -> (m,) str.
    """
    return np.array([*STAGES, ""])[stages]


def all_of_stage(stage: str, labels: Ints) -> Int8s:
    """The stages of matches of which one dropped all that are in no object.

    labels (m,) int64 -> (m,) int8.
    """
    return np.where(labels >= 0, IN_OBJECT, STAGES.index(stage)).astype(np.int8)


def mark_dropped(stages: Int8s, stage: str, rows: Bools | Ints) -> Int8s:
    """The same, with some rows dropped by a stage.

    stages (m,) int8; rows (k,) int64 or (m,) bool -> (m,) int8.
    """
    stages = stages.copy()
    stages[rows] = STAGES.index(stage)
    return stages
