"""Which pictures are worth matching with a query: those that share most descriptors with it.

The gallery is divided into shards, files in the cache's folder, each made by one task. A machine that has no
access to the file of a shard makes it again from the features.
"""

from __future__ import annotations

import hashlib
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from matching.collection.backends import Progress, Run
from matching.collection.retrieval.shards import (
    Check,
    Shard,
    check_found,
    forget_segments,
    make_shard,
    rank_pictures,
    split_in_batches,
)
from matching.collection.work import Settings, Source

SHARDS, SMALLEST, LARGEST = 4, 64, 2048  # shards of a small gallery, and pictures of each (82 kB a picture)
ABANDONED = 86400  # seconds after which the shards of a run that was killed go


@dataclass(frozen=True, eq=False)
class Shortlist:
    """The pairs to match.

    Parameters
    ----------
    pairs : list of (int, int)
        Numbers of a query and a picture of the gallery; each query's best first.
    lost : set of int
        Pictures that could not be described.
    """

    pairs: list[tuple[int, int]]
    lost: set[int]


def make_shortlist(
    queries: Sequence[int],
    gallery: Sequence[int],
    sources: Mapping[int, Source],
    n: int,
    *,
    run: Run,
    settings: Settings,
    progress: Progress,
    check: Check = lambda record: None,
) -> Shortlist:
    """Find the pictures of a gallery that share most descriptors with each query.

    Parameters
    ----------
    queries, gallery : sequence of int
        Numbers of pictures.
    sources : mapping of int to Source
        Of all of them.
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
    Shortlist
        The pairs to match.
    """
    with _folder(settings.cache.folder) as folder:
        shards = [
            Shard(str(folder / f"{k}.seg"), tuple((number, sources[number]) for number in some))
            for k, some in enumerate(split_in_batches(sorted(set(gallery)), _shard_size(len(gallery))))
        ]
        lost: set[int] = set()
        tasks = ((k, shard, settings) for k, shard in enumerate(shards))
        for record in progress(run(make_shard, tasks), total=len(shards), desc="index"):
            check_found(record, check)
            lost.update(record.lost)
        found = rank_pictures(
            queries, shards, sources, n, run=run, settings=settings, progress=progress, check=check
        )
        lost.update(found.lost)
        best = found.best
        return Shortlist([(number, k) for number in queries for k, _ in best.get(number, ())], lost)


def _shard_size(n: int) -> int:
    return max(min(-(-n // SHARDS), LARGEST), SMALLEST)


def fingerprint(n: int, queries: Sequence[Any], gallery: Sequence[Any], programs: str) -> str:
    """Identify what a shortlist depends on.

    Parameters
    ----------
    n : int
        Its length.
    queries, gallery : sequence
        The contents of the pictures.
    programs : str
        Versions.

    Returns
    -------
    str
        A SHA-256.
    """
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
