"""Checksums of the contents of a database, so that a changed byte is reported and never read as a result.

Each row of some tables has a checksum of its own; the rows of a pair in a table of results have one in
common. Only this program's connections write checksums, so a row that another program has changed no longer
fits its checksum.
"""

import sqlite3
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

RESULTS = {"matches": "candidate", "objects": "object", "timings": "stage"}  # table: order in a pair
Keys = Mapping[str, Sequence[str]]  # table: the columns that identify a row
_whole: dict[Path, tuple[int, ...]] = {}  # databases found intact, and the state of their files then


def compute_checksum(*values: Any) -> bytes:
    """The checksum of the values of a row."""
    return blake2b(repr(values).encode(), digest_size=8).digest()


def _compute_checksum_of_rows(*rows: Sequence[Any]) -> bytes:
    try:
        pack = struct.Struct(f"<{len(rows[0])}d").pack
        data = b"".join([pack(*row) for row in rows])  # in a fifth of the time
    except (struct.error, OverflowError):
        return compute_checksum(*rows)
    return blake2b(data, digest_size=8).digest()


def seal_rows(connection: sqlite3.Connection, keys: Keys) -> None:
    """Let this connection write a checksum with each row that it writes to these tables."""
    connection.create_function("checksum", -1, compute_checksum, deterministic=True)
    for table, key in keys.items():
        names = [name for _, name, *_ in connection.execute(f"PRAGMA table_info({table})")]
        new = ", ".join(f"new.{name}" for name in names)
        new_key, old_key = (_join_key(key, f"{row}.") for row in ("new", "old"))
        for event in ("INSERT", "UPDATE"):
            connection.execute(
                f"CREATE TEMP TRIGGER IF NOT EXISTS seal_{table}_{event} AFTER {event} ON main.{table} BEGIN"
                f" INSERT OR REPLACE INTO checksums VALUES ('{table}', {new_key}, checksum({new})); END"
            )
        connection.execute(
            f"CREATE TEMP TRIGGER IF NOT EXISTS seal_{table}_DELETE AFTER DELETE ON main.{table} BEGIN"
            f" DELETE FROM checksums WHERE part = '{table}' AND key = {old_key}; END"
        )


def _join_key(names: Sequence[str], prefix: str = "") -> str:
    return " || ' ' || ".join(f"{prefix}{name}" for name in names)


def make_tables(
    connection: sqlite3.Connection, definitions: str, keys: Keys, settings: Mapping[str, str]
) -> None:
    """Make the tables, views and indexes of a new database, with their checksums, and write its settings."""
    for statement in definitions.split(";\n"):  # executescript would commit the statements before its own
        connection.execute(statement)
    rows = connection.execute("SELECT name, sql FROM sqlite_master").fetchall()
    connection.executemany(
        "INSERT INTO checksums VALUES ('schema', ?, ?)", ((row[0], compute_checksum(*row)) for row in rows)
    )
    seal_rows(connection, keys)
    connection.executemany("INSERT INTO settings VALUES (?, ?)", settings.items())


def seal_results(connection: sqlite3.Connection, pair: int) -> None:
    """Write the checksums of all rows that a pair has in each table of results."""
    for table, order in RESULTS.items():
        rows = connection.execute(
            f"SELECT * FROM {table} WHERE pair = ? ORDER BY {order}", (pair,)
        ).fetchall()
        if rows:
            row = table, pair, _compute_checksum_of_rows(*rows)
            connection.execute("INSERT INTO checksums VALUES (?, ?, ?)", row)


def find_damage(
    connection: sqlite3.Connection, path: Path, keys: Keys, results: Mapping[str, str] = {}
) -> str | None:
    """Name a damaged part of a database, or return None. An unchanged file is not read again."""
    status = path.stat()
    state = status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns
    if _whole.get(path) == state:
        return None
    damage = next(_list_damage(connection, keys, results), None)
    if damage is None:
        _whole[path] = state
    return damage


def _list_damage(connection: sqlite3.Connection, keys: Keys, results: Mapping[str, str]) -> Iterator[str]:
    (report,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
    if report != "ok":
        yield " ".join(report.split())
    yield from _compare(connection, "schema", connection.execute("SELECT name, name, sql FROM sqlite_master"))
    for table, key in keys.items():
        rows = connection.execute(f"SELECT {_join_key(key)}, * FROM {table}")
        yield from _compare(connection, table, rows)
    for table, order in results.items():
        by_pair = groupby(connection.execute(f"SELECT * FROM {table} ORDER BY pair, {order}"), itemgetter(0))
        together = ((pair, *rows) for pair, rows in by_pair)
        yield from _compare(connection, table, together, _compute_checksum_of_rows)


def _compare(
    connection: sqlite3.Connection,
    part: str,
    rows: Iterable[Sequence[Any]],
    compute: Callable[..., bytes] = compute_checksum,
) -> Iterator[str]:
    """The keys of rows that don't fit their checksums; a row is a key, then the values to check."""
    wanted = dict(connection.execute("SELECT key, checksum FROM checksums WHERE part = ?", (part,)))
    for key, *values in rows:
        if wanted.pop(key, None) != compute(*values):
            yield f"{part} {key}"
    yield from (f"{part} {key}" for key in wanted)
