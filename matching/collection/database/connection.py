"""Connections to SQLite databases that several processes may use at a time."""

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from matching.errors import InputError

# How long to wait for a database that another process has locked.
WAIT_SECONDS = ContextVar("WAIT_SECONDS", default=60.0)


@contextmanager
def connect(path: Path, name: str, foreign: str) -> Iterator[sqlite3.Connection]:
    """Connect to a database, without implicit transactions.

    `name` begins the messages about it; `foreign` says that the file is no such database.
    """
    try:
        connection = sqlite3.connect(path, timeout=WAIT_SECONDS.get(), isolation_level=None)
    except sqlite3.Error as error:
        raise InputError(f"{name} can't be opened ({error})") from None
    try:
        connection.execute("PRAGMA foreign_keys = ON")
        yield connection
    except sqlite3.OperationalError as error:  # the disk is full, locked or gone
        if getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            raise InputError(
                f"{name} is still locked by another process after {WAIT_SECONDS.get():g} s;"
                " --wait SECONDS waits longer"
            ) from None
        raise InputError(f"{name} can't be used ({error})") from None
    except sqlite3.IntegrityError:
        raise
    except sqlite3.DatabaseError as error:
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


def make_tables(connection: sqlite3.Connection, definitions: str, settings: Mapping[str, str]) -> None:
    """Make the tables, views and indexes of a new database, and write its settings."""
    for statement in definitions.split(";\n"):  # executescript would commit the statements before its own
        connection.execute(statement)
    connection.executemany("INSERT INTO settings VALUES (?, ?)", settings.items())
