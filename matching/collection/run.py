"""Running a collection: describe every picture once, match every pair, go on where an earlier run stopped."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from matching.collection.backends import Lost, dask_backend, local_backend
from matching.collection.cache import content_digest
from matching.collection.records import ImageRecord, PairRecord
from matching.collection.shortlist import GalleryIndex, best, fingerprint, require_index
from matching.collection.store import open_store
from matching.collection.work import INTERNAL, Settings, Source, describe_file, described, match_files
from matching.config import MatchConfig, check_config
from matching.errors import InputError
from matching.output.provenance import as_text, differences, programs
from matching.threads import default_threads


@dataclass(frozen=True)
class Summary:
    """Counts of a finished database; `done` of the work of this run.

    images, failed_images, pairs, failed_pairs, pairs_with_objects, objects : rows
    described, matched : pictures and pairs that this run worked on
    internal_errors : pictures and pairs that failed through an error of the program
    machines : kinds of processors and builds of OpenCV that results come from; other ones find other features
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
    machines: tuple[str, ...] = ()


def match_collection(
    plan,
    db,
    config=MatchConfig(),
    *,
    cache,
    jobs=None,
    scheduler=None,
    shortlist=None,
    retry=False,
    restart=False,
    progress=None,
):
    """Match all pairs of a Plan into a database; what it holds already is not done again.

    Parameters
    ----------
    plan : Plan
    db : path of the database, made if missing
    config : MatchConfig, the same for all runs on one database
    cache : FeatureCache
    jobs : processes on this machine; None: one a processor
    scheduler : address of a Dask scheduler whose workers see the same files, instead of `jobs`
    shortlist : pictures of the gallery that are matched with each query; None: all
    retry : whether pictures and pairs that failed in an earlier run are tried again
    restart : whether the database is begun anew, whatever it holds and was made with
    progress : callable(iterable, total=n, desc=text) -> iterable, as tqdm

    Returns
    -------
    Summary

    Raises
    ------
    InputError
        The database has other settings or was made with other programs, or the cluster can't be reached, or
        a worker has other programs. A picture that can't be used never
        raises: it is recorded with its reason, and so are its pairs.
    """
    check_config(config)
    if shortlist is not None:
        require_index()
    progress = progress or (lambda items, **_: items)
    settings = Settings(config, cache)
    backend = dask_backend(scheduler) if scheduler else local_backend(jobs or default_threads())
    with open_store(db, config, restart) as store, backend as run:
        numbers = store.add_images(plan.paths)
        if retry:
            store.forget_failed()
        store.forget_changed(_contents(store, progress))
        if shortlist is None:
            store.add_pairs((numbers[i], numbers[j]) for i, j in plan.pairs())
        n_described = _describe(store, run, settings, progress)
        if shortlist is not None:
            _add_shortlist(store, plan, numbers, shortlist, settings, progress)
        store.fail_pairs_of_failed_images()
        n_matched = _match(store, run, settings, progress)
        return _summary(store, n_described, n_matched)


def _contents(store, progress):
    """Picture number -> content of its file now, for pictures that an earlier run has dealt with."""
    rows = store.rows("SELECT id, path FROM images WHERE status != 'pending'")
    with ThreadPoolExecutor(4) as pool:
        contents = pool.map(content_digest, (path for _, path in rows))
        told = progress(contents, total=len(rows), desc="known pictures") if rows else ()
        return {number: content for (number, _), content in zip(rows, told, strict=True)}


def _describe(store, run, settings, progress):
    rows = store.rows("SELECT id, path FROM images WHERE status = 'pending' ORDER BY id")
    path_of = dict(rows)
    tasks = ((number, path, settings) for number, path in rows)
    for record in progress(run(describe_file, tasks), total=len(rows), desc="pictures"):
        if isinstance(record, Lost):
            content = content_digest(path_of[record.id])
            record = ImageRecord(record.id, content, error=f"{path_of[record.id]}: {record.error}")
        else:
            _check_origin(record)
        store.record_image(record)
    return len(rows)


def _match(store, run, settings, progress):
    sources = _sources(store)  # shared: there may be millions of pairs
    pending = store.rows("SELECT id, image0, image1 FROM pairs WHERE status = 'pending' ORDER BY id")
    # another run may have found just now that a picture has changed: its pairs are that run's
    rows = [row for row in pending if row[1] in sources and row[2] in sources]
    tasks = ((number, sources[i], sources[j], settings) for number, i, j in rows)
    pictures_of = {number: pair for number, *pair in rows}
    for record in progress(run(match_files, tasks), total=len(rows), desc="pairs"):
        if isinstance(record, Lost):
            contents = tuple(sources[k].content for k in pictures_of[record.id])
            record = PairRecord(record.id, contents, error=record.error)
        else:
            _check_origin(record)
        store.record_pair(record)
    return len(rows)


def _check_origin(record):
    """Raise InputError where a record comes from a process with other programs: its result may be another."""
    made_with = {} if record.origin is None else record.origin.programs
    if made_with != programs():
        told = differences(made_with, programs())
        raise InputError(
            f"a worker has other programs than this process: {told}; what it did is not kept. Once all"
            " have the same, the same command goes on"
        )


def _sources(store):
    """Picture number -> Source, of the pictures that could be described."""
    rows = store.rows("SELECT id, path, sha256 FROM images WHERE status = 'described'")
    return {number: Source(path, content) for number, path, content in rows}


def _add_shortlist(store, plan, numbers, n, settings, progress):
    sources = _sources(store)
    queries, gallery = ([numbers[k] for k in side] for side in (plan.queries, plan.gallery))
    gallery = [number for number in gallery if number in sources]
    contents = ([sources[k].content if k in sources else None for k in side] for side in (queries, gallery))
    known_as = fingerprint(n, *contents, as_text(programs()))
    if not store.has_shortlist(known_as):
        lost = set()

        def described_ones(numbers, what):
            told = progress(numbers, total=len(numbers), desc=what)
            return _descriptors(told, sources, settings, lost)

        pairs = list(_shortlist(described_ones(gallery, "index"), described_ones(queries, "shortlist"), n))
        store.add_pairs(pairs, None if lost else known_as)


def _shortlist(gallery, queries, n):
    """The pairs (query, picture of the gallery), both sides given as (number, descriptors) one by one."""
    numbers = []

    def descriptors():
        for number, found in gallery:
            numbers.append(number)
            yield found

    index = GalleryIndex(descriptors())
    for query, found in queries:
        itself = [k for k, number in enumerate(numbers) if number == query]
        yield from ((query, numbers[k]) for k in best(index.scores(found), n, itself))


def _descriptors(numbers, sources, settings, lost):
    """(number, descriptors) of the pictures with a Source; those whose file is gone, or another one since it
    was described, are left out and added to `lost`.
    """
    for number in numbers:
        if number in sources:
            try:
                yield number, described(sources[number], settings).described.features.descriptors
            except InputError:
                lost.add(number)


def _summary(store, described, matched):
    counts = store.rows(
        "SELECT count(*), total(status = 'failed') FROM images UNION ALL"
        " SELECT count(*), total(status = 'failed') FROM pairs UNION ALL"
        " SELECT total(n_objects > 0), total(n_objects) FROM pairs"
    )
    internal = sum(
        store.value(f"SELECT count(*) FROM {table} WHERE substr(error, 1, ?) = ?", (len(INTERNAL), INTERNAL))
        for table in ("images", "pairs")
    )
    numbers = (int(n) for row in counts for n in row)
    return Summary(*numbers, described, matched, internal, store.machines())
