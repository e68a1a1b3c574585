"""An index that stays on disk: a folder of segments, and a database of the pictures in them.

A segment is written under a new name, and one transaction of the database makes it a part of the index; files
in the folder that the database does not name are ignored. So a crash leaves the index as it was before the
segment. Entries are never changed: a picture that is gone is marked as dead, and its entries are dropped when
its segment is merged with others of its size.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np

from matching._common.types import Array
from matching.collection.database import checksums
from matching.collection.database.connection import Connection, connect, transaction
from matching.collection.database.settings import describe_difference
from matching.collection.records import IndexedRecord
from matching.collection.retrieval import _inverted
from matching.collection.retrieval._codes import ENTRY, check_indexed
from matching.collection.retrieval._shards import Shard
from matching.config import MatchConfig
from matching.errors import InputError
from matching.output.commit import compute_digest, remove_abandoned
from matching.output.provenance import STAGES
from matching.pictures.names import is_file

FORMAT = "6"
DATABASE = "index.db"
KEYS = {"settings": ["name"], "segments": ["name"], "pictures": ["id"], "dead": ["segment", "picture"]}
STAGES_OF_FEATURES = "pictures", "features"  # the stages on whose results an index depends
ABANDONED = 86400  # seconds after which a file to which nothing refers is deleted
FANOUT = 8  # as many segments of about one size (within a factor of 8) are merged into one
SMALL, LEVELS = 256, 2  # number of pictures: all smaller segments count as one size; sizes that are merged


@dataclass(frozen=True)
class Counts:
    """How many pictures of an index can be found, failed, or are not described yet; bytes of its files."""

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
    try:
        if create:
            folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: the index can't be opened ({error})") from None
    foreign = f"{path}: is not the database of an index, or is damaged"
    with connect(path, f"{folder}: the index", foreign) as connection:
        _prepare(connection, folder, config, create)
        yield KeptIndex(folder, connection)


def _settings(config: MatchConfig) -> dict[str, str]:
    """The settings on which an index depends."""
    made_with = {"working_pixels": config.first_pixels, "features": asdict(config.features)}
    features = json.dumps(made_with, sort_keys=True)
    results = json.dumps({name: STAGES[name] for name in STAGES_OF_FEATURES})
    return {"format": FORMAT, "results": results, "features": features}


def _prepare(connection: Connection, folder: Path, config: MatchConfig, create: bool) -> None:
    if create and _is_empty(connection):
        with transaction(connection):
            if _is_empty(connection):  # no other process was faster
                definitions = files(__package__).joinpath("store.sql").read_text("utf-8")
                settings = {**_settings(config), "cells": _inverted.make_cells(config).tobytes().hex()}
                checksums.make_tables(connection, definitions, KEYS, settings)
    with transaction(connection, writes=False):
        made_with = dict(connection.execute("SELECT name, value FROM settings"))
        for name, value in _settings(config).items():
            if made_with.get(name) != value:
                told = _describe_difference(name, made_with.get(name), value)
                raise InputError(
                    f"{folder}: the index was made with {told}; give another folder, or delete this one and"
                    " add its pictures again"
                )
        if damage := checksums.find_damage(connection, folder / DATABASE, KEYS):
            raise InputError(
                f"{folder / DATABASE}: the index is damaged: its contents are not what was written"
                f" ({damage}); use a backup of it, or delete the folder and add the pictures again"
            )
    checksums.seal_rows(connection, KEYS)


def _is_empty(connection: Connection) -> bool:
    return not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]


def _describe_difference(name: str, made: str | None, wanted: str) -> str:
    if name == "features" and made is not None:
        return f"other settings ({describe_difference(json.loads(made), json.loads(wanted))})"
    return f"{name} {made}, but this program uses {wanted}"


class KeptIndex:
    """Reads and writes the open index in a folder."""

    def __init__(self, folder: Path, connection: Connection) -> None:
        self.folder = folder
        self._db = connection

    def rows(self, query: str, parameters: Sequence[Any] = ()) -> list[Any]:
        """All rows of a query."""
        return self._db.execute(query, parameters).fetchall()

    def counts(self) -> Counts:
        """Count pictures and bytes."""
        (counts,) = self.rows(
            "SELECT total(status = 'indexed'), total(status = 'failed'), total(status = 'pending'),"
            " (SELECT total(bytes) FROM segments) FROM pictures"
        )
        indexed, failed, pending, size = map(int, counts)
        return Counts(indexed, failed, pending, size + (self.folder / DATABASE).stat().st_size)

    def update(self, paths: Sequence[str], gone: Iterable[str] = ()) -> None:
        """Make new and changed pictures pending, and forget those that are gone."""
        query = "SELECT id, bytes, modified, sha256, status FROM pictures WHERE path = ?"
        known = [(path, *row) for path in paths for row in self.rows(query, (path,))]
        changed = [number for path, number, *row in known if _is_another(path, *row)]
        changed += [number for path in gone for number, *_ in self.rows(query, (path,))]
        if not changed and {path for path, *_ in known} >= set(paths):
            return
        with transaction(self._db):
            some = [(number,) for number in changed]
            self._db.executemany(
                "INSERT OR IGNORE INTO dead SELECT segment, id FROM pictures"
                " WHERE id = ? AND segment NOT NULL",
                some,
            )
            self._db.executemany("DELETE FROM pictures WHERE id = ?", some)
            self._db.executemany("INSERT OR IGNORE INTO pictures (path) VALUES (?)", ((p,) for p in paths))

    def missing(self, folder: str) -> list[str]:
        """Paths of the pictures in a folder whose file is gone."""
        inside = self._db.execute(
            "SELECT path FROM pictures WHERE path > ? AND path < ?",
            (folder + os.sep, folder + chr(ord(os.sep) + 1)),
        )
        return [path for (path,) in inside if not is_file(path)]

    def pending(self) -> Iterator[tuple[int, str]]:
        """The number and the path of each picture that has not been described yet, read page by page."""
        last = -1
        while rows := self.rows(
            "SELECT id, path FROM pictures WHERE status = 'pending' AND id > ? ORDER BY id LIMIT 1000",
            (last,),
        ):
            yield from rows
            last = rows[-1][0]

    def add(self, records: Sequence[IndexedRecord]) -> None:
        """Add pictures that have been described, unless another process has added them.

        If the disk is full or can't be written, InputError is raised, and the index stays as it was.
        """
        good = [record.entries for record in records if record.entries is not None]
        cells = self._cells()
        made = _inverted.assign(np.concatenate([np.empty(0, ENTRY), *good]), cells)
        name, *row = self._new_segment(cells, [made])
        with transaction(self._db):
            self._db.execute("INSERT INTO segments VALUES (?, ?, ?, ?, ?)", (name, *row, len(good)))
            for record in records:
                known = record.bytes, record.modified, record.content, record.error, record.id
                n = None if record.entries is None else len(record.entries)
                state = ("indexed", name, n) if record.error is None else ("failed", None, n)
                ended = self._db.execute(
                    "UPDATE pictures SET status = ?, segment = ?, n_entries = ?, bytes = ?, modified = ?,"
                    " sha256 = ?, error = ? WHERE id = ? AND status = 'pending'",
                    (*state, *known),
                )
                if record.error is None and not ended.rowcount:
                    self._db.execute("INSERT INTO dead VALUES (?, ?)", (name, record.id))

    def merge_small_segments(self) -> None:
        """Merge FANOUT segments of about the same size into one, as long as there are that many."""
        while True:
            sizes: dict[int, list[str]] = {}
            for name, n in self.rows("SELECT name, n_pictures FROM segments ORDER BY name"):
                sizes.setdefault((max(n // SMALL, 1).bit_length() - 1) // 3, []).append(name)
            several = (sizes.get(level, []) for level in range(LEVELS))
            names = next((names for names in several if len(names) >= FANOUT), None)
            if names is None or not self._merge(names):
                return

    def _merge(self, names: Sequence[str]) -> bool:
        """Merge segments; return False if one is damaged, or if another process has merged them."""
        marks = ",".join("?" * len(names))
        query = f"SELECT segment, picture FROM dead WHERE segment IN ({marks})"
        before = self.rows(query, names)
        try:
            segments = [_inverted.open_segment(self.folder / name) for name in names]
        except (OSError, ValueError):
            return False
        dead = [[picture for segment, picture in before if segment == name] for name in names]
        merged, *row = self._new_segment(self._cells(), _inverted.merge_lists(segments, dead))
        with transaction(self._db) as db:
            if self.rows(f"SELECT count(*) FROM segments WHERE name IN ({marks})", names)[0][0] < len(names):
                (self.folder / merged).unlink()
                return False
            db.execute("INSERT INTO segments VALUES (?, ?, ?, ?, 0)", (merged, *row))
            db.execute(f"UPDATE pictures SET segment = ? WHERE segment IN ({marks})", (merged, *names))
            later = set(self.rows(query, names)) - set(before)  # those that another process has removed since
            db.executemany("INSERT OR IGNORE INTO dead VALUES (?, ?)", ((merged, p) for _, p in later))
            db.execute(f"DELETE FROM segments WHERE name IN ({marks})", names)
            db.execute(
                "UPDATE segments SET n_pictures = (SELECT count(*) FROM pictures WHERE segment = name)"
                " WHERE name = ?",
                (merged,),
            )
        for name in names:
            with suppress(OSError):
                (self.folder / name).unlink()
        return True

    def shards(self) -> list[Shard]:
        """The segments with their dead pictures, for a search; raise InputError if a segment is damaged."""
        dead: dict[str, list[int]] = {}
        for name, picture in self.rows("SELECT segment, picture FROM dead ORDER BY segment, picture"):
            dead.setdefault(name, []).append(picture)
        for name in self._damaged():
            raise InputError(
                f"{self.folder / name}: this part of the index is missing or has changed; run gdl-match"
                " index add to add its pictures again"
            )
        names, n = self.rows("SELECT name FROM segments ORDER BY name"), self.counts().indexed
        return [Shard(str(self.folder / name), n, (), tuple(dead.get(name, ()))) for (name,) in names]

    def paths(self, numbers: Iterable[int]) -> dict[int, str]:
        """The paths of those pictures that are in the index."""
        found = (self.rows("SELECT id, path FROM pictures WHERE id = ?", (n,)) for n in numbers)
        return dict(row for rows in found for row in rows)

    def found(self) -> list[str]:
        """The paths of the pictures that can be found."""
        return [p for (p,) in self.rows("SELECT path FROM pictures WHERE status = 'indexed' ORDER BY path")]

    def number_of(self, path: str) -> int | None:
        """The number of a picture; None if it is not in the index."""
        rows = self.rows("SELECT id FROM pictures WHERE path = ?", (path,))
        return rows[0][0] if rows else None

    def mend(self, check: bool = False) -> int:
        """Make pictures pending again if their segment is damaged, count them, and remove unused files.

        A file is read if its size or time has changed, and with `check` in any case.
        """
        lost = 0
        if broken := [(name,) for name in self._damaged(check)]:
            with transaction(self._db):
                lost = self._db.executemany(
                    "UPDATE pictures SET status = 'pending', segment = NULL, sha256 = NULL WHERE segment = ?",
                    broken,
                ).rowcount
                self._db.executemany("DELETE FROM segments WHERE name = ?", broken)
        known = {name for (name,) in self.rows("SELECT name FROM segments")}
        remove_abandoned((p for p in self.folder.glob("*.seg") if p.name not in known), ABANDONED)
        return max(lost, 0)

    def _damaged(self, check: bool = False) -> Iterator[str]:
        """Names of the segments that are missing or whose content has changed."""
        for name, digest, *known in self.rows("SELECT name, sha256, bytes, modified FROM segments"):
            path = self.folder / name
            now = path.stat() if path.exists() else None
            if now and not check and [now.st_size, now.st_mtime_ns] == known:
                continue
            if not now or compute_digest(path) != digest:
                yield name
            else:  # in a copy of the index, which perhaps can only be read
                with suppress(sqlite3.OperationalError):
                    row = now.st_mtime_ns, name
                    self._db.execute("UPDATE segments SET modified = ? WHERE name = ?", row)

    def _cells(self) -> Array:
        ((value,),) = self.rows("SELECT value FROM settings WHERE name = 'cells'")
        return np.frombuffer(bytes.fromhex(value), np.uint8).reshape(-1, 32)

    def _new_segment(self, cells: Array, chunks: Iterable[_inverted.Lists]) -> tuple[str, str, int, int]:
        """Write a segment, completely and to the disk, and return its name, digest, size and time."""
        name, part = f"{uuid4().hex}.seg", self.folder / f"{uuid4().hex}.part"
        try:
            try:
                _inverted.write_segment(part, cells, chunks)
                digest, status = compute_digest(part), part.stat()
                part.replace(self.folder / name)
            finally:
                part.unlink(missing_ok=True)
        except OSError as error:
            reason = error.strerror or error
            raise InputError(f"{self.folder}: the index can't be written ({reason})") from None
        return name, str(digest), status.st_size, status.st_mtime_ns


def _is_another(path: str, size: int | None, modified: int | None, content: str | None, status: str) -> bool:
    """Whether a file has changed since it was described; it is read only if its size or time differs."""
    if status == "pending":
        return False
    try:
        now = Path(path).stat()
    except (OSError, ValueError):
        return status == "indexed"
    if (now.st_size, now.st_mtime_ns) == (size, modified):
        return False
    return status == "failed" or compute_digest(path) != content
