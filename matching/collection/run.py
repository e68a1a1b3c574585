"""Running a collection: describe every picture once, match every pair, and continue an earlier run."""

import hashlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from matching.collection.backends import Progress, Workers, start_workers
from matching.collection.cache import FeatureCache
from matching.collection.database.settings import describe_other_programs
from matching.collection.database.store import SHORTLIST_PREFIX, Store, open_store
from matching.collection.plan import Plan
from matching.collection.records import ImageRecord, PairRecord
from matching.collection.retrieval._codes import check_indexed
from matching.collection.retrieval._shards import choose_pairs
from matching.collection.work import INTERNAL_PREFIX, Source, describe_file, match_files
from matching.grouping.config import MatchConfig, check_config
from matching.output.folders import compute_digest
from matching.output.provenance import code_digest


@dataclass(frozen=True)
class Summary:
    """Counts of a finished database and of the work of this run.

    Parameters
    ----------
    images, failed_images : int
        Pictures in the database, and how many of them failed.
    pairs, failed_pairs : int
        Pairs in the database, and how many of them failed.
    pairs_with_objects, objects : int
        Pairs that have objects in common, and the number of these objects.
    described, matched : int
        Pictures and pairs that this run worked on.
    internal_errors : int
        Pictures and pairs that failed because of an error in the program.
    other_programs : str
        If the database was begun with other versions of libraries or on another kind of processor, whose
        results may differ, the difference; otherwise empty.
    """

    images: int
    failed_images: int
    pairs: int
    failed_pairs: int
    pairs_with_objects: int
    objects: int
    described: int
    matched: int
    internal_errors: int
    other_programs: str = ""


def match_collection(
    plan: Plan,
    db: str | Path,
    config: MatchConfig = MatchConfig(),
    *,
    cache: FeatureCache,
    jobs: int | None = None,
    scheduler: str | None = None,
    shortlist: int | None = None,
    retry: bool = False,
    restart: bool = False,
    progress: Progress | None = None,
) -> Summary:
    """Match all pairs of a plan; results that are in the database already are not computed again.

    Parameters
    ----------
    plan : Plan
        The pictures, and which of them are paired.
    db : path
        The database; it is created if it does not exist.
    config : MatchConfig
        The settings of the matching.
    cache : FeatureCache
        The cache for features.
    jobs : int, optional
        Number of processes; by default, as many as there are processors.
    scheduler : str, optional
        The address of a Dask scheduler that runs the work instead.
    shortlist : int, optional
        Match each picture only with this many others, those that share the most descriptors with it; by
        default, match all pairs.
    retry : bool
        Whether to try again what failed in an earlier run.
    restart : bool
        Whether to start with an empty database.
    progress : callable, optional
        A function like `tqdm.tqdm`: called with items, `total` and `desc`, it returns the items.

    Returns
    -------
    Summary
        The content of the database and the work of this run.
    """
    check_config(config)
    if shortlist is not None:
        check_indexed(config.features)
    backend = start_workers(config, cache, jobs, scheduler, progress)
    with open_store(db, config, restart) as store, backend as workers:
        numbers = store.add_images(plan.paths)
        if retry:
            store.forget_failed()
        known = store.rows("SELECT id, path FROM images WHERE status != 'pending'")
        with ThreadPoolExecutor(4) as pool:
            contents = pool.map(compute_digest, (path for _, path in known))
            digests = workers.progress(contents, total=len(known), desc="known pictures") if known else ()
            present = {number: digest for (number, _), digest in zip(known, digests, strict=True)}
        store.forget_changed(present)
        if shortlist is None:
            store.add_pairs((numbers[i], numbers[j]) for i, j in plan.pairs())
        n_described = _describe(store, workers)
        if shortlist is not None:
            _add_shortlist(store, plan, numbers, shortlist, workers)
        store.fail_pairs_of_failed_images()
        n_matched = _match(store, workers)
        failed = "SELECT count(*) FROM {} WHERE substr(error, 1, ?) = ?"
        prefix = len(INTERNAL_PREFIX), INTERNAL_PREFIX
        n_internal = sum(store.value(failed.format(table), prefix) for table in ("images", "pairs"))
        others = describe_other_programs(store.settings())
        work = {"described": n_described, "matched": n_matched, "internal_errors": n_internal}
        return Summary(**store.counts(), **work, other_programs=others)


def _describe(store: Store, workers: Workers) -> int:
    """Describe the pending pictures, and count them."""
    rows = store.rows("SELECT id, path FROM images WHERE status = 'pending' ORDER BY id")
    path_of = dict(rows)

    def record_lost(number: int, error: str) -> ImageRecord:
        path = path_of[number]
        return ImageRecord(number, compute_digest(path), error=f"{path}: {error}")

    for record in workers.records(describe_file, rows, record_lost, len(rows), "pictures"):
        store.record_image(record)
    return len(rows)


def _match(store: Store, workers: Workers) -> int:
    """Match the pending pairs, and count them."""
    sources = _list_sources(store)  # all pairs share the sources, because there may be millions of pairs
    # Pairs of pictures that another run describes meanwhile are left to that run.
    rows = (row for row in store.pending_pairs() if row[1] in sources and row[2] in sources)

    tasks = ((number, sources[i], sources[j]) for number, i, j in rows)
    n = 0
    for record in workers.records(match_files, tasks, PairRecord, store.n_pending_pairs(), "pairs"):
        store.record_pair(record)
        n += 1
    return n


def _list_sources(store: Store) -> dict[int, Source]:
    """List the files of the described pictures by the pictures' numbers."""
    rows = store.rows("SELECT id, path, sha256 FROM images WHERE status = 'described'")
    return {number: Source(path, content) for number, path, content in rows}


def _add_shortlist(store: Store, plan: Plan, numbers: Sequence[int], n: int, workers: Workers) -> None:
    """Add the pairs of each query with the n most similar pictures, unless an earlier run has done so."""
    sources = _list_sources(store)
    sides = ([numbers[k] for k in side] for side in (plan.queries, plan.gallery or plan.queries))
    queries, gallery = ([number for number in side if number in sources] for side in sides)
    query_contents, contents = ([sources[k].content for k in side] for side in (queries, gallery))
    depends_on = repr((n, query_contents, contents, code_digest()))
    key = hashlib.sha256(depends_on.encode()).hexdigest()
    if SHORTLIST_PREFIX + key not in store.settings():
        chosen = choose_pairs(queries, gallery, sources, n, workers)
        pairs = dict.fromkeys((min(p), max(p)) for p in chosen) if not plan.gallery else chosen
        store.add_pairs(pairs, key)
