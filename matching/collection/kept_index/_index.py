"""Adding pictures to a kept index, and finding those that share descriptors with a query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from matching.collection.backends import start_workers
from matching.collection.kept_index._store import Counts, open_index
from matching.collection.records import ImageRecord
from matching.collection.retrieval._codes import encode_indexed
from matching.collection.retrieval._shards import rank_pictures, split_in_batches
from matching.collection.work import Source, describe_file
from matching.grouping.config import MatchConfig
from matching.output.folders import compute_digest

# for each query the pictures that share descriptors with it, the best first, and how many votes they have
Candidates = dict[str, dict[str, int]]
PICTURES_PER_SEGMENT = 256  # a killed run loses the work on at most this many


@dataclass(frozen=True)
class Added:
    """The outcome of adding pictures."""

    paths: list[str]  # of those that were added
    errors: list[str]  # of those that failed
    removed: int
    counts: Counts


def add_pictures(
    folder: Path,
    paths: Sequence[str],
    config: MatchConfig = MatchConfig(),
    *,
    inside: Sequence[str] = (),
    **running: Any,
) -> Added:
    """Add pictures to the index in a folder, which is created if it is missing.

    Pictures that the index already has are skipped; those whose file has changed are described again; those
    in the folders `inside` whose file no longer exists are dropped. `running` holds cache, jobs, scheduler
    and progress, as for `match_collection`.
    """
    with open_index(folder, config, create=True) as index, start_workers(config, **running) as workers:
        index.remove_unused()
        missing = [path for parent in inside for path in index.missing(parent)]
        index.update(paths, missing)
        indexed: list[int] = []
        errors: list[str] = []
        describe = partial(describe_file, encode=encode_indexed)
        done = workers.records(describe, index.pending(), ImageRecord, index.counts().pending, "pictures")
        for records in split_in_batches(done, PICTURES_PER_SEGMENT):
            index.add(records)
            index.merge_small_segments()
            indexed += [record.id for record in records if record.error is None]
            errors += [record.error for record in records if record.error is not None]
        added = sorted(index.paths(indexed).values())
        return Added(added, errors, len(missing), index.counts())


def find_candidates(
    folder: Path, queries: Sequence[str], n: int, config: MatchConfig = MatchConfig(), **running: Any
) -> Candidates:
    """Find the pictures of an index that share the most descriptors with each query.

    Pictures whose file no longer exists are not found. `running` is as for `add_pictures`.
    """
    with open_index(folder, config) as index, start_workers(config, **running) as workers:
        known = enumerate(map(index.number_of, queries))
        numbers = [-1 - k if number is None else number for k, number in known]
        sources = {k: Source(path, compute_digest(path)) for k, path in zip(numbers, queries, strict=True)}
        ranked = rank_pictures(numbers, index.shards(), sources, 2 * n, workers)
        result: Candidates = {}
        for number, query in zip(numbers, queries, strict=True):
            best = ranked[number]
            paths = index.paths(k for k, _ in best)
            existing = [(paths[k], score) for k, score in best if k in paths and Path(paths[k]).exists()]
            result[query] = dict(existing[:n])
        return result
