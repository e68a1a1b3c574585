"""What changes if inputs differ in the last bit, as they do on another processor.

Matches the demo and the first two pictures in each folder of the data, groups the given matches where the
folder holds gt.npz, and the matches of made surfaces without noise, where only rounding tells one fit from
another. Then it does so again, with inputs moved by one unit in the last place: coordinates and frames of
features, sample positions of grids, given points. Equal numbers move alike; each time, the directions are
random. An object stays if it shares more than half of the matches of both with one of before. Writes
roundoff.csv: a row for each case, with sums over all ways. Exit status 1 if an object appeared, vanished or
changed `is_same`, or more than MAX_CHANGED of 1,000 matches changed.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from unittest import mock
from zlib import crc32

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from eval.common.options import add_options, at_least
from eval.common.tables import format_markdown, read_arrays, write_csv
from matching import group_matches
from matching.agreement import grid
from matching.cli.demo import make_demo_pair
from matching.drivers.pair import match_pair
from matching.drivers.result import Result
from matching.pictures.images import make_picture
from matching.searches.source import DescribedPicture, ImageSource
from synth.photographs import SUFFIXES
from synth.surfaces import moving_surfaces

MAX_CHANGED = 1  # of 1,000 matches
COLUMNS = "case", "ways", "objects", "appeared", "vanished", "same", "matches", "changed"
Search = Callable[[int | None], Result]  # of a seed, None for inputs that are not moved


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_options(parser, "data", "quiet", out="roundoff")
    parser.add_argument("--ways", type=at_least(1), default=10, help="ways to move (default: %(default)s)")
    parser.add_argument(
        "--surfaces", type=at_least(0), default=10, help="scenes without noise (default: %(default)s)"
    )
    parser.add_argument("--only", metavar="TEXT", default="", help="cases whose names hold this text")


def run(args: argparse.Namespace) -> int:
    cases = [case for case in list_cases(args.data, args.surfaces) if args.only in case[0]]
    rows = []
    for name, make in tqdm(cases, desc="cases", disable=args.quiet):
        search = make()
        before = search(None)
        rows.append({"case": name, **compare(before, [search(seed) for seed in range(args.ways)])})
    total = {column: sum(row[column] for row in rows) for column in COLUMNS[1:]}
    write_csv(args.out / "roundoff.csv", COLUMNS, rows)
    lines = [[str(row[column]) for column in COLUMNS] for row in (*rows, {"case": "all", **total})]
    print(format_markdown(list(COLUMNS), lines))
    is_same = total["appeared"] + total["vanished"] + total["same"] == 0
    return 0 if is_same and 1000 * total["changed"] <= MAX_CHANGED * total["matches"] else 1


def list_cases(data: Path, n_surfaces: int) -> Iterator[tuple[str, Callable[[], Search]]]:
    """The names of all cases, and what reads each of them."""
    yield "demo", lambda: match_moved(*make_demo_pair())
    for folder in sorted(path for path in data.iterdir() if path.is_dir()):
        images = sorted(path for path in folder.iterdir() if path.suffix.lower() in SUFFIXES)[:2]
        if len(images) == 2:
            yield folder.name, lambda images=images: match_moved(*images)
        if (truth := folder / "gt.npz").exists():
            yield f"{folder.name}, given", lambda path=truth: group_moved(*read_arrays(path, ("x1", "x2")))
    for seed in range(n_surfaces):
        yield f"surfaces {seed}", lambda seed=seed: group_moved(*make_surfaces(seed))


def compare(before: Result, after: list[Result]) -> dict[str, int]:
    """What changes from the result before to those after (COLUMNS without the case)."""
    known = [(set(list_matches(found)), found.is_same) for found in before.objects]
    counts = dict.fromkeys(COLUMNS[1:], 0)
    for result in after:
        left = [(set(list_matches(found)), found.is_same) for found in result.objects]
        counts["ways"] += 1
        counts["objects"] += len(known)
        counts["matches"] += sum(len(rows) for rows, _ in known)
        for rows, is_same in known:
            pair = next((one for one in left if 2 * len(rows & one[0]) > max(len(rows), len(one[0]))), None)
            if pair is None:
                counts["vanished"] += 1
                continue
            left.remove(pair)
            counts["same"] += pair[1] is not is_same
            counts["changed"] += len(rows ^ pair[0])
        counts["appeared"] += len(left)
    return counts


def list_matches(found) -> list[tuple[float, ...]]:
    """The cells of 1e-4 px with the matches of an object; no binary fraction of a pixel is on an edge."""
    cells = np.floor(np.hstack([found.points0, found.points1]) * 1e4 + 0.123)
    return list(map(tuple, cells.tolist()))


def move(values: NDArray, seed: int) -> NDArray:
    """Floating-point numbers moved by one unit in the last place, equal ones alike."""
    different, which = np.unique(values, return_inverse=True)
    up = np.random.default_rng((seed, crc32(different.tobytes()))).random(len(different)) < 0.5
    ends = np.where(up, np.inf, -np.inf).astype(values.dtype)
    return np.nextafter(different, ends)[which].reshape(values.shape)


def make_surfaces(seed: int) -> tuple[NDArray, NDArray]:
    """Matches of surfaces without noise, in turn flat, solid and bent."""
    relief, bend = ((0.0, 0.0), (0.1, 0.0), (0.1, 0.01))[seed % 3]
    made = moving_surfaces(seed, noise=0.0, relief=relief, bend=bend)
    return made.xy0, made.xy1


def group_moved(xy0: NDArray, xy1: NDArray) -> Search:
    """Groups given matches."""
    points = xy0.astype(float), xy1.astype(float)
    return lambda seed: group_matches(*(xy if seed is None else move(xy, seed) for xy in points))


def match_moved(*images: Path | NDArray) -> Search:
    """Matches two pictures, which are described once."""
    sources = [ImageSource(make_picture(image)) for image in images]

    def search(seed: int | None) -> Result:
        if seed is None:
            return match_pair(*sources)
        with moved_grids(seed):
            return match_pair(*(MovedSource(source, seed) for source in sources))

    return search


class MovedSource(ImageSource):
    """A picture whose features have moved."""

    def __init__(self, source: ImageSource, seed: int) -> None:
        super().__init__(source.picture, source.config)
        self.source, self.seed = source, seed

    @cached_property
    def described(self) -> DescribedPicture:
        return self._move(self.source.described)

    @cached_property
    def details(self) -> DescribedPicture:
        return self._move(self.source.details)

    def _move(self, described: DescribedPicture) -> DescribedPicture:
        features = described.features
        moved = {name: move(getattr(features, name), self.seed) for name in ("xy", "frames")}
        return replace(described, features=replace(features, **moved))


@contextmanager
def moved_grids(seed: int) -> Iterator[None]:
    """Move the sample positions of the grids on which pictures are compared."""
    list_places = grid.list_places
    with mock.patch.object(grid, "list_places", lambda *args: move(list_places(*args), seed)):
        yield
