"""The tables of a collection's database as CSV or Parquet files."""

from __future__ import annotations

import csv
from importlib.util import find_spec

from matching.collection.store import open_store
from matching.errors import InputError
from matching.output import make_folder

TABLES = {  # and the order of their rows
    "images": "SELECT * FROM images ORDER BY id",
    "pairs": "SELECT pairs.*, a.path AS path0, b.path AS path1 FROM pairs JOIN images AS a ON a.id = image0"
    " JOIN images AS b ON b.id = image1 ORDER BY pairs.id",
    "objects": "SELECT * FROM objects ORDER BY pair, object",
    "matches": "SELECT * FROM matches ORDER BY pair, candidate",
}
ROWS = 50_000  # at a time
TYPES = {  # Parquet: of columns that may be empty throughout, so that their values don't tell
    "text": ("path", "path0", "path1", "status", "sha256", "error", "transform", "transform_kind"),
    "real": ("score", "transform_error", "x0", "y0", "x1", "y1"),
}


def require_parquet():
    """Raise InputError where the library that writes Parquet is not installed."""
    if find_spec("pyarrow") is None:
        raise InputError("--parquet needs pyarrow: pip install 'gdl-match[parquet]'")


def export(db, folder, kind):
    """Write images, pairs, objects and matches into a folder, a file each; returns their paths.

    kind : "csv" or "parquet" (with pyarrow). Numbers keep all their digits; NULL is an empty field in a CSV.

    Raises InputError where the database can't be read or the folder can't be written.
    """
    if kind == "parquet":
        require_parquet()
    write = {"csv": _write_csv, "parquet": _write_parquet}[kind]
    paths = []
    with open_store(db) as store:
        folder = make_folder(folder)
        for table, query in TABLES.items():
            path = folder / f"{table}.{kind}"
            beside = path.with_name(f".{path.name}.part")
            try:
                write(beside, store.cursor(query))
                beside.replace(path)
            except OSError as error:
                raise InputError(f"{path}: can't be written ({error.strerror})") from None
            finally:
                beside.unlink(missing_ok=True)
            paths.append(path)
    return paths


def _write_csv(path, cursor):
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(name for name, *_ in cursor.description)
        writer.writerows(cursor)


def _write_parquet(path, cursor):
    import pyarrow as pa
    from pyarrow.parquet import ParquetWriter

    names = [name for name, *_ in cursor.description]
    schema = pa.schema([(name, _type(pa, name)) for name in names])
    with ParquetWriter(path, schema) as writer:
        while rows := cursor.fetchmany(ROWS):
            arrays = map(pa.array, zip(*rows, strict=True), schema.types)
            writer.write_table(pa.table(list(arrays), schema=schema))


def _type(pa, name):
    if name in TYPES["text"] or name.startswith("outline"):
        return pa.string()
    return pa.float64() if name in TYPES["real"] else pa.int64()
