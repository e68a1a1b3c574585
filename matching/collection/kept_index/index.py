"""Adding pictures to a kept index, and finding those of them that show what a query shows."""

from __future__ import annotations

import tempfile
import traceback
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matching._common.threads import default_threads, limit_threads
from matching.collection.backends import Lost, Progress, Run, dask_backend, local_backend
from matching.collection.cache import FeatureCache, compute_digest
from matching.collection.kept_index.merging import merge_small_segments
from matching.collection.kept_index.store import Counts, Indexed, open_index
from matching.collection.plan import Plan
from matching.collection.retrieval.codes import encode
from matching.collection.retrieval.shards import forget_segments, rank_pictures, split_in_batches
from matching.collection.run import check_origin, match_collection
from matching.collection.work import INTERNAL, Settings, Source, explain_unreadable, get_described
from matching.config import MatchConfig
from matching.errors import InputError
from matching.output.provenance import origin

TOGETHER = 256  # pictures a segment: what a run that is killed may have to do again


@dataclass(frozen=True)
class Added:
    """What a run did.

    Parameters
    ----------
    indexed, failed, removed : int
        Pictures.
    mended : int
        Pictures whose part of the index was damaged.
    errors : tuple of str
        Why pictures failed, a line each.
    counts : Counts
        Of the index afterwards.
    """

    indexed: int
    failed: int
    removed: int
    mended: int
    errors: tuple[str, ...]
    counts: Counts


@dataclass(frozen=True)
class Candidate:
    """A picture of the index that shares descriptors with a query.

    Parameters
    ----------
    query, picture : str
        Paths.
    votes : int
        Descriptors of the query that agree on its rotation and scale in the picture.
    """

    query: str
    picture: str
    votes: int


def add_pictures(
    folder: Path,
    paths: Sequence[str],
    config: MatchConfig = MatchConfig(),
    *,
    inside: Sequence[str] = (),
    cache: FeatureCache,
    jobs: int | None = None,
    scheduler: str | None = None,
    check: bool = False,
    progress: Progress | None = None,
) -> Added:
    """Add pictures to the index in a folder, which is made if it is missing.

    Pictures that it has already are skipped; those whose file has changed are described again.

    Parameters
    ----------
    folder : Path
        Of the index.
    paths : sequence of str
        Absolute paths of pictures.
    config : MatchConfig
        Its settings of the features are those of the index.
    inside : sequence of str
        Folders; pictures of the index in them whose file is gone are dropped.
    cache : FeatureCache
        Of features.
    jobs : int, optional
        As of `match_collection`.
    scheduler : str, optional
        As of `match_collection`.
    check : bool
        Whether to read the whole index to find damaged parts; by default only the lengths of its files are
        checked.
    progress : callable, optional
        As of `match_collection`.

    Returns
    -------
    Added
        What was done.

    Raises
    ------
    InputError
        The index was made by another version or with other features, or can't be written.
    """
    progress = progress or (lambda items, **_: items)
    settings = Settings(config, cache)
    with open_index(folder, config, create=True) as index, _backend(jobs, scheduler) as run:
        mended = index.mend() if check else index.mend_missing()
        gone = [path for parent in inside for path in index.missing(parent)]
        index.update(paths, gone)
        n = index.counts().pending
        tasks = ((number, path, settings) for number, path in index.pending())
        n_indexed, errors = 0, []
        done = progress(run(index_file, tasks), total=n, desc="pictures")
        for records in split_in_batches((_sound(record) for record in done), TOGETHER):
            index.add(records)
            merge_small_segments(index)
            n_indexed += sum(record.error is None for record in records)
            errors += [record.error for record in records if record.error is not None]
        return Added(n_indexed, len(errors), len(gone), mended, tuple(errors), index.counts())


def index_file(number: int, path: str, settings: Settings) -> Indexed:
    """Compute what an index keeps of a picture.

    Parameters
    ----------
    number : int
        Of the picture in the index.
    path : str
        Its file.
    settings : Settings
        What all work shares.

    Returns
    -------
    Indexed
        The codes, or why it failed.
    """
    content = size = modified = None
    try:
        status = Path(path).stat()
        size, modified = status.st_size, status.st_mtime_ns
        content = compute_digest(path)
        with limit_threads(1):
            entry = get_described(Source(path, content), settings)
            codes = encode(entry.described.features)
    except (InputError, OSError) as error:
        reason = explain_unreadable(path) if isinstance(error, OSError) else " ".join(str(error).split())
        return Indexed(number, content, size, modified, error=reason, origin=origin())
    except Exception:
        reason = f"{path}: {INTERNAL}{traceback.format_exc()}"
        return Indexed(number, content, size, modified, error=reason, origin=origin())
    return Indexed(number, content, size, modified, entry.width, entry.height, codes, origin=origin())


