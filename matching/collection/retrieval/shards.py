"""Searching shards: parts of an index or of a gallery, each of which any worker can search.

A task searches one shard with some queries. The results of the shards are merged query by query, and do not
depend on the number of shards.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

from matching._common.threads import limit_threads
from matching.collection.backends import Lost, Progress, Run
from matching.collection.retrieval import codes, search
from matching.collection.retrieval.segments import Segment, make_segment, open_segment, write_segment
from matching.collection.work import INTERNAL, Settings, Source, get_described
from matching.errors import InputError
from matching.output.provenance import Origin, origin

T = TypeVar("T")
Check = Callable[[Any], object]  # of the result of a task
_Merged = tuple[int, codes.Query | None, search.Neighbours | None, set[int]]

TOGETHER = 32  # queries a task
PER_PICTURE = 2000  # entries of a shard that does not stay: 82 kB


@dataclass(frozen=True)
class Shard:
    """Some pictures of a gallery.

    Parameters
    ----------
    path : str
        File of its Segment.
    pictures : tuple of (int, Source)
        Number and source of each picture, if the file can be made from them.
    dead : tuple of int
        Numbers of pictures whose entries don't count.
    """

    path: str
    pictures: tuple[tuple[int, Source], ...] = ()
    dead: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False)
class Found:
    """The result of a task.

    Parameters
    ----------
    id : int
        The task's number.
    neighbours : tuple of (int, Query, Neighbours)
        Of each query its number, its Query without the descriptors, and its Neighbours.
    lost : tuple of int
        Numbers of the pictures whose file is gone or has changed.
    bad_input : str, optional
        Why the shard can't be used.
    error : str, optional
        Traceback of a failure.
    origin : Origin, optional
        Of the process that worked on it.
    """

    id: int
    neighbours: tuple[tuple[int, codes.Query, search.Neighbours], ...] = ()
    lost: tuple[int, ...] = ()
    bad_input: str | None = None
    error: str | None = None
    origin: Origin | None = None


@dataclass(frozen=True, eq=False)
class Rankings:
    """The best pictures for each query.

    Parameters
    ----------
    best : dict of int to list of (int, int)
        By the number of a query, picture and score of the best ones, falling.
    lost : set of int
        Pictures that could not be described.
    """

    best: dict[int, list[tuple[int, int]]]
    lost: set[int]


def rank_pictures(
    queries: Sequence[int],
    shards: Sequence[Shard],
    sources: Mapping[int, Source],
    n: int,
    *,
    run: Run,
    settings: Settings,
    progress: Progress,
    check: Check = lambda record: None,
) -> Rankings:
    """Find the pictures in some shards that share most descriptors with each query.

    Parameters
    ----------
    queries : sequence of int
        Numbers of pictures.
    shards : sequence of Shard
        To be searched.
    sources : mapping of int to Source
        Of each query.
    n : int
        Pictures to find for each query, at most; the query itself does not count.
    run : callable
        A backend, see `matching.collection.backends`.
    settings : Settings
        What all work shares.
    progress : callable
        Like tqdm.
    check : callable
        Called with the result of each task.

    Returns
    -------
    Rankings
        The best pictures.
    """
    found = _neighbours(queries, shards, sources, run, settings, check)
    best: dict[int, list[tuple[int, int]]] = {}
    lost: set[int] = set()
    for number, query, neighbours, gone in progress(found, total=len(queries), desc="shortlist"):
        lost.update(gone)
        if query is not None and neighbours is not None:
            ranking = search.rank(query, neighbours)
            best[number] = list(zip(ranking.best(n), ranking.score[:n].tolist(), strict=True))
    return Rankings(best, lost)


def make_shard(number: int, shard: Shard, settings: Settings) -> Found:
    """Write the file of a Shard.

    Parameters
    ----------
    number : int
        Of the task.
    shard : Shard
        With the sources of its pictures.
    settings : Settings
        What all work shares.

    Returns
    -------
    Found
        Which pictures were lost, or why it failed.
    """
    try:
        with limit_threads(1):
            _, lost = _open(shard, settings)
    except Exception:
        return Found(number, error=traceback.format_exc(), origin=origin())
    return Found(number, (), lost, origin=origin())


def search_shard(
    number: int, queries: Sequence[tuple[int, Source]], shard: Shard, settings: Settings
) -> Found:
    """Find the Neighbours of some queries in a Shard.

    Parameters
    ----------
    number : int
        Of the task.
    queries : sequence of (int, Source)
        Number and source of each.
    shard : Shard
        To be searched.
    settings : Settings
        What all work shares.

    Returns
    -------
    Found
        The neighbours, or why it failed.
    """
    found: list[tuple[int, codes.Query, search.Neighbours]] = []
    lost: list[int] = []
    try:
        with limit_threads(1):
            segment, gone = _open(shard, settings)
            lost.extend(gone)
            for picture, source in queries:
                try:
                    query = _read_query(source, settings)
                except InputError:
                    lost.append(picture)
                    continue
                neighbours = search.find_neighbours(query, segment, [picture, *shard.dead])
                found.append(
                    (picture, codes.Query(query.descriptors[:0], query.shape, query.cells[:0]), neighbours)
                )
    except InputError as error:
        return Found(number, bad_input=str(error), origin=origin())
    except Exception:
        return Found(number, error=traceback.format_exc(), origin=origin())
    return Found(number, tuple(found), tuple(lost), origin=origin())


def forget_segments() -> None:
    """Open the files of segments anew from now on, in this process."""
    _open.cache_clear()


def split_in_batches(items: Iterable[T], size: int) -> Iterator[tuple[T, ...]]:
    """Divide items into tuples of one size.

    Parameters
    ----------
    items : iterable
        Any items.
    size : int
        Of each tuple; the last one may be shorter.

    Yields
    ------
    tuple
        The next items.
    """
    items = iter(items)
    while some := tuple(islice(items, size)):
        yield some


def _neighbours(
    queries: Sequence[int],
    shards: Sequence[Shard],
    sources: Mapping[int, Source],
    run: Run,
    settings: Settings,
    check: Check,
) -> Iterator[_Merged]:
    """For each query its number, Query, Neighbours in all shards, and lost pictures.

    A query that is lost itself has no Query and no Neighbours.
    """
    groups = [tuple((k, sources[k]) for k in some) for some in split_in_batches(queries, TOGETHER)]
    tasks = (
        (g * len(shards) + s, group, shard, settings)
        for g, group in enumerate(groups)
        for s, shard in enumerate(shards)
    )
    waiting: dict[int, list[Found]] = {}
    for record in run(search_shard, tasks) if shards else ():
        check_found(record, check)
        group = record.id // len(shards)
        waiting.setdefault(group, []).append(record)
        if len(waiting[group]) == len(shards):
            yield from _merge(groups[group], waiting.pop(group))


def _merge(group: Sequence[tuple[int, Source]], records: Sequence[Found]) -> Iterator[_Merged]:
    lost = {number for record in records for number in record.lost}
    for number, _ in group:
        parts = [found for record in records for found in record.neighbours if found[0] == number]
        if len(parts) < len(records):
            yield number, None, None, lost
        else:
            yield number, parts[0][1], search.merge_neighbours(part[2] for part in parts), lost


def check_found(record: Found | Lost, check: Check) -> None:
    """Raise the error of a task that failed.

    Parameters
    ----------
    record : Found or Lost
        The result of the task.
    check : callable
        Called with it if its worker lived.

    Raises
    ------
    InputError
        The error is about a file, or the worker died.
    RuntimeError
        The program failed.
    """
    if isinstance(record, Lost):
        raise InputError(f"the search for shared descriptors failed: {record.error}")
    check(record)
    if record.bad_input is not None:
        raise InputError(record.bad_input)
    if record.error is not None:
        raise RuntimeError(INTERNAL + record.error)


@lru_cache(maxsize=64)
def _read_query(source: Source, settings: Settings) -> codes.Query:
    return codes.make_query(get_described(source, settings).described.features, search.PROBES)


@lru_cache(maxsize=4)
def _open(shard: Shard, settings: Settings) -> tuple[Segment, tuple[int, ...]]:
    """The Segment of a Shard, from its file, which is made where it is missing; and the lost pictures."""
    path = Path(shard.path)
    try:
        return open_segment(path), ()
    except (OSError, ValueError) as error:
        if not shard.pictures:
            reason = getattr(error, "strerror", None) or error
            raise InputError(f"{path}: this part of the index can't be read ({reason})") from None
    lost: list[int] = []
    segment = make_segment(_encode(shard.pictures, settings, lost))
    if not lost:
        part = path.with_name(f"{uuid4().hex}.part")
        with suppress(OSError):  # full, or on another machine: it stays in memory
            try:
                write_segment(part, segment)
                part.replace(path)
            finally:
                part.unlink(missing_ok=True)
    return segment, tuple(lost)


def _encode(
    pictures: Iterable[tuple[int, Source]], settings: Settings, lost: list[int]
) -> Iterator[tuple[int, codes.Codes]]:
    for number, source in pictures:
        try:
            yield number, codes.encode(get_described(source, settings).described.features, PER_PICTURE)
        except InputError:
            lost.append(number)
