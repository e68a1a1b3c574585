"""Which pairs of pictures a collection has: from a list, all of a folder, or queries against a gallery."""

from __future__ import annotations

import csv
import os
import re
import shlex
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from pathlib import Path

from PIL import Image

from matching.errors import InputError
from matching.pictures.formats import readable_formats
from matching.pictures.names import absolute, exists, is_file, is_folder

READ_OTHERWISE = frozenset({".hdr", ".heic", ".heif", ".hif"})  # pictures that Pillow itself does not read
BLANKS = " \t\r"  # between the names of a list
BAD_NAME = "\\udc"  # in a name with bytes that are not UTF-8, as a plan has it


@dataclass(frozen=True, eq=False)
class Plan:
    """Pictures, and which of them to match: pairs, or every query with every picture of a gallery.

    paths : absolute paths of the pictures, each once
    listed : (i, j) rows of `paths`, each pair once
    queries, gallery : rows of `paths`; empty where the pairs are listed
    """

    paths: tuple[str, ...]
    listed: tuple[tuple[int, int], ...] = ()
    queries: tuple[int, ...] = ()
    gallery: tuple[int, ...] = ()

    def pairs(self):
        """All pairs (i, j), one by one: a large gallery has more than fit a list."""
        yield from self.listed
        yield from ((i, j) for i in self.queries for j in self.gallery if i != j)


def plan_of_list(path):
    """The pairs of a list: two paths a line, with a tab, a comma or blanks between them.

    Paths with blanks in them want a tab, a comma or quotes. Relative paths count from the list's folder,
    where they are found there, else from the current folder. Empty lines and lines that begin with # are
    passed over.
    """
    path = Path(path)
    try:
        # not splitlines, which ends a line at characters that names may hold
        lines = [line.removesuffix("\r") for line in path.read_bytes().decode("utf-8-sig").split("\n")]
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not a UTF-8 text"
        raise InputError(f"{path}: the list of pairs can't be read ({reason})") from None
    named = []
    for number, line in enumerate(lines, 1):
        if line.strip(BLANKS) and not line.lstrip(BLANKS).startswith("#"):
            names = _names(line)
            if len(names) != 2:
                raise InputError(f"{path}: line {number} must name two pictures, has {len(names)}")
            named.append(tuple(_located(name, path.parent) for name in names))
    if not named:
        raise InputError(f"{path}: the list has no pairs")
    return _plan(named)


def plan_of_folder(folder, recursive=False):
    """All pairs of the pictures in a folder, in the order of their names."""
    paths = pictures_in(folder, recursive)
    if len(paths) < 2:
        raise InputError(f"{folder}: at least 2 pictures are needed, the folder has {len(paths)}")
    return _plan(combinations(paths, 2))


def plan_of_gallery(queries, gallery, recursive=False):
    """Every picture of a folder with every picture of another one; a picture is not matched with itself."""
    sides = [pictures_in(folder, recursive) for folder in (queries, gallery)]
    rows = {path: k for k, path in enumerate(dict.fromkeys(sides[0] + sides[1]))}
    plan = Plan(tuple(rows), (), *(tuple(rows[path] for path in side) for side in sides))
    if len(rows) < 2:
        raise InputError("--query and --gallery: there is no pair of different pictures")
    return plan


def pictures_in(folder, recursive=False):
    """Absolute paths of the files in a folder with the suffix of a picture, sorted; hidden ones are passed
    over. A file's path gives that file.
    """
    folder = Path(folder)
    if is_file(folder):
        return [_absolute(folder)]
    try:
        found = sorted(folder.rglob("*") if recursive else folder.iterdir())
    except OSError as error:
        raise InputError(f"{folder}: the folder can't be read ({error.strerror})") from None
    inside = [path for path in found if not any(p.startswith(".") for p in path.relative_to(folder).parts)]
    paths = [_absolute(path) for path in inside if path.suffix.lower() in picture_suffixes()]
    paths = [path for path in paths if not is_folder(path)]
    if not paths:
        raise InputError(f"{folder}: the folder has no pictures")
    return paths


@cache
def picture_suffixes():
    """Suffixes of files that can be read as pictures, lower case, with the dot; HEIC's also where its package
    is missing, so that the file is told of, not passed over.
    """
    kinds = {*readable_formats(), "MPO"}  # which Pillow opens as JPEG
    known = Image.registered_extensions().items()
    return READ_OTHERWISE.union(suffix for suffix, kind in known if kind in kinds)


def _names(line):
    if "\t" in line:
        return [name.strip(BLANKS) for name in line.split("\t") if name.strip(BLANKS)]
    if "," in line:
        try:
            names = next(csv.reader([line], skipinitialspace=True))
        except csv.Error:  # a carriage return in a name
            names = line.split(",")
        return [name.strip(BLANKS) for name in names if name.strip(BLANKS)]
    lexer = shlex.shlex(line, posix=True)
    lexer.whitespace_split, lexer.commenters = True, ""
    if os.sep == "\\":
        lexer.escape = ""
    try:
        return list(lexer)
    except ValueError:  # an apostrophe, not a quote
        return [name for name in re.split(f"[{BLANKS}]", line) if name]


def _located(name, folder):
    beside = folder / name
    return _absolute(beside if exists(beside) or not exists(name) else name)


def _absolute(path):
    return absolute(path).encode("utf-8", "backslashreplace").decode()  # what a database can hold


def _plan(named):
    """The plan of pairs of paths, rows numbered as the paths come first."""
    rows, pairs = {}, {}
    for pair in named:
        pairs[tuple(rows.setdefault(path, len(rows)) for path in pair)] = None
    return Plan(tuple(rows), tuple(pairs))
