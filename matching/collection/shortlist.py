"""Which pictures are worth matching with a query: those that share most descriptors with it.

The gallery is cut into shards, files of the cache's folder, each made by one task; one that another machine
can't see is made again there from the features. A task takes some queries through one shard. What the shards
find is merged here, query by query, and is the same for any number of them.
"""

from __future__ import annotations

import hashlib
import shutil
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from pathlib import Path
from uuid import uuid4

from matching.collection.backends import Lost
from matching.collection.retrieval import codes, search
from matching.collection.retrieval.segments import Segment, open_segment, segment_of, write_segment
from matching.collection.work import INTERNAL, Settings, Source, described
from matching.errors import InputError
from matching.output.provenance import Origin, origin
from matching.threads import limited_threads

SHARDS, SMALLEST, LARGEST = 4, 64, 2048  # shards of a small gallery, and pictures of each (41 kB a picture)
TOGETHER = 32  # queries a task
ABANDONED = 86400  # seconds after which the shards of a run that was killed go


@dataclass(frozen=True)
class Shard:
    """Some pictures of a gallery.

    path : file of its Segment
    pictures : (number, Source) of each, where the file can be made from them
    dead : numbers of pictures whose entries don't count
    """

    path: str
    pictures: tuple[tuple[int, Source], ...] = ()
    dead: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False)
class Found:
    """What a task found out.

    id : the task's number
    neighbours : of each query its number, its Query without the descriptors, and its Neighbours
    lost : numbers of the pictures whose file is gone, or another one
    bad_input : why the shard can't be used, None where it can
    error : traceback, None where nothing failed
    origin : Origin of the process that worked on it
    """

    id: int
    neighbours: tuple[tuple[int, codes.Query, search.Neighbours], ...] = ()
    lost: tuple[int, ...] = ()
    bad_input: str | None = None
    error: str | None = None
    origin: Origin | None = None


@dataclass(frozen=True, eq=False)
class Shortlist:
    """pairs : (query, picture of the gallery), numbers; each query's best first
    lost : pictures that could not be looked at
    """

    pairs: list[tuple[int, int]]
    lost: set[int]


@dataclass(frozen=True, eq=False)
class Rankings:
    """best : number of a query -> (picture, score) of the best ones, falling
    lost : pictures that could not be looked at
    """

    best: dict[int, list[tuple[int, int]]]
    lost: set[int]


def shortlist(
    queries: Sequence[int],
    gallery: Sequence[int],
    sources: Mapping[int, Source],
    n: int,
    *,
    run: Callable,
    settings: Settings,
    progress: Callable,
    check: Callable = lambda record: None,
) -> Shortlist:
    """For each query the n pictures of a gallery that share most descriptors with it, itself apart.

    queries, gallery : numbers of pictures with a Source
    run : backend, see `matching.collection.backends`
    check : called with what each task gives
    """
    with _folder(settings.cache.folder) as folder:
        shards = [
            Shard(str(folder / f"{k}.seg"), tuple((number, sources[number]) for number in some))
            for k, some in enumerate(batched(sorted(set(gallery)), _shard_size(len(gallery))))
        ]
        lost: set[int] = set()
        tasks = ((k, shard, settings) for k, shard in enumerate(shards))
        for record in progress(run(make_shard, tasks), total=len(shards), desc="index"):
            _check(record, check)
            lost.update(record.lost)
        found = rankings(
            queries, shards, sources, n, run=run, settings=settings, progress=progress, check=check
        )
        lost.update(found.lost)
        best = found.best
        return Shortlist([(number, k) for number in queries for k, _ in best.get(number, ())], lost)


def rankings(
    queries: Sequence[int],
    shards: Sequence[Shard],
    sources: Mapping[int, Source],
    n: int,
    *,
    run: Callable,
    settings: Settings,
    progress: Callable,
    check: Callable = lambda record: None,
) -> Rankings:
    """The n pictures in some shards that share most descriptors with each query, itself apart.

    queries : numbers, with a Source each
    The others are as of `shortlist`.
    """
    found = _neighbours(queries, shards, sources, run, settings, check)
    best: dict[int, list[tuple[int, int]]] = {}
    lost: set[int] = set()
    for number, query, neighbours, gone in progress(found, total=len(queries), desc="shortlist"):
        lost.update(gone)
        if query is not None:
            ranking = search.rank(query, neighbours)
            best[number] = list(zip(ranking.best(n), ranking.score[:n].tolist(), strict=True))
    return Rankings(best, lost)


