"""Entries in lists, in files: those of each cell, or of each class, which are all compared.

A cell has a descriptor from some photographs as its centre, and its entries are those of the same class that
are nearest to this centre. The centres are computed when an index is made, and kept in each of its files. A
query looks through the lists of the nearest cells. What is found depends neither on how entries are
distributed over files nor on the number of threads.

A file (segment) consists of 64-bit numbers: the number c of lists, their centres (4 each), the c sizes of the
lists, the bits of all entries (4 each), and their ids.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import skimage.data

from matching._common.types import Array, Ints
from matching.collection.retrieval import _kernels
from matching.collection.retrieval._codes import ENTRY, N_CLASSES, SHAPE_BITS, EntryLists, classes, encode
from matching.collection.retrieval._votes import MISSING_DISTANCE, N_KEPT, Neighbours, choose_neighbours
from matching.correspondences.descriptor_search import nearest_descriptors
from matching.errors import InputError, OneLineErrors
from matching.grouping.config import MatchConfig
from matching.output.folders import replace_file
from matching.pictures.images import read_picture
from matching.searches.source import describe_picture

CELL_PHOTOGRAPHS = "astronaut", "camera", "chelsea", "coffee", "hubble_deep_field", "rocket"  # scikit-image's
# Lists that a query looks through. If the index has m times as many lists as pictures, it is m times as many.
LISTS_PER_QUERY = 3000
MAX_LISTS = 8  # largest number of lists per descriptor
CLASS_CELLS = np.zeros((N_CLASSES, 32), np.uint8)  # a single cell for each class, for an exact search


class Segment(NamedTuple):
    """A mapped file: the centres of its lists, as bytes, and the entries in them."""

    cells: bytes
    entries: EntryLists


@lru_cache(maxsize=1)
def make_cells(config: MatchConfig) -> Array:
    """Make the centres of cells, bits (c, 32) uint8; those of each class follow a centre of zeros."""
    shipped = Path(skimage.data.__file__).parent
    pictures = (read_picture(next(shipped.glob(f"{name}.*"))) for name in CELL_PHOTOGRAPHS)
    described = np.concatenate([encode(describe_picture(p, config).features, 10**6) for p in pictures])
    zeros = np.zeros((1, described["bits"].shape[1]), np.uint8)
    each = (described["bits"][classes(described) == k] for k in range(N_CLASSES))
    cells = np.concatenate([np.unique(np.concatenate([zeros, bits]), axis=0) for bits in each])
    cells.setflags(write=False)
    return cells


def assign(entries: Array, cells: Array) -> Ints:
    """Find the list (n,) of each entry."""
    return _find_cells.__wrapped__(entries.tobytes(), cells.tobytes(), 1)[:, 0]


def write_segment(path: Path, cells: Array, entries: Array, lists: Array) -> int:
    """Write (m,) ENTRY in these lists (m,) to a new file, safely on the disk; return its size in bytes.

    If the disk is full or can't be written, InputError is raised, and nothing is left.
    """
    entries = entries[np.lexsort((entries["id"], lists))]
    sizes = np.bincount(lists, minlength=len(cells))
    with OneLineErrors(path, "can't be written"), replace_file(path) as file:
        for array in (np.array([len(cells)]), cells, sizes, entries["bits"], entries["id"]):
            np.ascontiguousarray(array).tofile(file)
        file.flush()
        os.fsync(file.fileno())
    return path.stat().st_size


def open_segment(path: Path) -> Segment:
    """Map the file of a segment; raise InputError if it can't be used."""
    try:
        words: Array = np.memmap(path, np.uint64, "r")
    except (OSError, ValueError):
        words = np.zeros(1, np.uint64)
    c = int(words[0])
    first = np.concatenate([[0], np.cumsum(words[1 + 4 * c : 1 + 5 * c], dtype=np.int64)])
    cells, entries, m = words[1 : 1 + 4 * c], words[1 + 5 * c :], int(first[-1])
    if not c or len(first) != c + 1 or len(entries) != 5 * m:
        raise InputError(
            f"{path}: this part of the index is missing or damaged; delete the index and add its pictures"
            " again"
        )
    lists = EntryLists(entries[: 4 * m].reshape(-1, 4), entries[4 * m :].view(np.int64), first)
    return Segment(cells.tobytes(), lists)


def merge_lists(segments: Sequence[Segment], dead: Sequence[Sequence[int]]) -> tuple[Array, Ints]:
    """Join the entries of segments, without the pictures that are dead in each; return also their lists."""
    lists, entries = [], []
    for (_, (bits, ids, first)), dead_pictures in zip(segments, dead, strict=True):
        is_alive = ~np.isin(ids >> SHAPE_BITS, dead_pictures)
        kept = np.empty(is_alive.sum(), ENTRY)
        kept["id"], kept["bits"] = ids[is_alive], bits[is_alive].view(np.uint8)
        lists.append(np.repeat(np.arange(len(first) - 1), np.diff(first))[is_alive])
        entries.append(kept)
    return np.concatenate(entries), np.concatenate(lists)


def find_neighbours(
    query: Array, segment: Segment, excluded: Sequence[int] = (), n: int = 10**6
) -> Neighbours:
    """Find the neighbours of a query in a segment of an index of n pictures, without excluded pictures."""
    max_lists = LISTS_PER_QUERY * max((len(segment.entries.first) - 1) // max(n, 1), 1)
    probes = min(max(max_lists // max(len(query), 1), 1), MAX_LISTS)
    lists = _find_cells(query.tobytes(), segment.cells, probes)  # (n, p)
    shape = len(query), N_KEPT
    distance, found = np.full(shape, MISSING_DISTANCE), np.full(shape, -1, np.int64)
    order = np.argsort(lists[:, 0], kind="stable")  # so that a list stays in the processor's cache
    dead = np.sort(np.array(excluded, np.int64))
    _kernels.search(_view_bits(query), order, lists, segment.entries, dead, distance, found)
    return choose_neighbours(distance, found)


@lru_cache(maxsize=1)  # all segments of an index have the same cells
def _find_cells(entries: bytes, cells: bytes, probes: int) -> Ints:
    """Find the cells nearest to (n,) ENTRY -> (n, probes), ties by number; -1 if there are fewer."""
    queries, centres = np.frombuffer(entries, ENTRY), np.frombuffer(cells, np.uint8).reshape(-1, 32)
    first = np.append(np.flatnonzero(~centres.any(axis=1)), len(centres))  # those of a class begin with zeros
    near = np.full((len(queries), probes), -1)
    for k in range(N_CLASSES):
        rows = np.flatnonzero(classes(queries) == k)
        sides = queries["bits"][rows], centres[first[k] : first[k + 1]]
        # of numbers 0 and 1, the squared distance is the number of different bits
        rows0, rows1 = (np.unpackbits(bits, axis=1).astype(np.float32) for bits in sides)
        found = nearest_descriptors(rows0, rows1, probes)[0]
        near[rows] = np.where(found >= 0, found + first[k], -1)
    return near


def _view_bits(entries: Array) -> Array:
    """View the bits of (n,) ENTRY as (n, 4) uint64."""
    return np.ascontiguousarray(entries["bits"]).view(np.uint64)
