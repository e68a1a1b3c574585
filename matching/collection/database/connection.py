"""Connections to SQLite databases that several processes may use at a time."""

import re
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from contextvars import ContextVar
from importlib.resources import files
from pathlib import Path
from typing import Any

from matching.errors import InputError

ROWS_PER_PAGE = 1000
# How long to wait for a database that another process has locked.
WAIT_SECONDS = ContextVar("WAIT_SECONDS", default=60.0)


class Database:
    """An open database; subclasses read and write its tables."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._db = connection
        self.execute, self.executemany = connection.execute, connection.executemany

    def rows(self, query: str, parameters: Sequence[Any] = ()) -> list[Any]:
        """Read all rows of a query."""
        return self.execute(query, parameters).fetchall()

    def pages(self, query: str) -> Iterator[Any]:
        """Read the rows of a query page by page, so that others can be written meanwhile.

        The first column is the id, and the query ends with its name: the rows with larger ids are added.
        """
        last = -1
        while rows := self.rows(f"{query} > ? ORDER BY 1 LIMIT {ROWS_PER_PAGE}", (last,)):
            yield from rows
            last = rows[-1][0]

    def settings(self) -> dict[str, str]:
        """Read the settings with which the database was made."""
        return dict(self.rows("SELECT name, value FROM settings"))

    def names(self) -> set[str]:
        """List the names of the tables, views and indexes."""
        return {name for (name,) in self.rows("SELECT name FROM sqlite_master")}

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Make changes together, or none of them."""
        with self._db:
            self.execute("BEGIN IMMEDIATE")
            yield

    def make_tables(
        self, package: str, settings: Callable[[], Mapping[str, str]], restart: bool = False
    ) -> None:
        """Make the tables of a package's schema.sql, if there are none or all anew, and write settings."""
        if restart or not self.names():
            with self.transaction():
                if self.names() and not restart:
                    return  # another process was faster
                definitions = files(package).joinpath("schema.sql").read_text("utf-8")
                for kind, name in re.findall(r"CREATE (TABLE|VIEW) (\w+)", definitions)[::-1]:
                    self.execute(f"DROP {kind} IF EXISTS {name}")
                for statement in definitions.split(";\n"):  # executescript would commit those before its own
                    self.execute(statement)
                self.executemany("INSERT INTO settings VALUES (?, ?)", settings().items())


@contextmanager
def connect(path: Path, name: str, foreign: str) -> Iterator[sqlite3.Connection]:
    """Connect to a database, without implicit transactions.

    `name` begins the messages about it; `foreign` says that the file is no such database.
    """
    try:
        options: Any = {"timeout": WAIT_SECONDS.get(), "isolation_level": None}
        with closing(sqlite3.connect(path, **options)) as connection:
            connection.execute("PRAGMA foreign_keys = ON")
            yield connection
    except sqlite3.OperationalError as error:  # the disk is full, locked or gone
        if getattr(error, "sqlite_errorname", "").startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
            raise InputError(
                f"{name} is still locked by another process after {WAIT_SECONDS.get():g} s;"
                " --wait SECONDS waits longer"
            ) from None
        raise InputError(f"{name} can't be used ({error})") from None
    except sqlite3.IntegrityError:
        raise
    except sqlite3.DatabaseError as error:
        raise InputError(f"{foreign} ({error})") from None
