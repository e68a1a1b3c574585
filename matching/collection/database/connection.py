"""Connections to SQLite databases that several processes may use at a time."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from matching.errors import InputError

BUSY = 60  # seconds to wait for another writer


@contextmanager
def connect(path: Path, named: str, foreign: str) -> Iterator[sqlite3.Connection]:
    """Connect to a database, without transactions of their own."""
    try:
        connection = sqlite3.connect(path, timeout=BUSY, isolation_level=None)
    except sqlite3.Error as error:
        raise InputError(f"{named} can't be opened ({error})") from None
    try:
        connection.execute("PRAGMA foreign_keys = ON")
        yield connection
    except sqlite3.OperationalError as error:  # disk full, locked, taken away
        raise InputError(f"{named} can't be used ({error})") from None
    except sqlite3.DatabaseError as error:
        if isinstance(error, sqlite3.IntegrityError):
            raise
        raise InputError(f"{foreign} ({error})") from None
    finally:
        connection.close()


@contextmanager
def transaction(connection: sqlite3.Connection, *, writes: bool = True) -> Iterator[sqlite3.Connection]:
    """Make changes together, or none of them."""
    connection.execute("BEGIN IMMEDIATE" if writes else "BEGIN")
    try:
        yield connection
        connection.execute("COMMIT")
    except BaseException:
        connection.rollback()
        raise
