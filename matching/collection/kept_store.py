"""An index that stays on disk: a folder of segments, and a database of the pictures in them.

A segment is written under a name of its own, and one transaction of the database takes it in; whatever stands
in the folder and not in the database is nobody's. So a crash leaves the index as it was before the segment.
Entries are never changed: a picture that is gone is noted as dead, and its entries go when its segment is
merged with others of its size.
"""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import asdict, dataclass
from importlib.resources import files
from pathlib import Path
from uuid import uuid4

import matching
from matching.collection.cache import content_digest
from matching.collection.database import connected, transaction
from matching.collection.kept_merging import merge_small_segments
from matching.collection.retrieval.codes import Codes, codebook
from matching.collection.retrieval.segments import open_segment, segment_of, write_segment
from matching.collection.shards import Shard
from matching.config import MatchConfig
from matching.errors import InputError
from matching.output.provenance import Origin
from matching.pictures.names import is_file

FORMAT = "1"
DATABASE = "index.db"
ABANDONED = 86400  # seconds after which a file that nothing refers to goes


@dataclass(frozen=True, eq=False)
class Indexed:
    """What is known of a picture once it has been looked at.

    id : its number in the index
    content : SHA-256 of the file, None if it can't be read
    bytes, modified : of the file when it was looked at, None if it can't be
    width, height : pixels as displayed, None where it failed
    codes : None where it failed
    error : why it failed, None where it did not
    origin : Origin of the process that worked on it
    """

    id: int
    content: str | None = None
    bytes: int | None = None
    modified: int | None = None
    width: int | None = None
    height: int | None = None
    codes: Codes | None = None
    error: str | None = None
    origin: Origin | None = None


@dataclass(frozen=True)
class Counts:
    """Pictures of an index: those to be found, those that failed, those not yet looked at; and its bytes."""

    indexed: int
    failed: int
    pending: int
    bytes: int


@contextmanager
def open_index(folder: Path, config: MatchConfig, create: bool = False) -> Iterator[KeptIndex]:
    """The KeptIndex in a folder for the features of a config; made, if asked for, where it is missing.

    Raises InputError where there is none, or it was made by another version or with other features.
    """
    folder = Path(folder)
    path = folder / DATABASE
    if not create and not is_file(path):
        raise InputError(f"{folder}: there is no index in this folder")
    try:
        if create:
            folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: the index can't be opened ({error})") from None
    foreign = f"{path}: is not the database of an index, or damaged"
    with connected(path, f"{folder}: the index", foreign) as connection:
        _prepare(connection, folder, config, create)
        yield KeptIndex(folder, connection)


def settings_of(config: MatchConfig) -> dict[str, str]:
    """What an index is made with, name -> value."""
    return {
        "format": FORMAT,
        "version": matching.__version__,
        "codebook": codebook().digest,
        "features": json.dumps([config.max_pixels, asdict(config.features)], sort_keys=True),
    }


def _prepare(connection, folder, config, create):
    with transaction(connection, writes=create):
        if not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] and create:
            for statement in files(__package__).joinpath("kept_store.sql").read_text("utf-8").split(";\n"):
                connection.execute(statement)
            connection.executemany("INSERT INTO settings VALUES (?, ?)", settings_of(config).items())
        made_with = dict(connection.execute("SELECT name, value FROM settings"))
        for name, value in settings_of(config).items():
            if made_with.get(name) != value:
                what = {"features": "other settings of the features", "codebook": "another codebook"}
                told = what.get(name, f"{name} {made_with.get(name)}, this is {value}")
                raise InputError(f"{folder}: the index was made with {told}; give another folder")


