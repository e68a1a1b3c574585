"""Which pictures are worth matching with a query: those that share most descriptors with it.

The gallery is cut into shards, files of the cache's folder, each made by one task; one that another machine
can't see is made again there from the features.
"""

from __future__ import annotations

import hashlib
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from matching.collection.shards import Shard, batched, check_found, forget_segments, make_shard, rankings
from matching.collection.work import Settings, Source

SHARDS, SMALLEST, LARGEST = 4, 64, 2048  # shards of a small gallery, and pictures of each (82 kB a picture)
ABANDONED = 86400  # seconds after which the shards of a run that was killed go


@dataclass(frozen=True, eq=False)
class Shortlist:
    """pairs : (query, picture of the gallery), numbers; each query's best first
    lost : pictures that could not be looked at
    """

    pairs: list[tuple[int, int]]
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
            check_found(record, check)
            lost.update(record.lost)
        found = rankings(
            queries, shards, sources, n, run=run, settings=settings, progress=progress, check=check
        )
        lost.update(found.lost)
        best = found.best
        return Shortlist([(number, k) for number in queries for k, _ in best.get(number, ())], lost)


def _shard_size(n):
    return max(min(-(-n // SHARDS), LARGEST), SMALLEST)


def fingerprint(n: int, queries: Sequence, gallery: Sequence, programs: str) -> str:
    """What a shortlist follows from, as one string: its length, the pictures' contents, the programs."""
    return hashlib.sha256(repr((n, queries, gallery, programs)).encode()).hexdigest()


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
