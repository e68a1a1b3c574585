"""An index that stays on disk: a folder of segments, and a database of the pictures in them.

A segment is written under a new name and added by one transaction of the database; files in the folder that
the database does not name are ignored. So a crash leaves the index as it was before the segment. Entries are
never changed: a picture that is gone is noted as dead, and its entries are dropped when its segment is merged
with others of its size.
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
from typing import Any
from uuid import uuid4

from matching._version import __version__
from matching.collection.cache import compute_digest
from matching.collection.database.connection import connect, transaction
from matching.collection.database.settings import describe_difference
from matching.collection.retrieval.codes import Codes, load_codebook
from matching.collection.retrieval.segments import make_segment, open_segment, write_segment
from matching.collection.retrieval.shards import Shard
from matching.config import MatchConfig
from matching.errors import InputError
from matching.output.provenance import Origin
from matching.pictures.names import is_file

FORMAT = "1"
DATABASE = "index.db"
ABANDONED = 86400  # seconds after which a file that nothing refers to goes


@dataclass(frozen=True, eq=False)
class Indexed:
    """What is known of a picture once it has been described.

    Parameters
    ----------
    id : int
        Its number in the index.
    content : str, optional
        SHA-256 of the file, None if it can't be read.
    bytes, modified : int, optional
        Size and time of the file when it was read, None if it can't be.
    width, height : int, optional
        Pixels as displayed, None if it failed.
    codes : Codes, optional
        None if it failed.
    error : str, optional
        Why it failed.
    origin : Origin, optional
        Of the process that worked on it.
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
    """Size of an index.

    Parameters
    ----------
    indexed : int
        Pictures that can be found.
    failed : int
        Pictures that failed.
    pending : int
        Pictures that have not been described yet.
    bytes : int
        Of its files.
    """

    indexed: int
    failed: int
    pending: int
    bytes: int


