"""Adding pictures to a kept index, and asking it which of them show what a query shows."""

from __future__ import annotations

import tempfile
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from matching.collection.backends import Lost, dask_backend, local_backend
from matching.collection.cache import FeatureCache, content_digest
from matching.collection.plan import Plan
from matching.collection.retrieval.codes import encode
from matching.collection.retrieval.kept import Counts, Indexed, open_index
from matching.collection.run import check_origin, match_collection
from matching.collection.shortlist import batched, forget_segments, rankings
from matching.collection.work import INTERNAL, Settings, Source, described
from matching.config import MatchConfig
from matching.errors import InputError
from matching.output.provenance import origin
from matching.threads import default_threads, limited_threads

TOGETHER = 256  # pictures a segment: what a run that is killed may have to do again


@dataclass(frozen=True)
class Added:
    """What a run did.

    indexed, failed, removed, mended : pictures; `mended` are those whose part of the index was damaged
    errors : why pictures failed, a line each
    counts : Counts of the index afterwards
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

    query, picture : paths
    votes : descriptors of the query that agree on how it is turned and scaled in the picture
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
    progress: Callable | None = None,
) -> Added:
    """Take pictures into the index in a folder, which is made if it is missing.

    Pictures that it has already are passed over, those whose file is another one are looked at again.

    Parameters
    ----------
    folder : of the index
    paths : absolute paths of pictures
    config : of it, the settings of the features count
    inside : folders; pictures of the index in them whose file is gone are dropped
    cache : of features
    jobs, scheduler : as of `match_collection`
    check : whether the whole index is read, to find parts that are damaged; else only their lengths are
        looked at
    progress : as of `match_collection`

    Raises InputError where the index was made by another version or with other features, or can't be written.
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
        for records in batched((_sound(record) for record in done), TOGETHER):
            index.add(records)
            n_indexed += sum(record.error is None for record in records)
            errors += [record.error for record in records if record.error is not None]
        return Added(n_indexed, len(errors), len(gone), mended, tuple(errors), index.counts())


def index_file(number: int, path: str, settings: Settings) -> Indexed:
    """What an index keeps of a picture."""
    content = size = modified = None
    try:
        status = Path(path).stat()
        size, modified = status.st_size, status.st_mtime_ns
        content = content_digest(path)
        with limited_threads(1):
            entry = described(Source(path, content), settings)
            codes = encode(entry.described.features)
    except (InputError, OSError) as error:
        told = " ".join(str(error).split())
        return Indexed(number, content, size, modified, error=told, origin=origin())
    except Exception:
        told = f"{path}: {INTERNAL}{traceback.format_exc()}"
        return Indexed(number, content, size, modified, error=told, origin=origin())
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
    progress: Callable | None = None,
) -> list[Candidate]:
    """For each query the n pictures of an index that share most descriptors with it, the best first.

    Pictures whose file is gone are passed over. The parameters are those of `add_pictures`.
    """
    progress = progress or (lambda items, **_: items)
    settings = Settings(config, cache)
    with open_index(folder, config) as index, _backend(jobs, scheduler) as run:
        queries = list(dict.fromkeys(queries))
        forget_segments()
        numbers = [index.number_of(path) for path in queries]
        numbers = [-1 - k if number is None else number for k, number in enumerate(numbers)]
        sources = {k: Source(path, content_digest(path)) for k, path in zip(numbers, queries, strict=True)}
        for path, source in zip(queries, sources.values(), strict=True):
            if source.content is None:
                raise InputError(f"{path}: can't be read")
        found = rankings(
            *(numbers, index.shards(), sources, 2 * n),
            run=run,
            settings=settings,
            progress=progress,
            check=check_origin,
        )
        result = []
        for number, query in zip(numbers, queries, strict=True):
            best = found.best.get(number, ())
            paths = index.paths(k for k, _ in best)
            there = [(paths[k], score) for k, score in best if k in paths and Path(paths[k]).exists()]
            result += [Candidate(query, path, score) for path, score in there[:n]]
        return result


@contextmanager
def verified(
    candidates: Sequence[Candidate],
    config: MatchConfig = MatchConfig(),
    *,
    db: Path | None = None,
    cache: FeatureCache,
    jobs: int | None = 1,
    scheduler: str | None = None,
    progress: Callable | None = None,
) -> Iterator[Path]:
    """The path of a collection's database in which each query is matched with its candidates.

    db : where it is kept; None: it goes afterwards
    """
    rows: dict[str, int] = {}
    pairs = [tuple(rows.setdefault(path, len(rows)) for path in (c.query, c.picture)) for c in candidates]
    with tempfile.TemporaryDirectory() as folder:
        path = db or Path(folder) / "query.db"
        plan = Plan(tuple(rows), tuple(dict.fromkeys(pairs)))
        match_collection(plan, path, config, cache=cache, jobs=jobs, scheduler=scheduler, progress=progress)
        yield path


def _backend(jobs, scheduler):
    return dask_backend(scheduler) if scheduler else local_backend(jobs or default_threads())


def _sound(record):
    if isinstance(record, Lost):
        return Indexed(record.id, error=record.error)
    check_origin(record)
    return record
