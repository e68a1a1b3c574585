"""Which pictures the neighbours of a query's descriptors vote for.

The eleventh neighbour of a descriptor stands for the background, as in local naive Bayes nearest neighbour
(McCann and Lowe, CVPR 2012): the descriptor votes for each picture that has an entry much nearer than that,
and, in case a picture is in the index many times, for each with a nearly equal entry. A picture's score is
the number of its votes that agree in geometry.

All numbers are whole and a fixed rule orders equal ones, so entries may lie in any number of shards: the
neighbours of all are merged and then vote, which gives the same scores.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from matching._common.types import Array, Floats
from matching.collection.retrieval._codes import PICTURE
from matching.collection.retrieval._geometry import count_alike

KEPT = 32  # neighbours of a descriptor
NEIGHBORS = 10  # of them, those that may vote by the ratio
RATIO = 0.75  # of a distance that earns a vote to the background's
FARTHEST = 40  # bits of 256 in which entries that may vote differ: in small indexes the background is far
NEARLY_EQUAL = 12  # bits of 256
FAR = int(-(-FARTHEST // RATIO))  # from this distance on, neighbours don't change which entries may vote
MISSING = np.int32(2**31 - 1)  # the distance of a neighbour that there is not, or not nearer than FAR


@dataclass(frozen=True, eq=False)
class Neighbours:
    """The entries nearest to each of n descriptors, as far as they may vote.

    `least` (n, NEIGHBORS + 1) has the smallest distances, rising, MISSING where there are fewer. `row`,
    `distance` and `id` (m,) are the descriptor of an entry, its distance and its id; sorted by merging.
    """

    least: Array
    row: Array
    distance: Array
    id: Array


def choose_neighbours(distance: Array, number: Array) -> Neighbours:
    """The Neighbours among entries, given their rising distances and their ids (n, k)."""
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
    order = order[np.arange(len(order)) - np.searchsorted(row[order], row[order]) < KEPT]  # of a descriptor
    return Neighbours(least, row[order], distance[order], number[order])


def rank(query: Array, found: Neighbours) -> list[tuple[int, int]]:
    """Picture and score of all that a query with ids (n,) votes for, by descending score, then number."""
    may_vote = found.distance < _limit(found.least)[found.row]
    row, entry = found.row[may_vote], found.id[may_vote]
    # of each picture the query as it is and the query turned over are told apart
    sides, side = np.unique((entry >> PICTURE) * 2 + (query[row] >> PICTURE), return_inverse=True)
    pictures, place = np.unique(sides >> 1, return_inverse=True)
    score = np.zeros(len(pictures), np.int64)
    np.maximum.at(score, place, count_alike(side, len(sides), row, query[row], entry))
    order = np.lexsort((pictures, -score))
    return list(zip(pictures[order].tolist(), score[order].tolist(), strict=True))


def _limit(least: Array) -> Floats:
    """(n,): entries at smaller distances may vote; entries of other shards can only lower this limit."""
    return np.asarray(np.clip(RATIO * least[:, -1], NEARLY_EQUAL, FARTHEST))