class KeptIndex:
    """Reads and writes an open index."""

    def __init__(self, folder, connection):
        self.folder = folder
        self._db = connection

    def transaction(self) -> AbstractContextManager[sqlite3.Connection]:
        """The connection, for changes that are made together or not at all."""
        return transaction(self._db)

    def rows(self, query, parameters=()):
        """All rows of a query."""
        return self._db.execute(query, parameters).fetchall()

    def counts(self) -> Counts:
        """The Counts of the index."""
        ((*counts, names),) = self.rows(
            "SELECT total(status = 'indexed'), total(status = 'failed'), total(status = 'pending'),"
            " (SELECT json_group_array(name) FROM segments) FROM pictures"
        )
        paths = [self.folder / DATABASE, *(self.folder / name for name in json.loads(names))]
        return Counts(*map(int, counts), sum(path.stat().st_size for path in paths if path.exists()))

    def update(self, paths: Sequence[str], gone: Iterable[str] = ()) -> None:
        """Note pictures that are new, or whose file is another one, as pending, and forget those that are
        gone.
        """
        query = "SELECT id, bytes, modified, sha256, status FROM pictures WHERE path = ?"
        known = ((path, *row) for path in paths for row in self.rows(query, (path,)))
        changed = [number for path, number, *row in known if _is_another(path, *row)]
        with self.transaction():
            self._forget([*changed, *(number for path in gone for number, *_ in self.rows(query, (path,)))])
            self._db.executemany("INSERT OR IGNORE INTO pictures (path) VALUES (?)", ((p,) for p in paths))

    def missing(self, folder: str) -> list[str]:
        """Paths of the index inside a folder where there is no file any more."""
        inside = self._db.execute(
            "SELECT path FROM pictures WHERE path > ? AND path < ?",
            (folder + os.sep, folder + chr(ord(os.sep) + 1)),
        )
        return [path for (path,) in inside if not is_file(path)]

    def _forget(self, numbers):
        some = [(number,) for number in numbers]
        self._db.executemany(
            "INSERT OR IGNORE INTO dead SELECT segment, id FROM pictures WHERE id = ? AND segment NOT NULL",
            some,
        )
        self._db.executemany("DELETE FROM pictures WHERE id = ?", some)

    def pending(self) -> Iterator[tuple[int, str]]:
        """(id, path) of the pictures that have not been looked at, a page at a time."""
        last = -1
        while rows := self.rows(
            "SELECT id, path FROM pictures WHERE status = 'pending' AND id > ? ORDER BY id LIMIT 1000",
            (last,),
        ):
            yield from rows
            last = rows[-1][0]

    def add(self, records: Sequence[Indexed]) -> None:
        """Take in pictures that have been looked at, unless another process has.

        Raises InputError where the disk is full or can't be written: the index is as it was before.
        """
        good = sorted((r for r in records if r.error is None), key=lambda r: r.id)
        name = self.new_file(lambda path: write_segment(path, segment_of((r.id, r.codes) for r in good)))
        digest = content_digest(self.folder / name)
        with self.transaction():
            row = name, digest, len(good)
            self._db.execute("INSERT INTO segments VALUES (?, ?, ?)", row)
            for record in records:
                ended = self._db.execute(
                    "UPDATE pictures SET status = ?, bytes = ?, modified = ?, sha256 = ?, width = ?,"
                    " height = ?, n_entries = ?, segment = ?, error = ? WHERE id = ? AND status = 'pending'",
                    _columns(record, name),
                )
                if record.error is None and not ended.rowcount:
                    self._db.execute("INSERT INTO dead VALUES (?, ?)", (name, record.id))
        merge_small_segments(self)

    def shards(self) -> list[Shard]:
        """The segments, with their dead pictures, for a search."""
        dead: dict[str, list[int]] = {}
        for name, picture in self.rows("SELECT segment, picture FROM dead ORDER BY segment, picture"):
            dead.setdefault(name, []).append(picture)
        names = [name for (name,) in self.rows("SELECT name FROM segments ORDER BY name")]
        return [Shard(str(self.folder / n), (), tuple(dead.get(n, ()))) for n in names]

    def paths(self, numbers: Iterable[int]) -> dict[int, str]:
        """Number -> path of pictures that are in the index."""
        found = (self.rows("SELECT id, path FROM pictures WHERE id = ?", (n,)) for n in numbers)
        return dict(row for rows in found for row in rows)

    def number_of(self, path: str) -> int | None:
        """The number of a path, None if the index has none."""
        rows = self.rows("SELECT id FROM pictures WHERE path = ?", (path,))
        return rows[0][0] if rows else None

    def mend(self) -> int:
        """Make pictures pending again whose segment is missing or damaged, and remove files that nothing
        refers to; returns how many pictures.
        """
        broken = [
            (name,)
            for name, digest in self.rows("SELECT name, sha256 FROM segments")
            if content_digest(self.folder / name) != digest
        ]
        return self._drop(broken)

    def mend_missing(self) -> int:
        """As `mend`, by the files' lengths alone: what can be told in no time."""
        broken = [(n,) for (n,) in self.rows("SELECT name FROM segments") if not _opens(self.folder / n)]
        return self._drop(broken)

    def _drop(self, broken):
        with self.transaction():
            lost = self._db.executemany(
                "UPDATE pictures SET status = 'pending', segment = NULL, sha256 = NULL WHERE segment = ?",
                broken,
            ).rowcount
            self._db.executemany("DELETE FROM segments WHERE name = ?", broken)
        known = {name for (name,) in self.rows("SELECT name FROM segments")}
        for path in self.folder.glob("*.seg"):
            with suppress(OSError):
                if path.name not in known and path.stat().st_mtime < time.time() - ABANDONED:
                    path.unlink()
        return max(lost, 0)

    def new_file(self, write: Callable[[Path], None]) -> str:
        """The name of a new file in the folder, written by `write`, whole and on the disk."""
        name, part = f"{uuid4().hex}.seg", self.folder / f"{uuid4().hex}.part"
        try:
            try:
                write(part)
                part.replace(self.folder / name)
            finally:
                part.unlink(missing_ok=True)
        except OSError as error:
            raise InputError(
                f"{self.folder}: the index can't be written ({error.strerror or error})"
            ) from None
        return name


def _columns(record, segment):
    status = "indexed" if record.error is None else "failed"
    n = None if record.codes is None else len(record.codes.cell)
    return (
        *(status, record.bytes, record.modified, record.content, record.width, record.height, n),
        *(segment if record.error is None else None, record.error, record.id),
    )


def _is_another(path, size, modified, content, status):
    """Whether a file is another one than when it was looked at; its content is read only where its size or
    time is another one.
    """
    if status == "pending":
        return False
    try:
        now = Path(path).stat()
    except (OSError, ValueError):
        return status == "indexed"
    if (now.st_size, now.st_mtime_ns) == (size, modified):
        return False
    return status == "failed" or content_digest(path) != content


def _opens(path):
    try:
        open_segment(path)
    except (OSError, ValueError):
        return False
    return True