@contextmanager
def open_index(folder: Path, config: MatchConfig, create: bool = False) -> Iterator[KeptIndex]:
    """Open the index in a folder.

    Parameters
    ----------
    folder : Path
        Of the index.
    config : MatchConfig
        With the settings of the features.
    create : bool
        Whether to make it if it is missing.

    Yields
    ------
    KeptIndex
        The open index.

    Raises
    ------
    InputError
        There is none, or it was made by another version or with other features.
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
    with connect(path, f"{folder}: the index", foreign) as connection:
        _prepare(connection, folder, config, create)
        yield KeptIndex(folder, connection)


def make_settings(config: MatchConfig) -> dict[str, str]:
    """The settings and versions that an index depends on.

    Parameters
    ----------
    config : MatchConfig
        With the settings of the features.

    Returns
    -------
    dict of str to str
        Their names and values.
    """
    return {
        "format": FORMAT,
        "version": __version__,
        "codebook": load_codebook().digest,
        "features": json.dumps([config.first_pixels, asdict(config.features)], sort_keys=True),
    }


def _prepare(connection: sqlite3.Connection, folder: Path, config: MatchConfig, create: bool) -> None:
    with transaction(connection, writes=create):
        if not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] and create:
            for statement in files(__package__).joinpath("store.sql").read_text("utf-8").split(";\n"):
                connection.execute(statement)
            connection.executemany("INSERT INTO settings VALUES (?, ?)", make_settings(config).items())
        made_with = dict(connection.execute("SELECT name, value FROM settings"))
        for name, value in make_settings(config).items():
            if made_with.get(name) != value:
                told = _describe_difference(name, made_with.get(name), value)
                raise InputError(f"{folder}: the index was made with {told}; give another folder")


def _describe_difference(name: str, made: str | None, wanted: str) -> str:
    if name == "codebook":
        return "another codebook"
    if name == "features" and made is not None:
        first, second = (dict(zip(("max_pixels", name), json.loads(v), strict=True)) for v in (made, wanted))
        return f"other settings ({describe_difference(first, second)})"
    return f"{name} {made}, this is {wanted}"


class KeptIndex:
    """Reads and writes an open index.

    Parameters
    ----------
    folder : Path
        Of the index.
    connection : Connection
        To its database.
    """

    def __init__(self, folder: Path, connection: sqlite3.Connection) -> None:
        self.folder = folder
        self._db = connection

    def transaction(self) -> AbstractContextManager[sqlite3.Connection]:
        """Make changes together or not at all.

        Returns
        -------
        context manager
            Of the connection.
        """
        return transaction(self._db)

    def rows(self, query: str, parameters: Sequence[Any] = ()) -> list[Any]:
        """Run a query.

        Parameters
        ----------
        query : str
            SQL.
        parameters : sequence
            Its values.

        Returns
        -------
        list of tuple
            All rows.
        """
        return self._db.execute(query, parameters).fetchall()

    def counts(self) -> Counts:
        """Count pictures and bytes.

        Returns
        -------
        Counts
            The counts.
        """
        ((*counts, names),) = self.rows(
            "SELECT total(status = 'indexed'), total(status = 'failed'), total(status = 'pending'),"
            " (SELECT json_group_array(name) FROM segments) FROM pictures"
        )
        paths = [self.folder / DATABASE, *(self.folder / name for name in json.loads(names))]
        indexed, failed, pending = map(int, counts)
        return Counts(indexed, failed, pending, sum(path.stat().st_size for path in paths if path.exists()))

    def update(self, paths: Sequence[str], gone: Iterable[str] = ()) -> None:
        """Make new and changed pictures pending, and forget those that are gone.

        Parameters
        ----------
        paths : sequence of str
            Pictures that the index shall have.
        gone : iterable of str
            Pictures that it shall not have.
        """
        query = "SELECT id, bytes, modified, sha256, status FROM pictures WHERE path = ?"
        known = ((path, *row) for path in paths for row in self.rows(query, (path,)))
        changed = [number for path, number, *row in known if _is_another(path, *row)]
        with self.transaction():
            self._forget([*changed, *(number for path in gone for number, *_ in self.rows(query, (path,)))])
            self._db.executemany("INSERT OR IGNORE INTO pictures (path) VALUES (?)", ((p,) for p in paths))

    def missing(self, folder: str) -> list[str]:
        """List the pictures of the index in a folder whose file is gone.

        Parameters
        ----------
        folder : str
            The folder.

        Returns
        -------
        list of str
            Their paths.
        """
        inside = self._db.execute(
            "SELECT path FROM pictures WHERE path > ? AND path < ?",
            (folder + os.sep, folder + chr(ord(os.sep) + 1)),
        )
        return [path for (path,) in inside if not is_file(path)]

    def _forget(self, numbers: Iterable[int]) -> None:
        some = [(number,) for number in numbers]
        self._db.executemany(
            "INSERT OR IGNORE INTO dead SELECT segment, id FROM pictures WHERE id = ? AND segment NOT NULL",
            some,
        )
        self._db.executemany("DELETE FROM pictures WHERE id = ?", some)

    def pending(self) -> Iterator[tuple[int, str]]:
        """List the pictures that have not been described, a page at a time.

        Yields
        ------
        tuple of int and str
            Number and path.
        """
        last = -1
        while rows := self.rows(
            "SELECT id, path FROM pictures WHERE status = 'pending' AND id > ? ORDER BY id LIMIT 1000",
            (last,),
        ):
            yield from rows
            last = rows[-1][0]

    def add(self, records: Sequence[Indexed]) -> None:
        """Add pictures that have been described, unless another process has.

        If the disk is full or can't be written, it raises InputError and the index is as it was before.

        Parameters
        ----------
        records : sequence of Indexed
            The pictures.
        """
        good = sorted((r.id, k) for k, r in enumerate(records) if r.error is None)
        coded = [(number, codes) for number, k in good if (codes := records[k].codes) is not None]
        name = self.new_file(lambda path: write_segment(path, make_segment(coded)))
        digest = compute_digest(self.folder / name)
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

    def shards(self) -> list[Shard]:
        """The segments with their dead pictures, for a search.

        Returns
        -------
        list of Shard
            One for each segment.
        """
        dead: dict[str, list[int]] = {}
        for name, picture in self.rows("SELECT segment, picture FROM dead ORDER BY segment, picture"):
            dead.setdefault(name, []).append(picture)
        names = [name for (name,) in self.rows("SELECT name FROM segments ORDER BY name")]
        return [Shard(str(self.folder / n), (), tuple(dead.get(n, ()))) for n in names]

    def paths(self, numbers: Iterable[int]) -> dict[int, str]:
        """Look up the paths of pictures.

        Parameters
        ----------
        numbers : iterable of int
            Of the pictures.

        Returns
        -------
        dict of int to str
            The paths of those that are in the index.
        """
        found = (self.rows("SELECT id, path FROM pictures WHERE id = ?", (n,)) for n in numbers)
        return dict(row for rows in found for row in rows)

    def number_of(self, path: str) -> int | None:
        """Look up the number of a picture.

        Parameters
        ----------
        path : str
            Of the picture.

        Returns
        -------
        int or None
            None if it is not in the index.
        """
        rows = self.rows("SELECT id FROM pictures WHERE path = ?", (path,))
        return rows[0][0] if rows else None

    def mend(self) -> int:
        """Make pictures pending again whose segment is missing or damaged, and remove unused files.

        Returns
        -------
        int
            The number of these pictures.
        """
        broken = [
            (name,)
            for name, digest in self.rows("SELECT name, sha256 FROM segments")
            if compute_digest(self.folder / name) != digest
        ]
        return self._drop(broken)

    def mend_missing(self) -> int:
        """Do the same as `mend`, but only check the lengths of the files, which takes no time.

        Returns
        -------
        int
            The number of these pictures.
        """
        broken = [(n,) for (n,) in self.rows("SELECT name FROM segments") if not _opens(self.folder / n)]
        return self._drop(broken)

    def _drop(self, broken: Sequence[tuple[str]]) -> int:
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
        """Write a new file in the folder.

        Parameters
        ----------
        write : callable
            Writes it to a path.

        Returns
        -------
        str
            The file's name; it is complete and on the disk.
        """
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


def _columns(record: Indexed, segment: str) -> tuple[Any, ...]:
    status = "indexed" if record.error is None else "failed"
    n = None if record.codes is None else len(record.codes.cell)
    return (
        *(status, record.bytes, record.modified, record.content, record.width, record.height, n),
        *(segment if record.error is None else None, record.error, record.id),
    )


def _is_another(path: str, size: int | None, modified: int | None, content: str | None, status: str) -> bool:
    """Whether a file has changed since it was described; its content is read only if size or time differ."""
    if status == "pending":
        return False
    try:
        now = Path(path).stat()
    except (OSError, ValueError):
        return status == "indexed"
    if (now.st_size, now.st_mtime_ns) == (size, modified):
        return False
    return status == "failed" or compute_digest(path) != content


def _opens(path: Path) -> bool:
    try:
        open_segment(path)
    except (OSError, ValueError):
        return False
    return True
