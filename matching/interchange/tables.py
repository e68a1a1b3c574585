"""Matches of one pair in a text table, in NumPy's archive, in OpenCV's storage, or in PyTorch's file."""

import csv
import math
import re
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from matching._common import opencv
from matching._common.optional import import_optional
from matching._common.types import Array
from matching.errors import InputError, OneLineErrors
from matching.interchange.arrays import SCORE_NAMES, matches_from, read_content, read_table
from matching.interchange.records import PairMatches

COLUMNS = ("x0", "y0", "x1", "y1")


def read_npz(path: Path) -> PairMatches:
    """Read the matches in NumPy's archive, or in a single array."""
    return _read_file(path, _load_numpy, "NumPy's .npz file of arrays of numbers")


def _read_file(path: Path, load: Callable[[Path], Any], kind: str) -> PairMatches:
    """Read the matches in what `load` returns; if it fails, report that the file is not of this kind."""
    try:
        content = load(path)
    except OSError as error:
        raise InputError(f"{path}: can't be read ({error.strerror or 'damaged'})") from None
    except Exception:  # zipfile, zlib, pickle and NumPy raise different errors
        raise InputError(f"{path}: is damaged, or is not {kind}") from None
    return read_content(path, content)


def _load_numpy(path: Path) -> Array | dict[str, Array]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with path.open("rb") as file:  # otherwise, NumPy would leave a damaged file open
            loaded = np.load(file, allow_pickle=False)
            return loaded if isinstance(loaded, np.ndarray) else {name: loaded[name] for name in loaded.files}


def read_storage(path: Path) -> PairMatches:
    """Read the matches of a file of OpenCV's FileStorage."""
    matrices = opencv.read_storage(path)
    if matrices is None:
        raise InputError(f"{path}: can't be read as a FileStorage file of OpenCV")
    return read_content(path, matrices)


def read_torch(path: Path) -> PairMatches:
    """Read the matches of a file of torch.save by PyTorch, which runs no code that the file holds."""
    need = f"{path}: {path.suffix} files need PyTorch"
    torch = import_optional("torch", need, "torch, or save the arrays as .npz")
    load = partial(torch.load, map_location="cpu", weights_only=True)
    return _read_file(path, load, "a file of torch.save that holds only tensors")


def read_text(path: Path) -> PairMatches:
    """Read the matches of a text file, one per line: x0 y0 x1 y1 [score], where smaller scores are better."""
    with OneLineErrors(path, "can't be read"):
        text = path.read_text(encoding="utf-8-sig")
    lines: list[tuple[int, str]] = []
    for number, line in enumerate(text.split("\n"), 1):
        content, _, comment = line.partition("#")
        if not lines and {*COLUMNS} <= {*_split_names(comment)}:  # as `np.savetxt` writes
            content = comment
        if content.strip():
            lines.append((number, content.strip()))
    if not lines:
        raise InputError(f"{path}: holds no matches")
    is_headless = re.match(r"[\"']?(?:[-+.\d]|nan|inf)", lines[0][1], re.IGNORECASE)
    names = [] if is_headless else _split_names(lines.pop(0)[1])
    delimiter = next((mark for mark in (";", "\t", ",") if lines and mark in lines[0][1]), None)
    rows = [(number, _split(line, delimiter)) for number, line in lines]
    if is_headless:
        width = len(rows[0][1])
        return read_table(_read_numbers(path, rows, range(width), width), str(path))
    if missing := [name for name in COLUMNS if name not in names]:
        raise InputError(f"{path}: must have the columns {', '.join(COLUMNS)}; {missing[0]} is missing")
    used = [*COLUMNS, *[name for name in SCORE_NAMES if name in names][:1]]
    table = _read_numbers(path, rows, [names.index(name) for name in used], len(names))
    score = dict(zip(used[4:], table.T[4:], strict=True))
    return matches_from({"xy0": table[:, :2], "xy1": table[:, 2:4], **score})


def _split_names(line: str) -> list[str]:
    """Split the first line of a table into the names of its columns."""
    return [name.strip("\"'") for name in re.split(r"[\s,;]+", line.strip().lower())]


def _split(line: str, delimiter: str | None) -> list[str]:
    """Split a line into fields without quotes; if the delimiter is None, at white space."""
    if delimiter is None:
        return [field.strip("\"'") for field in line.split()]
    (fields,) = csv.reader([line], delimiter=delimiter, skipinitialspace=True)
    return [field.strip().strip("\"'") for field in fields]


def _read_numbers(
    path: Path, rows: list[tuple[int, list[str]]], used: Sequence[int], n_columns: int
) -> Array:
    """Read the columns `used` of numbered rows of text, which must have n_columns."""
    table = np.empty((len(rows), len(used)))
    for i, (number, fields) in enumerate(rows):
        if len(fields) != n_columns:
            raise InputError(f"{path}: line {number}: must have {n_columns} columns, got {len(fields)}")
        for j, column in enumerate(used):
            table[i, j] = _to_number(fields[column])
            if not abs(table[i, j]) < np.finfo(np.float32).max:
                rule = "must hold finite numbers below 3.4e38"
                raise InputError(f"{path}: line {number}: {rule}, got {fields[column]!r}")
    return table


def _to_number(text: str) -> float:
    """Read a number; NaN if the text is none."""
    try:
        return float(text)
    except ValueError:
        return math.nan
