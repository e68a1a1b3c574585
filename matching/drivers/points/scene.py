"""The different matches of a scene, and the edges that join each of them to its nearest ones.

Planes and solid things are searched for among all matches of a scene at once. A label says which of them a
match is on. Matches choose labels in turn (Besag 1986), and an edge between two labels has a price.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import scipy

from matching._common.types import Floats, Ints
from matching.drivers.points import _choice_kernel
from matching.drivers.points.units import MAX_SPREADS, UNIT
from matching.grouping.groups import Group, make_group, number_rows
from matching.grouping.ledger import Ledger

N_NEIGHBOURS = 8  # edges from each match
TAIL = 0.05  # share of the points at each end that may be strays, when the extent is measured


@dataclass(frozen=True, eq=False)
class Scene:
    """Different matches, in units of the extent, and the edges between them in both directions."""

    x: Floats  # (3, n), homogeneous
    y: Floats
    neighbours: Ints  # those of match i are neighbours[starts[i]:starts[i + 1]]
    starts: Ints
    area: float
    odds: Floats  # (n,) logarithms: how much likelier a match is right than the mean one, by its score

    @classmethod
    def from_places(cls, places: Floats, area: float, odds: Floats | float = 0.0) -> Self:
        """Make a scene of different places (n, 4) in both pictures, which have the given area."""
        n = len(places)
        near = find_near(places, N_NEIGHBOURS + 1)
        here, there = np.repeat(np.arange(n), near.shape[1]), near.ravel()
        edges = np.unique(np.concatenate([here * n + there, there * n + here]))
        here, there = np.divmod(edges, n)
        here, there = here[here != there], there[here != there]
        starts = np.searchsorted(here, np.arange(n + 1))
        x, y = (np.vstack([xy.T, np.ones(n)]) for xy in np.hsplit(places, 2))
        return cls(x, y, there, starts, area, np.full(n, odds))

    def choose(self, costs: Floats, labels: Ints, edge_price: float) -> Ints:
        """Let each match in turn take its cheapest label, given those of its neighbours.

        costs (p, n): of each match, with each label; labels (n,) -> (n,).
        """
        labels = labels.copy()
        _choice_kernel.choose_in_turn(costs, self.neighbours, self.starts, edge_price, labels)
        return labels


@dataclass(frozen=True, eq=False)
class Places:
    """The different places (m, 4) of matches in both pictures, in units of their extent, in a fixed order."""

    xy: Floats
    area: float  # mean of both pictures
    row: Ints  # (n,), the place of each match

    def best(self, odds: Floats | float) -> Floats:
        """The best of the odds (n,) of the matches at each place (m,)."""
        best = np.full(len(self.xy), -np.inf)
        np.maximum.at(best, self.row, odds)
        return best


Find = Callable[[Places, Floats, Ints], tuple[Ints, list[float | None]]]


def find_places(xy0: Floats, xy1: Floats) -> Places | None:
    """Find the different places of matches, xy0, xy1 (n, 2); None if most of them lie at one point."""
    if np.sort(xy0, axis=0).tobytes() > np.sort(xy1, axis=0).tobytes():  # so that swaps change nothing
        xy0, xy1 = xy1, xy0
    places, row = np.unique(np.hstack([xy0, xy1]), axis=0, return_inverse=True)
    if not len(places):
        return None
    sides = np.ptp(np.quantile(places, (TAIL, 1 - TAIL), axis=0), axis=0) / (1 - 2 * TAIL)
    extent = sides.max()
    if not extent > 0:
        return None
    return Places(places / extent, float(np.sqrt(np.prod(sides / extent))), row.ravel())


def find_near(places: Floats, k: int) -> Ints:
    """Find the k matches nearest to each place (n, 4), itself included -> (n, k)."""
    return np.asarray(scipy.spatial.cKDTree(places).query(places, min(k, len(places)))[1])


def regroup(
    xy0: Floats, xy1: Floats, odds: Floats, groups: Sequence[Group], find: Find, step: str, ledger: Ledger
) -> list[Group]:
    """Group matches xy0, xy1 (n, 2) by the things that all of them are on, in place of earlier groups.

    find: from the places, the odds (m,) and the earlier groups (m,) of these, -1 for none, the thing of each
    place, and log10 of the number of false alarms of each thing, or None for that of its group. A thing has
    the score of the group with most of its matches, or the lowest score if it is in no group.
    """
    near = np.flatnonzero((np.abs(np.hstack([xy0, xy1])) * UNIT < MAX_SPREADS).all(axis=1))
    places = find_places(xy0[near], xy1[near])
    if not groups or places is None:
        return list(groups)
    owner = number_rows(len(xy0), [group.rows for group in groups])
    before = np.full(len(places.xy), -1)
    before[places.row] = owner[near]
    labels, log_nfas = find(places, places.best(odds[near]), before)
    for group in groups:
        ledger.reach(step, group.rows)
    weakest, found = min(groups, key=lambda group: group.score), list[Group]()
    for k, log_nfa in enumerate(log_nfas):
        rows = near[labels[places.row] == k]
        counts = np.bincount(owner[rows][owner[rows] >= 0], minlength=len(groups))
        group = groups[int(counts.argmax())] if counts.any() else weakest
        if len(rows):
            found.append(make_group(rows, group.score, group.log_nfa if log_nfa is None else log_nfa))
    return sorted(found, key=lambda thing: (-thing.score, -len(thing.rows), thing.rows[0]))
