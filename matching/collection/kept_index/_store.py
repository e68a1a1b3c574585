"""An index that stays on disk: a folder of segments, and a database of the pictures in them.

A segment is written under a new name, and one transaction of the database makes it a part of the index; files
in the folder that the database does not name are ignored. So a crash leaves the index as it was before the
segment. Entries are never changed: a missing picture is marked as dead, and its entries are dropped when
its segment is merged with other small ones.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from uuid import uuid4

import numpy as np

from matching._common.types import Array
from matching.collection.database.connection import Database, connect
from matching.collection.database.settings import check_settings
from matching.collection.records import ImageRecord
from matching.collection.retrieval._codes import ENTRY, check_indexed
from matching.collection.retrieval._inverted import (
    assign,
    make_cells,
    merge_lists,
    open_segment,
    write_segment,
)
from matching.collection.retrieval._shards import Shard
from matching.errors import InputError
from matching.grouping.config import MatchConfig
from matching.output.files import make_folder
from matching.output.folders import compute_digest, remove_abandoned
from matching.output.provenance import as_text, code_digest
from matching.pictures.names import is_file

FORMAT_VERSION = "9"
DATABASE = "index.db"
ABANDONED_SECONDS = 86400  # age at which a file to which nothing refers is deleted
SEGMENTS_PER_MERGE = 8  # as many small segments are merged into one
MAX_SMALL_SEGMENT = 2048  # pictures of a small segment; larger ones are not merged


@dataclass(frozen=True)
class Counts:
    """Numbers of pictures that can be found, failed, or are not described yet; and the bytes of all files."""

    indexed: int
    failed: int
    pending: int
    bytes: int


@contextmanager
def open_index(folder: Path, config: MatchConfig, create: bool = False) -> Iterator[KeptIndex]:
    """Open the index in a folder; raise InputError if it is missing, damaged, or made in another way."""
    check_indexed(config.features)
    folder = Path(folder)
    path = folder / DATABASE
    if not create and not is_file(path):
        raise InputError(f"{folder}: there is no index in this folder")
    if create:
        make_folder(folder)
    foreign = f"{path}: is not the database of an index, or is damaged"
    with connect(path, f"{folder}: the index", foreign) as connection:
        index = KeptIndex(folder, connection)
        if create:
            index.make_tables(__package__, lambda: _settings(config, has_cells=True))
        remedy = "give another folder, or delete this one and add its pictures again"
        check_settings(index.settings(), _settings(config), f"{folder}: the index", remedy)
        yield index


def _settings(config: MatchConfig, has_cells: bool = False) -> dict[str, str]:
    """List the settings on which an index depends, with the centres of the cells when it is made."""
    made_with = {"working_pixels": config.first_pixels, "features": asdict(config.features)}
    code = as_text(code_digest())
    cells = {"cells": make_cells(config).tobytes().hex()} if has_cells else {}
    return {"format": FORMAT_VERSION, "code": code, "features": as_text(made_with), **cells}


class KeptIndex(Database):
    """The open index in a folder."""

    def __init__(self, folder: Path, connection: sqlite3.Connection) -> None:
        super().__init__(connection)
        self.folder = folder

    def counts(self) -> Counts:
        """Count pictures and bytes."""
        (counts,) = self.rows(
            "SELECT total(status = 'indexed'), total(status = 'failed'), total(status = 'pending'),"
            " (SELECT total(bytes) FROM segments) FROM pictures"
        )
        indexed, failed, pending, size = map(int, counts)
        return Counts(indexed, failed, pending, size + (self.folder / DATABASE).stat().st_size)

    def update(self, paths: Sequence[str], missing: Iterable[str] = ()) -> None:
        """Make new and changed pictures pending, and forget missing ones."""
        query = (
            "SELECT id, path, bytes, modified, sha256, status FROM pictures"
            " WHERE path IN (SELECT value FROM json_each(?))"
        )
        known, gone = (self.rows(query, (json.dumps([*some]),)) for some in (paths, missing))
        rows = [(number,) for number, *file in known if _has_changed(*file)]
        rows += [(number,) for number, *_ in gone]
        if not rows and len(known) == len({*paths}):
            return
        with self.transaction():
            self.executemany(
                "INSERT OR IGNORE INTO dead SELECT segment, id FROM pictures"
                " WHERE id = ? AND segment NOT NULL",
                rows,
            )
            self.executemany("DELETE FROM pictures WHERE id = ?", rows)
            self.executemany("INSERT OR IGNORE INTO pictures (path) VALUES (?)", ((p,) for p in paths))

    def missing(self, folder: str) -> list[str]:
        """List the pictures of a folder whose files no longer exist."""
        inside = self.execute(
            "SELECT path FROM pictures WHERE path > ? AND path < ?",
            (folder + os.sep, folder + chr(ord(os.sep) + 1)),
        )
        return [path for (path,) in inside if not is_file(path)]

    def pending(self) -> Iterator[tuple[int, str]]:
        """Read the number and the path of each picture that is not described yet, page by page."""
        return self.pages("SELECT id, path FROM pictures WHERE status = 'pending' AND id")

    def add(self, records: Sequence[ImageRecord]) -> None:
        """Add pictures that have been described, unless another process has added them.

        If the disk is full or can't be written, InputError is raised, and the index stays as it was.
        """
        described = [record.entries for record in records if record.entries is not None]
        cells = self._cells()
        entries = np.concatenate([np.empty(0, ENTRY), *described])
        name, size = self._new_segment(cells, entries, assign(entries, cells))
        with self.transaction():
            self.execute("INSERT INTO segments VALUES (?, ?)", (name, size))
            for record in records:
                n = None if record.entries is None else len(record.entries)
                updated = self.execute(
                    "UPDATE pictures SET status = iif(:error IS NULL, 'indexed', 'failed'),"
                    " segment = iif(:error IS NULL, :segment, NULL), n_entries = :n, bytes = :bytes,"
                    " modified = :modified, sha256 = :content, error = :error"
                    " WHERE id = :id AND status = 'pending'",
                    {**vars(record), "entries": None, "segment": name, "n": n},
                )
                if record.error is None and not updated.rowcount:
                    self.execute("INSERT INTO dead VALUES (?, ?)", (name, record.id))

    def merge_small_segments(self) -> None:
        """Merge the small segments into one if there are SEGMENTS_PER_MERGE of them."""
        query = "SELECT name FROM segments LEFT JOIN pictures ON segment = name GROUP BY name"
        small = self.rows(f"{query} HAVING count(id) < ? ORDER BY name", (MAX_SMALL_SEGMENT,))
        names = [name for (name,) in small]
        if len(names) >= SEGMENTS_PER_MERGE:
            self._merge(names)

    def _merge(self, names: Sequence[str]) -> None:
        """Merge segments; meanwhile other processes have to wait."""
        marks = ",".join("?" * len(names))
        with self.transaction():
            shards = [shard for shard in self.shards() if Path(shard.path).name in names]
            if len(shards) < len(names):
                return  # another process has merged them
            segments = [open_segment(self.folder / name) for name in names]
            living = merge_lists(segments, [shard.dead for shard in shards])
            merged, size = self._new_segment(self._cells(), *living)
            self.execute("INSERT INTO segments VALUES (?, ?)", (merged, size))
            self.execute(f"UPDATE pictures SET segment = ? WHERE segment IN ({marks})", (merged, *names))
            self.execute(f"DELETE FROM segments WHERE name IN ({marks})", names)
        for name in names:
            with suppress(OSError):
                (self.folder / name).unlink()

    def shards(self) -> list[Shard]:
        """List the segments with their dead pictures, by name."""
        n = self.counts().indexed
        dead = "SELECT json_group_array(picture) FROM dead WHERE segment = name"
        rows = self.rows(f"SELECT name, ({dead}) FROM segments ORDER BY name")
        return [Shard(str(self.folder / name), n, tuple(json.loads(pictures))) for name, pictures in rows]

    def paths(self, numbers: Iterable[int]) -> dict[int, str]:
        """Map the numbers of pictures that are in the index to their paths."""
        query = "SELECT id, path FROM pictures WHERE id IN (SELECT value FROM json_each(?))"
        return dict(self.rows(query, (json.dumps([*numbers]),)))

    def indexed(self) -> list[str]:
        """List the pictures that can be found."""
        return [p for (p,) in self.rows("SELECT path FROM pictures WHERE status = 'indexed' ORDER BY path")]

    def number_of(self, path: str) -> int | None:
        """Return the number of a picture; None if it is not in the index."""
        rows = self.rows("SELECT id FROM pictures WHERE path = ?", (path,))
        return rows[0][0] if rows else None

    def remove_unused(self) -> None:
        """Remove the files that a killed process has left."""
        known = {name for (name,) in self.rows("SELECT name FROM segments")}
        remove_abandoned((p for p in self.folder.glob("*.seg") if p.name not in known), ABANDONED_SECONDS)

    def _cells(self) -> Array:
        """The centres of the cells, bits (c, 32) uint8."""
        return np.frombuffer(bytes.fromhex(self.settings()["cells"]), np.uint8).reshape(-1, 32)

    def _new_segment(self, cells: Array, entries: Array, lists: Array) -> tuple[str, int]:
        """Write a segment, and return its name and size."""
        name = f"{uuid4().hex}.seg"
        return name, write_segment(self.folder / name, cells, entries, lists)


def _has_changed(path: str, size: int | None, modified: int | None, content: str | None, status: str) -> bool:
    """Test whether a file has changed since it was described, reading it only if size or time differ."""
    if status == "pending":
        return False
    try:
        now = Path(path).stat()
    except (OSError, ValueError):
        return status == "indexed"
    if (now.st_size, now.st_mtime_ns) == (size, modified):
        return False
    return status == "failed" or compute_digest(path) != content