def make_shard(number: int, shard: Shard, settings: Settings) -> Found:
    """Write the file of a Shard."""
    try:
        with limited_threads(1):
            _, lost = _opened(shard, settings)
    except Exception:
        return Found(number, error=traceback.format_exc(), origin=origin())
    return Found(number, (), lost, origin=origin())


def search_shard(
    number: int, queries: Sequence[tuple[int, Source]], shard: Shard, settings: Settings
) -> Found:
    """The Neighbours of some queries in a Shard."""
    found, lost = [], []
    try:
        with limited_threads(1):
            segment, gone = _opened(shard, settings)
            lost.extend(gone)
            for picture, source in queries:
                try:
                    query = _query(source, settings)
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
    """Open files of segments anew from now on, in this process."""
    _opened.cache_clear()


def _shard_size(n):
    return max(min(-(-n // SHARDS), LARGEST), SMALLEST)


def batched(items: Iterable, size: int) -> Iterator[tuple]:
    """Tuples of `size` items, the last one shorter."""
    items = iter(items)
    while some := tuple(islice(items, size)):
        yield some


def fingerprint(n: int, queries: Sequence, gallery: Sequence, programs: str) -> str:
    """What a shortlist follows from, as one string: its length, the pictures' contents, the programs."""
    return hashlib.sha256(repr((n, queries, gallery, programs)).encode()).hexdigest()


def _neighbours(queries, shards, sources, run, settings, check) -> Iterator:
    """(number, Query, Neighbours in all shards, lost pictures) of each query; of a lost one no Query."""
    groups = [tuple((k, sources[k]) for k in some) for some in batched(queries, TOGETHER)]
    tasks = (
        (g * len(shards) + s, group, shard, settings)
        for g, group in enumerate(groups)
        for s, shard in enumerate(shards)
    )
    waiting: dict[int, list[Found]] = {}
    for record in run(search_shard, tasks) if shards else ():
        _check(record, check)
        group = record.id // len(shards)
        waiting.setdefault(group, []).append(record)
        if len(waiting[group]) == len(shards):
            yield from _merged(groups[group], waiting.pop(group))


def _merged(group, records) -> Iterator:
    lost = {number for record in records for number in record.lost}
    for number, _ in group:
        parts = [found for record in records for found in record.neighbours if found[0] == number]
        if len(parts) < len(records):
            yield number, None, None, lost
        else:
            yield number, parts[0][1], search.merge_neighbours(part[2] for part in parts), lost


def _check(record, check):
    if isinstance(record, Lost):
        raise InputError(f"the search for shared descriptors failed: {record.error}")
    check(record)
    if record.bad_input is not None:
        raise InputError(record.bad_input)
    if record.error is not None:
        raise RuntimeError(INTERNAL + record.error)


@lru_cache(maxsize=64)
def _query(source: Source, settings: Settings) -> codes.Query:
    return codes.query_of(described(source, settings).described.features, search.PROBES)


@lru_cache(maxsize=4)
def _opened(shard: Shard, settings: Settings) -> tuple[Segment, tuple[int, ...]]:
    """The Segment of a Shard, from its file, which is made where it is missing; and the lost pictures."""
    path = Path(shard.path)
    try:
        return open_segment(path), ()
    except (OSError, ValueError) as error:
        if not shard.pictures:
            reason = getattr(error, "strerror", None) or error
            raise InputError(f"{path}: this part of the index can't be read ({reason})") from None
    lost: list[int] = []
    segment = segment_of(_encoded(shard.pictures, settings, lost))
    if not lost:
        part = path.with_name(f"{uuid4().hex}.part")
        with suppress(OSError):  # full, or on another machine: it stays in memory
            try:
                write_segment(part, segment)
                part.replace(path)
            finally:
                part.unlink(missing_ok=True)
    return segment, tuple(lost)


def _encoded(pictures: Iterable[tuple[int, Source]], settings: Settings, lost: list[int]) -> Iterator:
    for number, source in pictures:
        try:
            yield number, codes.encode(described(source, settings).described.features)
        except InputError:
            lost.append(number)


@contextmanager
def _folder(cache: Path) -> Iterator[Path]:
    """A new folder for shards, on a disk that the workers may share."""
    parent = cache / "shards"
    for old in parent.glob("*"):
        with suppress(OSError):
            if old.stat().st_mtime < time.time() - ABANDONED:
                shutil.rmtree(old)
    folder = parent / uuid4().hex
    with suppress(OSError):
        folder.mkdir(parents=True)
    try:
        yield folder
    finally:
        forget_segments()
        shutil.rmtree(folder, ignore_errors=True)
