"""Why matches are not in an object: the stage that dropped each match, and the rejected groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from matching._common.types import Array, Bools, Floats, Int8s, Ints
from matching.correspondences.points import is_within_reach, measure_width


@dataclass(frozen=True)
class Reason:
    """Why a stage drops matches."""

    word: str  # as it stands in `matches.json`
    text: str  # a clause that explains it
    hint: str  # what to try
    is_cause: bool = False  # whether it says why there is no object, so that other advice is beside the point


FURTHER = "try --max-matches 6000"
MORE = f"{FURTHER}, or a larger picture"
# Keyed by stage. The stages run in this order, and the last one that dropped a match counts, because the
# match passed the stages before.
REASONS = {
    "stray": Reason("stray", "far away from all others", "check the coordinates"),
    "candidates": Reason("too-few-candidates", "there are fewer matches than an object needs", MORE),
    "rounds": Reason("not-clustered", "clustering ended before its turn", FURTHER),
    "near object": Reason(
        "near-object", "it lies near an object in both pictures, but does not move with it", "nothing to do"
    ),
    "evidence": Reason(
        "no-evidence", "too few mutual candidates agree, so nothing was clustered", "try evidence=0 in Python"
    ),
    "graph": Reason("not-supported", "the neighbours move differently", MORE),
    "degree": Reason("loose", "few of the neighbours are in the same cluster", MORE),
    "clusters": Reason("too-small", "the cluster has fewer matches than an object needs", MORE),
    "smooth map": Reason("not-smooth", "it follows no smooth map that enough matches share", MORE),
    "width": Reason(
        "on-a-line",
        "the matches lie on a line, so they don't determine a map",
        "if it is a long, narrow thing, not a line of text, try min_width=0.05 in Python",
        is_cause=True,
    ),
    "suppression": Reason(
        "contained",
        "its points belong to larger groups in both pictures",
        "try suppression__share=0.5 in Python",
        is_cause=True,
    ),
    "largest gap": Reason(
        "low-score", "its score is below the largest gap between the scores of the groups", MORE
    ),
    "significance": Reason(
        "by-chance",
        "a group this good occurs by chance",
        "to keep it anyway, raise --max-nfa, whose log10 is the bound",
    ),
    "planes": Reason("no-plane", "too few of the matches lie on one plane", MORE),
    "textures": Reason(
        "texture",
        "it looks like a periodic texture, which also matches itself when shifted by one period",
        "try masking the texture with --mask0 and --mask1",
        is_cause=True,
    ),
    "negative": Reason(
        "small-in-negative",
        "it is bright in one picture and dark in the other, and as small as letters are",
        "crop both pictures to it",
        is_cause=True,
    ),
    "places": Reason(
        "no-second-place",
        "its two places overlap or are mirrored, or another object joins them already",
        "mask one of them; for mirrored ones, try --mirrored",
    ),
    "method": Reason(
        "outlier-of-method", "the chosen method puts it into no cluster", "try the default method"
    ),
    "details": Reason(
        "seen-closer", "the same object has more matches at the full size of the picture", "nothing to do"
    ),
}
STAGES = "", *REASONS  # the stage that dropped a match; a match of an object has none
IN_OBJECT = STAGES.index("")


@dataclass(frozen=True, eq=False)
class Rejection:
    """A group of matches that was rejected.

    Parameters
    ----------
    stage : str
        The stage that dropped it, a key of REASONS.
    measure, bound : float or None
        The measured value, and its bound for an object: matches ("clusters", "smooth map"), mutual candidates
        that agree ("evidence"), width over length ("width"), the score, with that of the lowest object above
        the gap ("largest gap"), log10 of the number of false alarms ("significance"), places ("planes"), the
        share of confusable matches ("textures"), or the share of a picture ("negative"). The value of
        "textures" must be lower than its bound, that of "significance" no higher, and all others no lower.
        None if the stage measures nothing.
    points0, points1 : (n_matches, 2) float64
        The points of its matches in image 0 and 1, pixels.
    """

    stage: str
    measure: float | None
    bound: float | None
    points0: Floats
    points1: Floats

    @property
    def reason(self) -> str:
        """The word of the reason."""
        return REASONS[self.stage].word

    @property
    def text(self) -> str:
        """The reason, as a clause."""
        return REASONS[self.stage].text

    @property
    def hint(self) -> str:
        """What to try."""
        return REASONS[self.stage].hint

    @property
    def is_cause(self) -> bool:
        """Whether the reason says why it is no object, whatever the viewpoints.

        Matches on a line must be on one in both pictures: from the side, a surface looks like a line.
        """
        if self.stage == "width" and self.bound is not None:
            return all(measure_width(points) < self.bound for points in (self.points0, self.points1))
        return REASONS[self.stage].is_cause

    @property
    def centres(self) -> tuple[Floats, Floats]:
        """(2,) float64 each: the middle of its matches in image 0 and 1."""
        return self.points0.mean(axis=0), self.points1.mean(axis=0)

    @property
    def n_matches(self) -> int:
        """How many matches it has."""
        return len(self.points0)

    @property
    def swapped(self) -> Rejection:
        """The same group with the pictures in the other order."""
        return Rejection(self.stage, self.measure, self.bound, self.points1, self.points0)


@dataclass(frozen=True, eq=False)
class Dropped:
    """A group of correspondences that is not an object."""

    stage: str  # the stage that dropped it, a key of REASONS
    members: Ints  # (k,), rows of its correspondences, ascending
    measure: float | None = None  # as in Rejection
    bound: float | None = None

    def locate(self, xy0: Floats, xy1: Floats) -> Rejection:
        """The Rejection of this group; xy0, xy1 (m, 2) float64 are the points of all correspondences."""
        return Rejection(self.stage, self.measure, self.bound, xy0[self.members], xy1[self.members])


class Trace:
    """What happens to m correspondences, as recorded by the stages."""

    def __init__(self, m: int) -> None:
        self.stages = np.full(m, STAGES.index("candidates"), np.int8)
        self.groups: list[Dropped] = []

    def drop(self, stage: str, rows: Array) -> None:
        """Note that single correspondences were dropped: rows (k,) or (m,) bool."""
        self.stages[rows] = np.maximum(self.stages[rows], STAGES.index(stage))

    def drop_group(
        self, stage: str, members: Ints, measure: float | None = None, bound: float | None = None
    ) -> None:
        """Note that a group was dropped: members (k,), ascending."""
        self.drop(stage, members)
        self.groups.append(Dropped(stage, members, measure, bound))

    def close(self, labels: Ints) -> tuple[tuple[Dropped, ...], Int8s]:
        """The groups to list, and the stage of each correspondence, (m,) int8; labels (m,) int64."""
        chosen, stages = choose_dropped(self.groups, labels), self.stages.copy()
        for group in reversed(chosen):  # a match gets the stage of the largest listed group that contains it
            stages[group.members] = STAGES.index(group.stage)
        stages[labels >= 0] = IN_OBJECT
        return chosen, stages


def choose_dropped(dropped: Sequence[Dropped], labels: Ints) -> tuple[Dropped, ...]:
    """The largest groups with most of their matches outside objects and larger groups; labels (m,)."""
    taken = labels >= 0
    found: list[Dropped] = []
    for group in sorted(dropped, key=lambda group: (-len(group.members), *group.members[:1])):
        if 2 * np.count_nonzero(taken[group.members]) < len(group.members):
            taken[group.members] = True
            found.append(group)
    return tuple(found)


def choose_apart(
    rejected: Sequence[Rejection], xy0: Floats, xy1: Floats, reaches: Floats
) -> tuple[Rejection, ...]:
    """The largest groups mostly out of reach of objects xy0, xy1 (n, 2) and larger groups; reaches (2,)."""
    taken, found = [np.asarray(xy0), np.asarray(xy1)], list[Rejection]()
    for item in sorted(rejected, key=lambda item: (-item.n_matches, *item.points0[:1].tolist())):
        points = item.points0, item.points1
        near = [
            is_within_reach(own, others, float(reach))
            for own, others, reach in zip(points, taken, reaches, strict=True)
        ]
        if 2 * np.count_nonzero(near[0] & near[1]) < item.n_matches:
            taken = [np.concatenate(both) for both in zip(taken, points, strict=True)]
            found.append(item)
    return tuple(found)


def name_stages(stages: Int8s) -> Array:
    """The names (m,) of the stages (m,) int8; "" for a match of an object."""
    return np.array(STAGES)[stages]


def all_of_stage(stage: str, labels: Ints) -> Int8s:
    """The stages (m,) of matches if one stage dropped all that are in no object; labels (m,)."""
    return np.where(labels >= 0, IN_OBJECT, STAGES.index(stage)).astype(np.int8)


def mark_dropped(stages: Int8s, stage: str, rows: Bools | Ints) -> Int8s:
    """The stages (m,) int8 after a stage has dropped some rows, (k,) or (m,) bool."""
    stages = stages.copy()
    stages[rows] = STAGES.index(stage)
    return stages