def find_candidates(
    folder: Path,
    queries: Sequence[str],
    n: int,
    config: MatchConfig = MatchConfig(),
    *,
    cache: FeatureCache,
    jobs: int | None = 1,
    scheduler: str | None = None,
    progress: Progress | None = None,
) -> list[Candidate]:
    """Find the pictures of an index that share most descriptors with each query.

    Pictures whose file is gone are left out.

    Parameters
    ----------
    folder : Path
        Of the index.
    queries : sequence of str
        Paths of pictures.
    n : int
        Pictures to find for each query, at most.
    config : MatchConfig
        As of `add_pictures`.
    cache : FeatureCache
        Of features.
    jobs : int, optional
        As of `match_collection`.
    scheduler : str, optional
        As of `match_collection`.
    progress : callable, optional
        As of `match_collection`.

    Returns
    -------
    list of Candidate
        Query by query, the best first.
    """
    progress = progress or (lambda items, **_: items)
    settings = Settings(config, cache)
    with open_index(folder, config) as index, _backend(jobs, scheduler) as run:
        queries = list(dict.fromkeys(queries))
        forget_segments()
        known = [index.number_of(path) for path in queries]
        numbers = [-1 - k if number is None else number for k, number in enumerate(known)]
        sources = {k: Source(path, compute_digest(path)) for k, path in zip(numbers, queries, strict=True)}
        for path, source in zip(queries, sources.values(), strict=True):
            if source.content is None:
                raise InputError(explain_unreadable(path))
        found = rank_pictures(
            numbers,
            index.shards(),
            sources,
            2 * n,
            run=run,
            settings=settings,
            progress=progress,
            check=check_origin,
        )
        result = []
        for number, query in zip(numbers, queries, strict=True):
            if number not in found.best:
                get_described(sources[number], settings)  # raises if the query is to blame
            best = found.best.get(number, ())
            paths = index.paths(k for k, _ in best)
            there = [(paths[k], score) for k, score in best if k in paths and Path(paths[k]).exists()]
            result += [Candidate(query, path, score) for path, score in there[:n]]
        return result


@contextmanager
def verify_candidates(
    candidates: Sequence[Candidate],
    config: MatchConfig = MatchConfig(),
    *,
    db: Path | None = None,
    cache: FeatureCache,
    jobs: int | None = 1,
    scheduler: str | None = None,
    progress: Progress | None = None,
) -> Iterator[Path]:
    """Match each query with its candidates.

    Parameters
    ----------
    candidates : sequence of Candidate
        As of `find_candidates`.
    config : MatchConfig
        The settings.
    db : Path, optional
        The database to write; by default a temporary one.
    cache : FeatureCache
        Of features.
    jobs : int, optional
        As of `match_collection`.
    scheduler : str, optional
        As of `match_collection`.
    progress : callable, optional
        As of `match_collection`.

    Yields
    ------
    Path
        A collection's database.
    """
    rows: dict[str, int] = {}
    pairs = [(rows.setdefault(c.query, len(rows)), rows.setdefault(c.picture, len(rows))) for c in candidates]
    with tempfile.TemporaryDirectory() as folder:
        path = db or Path(folder) / "query.db"
        plan = Plan(tuple(rows), tuple(dict.fromkeys(pairs)))
        match_collection(plan, path, config, cache=cache, jobs=jobs, scheduler=scheduler, progress=progress)
        yield path


def _backend(jobs: int | None, scheduler: str | None) -> AbstractContextManager[Run]:
    return dask_backend(scheduler) if scheduler else local_backend(jobs or default_threads())


def _sound(record: Any) -> Indexed:
    if isinstance(record, Lost):
        return Indexed(record.id, error=record.error)
    check_origin(record)
    indexed: Indexed = record
    return indexed
