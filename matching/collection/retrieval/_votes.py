"""Which pictures the neighbours of a query's descriptors vote for.

The eleventh nearest entry of a descriptor stands for the background, as in local naive Bayes nearest
neighbour (McCann and Lowe, CVPR 2012): the descriptor votes for each picture that has an entry much nearer
than the background. Because a picture may be in the index many times, it also votes for each picture with a
nearly equal entry. The score of a picture is the number of its votes that agree in geometry.

All numbers are whole, and a fixed rule orders equal ones. So entries may lie in any number of shards: the
neighbours from all shards are merged before they vote, which always gives the same scores.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from matching._common.types import Array, Floats
from matching.collection.retrieval._codes import SHAPE_BITS
from matching.collection.retrieval._geometry import count_alike

N_KEPT = 32  # neighbours that are kept for each descriptor
N_VOTING_NEIGHBORS = 10  # largest number of neighbours that may vote by the ratio
MAX_RATIO = 0.75  # of a neighbour's distance to that of the background, below which the neighbour may vote
# Of the 256 bits. In small indexes the background is far, so entries farther than this never vote.
MAX_VOTING_DISTANCE = 40
EQUAL_DISTANCE = 12  # of the 256 bits: entries this near count as equal, and vote without the ratio
# A neighbour at this distance or farther can't change which entries may vote.
FAR_DISTANCE = int(-(-MAX_VOTING_DISTANCE // MAX_RATIO))
MISSING_DISTANCE = np.int32(2**31 - 1)  # stands for a neighbour that is missing, or at FAR_DISTANCE or more


@dataclass(frozen=True, eq=False)
class Neighbours:
    """The entries near n descriptors that may vote.

    `smallest` (n, N_VOTING_NEIGHBORS + 1) has the smallest distances of each descriptor, ascending;
    MISSING_DISTANCE fills the rest. `row`, `distance` and `id` (m,) are the descriptor of each entry, its
    distance and its id; merging sorts them.
    """

    smallest: Array
    row: Array
    distance: Array
    id: Array


def choose_neighbours(distance: Array, number: Array) -> Neighbours:
    """Choose the entries that may vote, given their ascending distances and their ids (n, k)."""
    smallest = distance[:, : N_VOTING_NEIGHBORS + 1].copy()
    near = distance < _limit(smallest)[:, None]
    return Neighbours(smallest, np.nonzero(near)[0], distance[near], number[near])


def merge_neighbours(parts: Iterable[Neighbours]) -> Neighbours:
    """Join the neighbours from several shards."""
    parts = list(parts)
    smallest = np.sort(np.concatenate([p.smallest for p in parts], axis=1), axis=1)[
        :, : N_VOTING_NEIGHBORS + 1
    ]
    every = [np.concatenate([getattr(p, name) for p in parts]) for name in ("row", "distance", "id")]
    near = every[1] < _limit(smallest)[every[0]]
    row, distance, number = (column[near] for column in every)
    order = np.lexsort((number, distance, row))
    order = order[np.arange(len(order)) - np.searchsorted(row[order], row[order]) < N_KEPT]  # per descriptor
    return Neighbours(smallest, row[order], distance[order], number[order])


def rank(query: Array, found: Neighbours) -> list[tuple[int, int]]:
    """List the pictures for which a query with ids (n,) votes, with scores: by score, then by number."""
    may_vote = found.distance < _limit(found.smallest)[found.row]
    row, entry = found.row[may_vote], found.id[may_vote]
    # for each picture, votes of the query and of its mirror image are counted separately
    sides, side = np.unique((entry >> SHAPE_BITS) * 2 + (query[row] >> SHAPE_BITS), return_inverse=True)
    pictures, place = np.unique(sides >> 1, return_inverse=True)
    score = np.zeros(len(pictures), np.int64)
    np.maximum.at(score, place, count_alike(side, len(sides), row, query[row], entry))
    order = np.lexsort((pictures, -score))
    return list(zip(pictures[order].tolist(), score[order].tolist(), strict=True))


def _limit(smallest: Array) -> Floats:
    """Return the distance (n,) below which an entry may vote; further shards can only lower it."""
    return np.asarray(np.clip(MAX_RATIO * smallest[:, -1], EQUAL_DISTANCE, MAX_VOTING_DISTANCE))
