"""The pairs of a collection: from a list, all pairs in a folder, or queries against a gallery."""

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from matching.errors import InputError, OneLineErrors
from matching.pictures.formats import find_pictures
from matching.pictures.names import exists, is_file, make_absolute

Pair = tuple[str, str]  # paths of two pictures


@dataclass(frozen=True, eq=False)
class Plan:
    """Pictures, and which to match: listed pairs, or each query with each picture of a gallery or each other.

    Parameters
    ----------
    paths : tuple of str
        Absolute paths of the pictures, each once.
    listed : tuple of (int, int)
        Rows of `paths`, each pair once.
    queries, gallery : tuple of int
        Rows of `paths`; empty if the pairs are listed. Without a gallery, the queries are matched with each
        other; then each pair counts once, with the smaller row first.
    """

    paths: tuple[str, ...]
    listed: tuple[tuple[int, int], ...] = ()
    queries: tuple[int, ...] = ()
    gallery: tuple[int, ...] = ()

    def pairs(self) -> Iterator[tuple[int, int]]:
        """Iterate over all pairs; a large folder has too many for a list."""
        yield from self.listed
        if not self.gallery:
            yield from combinations(self.queries, 2)
        yield from ((i, j) for i in self.queries for j in self.gallery if i != j)


def plan_list(path: str | Path) -> Plan:
    """Plan the pairs of a list: two paths on each line, separated by a tab, a comma or blanks.

    Paths that contain blanks need a tab, a comma or quotes. Empty lines and comment lines (#) are skipped.

    Parameters
    ----------
    path : path
        The list. Relative paths in it are looked up in the folder of the list, then in the current folder.

    Returns
    -------
    Plan
        The pairs.
    """
    path = Path(path)
    with OneLineErrors(path, "the list of pairs can't be read"):
        lines = path.read_text("utf-8-sig").split("\n")
    pairs: list[Pair] = []
    for number, line in enumerate(lines, 1):
        if line.strip() and not line.lstrip().startswith("#"):
            names = _split_names(line)
            if len(names) != 2:
                raise InputError(f"{path}: line {number} must name two pictures, got {len(names)}")
            pairs.append((_locate(names[0], path.parent), _locate(names[1], path.parent)))
    if not pairs:
        raise InputError(f"{path}: the list has no pairs")
    return plan_pairs(pairs)


def plan_pairs(pairs: Sequence[Pair]) -> Plan:
    """Plan pairs of absolute paths, each once."""
    rows = {path: k for k, path in enumerate(dict.fromkeys(path for pair in pairs for path in pair))}
    return Plan(tuple(rows), tuple(dict.fromkeys((rows[path0], rows[path1]) for path0, path1 in pairs)))


def plan_folder(folder: str | Path, recursive: bool = False) -> Plan:
    """Plan all pairs of the pictures in a folder, in the order of their names.

    Parameters
    ----------
    folder : path
        The folder.
    recursive : bool
        Whether to include the folders in it.

    Returns
    -------
    Plan
        The pairs.
    """
    if is_file(Path(folder)):
        raise InputError(f"{folder}: is a file; a folder of pictures is needed")
    paths = list_pictures(folder, recursive)
    if len(paths) < 2:
        raise InputError(f"{folder}: at least 2 pictures are needed, the folder has {len(paths)}")
    return Plan(tuple(paths), queries=tuple(range(len(paths))))


def plan_gallery(queries: str | Path, gallery: str | Path, recursive: bool = False) -> Plan:
    """Plan pairs of each picture in one folder with each picture in another, but of none with itself.

    Parameters
    ----------
    queries, gallery : path
        The two folders.
    recursive : bool
        Whether to include the folders in them.

    Returns
    -------
    Plan
        The pairs.
    """
    sides = [list_pictures(folder, recursive) for folder in (queries, gallery)]
    rows = {path: k for k, path in enumerate(dict.fromkeys(sides[0] + sides[1]))}
    if len(rows) < 2:
        raise InputError("--query and --gallery: there is no pair of different pictures")
    return Plan(tuple(rows), (), *(tuple(rows[path] for path in side) for side in sides))


def list_pictures(folder: str | Path, recursive: bool = False, *, may_be_empty: bool = False) -> list[str]:
    """List the pictures that `find_pictures` finds, by names that a database can hold."""
    return [name_for_database(path) for path in find_pictures(folder, recursive, may_be_empty=may_be_empty)]


def _split_names(line: str) -> list[str]:
    """Split a line at tabs, else at commas, else at blanks outside quotes."""
    mark = next((mark for mark in ("\t", ",") if mark in line), None)
    if mark is not None:
        names = next(csv.reader([line], delimiter=mark, skipinitialspace=True))
        return [name.strip() for name in names if name.strip()]
    return [name.strip("\"'") for name in re.findall(r"'[^']*'|\"[^\"]*\"|\S+", line)]


def _locate(name: str, folder: Path) -> str:
    """The absolute path of a picture in the folder of the list, else in the current folder."""
    in_folder = folder / name
    return name_for_database(in_folder if exists(in_folder) or not exists(name) else name)


def name_for_database(path: str | Path) -> str:
    """The absolute path, with bytes that are not UTF-8 replaced, so that a database can hold it."""
    return make_absolute(path).encode("utf-8", "backslashreplace").decode()
