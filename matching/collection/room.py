"""How many bytes the entries of a cache take together, without a look at each of them.

A ledger of records of two whole numbers, each appended in one write. (size, 0): an entry of that size was
added. (total, 1 + k): the entries took `total` bytes when they were counted; the first k records were there
before the count began. Entries that come or go while others count make the sum too large, which only leads to
an earlier count. It can be too small by what a killed process had no time to note.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

import numpy as np

from matching._common.types import Array

RECORD = np.dtype([("size", "<i8"), ("count", "<i8")])
LONGEST = 1024  # records: 16 kB, which each new entry reads


def add(path: Path, size: int) -> int | None:
    """Note a new entry.

    Parameters
    ----------
    path : Path
        The ledger.
    size : int
        Bytes of the entry.

    Returns
    -------
    int or None
        Bytes of all entries; None where they have to be counted.
    """
    try:
        _append(path, size, 0)
        records = _records(path)
        total = None if records is None else _total(records)
        if records is not None and total is not None and len(records) > LONGEST:
            _replace(path, total)
    except OSError:
        return None
    return total


def begin_count(path: Path) -> int:
    """Begin to count the entries.

    Parameters
    ----------
    path : Path
        The ledger.

    Returns
    -------
    int
        What `end_count` needs.
    """
    with suppress(OSError):
        records = _records(path)
        return -1 if records is None else len(records)
    return -1


def end_count(path: Path, total: int, begun: int) -> None:
    """Note what was counted.

    Parameters
    ----------
    path : Path
        The ledger.
    total : int
        Bytes of all entries.
    begun : int
        What `begin_count` returned.
    """
    with suppress(OSError):  # counted again next time
        if 0 <= begun <= LONGEST:
            _append(path, total, 1 + begun)
        else:
            _replace(path, total)


def _records(path: Path) -> Array | None:
    data = path.read_bytes() if path.exists() else b""
    return np.frombuffer(data, RECORD) if len(data) % RECORD.itemsize == 0 else None


def _total(records: Array) -> int | None:
    counts = np.flatnonzero(records["count"])
    if not len(counts):
        return None
    size, known = records[counts[-1]].tolist()
    later = records[known - 1 :]
    added = later["size"][later["count"] == 0]
    is_sound = 1 <= known <= 1 + counts[-1] and size >= 0 and (added > 0).all()
    return int(size) + int(added.sum()) if is_sound else None


def _append(path: Path, *record: int) -> None:
    is_new = not path.exists()
    with path.open("ab", buffering=0) as file:
        file.write(np.array([record], RECORD).tobytes())
    if is_new:
        _share(path)


def _replace(path: Path, total: int) -> None:
    part = path.with_name(f"{uuid4().hex}.part")
    try:
        part.write_bytes(np.array([(total, 1)], RECORD).tobytes())
        _share(part)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _share(path: Path) -> None:
    """Whoever may add entries to the folder may write the ledger."""
    os.chmod(path, path.parent.stat().st_mode & 0o666)  # noqa: PTH101
