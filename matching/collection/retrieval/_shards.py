"""Searching shards, which are parts of an index or of a gallery, on any worker.

The neighbours from all shards are merged before they vote, so results don't depend on the number of shards.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from matching._common.threads import limit_threads
from matching._common.types import Array
from matching.collection.backends import Lost, Workers
from matching.collection.retrieval import _inverted
from matching.collection.retrieval._codes import ENTRY, EntryLists, encode, encode_query
from matching.collection.retrieval._votes import Neighbours, merge_neighbours, rank
from matching.collection.work import Settings, Source, get_described
from matching.errors import InputError

Pictures = tuple[tuple[int, Source], ...]  # numbers and files of pictures
Ranking = list[tuple[int, int]]  # pictures and their scores, the best first

QUERIES_PER_TASK = 8  # queries per task


@dataclass(frozen=True)
class Shard:
    """Some of n pictures: in inverted lists in `path` without the `dead` ones, or compared one by one."""

    path: str | None
    n: int
    pictures: Pictures = ()
    dead: tuple[int, ...] = ()


def rank_pictures(
    queries: Sequence[int], shards: Sequence[Shard], sources: Mapping[int, Source], n: int, workers: Workers
) -> dict[int, Ranking]:
    """Find the n pictures that share the most descriptors with each query, with their scores."""
    groups = [tuple((k, sources[k]) for k in some) for some in split_in_batches(queries, QUERIES_PER_TASK)]
    tasks = ((k, group, tuple(shards), n, workers.settings) for k, group in enumerate(groups))
    best: dict[int, Ranking] = {}
    for found in workers.records(search_shards, tasks, report_lost, len(groups), "shortlist"):
        best.update(found)
    return best


def report_lost(task: Lost) -> NoReturn:
    """Raise InputError: without the result of the task, others can't be used."""
    raise InputError(f"the search for shared descriptors failed: {task.error}")


def search_shards(
    number: int, queries: Pictures, shards: Sequence[Shard], n: int, settings: Settings
) -> dict[int, Ranking]:
    """Find the n best pictures of each of some queries in all shards."""
    settings.register()
    with limit_threads(1):
        search = [_open(shard, settings) for shard in shards]
        best = {}
        for picture, source in queries:
            query = encode_query(get_described(source, settings).features)
            near = merge_neighbours(find(query, picture) for find in search)
            best[picture] = rank(query["id"], near)[:n]
        return best


def make_segment(number: int, path: str, pictures: Pictures, settings: Settings) -> None:
    """Write the inverted lists of some pictures to a file."""
    settings.register()
    with limit_threads(1):
        cells = _inverted.make_cells(settings.config)
        entries = _encode(pictures, settings)
        _inverted.write_segment(Path(path), cells, entries, _inverted.assign(entries, cells))


def split_in_batches(items: Iterable[Any], size: int) -> Iterator[tuple[Any, ...]]:
    """Divide items into tuples of one size; the last may be shorter."""
    items = iter(items)
    while some := tuple(islice(items, size)):
        yield some


def _open(shard: Shard, settings: Settings) -> Callable[[Array, int], Neighbours]:
    """Make the search function of a shard: from a query and its number, which is left out."""
    if shard.path is None:
        entries = sort_pictures(shard.pictures, settings)
        return lambda query, picture: _inverted.find_exact(query, entries, picture)
    segment = _inverted.open_segment(Path(shard.path))
    return lambda query, picture: _inverted.find_neighbours(query, segment, (picture, *shard.dead), shard.n)


@lru_cache(maxsize=1)
def sort_pictures(pictures: Pictures, settings: Settings) -> EntryLists:
    """Encode some pictures, and sort their entries."""
    return _inverted.sort_classes(_encode(pictures, settings))


def _encode(pictures: Pictures, settings: Settings) -> Array:
    described = ((number, get_described(source, settings)) for number, source in pictures)
    return np.concatenate([np.empty(0, ENTRY), *(encode(d.features, picture=k) for k, d in described)])
