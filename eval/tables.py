"""CSV files: written whole or not at all, read back as rows of numbers and words."""

import csv
import io
import math
from collections.abc import Iterable, Sequence
from pathlib import Path


def write_csv(path: Path, columns: Sequence[str], rows: Iterable[dict]) -> None:
    """Write beside, then rename. A nan is an empty field."""
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows({k: _field(v) for k, v in row.items()} for row in rows)
    write_text(path, buffer.getvalue())


def write_text(path: Path, text: str) -> None:
    """Write beside, then rename."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(path.name + ".part")
    beside.write_text(text, encoding="utf-8")
    beside.replace(path)


def read_csv(path: Path) -> list[dict]:
    """Rows, numbers as float (an empty field as nan), all else as str. Raises ValueError without rows."""
    if not path.is_file():
        raise ValueError(f"{path} must be a CSV file, but there is no such file")
    with path.open(encoding="utf-8", newline="") as file:
        rows = [{k: _value(v) for k, v in row.items()} for row in csv.DictReader(file)]
    if not rows:
        raise ValueError(f"{path} must hold at least one row, found none")
    return rows


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """
    >>> print(markdown_table(["a", "b"], [["1", "2"]]))
    | a | b |
    |---|---|
    | 1 | 2 |
    """
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("|".join(["", *(c if c == "---" else f" {c} " for c in line), ""]) for line in lines)


def _field(value):
    return "" if isinstance(value, float) and math.isnan(value) else value


def _value(text: str):
    if text == "":
        return math.nan
    try:
        return float(text)
    except ValueError:
        return text
