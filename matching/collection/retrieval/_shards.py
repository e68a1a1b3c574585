"""Searching shards, which are parts of an index or of a gallery; any worker can search any shard.

The results of the shards are merged query by query, and don't depend on the number of shards.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice, product
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np

from matching._common.threads import limit_threads
from matching._common.types import Array
from matching.collection.backends import Lost, Working
from matching.collection.records import check_origin
from matching.collection.retrieval._codes import ENTRY, EntryLists, encode, encode_query
from matching.collection.retrieval._exact import find_exact, sort_entries
from matching.collection.retrieval._votes import Neighbours, merge_neighbours, rank
from matching.collection.work import INTERNAL, Settings, Source, explain_failure, get_described
from matching.errors import InputError
from matching.output.provenance import Origin, origin

Find = Callable[[Array, int], Neighbours]  # from a query and its number; leaves out the query itself
Ranking = list[tuple[int, int]]  # pictures and their scores, the best first

TOGETHER = 32  # queries per task
MANY = 64  # tasks: enough for all workers, so that each task may search all shards


@dataclass(frozen=True)
class Shard:
    """Some of n pictures, in inverted lists in `path` or compared one by one, without the `dead` ones."""

    path: str | None
    n: int
    pictures: tuple[tuple[int, Source], ...] = ()
    dead: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False)
class Found:
    """The result of a task: number, ids and Neighbours of queries, or `best` pictures.

    The pictures that can't be read or described are `lost`.
    """

    id: int
    neighbours: tuple[tuple[int, Array, Neighbours], ...] = ()
    best: tuple[tuple[int, Ranking], ...] = ()  # of a task that has searched all shards
    lost: tuple[int, ...] = ()
    error: str | None = None
    origin: Origin | None = None


def rank_pictures(
    queries: Sequence[int], shards: Sequence[Shard], sources: Mapping[int, Source], n: int, working: Working
) -> tuple[dict[int, Ranking], set[int]]:
    """The n pictures that share the most descriptors with each query, with scores; and `lost` of Found."""
    groups = [tuple((k, sources[k]) for k in some) for some in split_in_batches(queries, TOGETHER)]
    # if queries are few, each shard is a task of its own; if many, each query is prepared once for all shards
    divided = [*split_in_batches(shards, 1 if len(groups) < MANY else len(shards))]
    whole = n if len(divided) == 1 else None
    tasks = ((k, *both, working.settings, whole) for k, both in enumerate(product(groups, divided)))
    best: dict[int, Ranking] = {}
    lost: set[int] = set()
    parts: dict[int, list[Neighbours]] = {}
    n_tasks = len(groups) * len(divided)
    for record in working.progress(working.run(search_shards, tasks), total=n_tasks, desc="shortlist"):
        check_found(record)
        lost.update(record.lost)
        best.update(record.best)
        for number, query, found in record.neighbours:
            parts.setdefault(number, []).append(found)
            if len(parts[number]) == len(divided):
                best[number] = rank(query, merge_neighbours(parts.pop(number)))[:n]
    return best, lost


def check_found(record: Found | Lost) -> None:
    """Raise the error of a task that failed."""
    if isinstance(record, Lost):
        raise InputError(f"the search for shared descriptors failed: {record.error}")
    check_origin(record)
    if record.error is not None:
        raise RuntimeError(record.error) if record.error.startswith(INTERNAL) else InputError(record.error)


def search_shards(
    number: int,
    queries: Sequence[tuple[int, Source]],
    shards: Sequence[Shard],
    settings: Settings,
    n: int | None = None,
) -> Found:
    """Find the Neighbours, or n best pictures, of some queries in some shards, which are made if missing."""
    found: list[tuple[int, Array, Neighbours]] = []
    best: list[tuple[int, Ranking]] = []
    try:
        with limit_threads(1):
            opened = [_open(shard, settings) for shard in shards]
            lost = [picture for _, gone in opened for picture in gone]
            for picture, source in queries:
                try:
                    query = _read_query(source, settings)
                except InputError:
                    lost.append(picture)
                    continue
                near = merge_neighbours(find(query, picture) for find, _ in opened)
                if n is None:
                    found.append((picture, query["id"].copy(), near))
                else:
                    best.append((picture, rank(query["id"], near)[:n]))
    except Exception as error:
        return Found(number, error=explain_failure(error), origin=origin())
    return Found(number, tuple(found), tuple(best), tuple(lost), origin=origin())


def split_in_batches(items: Iterable[Any], size: int) -> Iterator[tuple[Any, ...]]:
    """Divide items into tuples of one size; the last may be shorter."""
    items = iter(items)
    while some := tuple(islice(items, size)):
        yield some


@lru_cache(maxsize=2 * TOGETHER)  # 370 kB each
def _read_query(source: Source, settings: Settings) -> Array:
    return encode_query(get_described(source, settings).features)


def _open(shard: Shard, settings: Settings) -> tuple[Find, Sequence[int]]:
    """Return the search function of a Shard, which is made if missing, and `lost` of Found."""
    if shard.path is None:
        entries, gone = sort_pictures(shard, settings)
        return lambda query, own: find_exact(query, entries, own), gone
    from matching.collection.retrieval import _inverted

    lost: list[int] = []
    path = Path(shard.path)
    try:
        if shard.pictures and not path.exists():
            cells = _inverted.make_cells(settings.config)
            part = path.with_name(f"{uuid4().hex}.part")
            chunks = [_inverted.assign(_encode(shard.pictures, settings, lost), cells)]
            _inverted.write_segment(part, cells, chunks)
            part.replace(path)
        segment = _inverted.open_segment(path)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{path}: this part of the index can't be used ({reason})") from None
    return lambda query, own: _inverted.find_neighbours(query, segment, (own, *shard.dead), shard.n), lost


@lru_cache(maxsize=4)
def sort_pictures(shard: Shard, settings: Settings) -> tuple[EntryLists, Sequence[int]]:
    """The sorted entries of the pictures of a Shard, and `lost` of Found."""
    lost: list[int] = []
    return sort_entries(_encode(shard.pictures, settings, lost)), lost


def _encode(pictures: Iterable[tuple[int, Source]], settings: Settings, lost: list[int]) -> Array:
    found = [np.empty(0, ENTRY)]
    for number, source in pictures:
        try:
            found.append(encode(get_described(source, settings).features, picture=number))
        except InputError:
            lost.append(number)
    return np.concatenate(found)
