"""Connections to SQLite databases that several processes may use at a time."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matching.errors import InputError

WAIT = 60.0  # seconds to wait for another process, by default
SOON = 0.5  # seconds of waiting before it is reported


@dataclass(frozen=True)
class Patience:
    """How long to wait for a database that another process has locked, and how to report it."""

    seconds: float = WAIT  # the longest wait
    tell: Callable[[str], None] | None = None  # called with a line of text when the wait gets long


PATIENCE = Patience()
_patience: ContextVar[Patience] = ContextVar("patience", default=PATIENCE)


@contextmanager
def wait_for_databases(seconds: float, tell: Callable[[str], None] | None = None) -> Iterator[None]:
    """Let connections made inside the context wait this many seconds for other processes, and report it."""
    token = _patience.set(Patience(seconds, tell))
    try:
        yield
    finally:
        _patience.reset(token)


class Connection(sqlite3.Connection):
    """A connection that reports when it waits."""

    named = "the database"
    patience = PATIENCE

    def execute(self, *arguments: Any) -> sqlite3.Cursor:
        """Execute a statement; error messages from a damaged database may not be text."""
        try:
            return super().execute(*arguments)
        except UnicodeDecodeError:
            raise sqlite3.DatabaseError("damaged") from None

    def begin(self, writes: bool) -> None:
        """Begin to write, or only to read, as soon as other processes allow it."""
        soon = min(SOON, self.patience.seconds)
        try:
            self._begin(writes, soon)
        except sqlite3.OperationalError as error:
            later = self.patience.seconds - soon
            if not _is_locked(error) or later <= 0:
                raise
            if self.patience.tell is not None:
                self.patience.tell(
                    f"{self.named} is locked by another process: waiting for up to"
                    f" {self.patience.seconds:g} s (--wait)"
                )
            self._begin(writes, later)
        finally:
            self._set_timeout(self.patience.seconds)

    def _begin(self, writes: bool, seconds: float) -> None:
        self._set_timeout(seconds)
        self.execute("BEGIN IMMEDIATE" if writes else "BEGIN")
        try:
            self.execute("SELECT count(*) FROM sqlite_master")  # the first read sets the lock
        except BaseException:
            self.rollback()
            raise

    def _set_timeout(self, seconds: float) -> None:
        self.execute(f"PRAGMA busy_timeout = {int(seconds * 1000)}")


@contextmanager
def connect(path: Path, named: str, foreign: str) -> Iterator[Connection]:
    """Connect to a database, without implicit transactions."""
    patience = _patience.get()
    try:
        connection = sqlite3.connect(path, timeout=patience.seconds, isolation_level=None, factory=Connection)
    except sqlite3.Error as error:
        raise InputError(f"{named} can't be opened ({error})") from None
    connection.named, connection.patience = named, patience
    try:
        connection.execute("PRAGMA foreign_keys = ON")
        yield connection
    except sqlite3.OperationalError as error:  # the disk is full, locked or gone
        if _is_locked(error):
            raise InputError(
                f"{named} is still locked by another process after {patience.seconds:g} s; --wait SECONDS"
                " waits longer"
            ) from None
        raise InputError(f"{named} can't be used ({error})") from None
    except sqlite3.DatabaseError as error:
        if isinstance(error, sqlite3.IntegrityError):
            raise
        raise InputError(f"{foreign} ({error})") from None
    finally:
        connection.close()


def _is_locked(error: sqlite3.Error) -> bool:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


@contextmanager
def transaction(connection: Connection, *, writes: bool = True) -> Iterator[Connection]:
    """Make changes together, or none of them."""
    connection.begin(writes)
    try:
        yield connection
        connection.execute("COMMIT")
    except BaseException:
        connection.rollback()
        raise
