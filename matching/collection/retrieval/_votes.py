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
from matching.collection.retrieval._codes import PICTURE
from matching.collection.retrieval._geometry import count_alike

KEPT = 32  # neighbours of a descriptor that are kept
NEIGHBORS = 10  # the most of these that may vote by the ratio
RATIO = 0.75  # ratio of a distance to the background's below which an entry earns a vote
FARTHEST = 40  # of 256 bits: entries this far may not vote, because in small indexes the background is far
NEARLY_EQUAL = 12  # of 256 bits
FAR = int(-(-FARTHEST // RATIO))  # from this distance on, a neighbour does not change which entries may vote
MISSING = np.int32(2**31 - 1)  # the distance of a neighbour that is missing, or not nearer than FAR


@dataclass(frozen=True, eq=False)
class Neighbours:
    """The entries nearest to each of n descriptors, those that may vote.

    `least` (n, NEIGHBORS + 1) has the smallest distances, ascending, and MISSING where there are fewer.
    `row`, `distance` and `id` (m,) are the descriptor of each entry, its distance and its id; merging sorts
    them.
    """

    least: Array
    row: Array
    distance: Array
    id: Array


def choose_neighbours(distance: Array, number: Array) -> Neighbours:
    """The Neighbours among entries, given their ascending distances and their ids (n, k)."""
    least = distance[:, : NEIGHBORS + 1].copy()
    near = distance < _limit(least)[:, None]
    return Neighbours(least, np.nonzero(near)[0], distance[near], number[near])


def merge_neighbours(parts: Iterable[Neighbours]) -> Neighbours:
    """The Neighbours among those of several shards."""
    parts = list(parts)
    least = np.sort(np.concatenate([p.least for p in parts], axis=1), axis=1)[:, : NEIGHBORS + 1]
    every = [np.concatenate([getattr(p, name) for p in parts]) for name in ("row", "distance", "id")]
    near = every[1] < _limit(least)[every[0]]
    row, distance, number = (column[near] for column in every)
    order = np.lexsort((number, distance, row))
    order = order[np.arange(len(order)) - np.searchsorted(row[order], row[order]) < KEPT]  # per descriptor
    return Neighbours(least, row[order], distance[order], number[order])


def rank(query: Array, found: Neighbours) -> list[tuple[int, int]]:
    """The pictures for which a query with ids (n,) votes, and scores, by descending score, then number."""
    may_vote = found.distance < _limit(found.least)[found.row]
    row, entry = found.row[may_vote], found.id[may_vote]
    # for each picture, votes of the query and of its mirror image are counted separately
    sides, side = np.unique((entry >> PICTURE) * 2 + (query[row] >> PICTURE), return_inverse=True)
    pictures, place = np.unique(sides >> 1, return_inverse=True)
    score = np.zeros(len(pictures), np.int64)
    np.maximum.at(score, place, count_alike(side, len(sides), row, query[row], entry))
    order = np.lexsort((pictures, -score))
    return list(zip(pictures[order].tolist(), score[order].tolist(), strict=True))


def _limit(least: Array) -> Floats:
    """(n,): entries at smaller distances may vote; entries of other shards can only lower this limit."""
    return np.asarray(np.clip(RATIO * least[:, -1], NEARLY_EQUAL, FARTHEST))
