"""Matches of one pair in a text table, in NumPy's archive, in OpenCV's storage, or in PyTorch's file."""

import csv
import re
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from matching._common import opencv
from matching._common.types import Array
from matching.errors import InputError
from matching.interchange import arrays
from matching.interchange.records import PairMatches

MAX_UNPACKED_BYTES = 500_000_000  # of an archive: half a million keypoints with descriptors of 256 floats
COLUMNS = ("x0", "y0", "x1", "y1")


def read_npz(path: Path) -> PairMatches:
    """Read the matches in NumPy's archive, or in a single array."""
    return _read_file(path, _load_numpy, "NumPy's .npz file of arrays of numbers")


def _read_file(path: Path, load: Callable[[Path], Any], kind: str) -> PairMatches:
    """Read the matches in what `load` returns; if it fails, report that the file is not of this kind."""
    try:
        content = load(path)
    except InputError:
        raise
    except OSError as error:
        raise InputError(f"{path}: can't be read ({error.strerror or 'damaged'})") from None
    except Exception:  # zipfile, zlib, pickle and NumPy raise different errors
        raise InputError(f"{path}: is damaged, or is not {kind}") from None
    return arrays.read_content(path, content)


def _load_numpy(path: Path) -> Array | dict[str, Array]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with path.open("rb") as file:  # otherwise, NumPy would leave a damaged file open
            loaded = np.load(file, allow_pickle=False)
            size = 0 if isinstance(loaded, np.ndarray) else sum(i.file_size for i in loaded.zip.infolist())
            if size > MAX_UNPACKED_BYTES:
                limit = f"at most {MAX_UNPACKED_BYTES / 1e6:.0f} MB may be unpacked"
                raise InputError(f"{path}: unpacks to {size / 1e6:.0f} MB, and {limit}")
            return loaded if isinstance(loaded, np.ndarray) else {name: loaded[name] for name in loaded.files}


def read_storage(path: Path) -> PairMatches:
    """Read the matches of a file of OpenCV's FileStorage."""
    matrices = opencv.read_storage(path)
    if matrices is None:
        raise InputError(f"{path}: can't be read as a FileStorage file of OpenCV")
    return arrays.read_content(path, matrices)


def read_torch(path: Path) -> PairMatches:
    """Read the matches of a file of torch.save by PyTorch, which runs no code that the file holds."""
    try:
        torch = import_module("torch")
    except ImportError:
        raise InputError(
            f"{path}: {path.suffix} files need PyTorch: pip install torch, or save the arrays as .npz"
        ) from None
    load = partial(torch.load, map_location="cpu", weights_only=True)
    return _read_file(path, load, "a file of torch.save that holds only tensors")


def read_text(path: Path) -> PairMatches:
    """Read the matches of a text file, one per line: x0 y0 x1 y1 [score], where smaller scores are better."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError(f"{path}: can't be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise InputError(f"{path}: must be text in UTF-8") from None
    lines: list[tuple[int, str]] = []
    names: list[str] | None = None
    for number, line in enumerate(text.split("\n"), 1):
        content, _, comment = line.partition("#")
        commented = re.split(r"[\s,;]+", comment.strip().lower())
        if not lines and {*COLUMNS} <= {*commented}:  # as `np.savetxt` writes
            names = commented
        if content.strip():
            lines.append((number, content.strip()))
    delimiter = None
    if lines and (declared := re.fullmatch(r"sep=(.)", lines[0][1], re.I)):  # as spreadsheets write
        delimiter, lines = declared[1], lines[1:]
    if not lines:
        raise InputError(f"{path}: holds no matches")
    rows = _split(lines, delimiter or next((mark for mark in (";", "\t", ",") if mark in lines[0][1]), None))
    _refuse_decimal_commas(path, *rows[0])
    if names is None:
        if _is_number(rows[0][1][0]):
            return arrays.read_table(_read_numbers(path, rows, range(len(rows[0][1]))), str(path))
        names = [name.strip("\"'").lower() for name in rows.pop(0)[1]]
    if missing := [name for name in COLUMNS if name not in names]:
        raise InputError(f"{path}: must have the columns {', '.join(COLUMNS)}; {missing[0]} is missing")
    score_names = (*arrays.DISTANCE_NAMES, *arrays.CONFIDENCE_NAMES)
    used = [*COLUMNS, *[name for name in score_names if name in names][:1]]
    table = _read_numbers(path, rows, [names.index(name) for name in used], len(names))
    score = dict(zip(used[4:], table.T[4:], strict=True))
    return arrays.matches_from({"xy0": table[:, :2], "xy1": table[:, 2:4], **score})


def _split(lines: list[tuple[int, str]], delimiter: str | None) -> list[tuple[int, list[str]]]:
    """Split numbered lines into fields without quotes; if the delimiter is None, at white space."""
    if delimiter is None:
        return [(number, [field.strip("\"'") for field in line.split()]) for number, line in lines]
    parsed = csv.reader((line for _, line in lines), delimiter=delimiter, skipinitialspace=True)
    return [
        (number, [field.strip().strip("'") for field in fields])
        for (number, _), fields in zip(lines, parsed, strict=False)
    ]


def _refuse_decimal_commas(path: Path, number: int, fields: list[str]) -> None:
    """Raise InputError if a field of the line of this number has a decimal comma."""
    wrong = next((f for f in fields for part in f.split() if re.fullmatch(r"[+-]?\d*,\d+", part)), None)
    if wrong is not None:
        raise InputError(f"{path}: line {number}: has a decimal comma; use a decimal point: {wrong!r}")


def _read_numbers(
    path: Path, rows: list[tuple[int, list[str]]], used: Sequence[int], n_columns: int | None = None
) -> Array:
    """Read the columns `used` of numbered rows of text, which must have n_columns (len(used) by default)."""
    n_columns = n_columns or len(used)
    table = np.empty((len(rows), len(used)))
    for i, (number, fields) in enumerate(rows):
        if len(fields) != n_columns:
            raise InputError(f"{path}: line {number}: must have {n_columns} columns, got {len(fields)}")
        chosen = [fields[column] for column in used]
        try:
            table[i] = chosen
        except ValueError:
            _refuse_decimal_commas(path, number, chosen)
            wrong = next(field for field in chosen if not _is_number(field))
            raise InputError(f"{path}: line {number}: must hold numbers, got {wrong!r}") from None
    wrong_rows, columns = np.nonzero(~(np.abs(table) < np.finfo(np.float32).max))
    if len(wrong_rows):
        number, fields = rows[wrong_rows[0]]
        wrong = fields[used[columns[0]]]
        raise InputError(f"{path}: line {number}: must hold finite numbers below 3.4e38, got {wrong!r}")
    return table


def _is_number(text: str) -> bool:
    number = r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?(nan|inf(inity)?)"
    return re.fullmatch(number, text, re.I) is not None
