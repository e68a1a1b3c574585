"""Matches and objects in the pixels of two pictures, as a result lists them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import compress

import numpy as np

from matching._common.types import Bools, Floats, Int8s, Ints
from matching.core.groups import FEW_MATCHES, Group, label_groups
from matching.core.ledger import STEPS, Ledger, RejectedGroup, choose_apart
from matching.correspondences.candidates import Candidates
from matching.pictures.images import to_picture


@dataclass(frozen=True, eq=False)
class PixelObject:
    """The properties of an object besides its matches."""

    score: float
    log_nfa: float | None  # log10 of its number of false alarms; None if it was not measured
    steps: Floats  # (2,), pixels of each picture per pixel of the size at which it was found
    negative: int | None = None  # the picture, 0 or 1, that shows it in negative
    is_exact: bool = False  # whether its pixels were found to be equal
    is_map_clear: bool = True  # as of a Group

    @property
    def swapped(self) -> PixelObject:
        """The same object with the pictures in the other order."""
        return replace(
            self, steps=self.steps[::-1], negative=None if self.negative is None else 1 - self.negative
        )


@dataclass(frozen=True, eq=False)
class PixelMatches:
    """Matches and objects in the pixels of two pictures."""

    xy0: Floats  # (m, 2)
    xy1: Floats
    score: Floats  # (m,), descriptor distances
    labels: Ints  # (m,), the object of each, -1 for outliers
    dropped_by: Int8s  # (m,), the step that dropped each, a number in `ledger.STEPS`
    objects: tuple[PixelObject, ...]
    rejected: tuple[RejectedGroup, ...] = ()

    @property
    def n_kept(self) -> int:
        """How many matches are in objects."""
        return int(np.count_nonzero(self.labels >= 0))

    @property
    def swapped(self) -> PixelMatches:
        """The same matches with the pictures in the other order."""
        return replace(
            self,
            xy0=self.xy1,
            xy1=self.xy0,
            objects=tuple(found.swapped for found in self.objects),
            rejected=tuple(group.swapped for group in self.rejected),
        )

    def rejected_by(self, step: str) -> list[RejectedGroup]:
        """List the groups that a step rejected."""
        return [group for group in self.rejected if group.step == step]

    def drop(
        self,
        step: str,
        is_kept: Bools,
        reach: float,
        measures: Sequence[tuple[float | None, float | None]] | None = None,
    ) -> PixelMatches:
        """Drop the objects that a step did not keep, (n_objects,).

        measures (n_objects,): what the step measured, and the bound.
        """
        if is_kept.all():
            return self
        rows = [self.labels == k for k in np.flatnonzero(~is_kept)]
        values = [(None, None)] * len(rows) if measures is None else list(compress(measures, ~is_kept))
        dropped = [
            RejectedGroup(step, *value, self.xy0[members], self.xy1[members])
            for value, members in zip(values, rows, strict=True)
        ]
        number = np.append(np.where(is_kept, np.cumsum(is_kept) - 1, -1), -1)
        dropped_by = np.where(np.any(rows, axis=0), np.int8(STEPS.index(step)), self.dropped_by)
        kept = tuple(compress(self.objects, is_kept))
        found = replace(self, labels=number[self.labels], objects=kept, dropped_by=dropped_by)
        return found.add_rejected(dropped, reach)

    def add_rejected(self, rejected: Sequence[RejectedGroup], reach: float) -> PixelMatches:
        """Add those rejected groups of another search that are not near objects or larger rejected groups.

        reach: working pixels.
        """
        if not rejected:
            return self
        members = self.labels >= 0
        steps = [found.steps for found in self.objects]
        reaches = reach * np.max([*steps, np.ones(2)], axis=0)
        chosen = choose_apart([*self.rejected, *rejected], self.xy0[members], self.xy1[members], reaches)
        return replace(self, rejected=chosen)


def locate(
    candidates: Candidates,
    groups: Sequence[Group],
    ledger: Ledger,
    step0: Floats,
    step1: Floats,
    max_rows: int | None = None,
) -> PixelMatches:
    """Locate candidates and their groups in the pictures; step0, step1 (2,): pixels per working pixel.

    At most `max_rows` candidates are kept: first the matches of objects (the best of them if there are too
    many), then outliers.
    """
    steps = np.array([step0.max(), step1.max()])
    xy0, xy1 = to_picture(candidates.xy0, step0), to_picture(candidates.xy1, step1)
    labels = label_groups(len(candidates), groups)
    dropped_by, rejected = ledger.close(labels, xy0, xy1)
    rows = np.arange(len(candidates))
    if max_rows is not None:
        rows = choose_rows(labels, candidates.score, rows >= max_rows, max_rows)
    objects = tuple(
        PixelObject(group.score, group.log_nfa, steps, is_map_clear=group.is_map_clear) for group in groups
    )
    return PixelMatches(
        xy0[rows], xy1[rows], candidates.score[rows], labels[rows], dropped_by[rows], objects, rejected
    )


def choose_rows(labels: Ints, score: Floats, is_pool: Bools, max_rows: int) -> Ints:
    """Choose the matches of objects, then the best outliers: labels, score, is_pool (m,) -> (k,).

    Candidates of the pool come after the others. May return more than `max_rows`, because every object keeps
    at least FEW_MATCHES matches.
    """
    order = np.lexsort((score, is_pool))
    ordered = labels[order]
    sizes = np.bincount(ordered[ordered >= 0])
    share = max(_fair_share(sizes, max_rows), FEW_MATCHES)
    members = [order[ordered == k][:share] for k in range(len(sizes))]
    n_rows = max(max_rows, sum(map(len, members)))
    return np.sort(np.concatenate([*members, order[ordered < 0]])[:n_rows])


def _fair_share(sizes: Ints, max_rows: int) -> int:
    """The largest size to which groups can be cut so that all of them fit into a number of rows."""
    share = int(sizes.max(initial=0))
    while np.minimum(sizes, share).sum() > max_rows:
        share -= 1
    return share
