"""The record of matches that are in no object: which step dropped each, and which groups were dropped.

A step that keeps some of its input enters the rest into a `Ledger`, with what it measured beside the bound.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from matching._common.types import Array, Bools, Floats, Int8s, Ints
from matching.correspondences.points import is_within_reach
from matching.grouping.reasons import REASONS

STEPS = "", *REASONS  # numbered in this order; a match of an object has no step that dropped it
IN_OBJECT = STEPS.index("")


@dataclass(frozen=True, eq=False)
class RejectedGroup:
    """A group of matches that was rejected.

    Parameters
    ----------
    step : str
        The step that dropped it, a key of `matching.grouping.reasons.REASONS`.
    measure, bound : float or None
        The measured value, and its bound for an object: matches ("size", "smooth map"), mutual candidates
        that agree ("evidence"), the standard error of the map in pixels ("line"), the score, with that of the
        lowest object above the gap ("largest gap"), log10 of the number of false alarms ("significance"),
        places ("planes"), the scatter of its matches ("scatter"), or the share of the windows that are
        recognised ("agreement"; in one picture, that of the print that agrees). The values of "line",
        "significance" and "scatter" must be no higher than their bounds, and all others no lower.
        None if the step measures nothing.
    points0, points1 : (n_matches, 2) float64
        The points of its matches in image 0 and 1, pixels.
    """

    step: str
    measure: float | None
    bound: float | None
    points0: Floats
    points1: Floats

    @property
    def reason(self) -> str:
        """The word of the reason."""
        return REASONS[self.step].word

    @property
    def text(self) -> str:
        """The reason, as a clause."""
        return REASONS[self.step].text

    @property
    def is_cause(self) -> bool:
        """True if the group cannot be an object from any viewpoint."""
        return REASONS[self.step].is_cause

    @property
    def centres(self) -> tuple[Floats, Floats]:
        """(2,) float64 each: the middle of its matches in image 0 and 1."""
        return self.points0.mean(axis=0), self.points1.mean(axis=0)

    @property
    def n_matches(self) -> int:
        """How many matches it has."""
        return len(self.points0)

    @property
    def swapped(self) -> RejectedGroup:
        """The same group with the pictures in the other order."""
        return RejectedGroup(self.step, self.measure, self.bound, self.points1, self.points0)


@dataclass(frozen=True, eq=False)
class _Entry:
    """A group of matches (k,), rows in ascending order, that a step dropped; measure and bound as above."""

    step: str
    rows: Ints
    measure: float | None
    bound: float | None


class Ledger:
    """The record of where n matches were dropped.

    Steps call `reach` for the matches that come to them, and `drop` for each group that they drop.
    """

    def __init__(self, n: int) -> None:
        self._steps = np.full(n, STEPS.index("candidates"), np.int8)
        self._entries: list[_Entry] = []

    def reach(self, step: str, rows: Array) -> None:
        """Note that matches, rows (k,) or (n,) bool, reached a step, which drops those that leave there."""
        self._steps[rows] = np.maximum(self._steps[rows], STEPS.index(step))

    def drop(self, step: str, rows: Ints, measure: float | None = None, bound: float | None = None) -> None:
        """Note that a step dropped a group, rows (k,) in ascending order."""
        self.reach(step, rows)
        self._entries.append(_Entry(step, rows, measure, bound))

    def renumber(self, here: Ints, there: Ints) -> Ledger:
        """Return a ledger with other numbers: its match there[i] is match here[i] of this one; both (p,)."""
        return _Renumbered(self, here, there)

    def close(self, labels: Ints, xy0: Floats, xy1: Floats) -> tuple[Int8s, tuple[RejectedGroup, ...]]:
        """Close the ledger: labels (n,), -1 for outliers; xy0, xy1 (n, 2) in pixels of the pictures.

        Returns the number in STEPS of the step that dropped each match (n,), and the rejected groups to list,
        the largest first: those with more than half of their matches outside objects and larger listed
        groups.
        """
        is_taken, listed = labels >= 0, list[_Entry]()
        for entry in sorted(self._entries, key=lambda entry: (-len(entry.rows), *entry.rows[:1])):
            if 2 * np.count_nonzero(is_taken[entry.rows]) < len(entry.rows):
                is_taken[entry.rows] = True
                listed.append(entry)
        steps = self._steps.copy()
        for entry in reversed(listed):  # a match gets the step of the largest listed group that contains it
            steps[entry.rows] = STEPS.index(entry.step)
        steps[labels >= 0] = IN_OBJECT
        rejected = (
            RejectedGroup(entry.step, entry.measure, entry.bound, xy0[entry.rows], xy1[entry.rows])
            for entry in listed
        )
        return steps, tuple(rejected)


class _Renumbered(Ledger):
    """A ledger that enters everything into another one, under the numbers of that one."""

    def __init__(self, ledger: Ledger, here: Ints, there: Ints) -> None:
        self._ledger, self._here, self._there = ledger, here, there

    def reach(self, step: str, rows: Array) -> None:
        """Note that matches reached a step, as `Ledger.reach` does."""
        self._ledger.reach(step, self._translate(rows))

    def drop(self, step: str, rows: Ints, measure: float | None = None, bound: float | None = None) -> None:
        """Note that a step dropped a group, as `Ledger.drop` does."""
        self._ledger.drop(step, self._translate(rows), measure, bound)

    def _translate(self, rows: Array) -> Ints:
        """Translate rows of this ledger to those of the other one, ascending."""
        chosen = np.zeros(self._there.max(initial=-1) + 1, bool)
        chosen[rows] = True
        return np.unique(self._here[chosen[self._there]])


def choose_apart(
    rejected: Sequence[RejectedGroup], xy0: Floats, xy1: Floats, reaches: Floats
) -> tuple[RejectedGroup, ...]:
    """Choose the largest groups that lie out of reach of objects, xy0, xy1 (n, 2), and of larger groups.

    A group lies out of reach if more than half of its matches do.

    reaches (2,): the reach in each picture, pixels.
    """
    occupied, chosen = [np.asarray(xy0), np.asarray(xy1)], list[RejectedGroup]()
    for group in put_largest_first(rejected):
        points = group.points0, group.points1
        near: list[Bools] = [
            is_within_reach(xy, others, float(reach))
            for xy, others, reach in zip(points, occupied, reaches, strict=True)
        ]
        if 2 * np.count_nonzero(near[0] & near[1]) < group.n_matches:
            occupied = [np.concatenate(both) for both in zip(occupied, points, strict=True)]
            chosen.append(group)
    return tuple(chosen)


def put_largest_first(rejected: Iterable[RejectedGroup]) -> tuple[RejectedGroup, ...]:
    """Put the largest of rejected groups first, and of equal ones the one further left."""
    return tuple(sorted(rejected, key=lambda group: (-group.n_matches, *group.points0[:1].tolist())))


def name_steps(steps: Int8s) -> Array:
    """Name the steps (m,) that dropped matches; "" for a match of an object."""
    return np.array(STEPS)[steps]
