"""How many of the descriptors that a picture shares with a query lie alike in both.

Votes count that agree on how much the query is turned and scaled in the picture (weak geometric consistency,
Jégou, Douze, Schmid, ECCV 2008), and of these the ones that agree on where it lies. Places are complex numbers:
the query's q is at a q + t in the picture.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product

import numpy as np

from matching._common.types import Array, Bools, Ints
from matching.collection.retrieval._codes import SCALE_STEPS

SECTORS = 8  # bins of votes: an octave, an eighth of a turn,
PARTS = 4  # and a fourth of the query's extent


def count_alike(picture: Ints, n: int, row: Ints, query: Ints, entry: Ints) -> Ints:
    """(n,): of each of n pictures how many votes lie alike; each descriptor and each entry counts once.

    Vote i is that of the descriptor `row[i]` with the id `query[i]` for `entry[i]` of `picture[i]` (m,).
    """
    if not n:
        return np.zeros(0, np.int64)
    octave, sector = ((entry >> first & last) - (query >> first & last) for first, last in ((2, 63), (8, 255)))
    q, p = ((ids >> 16 & 1023) + 1j * (ids >> 26 & 1023) for ids in (query, entry))
    alike = np.ones(len(row), bool)
    bins = (
        (octave + o) // SCALE_STEPS * SECTORS + (sector + s) % 256 * SECTORS // 256
        for o, s in product((0, SCALE_STEPS // 2), (0, 256 // SECTORS // 2))
    )
    alike = _find_fullest(picture, n, row, bins, alike)
    a = _mean(2.0 ** (octave / SCALE_STEPS) * np.exp(2j * np.pi / 256 * sector), picture, n, alike)
    extent = max(np.ptp(q.real), np.ptp(q.imag), 1)
    t = (p - a * q) / (np.abs(a) * extent / PARTS)
    bins = (
        (np.floor(t.real + x).astype(np.int64) & 0xFFFF) << 16 | np.floor(t.imag + y).astype(np.int64) & 0xFFFF
        for x, y in product((0, 0.5), repeat=2)
    )
    alike = _find_fullest(picture, n, row, bins, alike)
    return np.minimum(*(_count(picture[alike], n, member[alike]) for member in (row, entry)))


def _find_fullest(picture: Ints, n: int, row: Ints, bins: Iterable[Ints], among: Bools) -> Bools:
    """(m,): the votes `among` all that are in the fullest bin of their picture, of several sets of bins (m,)."""
    most, fullest = np.zeros(n, np.int64), np.zeros(len(row), bool)
    for own in bins:
        own = own - own.min()
        span = own.max() + 1
        cells, cell = np.unique(picture[among] * span + own[among], return_inverse=True)
        count, of = _count(cell, len(cells), row[among]), cells // span
        order = np.lexsort((-count, of))
        top = order[np.searchsorted(of[order], np.arange(n))]
        more = count[top] > most
        most = np.maximum(most, count[top])
        fullest[among] = np.where(more[picture[among]], cell == top[picture[among]], fullest[among])
    return fullest


def _count(group: Ints, n: int, member: Ints) -> Ints:
    """(n,): how many different members each of n groups has."""
    _, member = np.unique(member, return_inverse=True)
    size = member.max() + 1
    return np.bincount(np.unique(group * size + member) // size, minlength=n)


def _mean(x: Array, picture: Ints, n: int, alike: Bools) -> Array:
    """(m,) complex: for each vote the mean of x over those votes of its picture that lie alike."""
    x = np.where(alike, x, 0)
    total = np.bincount(picture, x.real, n) + 1j * np.bincount(picture, x.imag, n)
    return np.asarray((total / np.bincount(picture, alike, n))[picture])
