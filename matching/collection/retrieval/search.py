"""Which pictures share descriptors with a query.

Every descriptor of the query looks up its nearest entries. The eleventh stands for the background, as in
local naive Bayes nearest neighbour (McCann and Lowe, CVPR 2012): the descriptor votes for each picture that
has an entry much nearer than that among the ten before it, and for those that have one nearly equal, where a
picture stands many times in the index. A picture's score is the most votes that agree on how much the query
is turned and scaled in it (weak geometric consistency, Jégou, Douze, Schmid, ECCV 2008).

All of it is whole numbers in an order that is defined, so entries may lie in any number of segments: the
neighbours of all are merged and then voted on, which gives the same scores, bit by bit.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from matching._common.threads import run_in_ranges
from matching._common.types import Array, Floats, Ints
from matching.collection.retrieval import _kernels
from matching.collection.retrieval.codes import SCALE_STEPS, Query, load_codebook
from matching.collection.retrieval.segments import Segment
from matching.features.extraction import DESCRIPTOR_NORM

PROBES = 8  # cells that each descriptor looks through
KEPT = 32  # neighbours of a descriptor
NEIGHBORS = 10  # of them, those that may vote by the ratio
RATIO = 0.7  # of a distance that earns a vote to the background's
NEARLY_EQUAL = int(0.06 * DESCRIPTOR_NORM**2)  # squared distance; the codes' own error is half as large
MISSING = np.int64(2**31 - 1)  # the distance of a neighbour that there is not
OCTAVES, SECTORS = 16, 8  # bins of the votes: an octave of scale (modulo 16), an eighth of a turn


@dataclass(frozen=True, eq=False)
class Neighbours:
    """The entries nearest to each of n descriptors, as far as they may vote.

    Parameters
    ----------
    least : (n, NEIGHBORS + 1) int32
        The smallest squared distances, rising; MISSING where there are fewer.
    row : (m,) int32
        The descriptor of an entry that may vote; sorted by row, distance, picture, shape.
    distance : (m,) int32
        Its squared distance.
    picture : (m,) uint32
        Its picture.
    shape : (m,) uint16
        As `pack_shapes` of `codes` has it.
    """

    least: Array
    row: Array
    distance: Array
    picture: Array
    shape: Array


@dataclass(frozen=True, eq=False)
class Ranking:
    """Pictures with votes, by falling score, equal ones by their number.

    Parameters
    ----------
    picture : (m,) int64
        Numbers of pictures.
    score : (m,) int64
        The votes of each.
    """

    picture: Array
    score: Array

    def best(self, n: int) -> list[int]:
        """The first pictures.

        Parameters
        ----------
        n : int
            How many.

        Returns
        -------
        list of int
            Their numbers.
        """
        numbers: list[int] = self.picture[:n].tolist()
        return numbers


def find_neighbours(
    query: Query, segment: Segment, but: Iterable[int] = (), n_threads: int = 1
) -> Neighbours:
    """Find the nearest entries of a query in a segment.

    Parameters
    ----------
    query : Query
        What is looked up.
    segment : Segment
        The entries.
    but : iterable of int
        Pictures that are passed over.
    n_threads : int
        Threads; the result is the same for any number.

    Returns
    -------
    Neighbours
        The nearest entries.
    """
    n = len(query.descriptors)
    distance, other = np.full((n, KEPT), MISSING), np.full((n, KEPT), -1, np.int64)
    begin, end = segment.lists(query.cells.astype(np.int64))
    descriptors = query.descriptors.astype(np.int32)
    but = np.unique(np.fromiter(but, np.int64))
    entries = segment.owner, segment.shape, segment.code, but
    run_in_ranges(
        lambda a, b: _kernels.search(
            *(descriptors, query.shape, load_codebook().words, begin, end, *entries),
            *(a, b, distance, other),
        ),
        n,
        n_threads,
        64,
    )
    least = distance[:, : NEIGHBORS + 1]
    # where there are eleven, those of other segments can only lower the limit
    limit = np.where(least[:, -1] == MISSING, MISSING, _limit(least))
    row, column = np.nonzero(distance < limit[:, None])
    picture, shape = np.divmod(other[row, column], 65536)
    return Neighbours(
        least.astype(np.int32),
        row.astype(np.int32),
        distance[row, column].astype(np.int32),
        picture.astype(np.uint32),
        shape.astype(np.uint16),
    )


def merge_neighbours(parts: Iterable[Neighbours]) -> Neighbours:
    """Merge the entries found in several segments.

    Parameters
    ----------
    parts : iterable of Neighbours
        What was found in each segment.

    Returns
    -------
    Neighbours
        The nearest ones among them.
    """
    parts = list(parts)
    least = np.sort(np.concatenate([p.least for p in parts], axis=1), axis=1)[:, : NEIGHBORS + 1]
    names = "row", "distance", "picture", "shape"
    columns = [np.concatenate([getattr(p, name) for p in parts]) for name in names]
    order = np.lexsort(columns[::-1])
    columns = [column[order] for column in columns]
    kept = _position(columns[0]) < KEPT
    return Neighbours(least, *(column[kept] for column in columns))


def rank(query: Query, found: Neighbours) -> Ranking:
    """Rank the pictures that the neighbours vote for.

    Parameters
    ----------
    query : Query
        What was looked up.
    found : Neighbours
        The nearest entries.

    Returns
    -------
    Ranking
        The pictures and their scores.
    """
    may_vote = (found.distance < _limit(found.least)[found.row]) & (_position(found.row) < NEIGHBORS)
    may_vote |= found.distance < NEARLY_EQUAL
    row, shape = found.row[may_vote].astype(np.int64), found.shape[may_vote].astype(np.int64)
    of_query = query.shape[row].astype(np.int64)
    octave, sector = _size(shape) - _size(of_query), (shape >> 8) - (of_query >> 8)
    pictures, place = np.unique(found.picture[may_vote], return_inverse=True)
    score = np.zeros(len(pictures), np.int64)
    bins_each, rows = OCTAVES * SECTORS, max(len(query.shape), 1)
    for half_octave in (0, SCALE_STEPS // 2):
        for half_sector in (0, 256 // SECTORS // 2):
            bins = (octave + half_octave) // SCALE_STEPS % OCTAVES * SECTORS
            bins += (sector + half_sector) % 256 * SECTORS // 256
            voted = np.unique((place * bins_each + bins) * rows + row)  # a descriptor votes once in a bin
            counts = np.bincount(voted // rows, minlength=len(pictures) * bins_each)
            score = np.maximum(score, counts.reshape(len(pictures), bins_each).max(axis=1, initial=0))
    order = np.lexsort((pictures, -score))
    return Ranking(pictures[order].astype(np.int64), score[order])


def _limit(least: Array) -> Floats:
    """(n,): an entry may vote whose squared distance is smaller."""
    background = np.where(least == MISSING, 0, least).max(axis=1, initial=0)
    return np.asarray(np.maximum(RATIO**2 * background, NEARLY_EQUAL))


def _position(row: Array) -> Ints:
    """Of each element of a sorted array, how many equal ones stand before it."""
    return np.arange(len(row)) - np.searchsorted(row, row)


def _size(shape: Array) -> Array:
    size: Array = (shape >> 2) & 63
    return size
