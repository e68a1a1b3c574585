"""Shortlists: the pictures that share the most descriptors with a query, which are worth matching.

A small gallery is compared one by one; a large one is first written to files in the cache's folder.
"""

import hashlib
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

from matching.collection.backends import Workers
from matching.collection.retrieval import _shards
from matching.collection.retrieval._shards import Pictures, Shard, rank_pictures, split_in_batches
from matching.collection.work import Source
from matching.output.folders import remove_abandoned

MAX_EXACT_PICTURES = 2000  # of a gallery whose entries are all compared
SHARD_PICTURES = 2048  # pictures per file, 52 kB each
ABANDONED_SECONDS = 86400  # seconds after which the files of a killed run are deleted


def choose_pairs(
    queries: Sequence[int], gallery: Sequence[int], sources: Mapping[int, Source], n: int, workers: Workers
) -> list[tuple[int, int]]:
    """Choose the pairs (query, picture) to match: for each query its n best, the best first."""
    pictures = tuple((number, sources[number]) for number in sorted(set(gallery)))
    with _make_shards(pictures, workers) as shards:
        best = rank_pictures(queries, shards, sources, n, workers)
    return [(number, k) for number in queries for k, _ in best[number]]


def fingerprint(n: int, queries: Sequence[Any], gallery: Sequence[Any], programs: str) -> str:
    """Digest what a shortlist of length n depends on: contents of pictures, and versions."""
    return hashlib.sha256(repr((n, queries, gallery, programs)).encode()).hexdigest()


@contextmanager
def _make_shards(pictures: Pictures, workers: Workers) -> Iterator[list[Shard]]:
    """Make shards of pictures; their files are in a new folder, on a disk that the workers may share."""
    if len(pictures) <= MAX_EXACT_PICTURES:
        try:
            yield [Shard(None, len(pictures), pictures)]
        finally:
            _shards.sort_pictures.cache_clear()
        return
    parent = workers.settings.cache.folder / "shards"
    remove_abandoned(parent.glob("*"), ABANDONED_SECONDS)
    folder = parent / uuid4().hex
    parts = [(str(folder / f"{k}.seg"), p) for k, p in enumerate(split_in_batches(pictures, SHARD_PICTURES))]
    tasks = ((k, *part, workers.settings) for k, part in enumerate(parts))
    try:
        folder.mkdir(parents=True)
        for _ in workers.records(_shards.make_segment, tasks, _shards.report_lost, len(parts), "index"):
            pass
        yield [Shard(path, len(pictures)) for path, _ in parts]
    finally:
        shutil.rmtree(folder, ignore_errors=True)
