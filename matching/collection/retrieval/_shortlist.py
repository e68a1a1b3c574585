"""The pictures worth matching with a query: those that share the most descriptors with it.

A small gallery is searched without faiss; the shards of a large one are files in the cache's folder.
"""

import hashlib
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

from matching.collection.backends import Working
from matching.collection.retrieval import _shards
from matching.collection.retrieval._shards import Shard, rank_pictures, split_in_batches
from matching.collection.work import Source
from matching.output.commit import remove_abandoned

LARGEST_EXACT = 2000  # the most pictures of a gallery that is searched without faiss
SHARDS, SMALLEST, LARGEST = 4, 64, 2048  # shards of a small gallery; bounds of their pictures (52 kB each)
ABANDONED = 86400  # seconds after which the shards of a killed run are deleted


def choose_pairs(
    queries: Sequence[int], gallery: Sequence[int], sources: Mapping[int, Source], n: int, working: Working
) -> tuple[list[tuple[int, int]], set[int]]:
    """The pairs (query, picture) to match, for each query its n best, the best first; and `lost` pictures.

    Lost pictures are those that can't be read or described.
    """
    size = max(min(-(-len(gallery) // SHARDS), LARGEST), SMALLEST)
    some = split_in_batches(sorted(set(gallery)), size)
    pictures = [tuple((number, sources[number]) for number in numbers) for numbers in some]
    with _make_shards(pictures, len(gallery), working.settings.cache.folder) as shards:
        lost: set[int] = set()
        if len(gallery) > LARGEST_EXACT:
            tasks = ((k, (), (shard,), working.settings) for k, shard in enumerate(shards))
            made = working.run(_shards.search_shards, tasks)
            for record in working.progress(made, total=len(shards), desc="index"):
                _shards.check_found(record)
                lost.update(record.lost)
        best, gone = rank_pictures(queries, shards, sources, n, working)
    return [(number, k) for number in queries for k, _ in best.get(number, ())], lost | gone


def fingerprint(n: int, queries: Sequence[Any], gallery: Sequence[Any], programs: str) -> str:
    """A SHA-256 of what a shortlist of length n depends on: contents of pictures, and versions."""
    return hashlib.sha256(repr((n, queries, gallery, programs)).encode()).hexdigest()


@contextmanager
def _make_shards(
    pictures: Sequence[tuple[tuple[int, Source], ...]], n: int, cache: Path
) -> Iterator[list[Shard]]:
    """Shards with these pictures; their files are in a new folder, on a disk that the workers may share."""
    parent = cache / "shards"
    remove_abandoned(parent.glob("*"), ABANDONED)
    folder = parent / uuid4().hex
    try:
        if in_files := n > LARGEST_EXACT:
            folder.mkdir(parents=True)
        yield [Shard(str(folder / f"{k}.seg") if in_files else None, n, p) for k, p in enumerate(pictures)]
    finally:
        _shards.sort_pictures.cache_clear()
        shutil.rmtree(folder, ignore_errors=True)
