"""Entries in inverted lists, in files that faiss writes and maps.

A list holds the entries of one cell. A cell has a descriptor from some photographs as its centre, and its
entries are those of the same class that are nearest to this centre. The centres are computed when an index is
made, and kept in each of its files. A query looks through the lists of the nearest cells. What is found
depends neither on how entries are distributed over files nor on the number of threads.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from ctypes import c_size_t
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import skimage.data

from matching._common.threads import default_threads
from matching._common.types import Array
from matching.collection.retrieval._codes import ENTRY, N_CLASSES, PICTURE, EntryLists, classes, encode
from matching.collection.retrieval._exact import find_in_lists
from matching.collection.retrieval._votes import Neighbours
from matching.config import MatchConfig
from matching.errors import InputError
from matching.pictures.images import read_picture
from matching.pipelines.description import describe_picture

try:
    import faiss
    from faiss.contrib.ivf_tools import add_preassigned
except ImportError:
    raise InputError("searching an index needs faiss: pip install 'gdl-match[index]'") from None

PHOTOGRAPHS = "astronaut", "camera", "chelsea", "coffee", "hubble_deep_field", "rocket"  # scikit-image's
LOOKED_THROUGH = 3000  # lists that a query looks through, times lists // pictures if there are more lists
PROBES = 8  # the most lists per descriptor
TOGETHER = 1024  # lists that are copied at a time when files are merged

Lists = tuple[Array, Array]  # (n,) int64 numbers of lists, and the (n,) ENTRY in them


class Segment(NamedTuple):
    """A mapped file: faiss's index, and the entries in its lists."""

    index: Any  # an IndexBinaryIVF
    cells: bytes  # the centres of its lists
    entries: EntryLists


@lru_cache(maxsize=1)
def make_cells(config: MatchConfig) -> Array:
    """The centres of cells, bits (c, 32) uint8; those of each class follow a centre of zeros."""
    shipped = Path(skimage.data.__file__).parent
    pictures = (read_picture(next(shipped.glob(f"{name}.*"))) for name in PHOTOGRAPHS)
    described = np.concatenate([encode(describe_picture(p, config).features, 10**6) for p in pictures])
    zeros = np.zeros((1, described["bits"].shape[1]), np.uint8)
    each = (described["bits"][classes(described) == k] for k in range(N_CLASSES))
    cells = np.concatenate([np.unique(np.concatenate([zeros, bits]), axis=0) for bits in each])
    cells.setflags(write=False)
    return cells


def assign(entries: Array, cells: Array) -> Lists:
    """The list of each entry."""
    faiss.omp_set_num_threads(1)  # more would wait busily for each other while workers describe pictures
    return _find_cells.__wrapped__(entries.tobytes(), cells.tobytes(), 1)[:, 0], entries


def write_segment(path: Path, cells: Array, chunks: Iterable[Lists]) -> None:
    """Write a new file, which is safely on the disk afterwards; no list is split between chunks."""
    quantizer = _quantizer(cells)
    segment = faiss.IndexBinaryIVF(quantizer, quantizer.d, len(cells))
    segment.is_trained = True
    for lists, entries in chunks:
        order = np.argsort(entries["id"], kind="stable")
        bits, number = (np.ascontiguousarray(entries[name][order]) for name in ("bits", "id"))
        add_preassigned(segment, bits, lists[order], number)
    try:
        faiss.write_index_binary(segment, os.fspath(path))
        with path.open("rb+") as file:
            os.fsync(file.fileno())
    except RuntimeError as error:
        raise OSError(f"faiss: {error}") from None


def open_segment(path: Path) -> Segment:
    """Map the file of a segment; raise InputError if it can't be used."""
    try:
        index: Any = faiss.read_index_binary(os.fspath(path), faiss.IO_FLAG_MMAP | faiss.IO_FLAG_READ_ONLY)
    except (RuntimeError, MemoryError):
        raise InputError(f"{path}: this part of the index is missing or damaged") from None
    mapped: Any = faiss.downcast_InvertedLists(index.invlists)  # list after list: bits, then ids
    shapes = (c_size_t * (3 * mapped.nlist)).from_address(int(mapped.lists.data().this))
    size, _, at = np.array(shapes, np.int64).reshape(-1, 3).T.copy()  # of each list: size, capacity, place
    data = faiss.rev_swig_ptr(mapped.ptr, mapped.totsize)[at[0] :][: ENTRY.itemsize * size.sum()]
    quantizer: Any = faiss.downcast_IndexBinary(index.quantizer)
    cells = faiss.vector_to_array(quantizer.xb).tobytes()
    return Segment(index, cells, EntryLists(data.view(np.uint64), (at - at[0]) // 8, size))


def merge_lists(segments: Sequence[Segment], dead: Sequence[Sequence[int]]) -> Iterator[Lists]:
    """The lists of several segments, without the entries of pictures that are dead in each."""
    for start in range(0, len(segments[0].entries.size), TOGETHER):
        lists, entries = [np.empty(0, np.int64)], [np.empty(0, ENTRY)]
        for (*_, (words, first, size)), gone in zip(segments, dead, strict=True):
            for k in start + np.flatnonzero(size[start : start + TOGETHER]):
                bits, number = np.split(words[first[k] :][: 5 * size[k]], [4 * size[k]])
                alive = ~np.isin(number.view(np.int64) >> PICTURE, gone)
                some = np.empty(alive.sum(), ENTRY)
                some["id"], some["bits"] = number[alive], bits.view(np.uint8).reshape(-1, 32)[alive]
                lists.append(np.full(len(some), k))
                entries.append(some)
        yield np.concatenate(lists), np.concatenate(entries)


def find_neighbours(query: Array, segment: Segment, but: Sequence[int] = (), n: int = 10**6) -> Neighbours:
    """The Neighbours of a query in a segment of an index of n pictures, except those of pictures `but`."""
    faiss.omp_set_num_threads(default_threads())
    most = LOOKED_THROUGH * max(len(segment.entries.size) // max(n, 1), 1)
    probes = min(max(most // max(len(query), 1), 1), PROBES)
    lists = _find_cells(query.tobytes(), segment.cells, probes)
    return find_in_lists(query, lists, segment.entries, but)


@lru_cache(maxsize=1)  # all segments of an index have the same cells
def _find_cells(entries: bytes, cells: bytes, probes: int) -> Array:
    """(n, probes): the cells nearest to (n,) ENTRY, ties by number; -1 if there are fewer."""
    looked, bits = np.frombuffer(entries, ENTRY), np.frombuffer(cells, np.uint8).reshape(-1, 32)
    near, kinds = np.empty((len(looked), probes), np.int64), classes(looked)
    starts = np.flatnonzero(~bits.any(axis=1))
    for k, (first, last) in enumerate(pairwise([*starts, len(bits)])):
        own = kinds == k
        found = _quantizer(bits[first:last]).search(np.ascontiguousarray(looked["bits"][own]), probes)[1]
        near[own] = np.where(found < 0, -1, found + first)
    return near


def _quantizer(cells: Array) -> Any:
    quantizer = faiss.IndexBinaryFlat(8 * cells.shape[1])
    quantizer.add(np.ascontiguousarray(cells))
    return quantizer
