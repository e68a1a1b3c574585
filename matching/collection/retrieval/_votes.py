"""Which pictures the neighbours of a query's descriptors vote for, and which votes agree in geometry.

The eleventh nearest entry of a descriptor stands for the background, as in local naive Bayes nearest
neighbour (McCann and Lowe, CVPR 2012): the descriptor votes for each picture that has an entry much nearer
than the background. Because a picture may be in the index many times, it also votes for each picture with a
nearly equal entry. The score of a picture is the number of its votes that agree in geometry.

All numbers are whole, and a fixed rule orders equal ones. So entries may lie in any number of shards: the
neighbours from all shards are merged before they vote, which always gives the same scores.

Votes count if they agree on how much the query is turned and scaled in the picture (weak geometric
consistency, Jégou, Douze, Schmid, ECCV 2008), and on where it lies. Places are complex numbers: what is at q
in the query is at p = a q + t in the picture.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product

import numpy as np

from matching._common.types import Array, Bools, Floats, Ints
from matching.collection.retrieval._codes import SHAPE_BITS, STEPS_PER_OCTAVE

N_KEPT = 32  # neighbours that are kept for each descriptor
N_VOTING_NEIGHBORS = 10  # largest number of neighbours that may vote by the ratio
MAX_RATIO = 0.75  # of a neighbour's distance to that of the background, below which the neighbour may vote
# Of the 256 bits. In small indexes the background is far, so entries farther than this never vote.
MAX_VOTING_DISTANCE = 40
EQUAL_DISTANCE = 12  # of the 256 bits: entries this near count as equal, and vote without the ratio
# A neighbour at this distance or farther can't change which entries may vote.
FAR_DISTANCE = int(-(-MAX_VOTING_DISTANCE // MAX_RATIO))
MISSING_DISTANCE = np.int32(2**31 - 1)  # stands for a neighbour that is missing, or at FAR_DISTANCE or more
N_SECTORS = 8  # of the circle: a bin of votes spans an octave and a sector
PARTS_PER_EXTENT = 4  # a bin of places spans a fourth of the query's extent


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
    may_vote = distance < _limit(smallest)[:, None]
    return Neighbours(smallest, np.nonzero(may_vote)[0], distance[may_vote], number[may_vote])


def merge_neighbours(parts: Iterable[Neighbours]) -> Neighbours:
    """Join the neighbours from several shards."""
    parts = list(parts)
    smallest = np.sort(np.concatenate([p.smallest for p in parts], axis=1), axis=1)[
        :, : N_VOTING_NEIGHBORS + 1
    ]
    columns = [np.concatenate([getattr(p, name) for p in parts]) for name in ("row", "distance", "id")]
    may_vote = columns[1] < _limit(smallest)[columns[0]]
    row, distance, number = (column[may_vote] for column in columns)
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


def count_alike(picture: Ints, n: int, row: Ints, query: Ints, entry: Ints) -> Ints:
    """Count the votes for each of n pictures that agree -> (n,); each descriptor and entry counts once.

    Vote i is that of the descriptor `row[i]` with the id `query[i]` for `entry[i]` of `picture[i]` (m,).
    """
    octave, sector = (
        (entry >> first & last) - (query >> first & last) for first, last in ((2, 63), (8, 255))
    )
    bins = (
        (octave + o) // STEPS_PER_OCTAVE * N_SECTORS + (sector + s) % 256 * N_SECTORS // 256
        for o, s in product((0, STEPS_PER_OCTAVE // 2), (0, 256 // N_SECTORS // 2))
    )
    agrees = _find_fullest(picture, n, row, bins, np.ones(len(row), bool))
    factor = 2.0 ** (octave / STEPS_PER_OCTAVE) * np.exp(2j * np.pi / 256 * sector) * agrees
    a = (np.bincount(picture, factor.real, n) + 1j * np.bincount(picture, factor.imag, n))[picture]
    a /= np.bincount(picture, agrees, n)[picture]
    q, p = ((ids >> 16 & 1023) + 1j * (ids >> 26 & 1023) for ids in (query, entry))
    extent = max(np.ptp(q.real), np.ptp(q.imag), 1) if n else 1
    t = (p - a * q) / (np.abs(a) * extent / PARTS_PER_EXTENT)
    bins = (
        (np.floor(t.real + x).astype(np.int64) % 2**16) << 16 | np.floor(t.imag + y).astype(np.int64) % 2**16
        for x, y in product((0, 0.5), repeat=2)
    )
    agrees = _find_fullest(picture, n, row, bins, agrees)
    n_rows, n_entries = (_count_members(picture[agrees], n, ends[agrees]) for ends in (row, entry))
    return np.minimum(n_rows, n_entries)


def _find_fullest(picture: Ints, n: int, row: Ints, bins: Iterable[Ints], may_vote: Bools) -> Bools:
    """Find the votes that are in the fullest of all `bins` (m,) of their picture -> (m,); may_vote (m,)."""
    largest, fullest = np.zeros(n, np.int64), np.zeros(len(row), bool)
    picture, row = picture[may_vote], row[may_vote]
    for bin_of_vote in bins:
        # bins of different pictures differ: their numbers are picture * 2**32 + bin
        cells, cell = np.unique(picture << 32 | bin_of_vote[may_vote] % 2**32, return_inverse=True)
        count = _count_members(cell, len(cells), row)
        order = np.lexsort((-count, cells >> 32))
        top = order[np.searchsorted(cells[order] >> 32, np.arange(n))]  # the fullest of each picture
        is_fuller = count[top] > largest
        largest = np.maximum(largest, count[top])
        fullest[may_vote] = np.where(is_fuller[picture], cell == top[picture], fullest[may_vote])
    return fullest


def _count_members(group: Ints, n: int, member: Ints) -> Ints:
    """Count the distinct members of each of n groups -> (n,)."""
    _, member = np.unique(member, return_inverse=True)
    size = member.max(initial=0) + 1
    return np.bincount(np.unique(group * size + member) // size, minlength=n)
