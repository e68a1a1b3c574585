"""The results of queries: the matched pictures with their objects, as a page and as values for JSON."""

import tempfile
from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from matching.collection.database.store import PAIRS_WITH_IMAGES, open_store, read_objects
from matching.collection.kept_index._index import Candidates
from matching.collection.plan import Pair, plan_pairs
from matching.collection.reports.groups import find_joined
from matching.collection.run import match_collection
from matching.errors import InputError
from matching.objects.description import MatchedObject
from matching.output.files import summarise_object
from matching.output.folders import write_page
from matching.output.html.hits import Hit, hits_page, make_hits
from matching.output.words import count
from matching.pictures.images import read_picture
from matching.pictures.names import make_relative, name_relatively

MAX_STRANGERS = 2  # candidates outside the group of a picture, after which no more are tried


@dataclass(frozen=True)
class FoundPicture:
    """A picture of the index that shares objects with a query."""

    path: str
    votes: int
    rank: float  # of the object that ranks highest
    score: float  # of the best object
    objects: list[MatchedObject]  # picture 0 is the query


@dataclass(frozen=True)
class QueryResult:
    """The pictures that share objects with a query, the highest rank first."""

    query: str
    pictures: list[FoundPicture] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)  # pictures that can't be used, and why


@contextmanager
def verify_pairs(pairs: Sequence[Pair], *, db: Path | None = None, **running: Any) -> Iterator[Path]:
    """Match pairs of pictures in a collection's database, by default a temporary one.

    `running` is as for `match_collection`.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = db or Path(folder) / "query.db"
        match_collection(plan_pairs(pairs), path, **{"jobs": 1, **running})
        yield path


@contextmanager
def verify_for_groups(candidates: Candidates, *, db: Path | None = None, **running: Any) -> Iterator[Path]:
    """Match each picture with its candidates, the best first, but only while they may join it to a group.

    In each round, every picture is matched with its best candidate that is outside its group. After two
    candidates that did not join its group, a picture takes part no more, because the others share even less
    with it. Each pair is matched once, in an order that does not depend on the index.
    """
    waiting = [[(min(q, path), max(q, path)) for path in found] for q, found in candidates.items()]
    with tempfile.TemporaryDirectory() as folder:
        path = db or Path(folder) / "groups.db"
        group: dict[str, str] = {}  # picture -> the first picture of its group
        matched: set[Pair] = set()
        while True:
            chosen = {pair for pairs in waiting for pair in _choose_next(pairs, matched, group)}
            if chosen or not matched:  # the database is made, even if there are no pairs
                matched |= chosen
                found = verify_pairs(sorted(chosen), db=path, **running)
                with found, open_store(path) as store:
                    group = find_joined(store, matched)  # without later pairs of a stopped run
            if not chosen:
                break
        yield path


def _choose_next(pairs: Sequence[Pair], matched: Container[Pair], group: Mapping[str, str]) -> list[Pair]:
    """Choose the next pair of a picture to match; none if the others can't or need not join it to a group."""
    unjoined = [pair for pair in pairs if group.get(pair[0], pair[0]) != group.get(pair[1], pair[1])]
    if sum(pair in matched for pair in unjoined) >= MAX_STRANGERS:
        return []
    return [pair for pair in unjoined if pair not in matched][:1]


def collect_results(db: Path, candidates: Candidates) -> list[QueryResult]:
    """Collect the results of queries from a database."""
    results = []
    with open_store(db) as store:
        for query, found in candidates.items():
            result = QueryResult(query)
            for path, votes in found.items():
                rows = store.rows(
                    "SELECT pairs.id, pairs.rank, pairs.score, pairs.error"
                    f" FROM {PAIRS_WITH_IMAGES} WHERE a.path = ? AND b.path = ?",
                    (query, path),
                )
                for pair, rank, score, error in rows:
                    if error is not None:
                        result.failed[path] = error.strip().splitlines()[-1]
                    elif objects := read_objects(store, pair):
                        result.pictures.append(FoundPicture(path, votes, rank, score, objects))
            result.pictures.sort(key=lambda p: (-p.rank, p.path))
            results.append(result)
    return results


def write_query_page(results: Sequence[QueryResult], path: Path) -> None:
    """Write the page of hits, each cut out of a picture of the index, completely or not at all."""
    paths = sorted({picture.path for one in results for picture in one.pictures})
    names = name_relatively(paths)
    queries = make_relative([one.query for one in results])
    hits: list[Hit] = []
    failed = {pair for one in results for pair in one.failed.items()}
    for query, one in zip(queries, results, strict=True):
        for picture in one.pictures:
            try:
                rgb = read_picture(picture.path).displayed
            except InputError as error:
                failed.add((picture.path, str(error)))
                continue
            hits += make_hits(query, names[picture.path], rgb, picture.objects)
    title = queries[0] if len(results) == 1 else count(len(results), "query", "queries")
    without = [(query,) for query, one in zip(queries, results, strict=True) if not one.pictures]
    lists = (
        (f"{count(len(without), 'query', 'queries')} without hits", without),
        (f"{count(len(failed), 'picture')} can't be used", sorted(failed)),
    )
    write_page(path, hits_page(title, hits, lists))


def summarise_query(result: QueryResult) -> dict[str, Any]:
    """Describe a result by values that JSON can hold."""
    pictures = [{**vars(one), "objects": list(map(summarise_object, one.objects))} for one in result.pictures]
    failed = [{"path": path, "error": error} for path, error in result.failed.items()]
    return {"query": result.query, "pictures": pictures, "failed": failed}
