"""The entries of many pictures as inverted lists: in memory, or mapped from a file.

A file holds MAGIC, the numbers of lists and of entries (int64), and the arrays of a Segment one after the
other, little-endian, each at a multiple of 8 bytes. It is written once and never changed.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from matching._common.types import Array, Bools, Ints
from matching.collection.retrieval.codes import Codes, load_codebook

MAGIC = b"gdlidx01"
CHUNK = 2**20  # entries copied at a time where segments are merged


@dataclass(frozen=True, eq=False)
class Segment:
    """Entries sorted by their cell, within it by picture and then in the order of its features.

    Parameters
    ----------
    cells : (c,) uint16
        The cells that have entries, rising.
    starts : (c + 1,) int64
        Where the list of each cell begins.
    owner : (n,) uint32
        The picture's number.
    shape : (n,) uint16
        As `pack_shapes` of `codes` has it.
    code : (n, 32) uint8
        The word of each part.
    """

    cells: Array
    starts: Array
    owner: Array
    shape: Array
    code: Array

    def __len__(self) -> int:
        return len(self.owner)

    def lists(self, cells: Array) -> tuple[Array, Array]:
        """Find the lists of cells.

        Parameters
        ----------
        cells : array of int
            Cells, of any shape.

        Returns
        -------
        tuple of array
            Where each list begins and ends; both 0 where there is none.
        """
        at = np.searchsorted(self.cells, cells)
        at = np.minimum(at, max(len(self.cells) - 1, 0))
        if not len(self.cells):
            return np.zeros_like(cells), np.zeros_like(cells)
        there = self.cells[at] == cells
        return np.where(there, self.starts[at], 0), np.where(there, self.starts[at + 1], 0)


def make_segment(pictures: Iterable[tuple[int, Codes]]) -> Segment:
    """Sort the entries of pictures into lists.

    Parameters
    ----------
    pictures : iterable of (int, Codes)
        Rising numbers of pictures and their codes.

    Returns
    -------
    Segment
        Their entries.
    """
    numbers, codes = [], []
    for number, found in pictures:
        numbers.append(number)
        codes.append(found)
    parts = len(load_codebook().words)
    cell = np.concatenate([np.empty(0, np.uint16), *(c.cell for c in codes)])
    order = np.argsort(cell, kind="stable")
    cells, first = np.unique(cell[order], return_index=True)
    return Segment(
        cells,
        np.append(first, len(cell)).astype(np.int64),
        np.repeat(np.array(numbers, np.uint32), [len(c.cell) for c in codes])[order],
        np.concatenate([np.empty(0, np.uint16), *(c.shape for c in codes)])[order],
        np.concatenate([np.empty((0, parts), np.uint8), *(c.code for c in codes)])[order],
    )


def write_segment(path: Path, segment: Segment) -> None:
    """Write a segment to a new file, on the disk for certain when this returns.

    Parameters
    ----------
    path : Path
        The file.
    segment : Segment
        The entries.
    """
    arrays = (segment.cells, segment.starts, segment.owner, segment.shape, segment.code)
    _write(path, len(segment.cells), len(segment), ([array] for array in arrays))


def open_segment(path: Path) -> Segment:
    """Map the segment in a file; its arrays stay on disk.

    Parameters
    ----------
    path : Path
        The file.

    Returns
    -------
    Segment
        The entries.

    Raises
    ------
    ValueError
        Where the file is no segment or has another length than it says.
    """
    with path.open("rb") as file:
        head = file.read(24)
    if len(head) < 24 or head[:8] != MAGIC:
        raise ValueError("is not a part of an index")
    n_cells, n = np.frombuffer(head, "<i8", offset=8).tolist()
    layout, length = _layout(n_cells, n)
    if n_cells < 0 or n < 0 or path.stat().st_size != length:
        raise ValueError(f"has {path.stat().st_size} bytes, not {length}")
    data = np.memmap(path, np.uint8, "r")
    views = [
        data[at : at + int(np.prod(size)) * np.dtype(kind).itemsize].view(kind).reshape(size)
        for at, kind, size in layout
    ]
    return Segment(*(view.view(np.ndarray) for view in views))


def merge_segments(path: Path, segments: Sequence[Segment], dead: Sequence[Array]) -> None:
    """Write the entries of several segments as one, list by list, without those of removed pictures.

    Parameters
    ----------
    path : Path
        The file that is written.
    segments : sequence of Segment
        The entries.
    dead : sequence of arrays of int
        For each segment, the sorted numbers of its pictures that are removed.
    """
    kept = [~np.isin(s.owner, d) if len(d) else None for s, d in zip(segments, dead, strict=True)]
    sizes = np.zeros(65536, np.int64)
    for segment, keep in zip(segments, kept, strict=True):
        counted = np.diff(segment.starts) if keep is None else _sums(keep, segment.starts)
        sizes[segment.cells] += counted
    cells = np.flatnonzero(sizes).astype(np.uint16)
    starts = np.concatenate([[0], np.cumsum(sizes[cells])])

    def columns() -> Iterator[Iterator[Array]]:
        yield iter([cells])
        yield iter([starts])
        for name in ("owner", "shape", "code"):
            yield _merge_column(segments, kept, cells, name)

    _write(path, len(cells), int(starts[-1]), columns())


def _sums(keep: Bools, starts: Array) -> Ints:
    total = np.concatenate([[0], np.cumsum(keep)])
    sums: Ints = total[starts[1:]] - total[starts[:-1]]
    return sums


def _merge_column(
    segments: Sequence[Segment], kept: Sequence[Bools | None], cells: Array, name: str
) -> Iterator[Array]:
    """A column of the merged segment, in pieces."""
    columns = [getattr(segment, name) for segment in segments]
    begins, ends = zip(*(segment.lists(cells.astype(np.int64)) for segment in segments), strict=True)
    waiting, size = [], 0
    for k in range(len(cells)):
        rows = [
            (s, slice(begin[k], end[k]))
            for s, (begin, end) in enumerate(zip(begins, ends, strict=True))
            if begin[k] < end[k]
        ]
        flags_of = ((kept[s], part) for s, part in rows)
        keep = [slice(None) if flags is None else flags[part] for flags, part in flags_of]
        owner = np.concatenate(
            [segments[s].owner[part][flags] for (s, part), flags in zip(rows, keep, strict=True)]
        )
        column = np.concatenate(
            [columns[s][part][flags] for (s, part), flags in zip(rows, keep, strict=True)]
        )
        waiting.append(column[np.argsort(owner, kind="stable")])
        size += len(column)
        if size > CHUNK:
            yield np.concatenate(waiting)
            waiting, size = [], 0
    yield from waiting


def _layout(n_cells: int, n: int) -> tuple[list[tuple[int, str, tuple[int, ...]]], int]:
    """(offset, type, shape) of each array of a file, and the file's length."""
    sizes: tuple[tuple[str, tuple[int, ...]], ...] = (
        ("<u2", (n_cells,)),
        ("<i8", (n_cells + 1,)),
        ("<u4", (n,)),
        ("<u2", (n,)),
        ("u1", (n, len(load_codebook().words))),
    )
    at, layout = 24, []
    for kind, size in sizes:
        layout.append((at, kind, size))
        at += -(-int(np.prod(size)) * np.dtype(kind).itemsize // 8) * 8
    return layout, at


def _write(path: Path, n_cells: int, n: int, columns: Iterable[Iterable[Array]]) -> None:
    layout, length = _layout(n_cells, n)
    with path.open("xb") as file:
        file.write(MAGIC + np.array([n_cells, n], "<i8").tobytes())
        for (at, kind, _), pieces in zip(layout, columns, strict=True):
            file.write(bytes(at - file.tell()))
            for piece in pieces:
                file.write(np.ascontiguousarray(piece.astype(kind, copy=False)).data)
        file.write(bytes(length - file.tell()))
        file.flush()
        os.fsync(file.fileno())
