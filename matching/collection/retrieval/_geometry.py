"""Counting the descriptors that a picture shares with a query and that agree in geometry.

Votes count if they agree on how much the query is turned and scaled in the picture (weak geometric
consistency, Jégou, Douze, Schmid, ECCV 2008), and on where it lies. Places are complex numbers: what is at q
in the query is at p = a q + t in the picture.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product

import numpy as np

from matching._common.types import Bools, Ints
from matching.collection.retrieval._codes import STEPS_PER_OCTAVE

N_SECTORS = 8  # a bin of votes spans an octave, and one of these sectors of the circle;
PARTS_PER_EXTENT = 4  # a bin of places spans a fourth of the query's extent


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
    alike = _find_fullest(picture, n, row, bins, np.ones(len(row), bool))
    turned = 2.0 ** (octave / STEPS_PER_OCTAVE) * np.exp(2j * np.pi / 256 * sector) * alike
    a = (np.bincount(picture, turned.real, n) + 1j * np.bincount(picture, turned.imag, n))[picture]
    a /= np.bincount(picture, alike, n)[picture]
    q, p = ((ids >> 16 & 1023) + 1j * (ids >> 26 & 1023) for ids in (query, entry))
    extent = max(np.ptp(q.real), np.ptp(q.imag), 1) if n else 1
    t = (p - a * q) / (np.abs(a) * extent / PARTS_PER_EXTENT)
    bins = (
        (np.floor(t.real + x).astype(np.int64) % 2**16) << 16 | np.floor(t.imag + y).astype(np.int64) % 2**16
        for x, y in product((0, 0.5), repeat=2)
    )
    alike = _find_fullest(picture, n, row, bins, alike)
    return np.minimum(*(_count(picture[alike], n, which[alike]) for which in (row, entry)))


def _find_fullest(picture: Ints, n: int, row: Ints, bins: Iterable[Ints], among: Bools) -> Bools:
    """Find the votes of `among` (m,) that are in the fullest of all `bins` (m,) of their picture -> (m,)."""
    largest, fullest = np.zeros(n, np.int64), np.zeros(len(row), bool)
    picture, row = picture[among], row[among]
    for bin_of_vote in bins:
        # bins of different pictures differ: their numbers are picture * 2**32 + bin
        cells, cell = np.unique(picture << 32 | bin_of_vote[among] % 2**32, return_inverse=True)
        count = _count(cell, len(cells), row)
        order = np.lexsort((-count, cells >> 32))
        top = order[np.searchsorted(cells[order] >> 32, np.arange(n))]  # the fullest of each picture
        more = count[top] > largest
        largest = np.maximum(largest, count[top])
        fullest[among] = np.where(more[picture], cell == top[picture], fullest[among])
    return fullest


def _count(group: Ints, n: int, member: Ints) -> Ints:
    """Count the different members of each of n groups -> (n,)."""
    _, member = np.unique(member, return_inverse=True)
    size = member.max(initial=0) + 1
    return np.bincount(np.unique(group * size + member) // size, minlength=n)
