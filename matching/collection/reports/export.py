"""The tables of a collection's database as CSV or Parquet files."""

import csv
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from matching._common.optional import import_optional
from matching.collection.database.store import PAIRS_WITH_IMAGES, open_store
from matching.errors import InputError
from matching.output.folders import make_temporary_folder, place_files
from matching.pictures.names import exists

TABLES = {  # the tables and the order of their rows
    "images": "SELECT * FROM images ORDER BY id",
    "pairs": f"SELECT pairs.*, a.path AS path0, b.path AS path1 FROM {PAIRS_WITH_IMAGES} ORDER BY pairs.id",
    "objects": "SELECT * FROM objects ORDER BY pair, object",
    "matches": "SELECT * FROM matches ORDER BY pair, candidate",
}
ROWS_PER_WRITE = 50_000
FOREIGN_FILE = "was not written by gdl-match collection; choose another folder, or remove it"


def check_tables_replaceable(folder: Path, kind: str) -> None:
    """Check that an export is possible and replaces only files of an earlier one, which has all tables."""
    if kind == "parquet":
        import_optional("pyarrow", "--parquet needs pyarrow", "pyarrow")
    paths = [folder / f"{table}.{kind}" for table in TABLES]
    present = [path for path in paths if exists(path)]
    if 0 < len(present) < len(paths):
        raise InputError(f"{present[0]}: {FOREIGN_FILE}")


def export(db: Path, folder: Path, kind: str) -> list[Path]:
    """Write images, pairs, objects and matches into a folder, one file per table: all of them, or none."""
    write = {"csv": _write_csv, "parquet": _write_parquet}[kind]
    paths = [folder / f"{table}.{kind}" for table in TABLES]
    with open_store(db) as store, exported_files(folder, [path.name for path in paths]) as part:
        for path, query in zip(paths, TABLES.values(), strict=True):
            write(part / path.name, store.execute(query))
    return paths


@contextmanager
def exported_files(folder: Path, names: Sequence[str]) -> Iterator[Path]:
    """Make a temporary folder, and move its files into another folder at the end: all of them, or none."""
    try:
        with make_temporary_folder(folder) as part:
            yield part
            place_files(part, folder, names)
    except (OSError, sqlite3.OperationalError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{folder}: the export can't be written ({reason})") from None


def _write_csv(path: Path, cursor: sqlite3.Cursor) -> None:
    """Write the rows of a query as CSV."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(name for name, *_ in cursor.description)
        writer.writerows(cursor)


def _write_parquet(path: Path, cursor: sqlite3.Cursor) -> None:
    """Write the rows of a query as Parquet, some thousands at a time."""
    import pyarrow as pa
    from pyarrow.parquet import ParquetWriter

    # the types that the database declares, because columns may be empty, so that no value shows the type
    declared = "SELECT c.name, c.type FROM sqlite_master AS m JOIN pragma_table_info(m.name) AS c"
    types: dict[Any, str] = dict(cursor.connection.execute(declared))
    kinds = {"INTEGER": pa.int64(), "REAL": pa.float64()}
    schema = pa.schema(
        [(name, kinds.get(types.get(name, ""), pa.string())) for name, *_ in cursor.description]
    )
    with ParquetWriter(path, schema) as writer:
        while rows := cursor.fetchmany(ROWS_PER_WRITE):
            arrays = map(pa.array, zip(*rows, strict=True), schema.types)
            writer.write_table(pa.table(list(arrays), schema=schema))
