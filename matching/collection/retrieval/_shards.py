"""Searching shards, which are parts of an index or of a gallery, on any worker, and shortlists of galleries.

A shortlist has the pictures that share the most descriptors with a query, which are worth matching. A gallery
is written to files in the cache's folder; of a small one, all entries of a class are in one list, so that all
of them are compared. The neighbours from all shards are merged before they vote, so results don't depend on
the number of shards.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NoReturn

import numpy as np

from matching.collection.backends import Workers
from matching.collection.retrieval._codes import ENTRY, classes, encode, encode_query
from matching.collection.retrieval._inverted import (
    CLASS_CELLS,
    assign,
    find_neighbours,
    make_cells,
    open_segment,
    write_segment,
)
from matching.collection.retrieval._votes import merge_neighbours, rank
from matching.collection.work import Settings, Source, get_described
from matching.errors import InputError
from matching.output.folders import remove_abandoned

Pictures = tuple[tuple[int, Source], ...]  # numbers and files of pictures
Ranking = list[tuple[int, int]]  # pictures and their scores, the best first

QUERIES_PER_TASK = 8  # queries per task
MAX_EXACT_PICTURES = 2000  # of a gallery whose entries are all compared
SHARD_PICTURES = 2048  # pictures per file, 52 kB each
ABANDONED_SECONDS = 86400  # seconds after which the files of a killed run are deleted


@dataclass(frozen=True)
class Shard:
    """Some of n pictures, in inverted lists in `path`, without the `dead` ones."""

    path: str
    n: int
    dead: tuple[int, ...] = ()


def rank_pictures(
    queries: Sequence[int], shards: Sequence[Shard], sources: Mapping[int, Source], n: int, workers: Workers
) -> dict[int, Ranking]:
    """Find the n pictures that share the most descriptors with each query, with their scores."""
    groups = [tuple((k, sources[k]) for k in batch) for batch in split_in_batches(queries, QUERIES_PER_TASK)]
    tasks = ((k, group, tuple(shards), n) for k, group in enumerate(groups))
    best: dict[int, Ranking] = {}
    for found in workers.records(search_shards, tasks, report_lost, len(groups), "shortlist"):
        best.update(found)
    return best


def report_lost(_: int, error: str) -> NoReturn:
    """Raise InputError: without the result of the task, others can't be used."""
    raise InputError(f"the search for shared descriptors failed: {error}")


def search_shards(
    number: int, queries: Pictures, shards: Sequence[Shard], n: int, settings: Settings
) -> dict[int, Ranking]:
    """Find the n best pictures of each of some queries in all shards."""
    opened = [(open_segment(Path(shard.path)), shard) for shard in shards]
    best = {}
    for picture, source in queries:
        query = encode_query(get_described(source, settings).features)
        near = merge_neighbours(
            find_neighbours(query, segment, (picture, *shard.dead), shard.n) for segment, shard in opened
        )
        best[picture] = rank(query["id"], near)[:n]
    return best


def make_segment(number: int, path: str, pictures: Pictures, is_exact: bool, settings: Settings) -> None:
    """Write the lists of some pictures to a file: a list for each class if the search is to be exact."""
    described = ((k, get_described(source, settings)) for k, source in pictures)
    entries = np.concatenate([np.empty(0, ENTRY), *(encode(d.features, picture=k) for k, d in described)])
    cells = CLASS_CELLS if is_exact else make_cells(settings.config)
    lists = classes(entries) if is_exact else assign(entries, cells)
    write_segment(Path(path), cells, entries, lists)


def split_in_batches(items: Iterable[Any], size: int) -> Iterator[tuple[Any, ...]]:
    """Divide items into tuples of one size; the last may be shorter."""
    items = iter(items)
    while batch := tuple(islice(items, size)):
        yield batch


def choose_pairs(
    queries: Sequence[int], gallery: Sequence[int], sources: Mapping[int, Source], n: int, workers: Workers
) -> list[tuple[int, int]]:
    """Choose the pairs (query, picture) to match: for each query its n best, the best first.

    The files of the shards are in a new folder, on a disk that the workers may share.
    """
    pictures = [(number, sources[number]) for number in sorted(set(gallery))]
    is_exact = len(pictures) <= MAX_EXACT_PICTURES
    parent = workers.settings.cache.folder / "shards"
    remove_abandoned(parent.glob("*"), ABANDONED_SECONDS)
    parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=parent, ignore_cleanup_errors=True) as folder:
        batches = list(split_in_batches(pictures, SHARD_PICTURES))
        shards = [Shard(str(Path(folder, f"{k}.seg")), len(pictures)) for k in range(len(batches))]
        tasks = ((k, shard.path, batches[k], is_exact) for k, shard in enumerate(shards))
        for _ in workers.records(make_segment, tasks, report_lost, len(shards), "index"):
            pass
        best = rank_pictures(queries, shards, sources, n, workers)
    return [(number, k) for number in queries for k, _ in best[number]]
