"""How many bytes the entries of a cache take together, without a look at each of them.

A ledger of records of two whole numbers, each appended in one write. (size, 0): an entry of that size was
added. (total, 1 + k): the entries took `total` bytes when they were counted; the first k records were there
before the count began. Entries that come or go while others count make the sum too large, which only leads to
an earlier count. It can be too small by what a killed process had no time to note.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO
from uuid import uuid4

import numpy as np

from matching._common.types import Array

try:
    from fcntl import LOCK_EX, LOCK_SH, flock
except ImportError:  # Windows: the ledger gets longer by 16 bytes an entry
    flock = None  # type: ignore[assignment]

RECORD = np.dtype([("size", "<i8"), ("count", "<i8")])
LONGEST = 1024  # records: 16 kB, which each new entry reads


def add(path: Path, size: int) -> int | None:
    """Note a new entry."""
    try:
        _append(path, size, 0)
        records = _records(path)
        total = _total(records)
        if total is not None and len(records) > LONGEST:
            _shorten(path)
    except OSError:
        return None
    return total


def begin_count(path: Path) -> tuple[object, int]:
    """Begin to count the entries."""
    with suppress(OSError):
        n = len(_records(path))
        return _identity(path), n
    return None, 0


def end_count(path: Path, total: int, begun: tuple[object, int]) -> None:
    """Note what was counted; not where the ledger was replaced meanwhile."""
    identity, known = begun
    with suppress(OSError):  # counted again next time
        if known == 0 or identity == _identity(path):
            _append(path, total, 1 + known)


def _identity(path: Path) -> object:
    if not path.exists():
        return None
    with path.open("rb") as file:
        return os.fstat(file.fileno()).st_ino, file.read(RECORD.itemsize)


def _records(path: Path) -> Array:
    """The records; one of which only a part was written is removed, with all others."""
    data = path.read_bytes() if path.exists() else b""
    if len(data) % RECORD.itemsize:
        path.unlink()
        return np.empty(0, RECORD)
    return np.frombuffer(data, RECORD)


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
    data = np.array([record], RECORD).tobytes()
    while True:
        with path.open("ab", buffering=0) as file, _locked(file, exclusive=False):
            if _is_at(path, file):
                file.write(data)
                break
    if is_new:
        _share(path)


def _shorten(path: Path) -> None:
    """Write the sum in place of all records. Nobody appends any meanwhile: it would be lost."""
    with path.open("rb") as file, _locked(file, exclusive=True) as is_locked:
        if is_locked and _is_at(path, file):
            total = _total(np.frombuffer(file.read(), RECORD))
            if total is not None:
                _replace(path, total)


def _is_at(path: Path, file: IO[bytes]) -> bool:
    """Whether the file of the ledger is still the one that is open: another process may have replaced it."""
    with suppress(FileNotFoundError):
        return os.path.samestat(path.stat(), os.fstat(file.fileno()))
    return False


@contextmanager
def _locked(file: IO[bytes], *, exclusive: bool) -> Iterator[bool]:
    """Keep a file from those who want it for themselves; yields whether the system can do that."""
    if flock is None:
        yield False
        return
    try:
        flock(file, LOCK_EX if exclusive else LOCK_SH)
    except OSError:  # a file system without locks
        yield False
        return
    yield True  # until it is closed


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
