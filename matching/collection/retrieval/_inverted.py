"""Entries in inverted lists: files that faiss writes and maps.

A list holds the entries of one cell: those nearest to one of the descriptors of their class in some
photographs, which are computed when an index is made and kept in each of its files. Within a list ids rise. A
query looks through the lists of the nearest cells, and finds the same however entries are spread over files.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import skimage.data

from matching._common.types import Array
from matching.collection.retrieval import _kernels
from matching.collection.retrieval._codes import ENTRY, N_CLASSES, PICTURE, classes, encode
from matching.collection.retrieval._exact import Packed, find_in_lists
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
LOOKED_THROUGH = 3000  # lists of a query: a picture of few descriptors has more of them for each
PROBES = 8  # at most, of a descriptor
TOGETHER = 1024  # lists that are copied at a time where files are merged

Lists = tuple[Array, Array]  # (n,) int64 numbers of lists, and the (n,) ENTRY in them


@lru_cache(maxsize=1)
def make_cells(config: MatchConfig) -> Array:
    """The bits (c, 32) uint8 around which cells lie; those of each class follow a cell of zeros."""
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
    return _find_cells.__wrapped__(entries.tobytes(), cells.tobytes(), 1)[:, 0], entries


def write_segment(path: Path, cells: Array, chunks: Iterable[Lists]) -> None:
    """Write a new file, on the disk for certain when this returns; a list is whole in one of the chunks."""
    quantizer = faiss.IndexBinaryFlat(8 * cells.shape[1])
    quantizer.add(np.ascontiguousarray(cells))
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


class Segment(NamedTuple):
    """A mapped file: where each list begins, the words of all, and the cells (32c bytes)."""

    packed: Packed
    cells: bytes
    mapping: Any  # faiss's index, which holds the memory of the words


def open_segment(path: Path) -> Segment:
    """Map the file of a segment; it raises OSError or ValueError if it can't be used."""
    path.open("rb").close()
    try:
        index: Any = faiss.read_index_binary(os.fspath(path), faiss.IO_FLAG_MMAP | faiss.IO_FLAG_READ_ONLY)
    except (RuntimeError, MemoryError):
        raise ValueError("is not a part of an index, or is damaged") from None
    starts = np.cumsum([0, *map(index.get_list_size, range(index.nlist))])
    words, filled = np.empty(0, np.uint64), np.flatnonzero(np.diff(starts)).tolist()
    if filled:  # lists lie one behind the other
        first, last = (index.invlists.get_codes(filled[k]) for k in (0, -1))
        if int(last) - int(first) != ENTRY.itemsize * starts[filled[-1]]:
            raise ValueError(f"has a layout that this program does not know, of faiss {faiss.__version__}")
        words = faiss.rev_swig_ptr(first, ENTRY.itemsize * index.ntotal).view(np.uint64)
    quantizer: Any = faiss.downcast_IndexBinary(index.quantizer)
    return Segment((starts, words), faiss.vector_to_array(quantizer.xb).tobytes(), index)


def merge_lists(segments: Sequence[Segment], dead: Sequence[Sequence[int]]) -> Iterator[Lists]:
    """The lists of several segments, without the entries of pictures that are dead in each."""
    for start in range(0, len(segments[0].packed[0]) - 1, TOGETHER):
        lists, entries = [np.empty(0, np.int64)], [np.empty(0, ENTRY)]
        for segment, gone in zip(segments, dead, strict=True):
            starts, words = segment.packed
            for k, (first, last) in enumerate(pairwise(starts[start : start + TOGETHER + 1]), start):
                bits, number = np.split(words[5 * first : 5 * last], [4 * (last - first)])
                some = np.empty(last - first, ENTRY)
                some["id"], some["bits"] = number, bits.view(np.uint8).reshape(-1, 32)
                entries.append(some[~np.isin(some["id"] >> PICTURE, gone)])
                lists.append(np.full(len(entries[-1]), k))
        yield np.concatenate(lists), np.concatenate(entries)


def find_neighbours(query: Array, segment: Segment, but: Sequence[int] = ()) -> Neighbours:
    """The Neighbours of a query in a segment, without the entries of pictures `but`."""
    probes = min(max(LOOKED_THROUGH // max(len(query), 1), 1), PROBES)
    lists = _find_cells(query.tobytes(), segment.cells, probes)
    return find_in_lists(query, lists, segment.packed, but)


@lru_cache(maxsize=64)  # all segments of an index have the same cells
def _find_cells(entries: bytes, cells: bytes, probes: int) -> Array:
    """(n, probes): the cells nearest to n ENTRY, of equally near ones the first; -1 if there are fewer."""
    looked, bits = np.frombuffer(entries, ENTRY), np.frombuffer(cells, np.uint8).reshape(-1, 32)
    near, kinds = np.empty((len(looked), probes), np.int64), classes(looked)
    starts = np.flatnonzero(~bits.any(axis=1))
    for k, (first, last) in enumerate(pairwise([*starts, len(bits)])):
        own = kinds == k
        found = np.full((own.sum(), probes), -1)
        columns = np.ascontiguousarray(bits[first:last].view(np.uint64).T)
        _kernels.nearest_cells(np.ascontiguousarray(looked["bits"][own]).view(np.uint64), columns, found)
        near[own] = np.where(found < 0, -1, found + first)
    return near
