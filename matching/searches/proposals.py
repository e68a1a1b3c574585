"""What searches propose: groups of matches that may be objects, in the pixels of both pictures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from matching._common.arrays import select_rows
from matching._common.types import Bools, Floats, Int8s, Ints
from matching.correspondences.candidates import Candidates
from matching.correspondences.points import is_within_reach
from matching.grouping.groups import FEW_MATCHES, Group, label_groups, number_rows
from matching.grouping.ledger import IN_OBJECT, STEPS, Ledger, RejectedGroup
from matching.pictures.images import to_picture


@dataclass(frozen=True, eq=False)
class Proposal:
    """A group of n matches that may be an object."""

    rows: Ints  # (n,), its matches in the list of its search, ascending
    xy0: Floats  # (n, 2), pixels of picture 0
    xy1: Floats
    distance: Floats  # (n,), of descriptors
    score: float  # how well its matches agree
    steps: Floats  # (2,), pixels of each picture per pixel of the size at which it was found
    log_nfa: float | None = None  # log10 of its number of false alarms by its points; None if not measured
    negative: int | None = None  # the picture, 0 or 1, that shows it in negative
    # how alike its pixels are, as its search measured them: 1 if all are equal; None if it did not
    likeness: float | None = None
    # counts the matches that no second place matches nearly as well; None without descriptors
    count_distinct: Callable[[], int] | None = None

    @property
    def is_block(self) -> bool:
        """Whether all of its pixels are equal after one shift, as those of a block of a page."""
        return self.likeness is not None and bool(np.allclose(np.ptp(self.xy1 - self.xy0, axis=0), 0))

    @property
    def swapped(self) -> Proposal:
        """The same with the pictures in the other order."""
        negative = None if self.negative is None else 1 - self.negative
        return replace(self, xy0=self.xy1, xy1=self.xy0, steps=self.steps[::-1], negative=negative)

    def share_near(self, other: Proposal, reach: float) -> float:
        """The share of its matches that lie near those of another proposal in both pictures.

        reach: pixels of the size at which either was found.
        """
        reach0, reach1 = (reach * np.maximum(self.steps, other.steps)).tolist()
        is_near = is_within_reach(self.xy0, other.xy0, reach0) & is_within_reach(self.xy1, other.xy1, reach1)
        return float(is_near.mean())


@dataclass(frozen=True, eq=False)
class Listing:
    """The m matches of a search, and what it proposes."""

    xy0: Floats  # (m, 2), pixels of picture 0
    xy1: Floats
    distance: Floats  # (m,), of descriptors
    dropped_by: Int8s  # (m,), the step that dropped each, a number in `ledger.STEPS`
    proposals: tuple[Proposal, ...]
    rejected: tuple[RejectedGroup, ...] = ()
    n_listed: int | None = None  # the others only join objects; None: all are listed

    @property
    def swapped(self) -> Listing:
        """The same with the pictures in the other order."""
        proposals = tuple(one.swapped for one in self.proposals)
        rejected = tuple(one.swapped for one in self.rejected)
        return replace(self, xy0=self.xy1, xy1=self.xy0, proposals=proposals, rejected=rejected)


@dataclass(frozen=True, eq=False)
class LabelledMatches:
    """The matches of a result."""

    xy0: Floats  # (m, 2), pixels of picture 0
    xy1: Floats
    distance: Floats  # (m,), of descriptors
    labels: Ints  # (m,), the number of the object of each, -1 for outliers
    dropped_by: Int8s  # (m,), the step that dropped each, a number in `ledger.STEPS`

    def drop(self, step: str, is_kept: Bools) -> LabelledMatches:
        """Drop the objects that a step did not keep, is_kept (n_objects,), and number the others anew."""
        number = np.append(np.where(is_kept, np.cumsum(is_kept) - 1, -1), -1)[self.labels]
        dropped_by = np.where((self.labels >= 0) & (number < 0), np.int8(STEPS.index(step)), self.dropped_by)
        return replace(self, labels=number, dropped_by=dropped_by)


def locate(
    candidates: Candidates,
    groups: Sequence[Group],
    ledger: Ledger,
    steps: tuple[Floats, Floats],
    n_listed: int | None = None,
    count_distinct: Callable[[Candidates], int] | None = None,
) -> Listing:
    """Locate candidates and their groups in the pictures; steps (2,): pixels per working pixel in x and y."""
    xy0, xy1 = (
        to_picture(xy, step) for xy, step in zip((candidates.xy0, candidates.xy1), steps, strict=True)
    )
    dropped_by, rejected = ledger.close(label_groups(len(candidates), groups), xy0, xy1)
    largest = np.array([step.max() for step in steps])

    def propose(group: Group) -> Proposal:
        rows = group.rows
        found = Proposal(rows, xy0[rows], xy1[rows], candidates.score[rows], group.score, largest)
        if count_distinct is None:
            return found
        return replace(found, count_distinct=lambda: count_distinct(candidates[rows]))

    proposals = tuple(propose(group) for group in groups)
    return Listing(xy0, xy1, candidates.score, dropped_by, proposals, rejected, n_listed)


def label_matches(
    listing: Listing, kept: Sequence[Proposal], superseded: Sequence[Proposal], max_rows: int | None
) -> LabelledMatches:
    """Label the listed matches, and those of proposals of other searches, by the number of their object.

    At most `max_rows` are kept: first the matches of objects (the best of them if there are too many), then
    outliers. superseded: what a stronger proposal replaces.
    """
    is_here = [any(one is other for other in listing.proposals) for one in kept]
    n, foreign = len(listing.distance), [one for one, here in zip(kept, is_here, strict=True) if not here]
    labels = number_rows(
        n, [one.rows if here else one.rows[:0] for one, here in zip(kept, is_here, strict=True)]
    )
    dropped_by = listing.dropped_by.copy()
    for one in listing.proposals:
        step = "details" if any(one is other for other in superseded) else "agreement"
        dropped_by[one.rows[labels[one.rows] < 0]] = STEPS.index(step)
    numbers = [k for k, here in enumerate(is_here) if not here]
    sizes = [len(one.rows) for one in foreign]
    matches = LabelledMatches(
        np.concatenate([listing.xy0, *(one.xy0 for one in foreign)]),
        np.concatenate([listing.xy1, *(one.xy1 for one in foreign)]),
        np.concatenate([listing.distance, *(one.distance for one in foreign)]),
        np.append(labels, np.repeat(numbers, sizes).astype(np.int64)),
        np.append(dropped_by, np.full(sum(sizes), IN_OBJECT, np.int8)),
    )
    if max_rows is None:
        return matches
    is_pool = np.arange(len(matches.labels)) >= (n if listing.n_listed is None else listing.n_listed)
    rows = choose_rows(matches.labels, matches.distance, is_pool, max_rows)
    return select_rows(matches, rows)


def choose_rows(labels: Ints, distance: Floats, is_pool: Bools, max_rows: int) -> Ints:
    """Choose the matches of objects, then the best outliers: labels, distance, is_pool (m,) -> (k,).

    Matches of the pool come after the others. May return more than `max_rows`, because every object keeps
    at least FEW_MATCHES matches.
    """
    order = np.lexsort((distance, is_pool))
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
