"""Files of results and data: CSV files, which are written whole or not at all, and arrays of .npz files."""

import csv
import io
import math
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

# what NumPy raises for a file that is damaged or not an .npz file
_UNREADABLE = (
    OSError,
    KeyError,
    ValueError,
    TypeError,
    EOFError,
    NotImplementedError,
    BadZipFile,
    zlib.error,
)


def write_csv(path: Path, columns: Sequence[str], rows: Iterable[dict]) -> None:
    """Write a CSV file under another name, then rename it. A nan becomes an empty field."""
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows({k: _format_field(v) for k, v in row.items()} for row in rows)
    write_text(path, buffer.getvalue())


def write_text(path: Path, text: str) -> None:
    """Write a text file under another name, then rename it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(path.name + ".part")
    beside.write_text(text, encoding="utf-8")
    beside.replace(path)


def read_csv(path: Path, columns: Sequence[str] = ()) -> list[dict]:
    """Read rows: numbers as float (an empty field as nan), everything else as str. Raises ValueError if there
    are no rows, a row is shorter or longer than the header, or one of the columns is missing.
    """
    if not path.is_file():
        raise ValueError(f"{path}: no such file; a CSV file is needed")
    with path.open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        raw = list(reader)
    missing = [name for name in columns if name not in (reader.fieldnames or ())]
    if missing:
        raise ValueError(f"{path} must have the columns {', '.join(columns)}; {missing[0]} is missing")
    for number, row in enumerate(raw, start=1):
        if None in row or None in row.values():
            n_fields = len(reader.fieldnames or ())
            raise ValueError(f"{path}: row {number} must have as many fields as the header, {n_fields}")
    rows = [{k: _parse_value(v) for k, v in row.items()} for row in raw]
    if not rows:
        raise ValueError(f"{path} must hold at least one row, found none")
    return rows


def read_arrays(path: Path, names: Sequence[str]) -> list[NDArray]:
    """The named arrays of an .npz file. Raises ValueError if it is missing, damaged, or lacks one of them."""
    try:
        with path.open("rb") as opened, np.load(opened) as file:
            return [file[name] for name in names]
    except _UNREADABLE as error:
        wanted = f"{', '.join(names[:-1])} and {names[-1]}"
        raise ValueError(f"{path} must be an .npz file with arrays {wanted}: {error}") from None


def format_markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """
    >>> print(format_markdown(["a", "b"], [["1", "2"]]))
    | a | b |
    |---|---|
    | 1 | 2 |
    """
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("|".join(["", *(c if c == "---" else f" {c} " for c in line), ""]) for line in lines)


def _format_field(value):
    return "" if isinstance(value, float) and math.isnan(value) else value


def _parse_value(text: str):
    if text == "":
        return math.nan
    try:
        return float(text)
    except ValueError:
        return text
