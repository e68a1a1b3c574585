"""Which pictures the neighbours of a query's descriptors vote for.

A descriptor votes for each picture with an entry much nearer than its eleventh neighbour, which stands for
the background (local naive Bayes nearest neighbour: McCann and Lowe, CVPR 2012), and for pictures with nearly
equal entries. A picture's score is the most votes that agree on its turn and scale (weak geometric
consistency: Jégou, Douze, Schmid, ECCV 2008). All of it is whole numbers in a defined order, the same for any
number of shards.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from matching._common.types import Array, Floats, Ints
from matching.collection.retrieval._codes import SCALE_STEPS

KEPT = 32  # neighbours of a descriptor
NEIGHBORS = 10  # of them, those that may vote by the ratio
RATIO = 0.65  # of a distance that earns a vote to the background's
NEARLY_EQUAL = 12  # bits of 256
MISSING = np.int64(2**31 - 1)  # the distance of a neighbour that there is not
OCTAVES, SECTORS = 16, 8  # bins of the votes: an octave of scale (modulo 16), an eighth of a turn


@dataclass(frozen=True, eq=False)
class Neighbours:
    """The entries nearest to each of n descriptors, as far as they may vote.

    `least` (n, NEIGHBORS + 1): the smallest distances, ascending, padded with MISSING. `row`, `distance`,
    `id` (m,): descriptor, distance and id of an entry, sorted.
    """

    least: Array
    row: Array
    distance: Array
    id: Array


def choose_neighbours(distance: Array, number: Array) -> Neighbours:
    """The Neighbours among the entries of some lists, given their distances and ids (n, k), in any order."""
    row, column = np.nonzero(distance < find_limit(distance)[:, None])
    return _sort(_least(distance), row, distance[row, column], number[row, column])


def find_limit(distance: Array) -> Array:
    """(n,): entries that are nearer may vote. Entries of other shards can only lower it."""
    least = _least(distance)
    return np.where(least[:, -1] == MISSING, MISSING, _limit(least))


def _least(distance: Array) -> Array:
    return np.asarray(np.sort(np.partition(distance, NEIGHBORS, axis=1)[:, : NEIGHBORS + 1], axis=1))


def merge_neighbours(parts: Iterable[Neighbours]) -> Neighbours:
    """The Neighbours among those of several shards."""
    parts = list(parts)
    least = np.sort(np.concatenate([p.least for p in parts], axis=1), axis=1)[:, : NEIGHBORS + 1]
    columns = (np.concatenate([getattr(p, name) for p in parts]) for name in ("row", "distance", "id"))
    return _sort(least, *columns)


def _sort(least: Array, *columns: Array) -> Neighbours:
    order = np.lexsort(columns[::-1])
    order = order[_position(columns[0][order]) < KEPT]
    return Neighbours(least, *(column[order] for column in columns))


def rank(query: Array, found: Neighbours) -> list[tuple[int, int]]:
    """Picture and score of all that a query with ids (n,) votes for, by falling score and rising number."""
    may_vote = (found.distance < _limit(found.least)[found.row]) & (_position(found.row) < NEIGHBORS)
    may_vote |= found.distance < NEARLY_EQUAL
    row, shape, of_query = found.row[may_vote], found.id[may_vote], query[found.row[may_vote]]
    octave, sector = (
        (shape >> first & last) - (of_query >> first & last) for first, last in ((2, 63), (8, 255))
    )
    pictures, place = np.unique(shape >> 16, return_inverse=True)
    score = np.zeros(len(pictures), np.int64)
    bins_each, rows = 2 * OCTAVES * SECTORS, max(len(query), 1)
    for half_octave in (0, SCALE_STEPS // 2):
        for half_sector in (0, 256 // SECTORS // 2):
            bins = (octave + half_octave) // SCALE_STEPS % OCTAVES * SECTORS
            bins += (sector + half_sector) % 256 * SECTORS // 256
            bins += (of_query >> 16) * OCTAVES * SECTORS  # the query as it is, or turned over
            voted = np.unique((place * bins_each + bins) * rows + row)  # a descriptor votes once in a bin
            counts = np.bincount(voted // rows, minlength=len(pictures) * bins_each)
            score = np.maximum(score, counts.reshape(len(pictures), bins_each).max(axis=1, initial=0))
    order = np.lexsort((pictures, -score))
    return list(zip(pictures[order].tolist(), score[order].tolist(), strict=True))


def _limit(least: Array) -> Floats:
    """(n,): an entry may vote whose distance is smaller."""
    background = np.where(least == MISSING, 0, least).max(axis=1, initial=0)
    return np.asarray(np.maximum(RATIO * background, NEARLY_EQUAL))


def _position(row: Array) -> Ints:
    """Of each element of a sorted array, how many equal ones stand before it."""
    return np.arange(len(row)) - np.searchsorted(row, row)
