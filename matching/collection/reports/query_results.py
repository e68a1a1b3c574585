"""The results of queries, as values that JSON can hold: the matched pictures with their objects."""

import tempfile
from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from matching.collection.database.store import PAIRS_WITH_IMAGES, open_store, read_objects
from matching.collection.kept_index._index import Candidate
from matching.collection.plan import Plan
from matching.collection.reports.groups import find_joined
from matching.collection.reports.relations import map_frame
from matching.collection.run import match_collection
from matching.objects.description import MatchedObject
from matching.output.files import summarise_agreement

SUMMARISED = (  # of an object
    *("id", "n_matches", "score", "log10_nfa", "confidence", "transform", "transform_kind"),
    *("transform_error", "outline0", "outline1", "frame1"),
)
MAX_STRANGERS = 2  # candidates outside the group of a picture, after which no more are tried


@contextmanager
def verify_candidates(
    candidates: Sequence[Candidate], *, db: Path | None = None, **running: Any
) -> Iterator[Path]:
    """Match each query with its candidates in a collection's database, by default a temporary one.

    `running` is as for `match_collection`.
    """
    rows = {path: k for k, path in enumerate(sorted({p for c in candidates for p in (c.query, c.picture)}))}
    pairs = [(rows[c.query], rows[c.picture]) for c in candidates]
    with tempfile.TemporaryDirectory() as folder:
        path = db or Path(folder) / "query.db"
        plan = Plan(tuple(rows), tuple(dict.fromkeys(pairs)))
        match_collection(plan, path, **{"jobs": 1, **running})
        yield path


@contextmanager
def verify_for_groups(
    candidates: Sequence[Candidate], *, db: Path | None = None, **running: Any
) -> Iterator[Path]:
    """Match each picture with its candidates, the best first, but only while they may join it to a group.

    In each round, every picture is matched with its best candidate that is outside its group. After two
    candidates that did not join its group, a picture takes part no more, because the others share even less
    with it. Each pair is matched once, in an order that does not depend on the index.
    """
    waiting: dict[str, list[tuple[str, str]]] = {}
    for candidate in candidates:
        pair = min(candidate.query, candidate.picture), max(candidate.query, candidate.picture)
        waiting.setdefault(candidate.query, []).append(pair)
    with tempfile.TemporaryDirectory() as folder:
        path = db or Path(folder) / "groups.db"
        group: dict[str, str] = {}  # picture -> the first picture of its group
        matched: set[tuple[str, str]] = set()
        while True:
            chosen = {pair for pairs in waiting.values() for pair in _choose_next(pairs, matched, group)}
            if matched and not chosen:
                break
            matched |= chosen
            found = verify_candidates([Candidate(*pair, 0) for pair in sorted(chosen)], db=path, **running)
            with found, open_store(path) as store:
                group = find_joined(store, matched)  # without later pairs of a stopped run
            if not chosen:
                break
        yield path


def _choose_next(
    pairs: Sequence[tuple[str, str]], matched: Container[tuple[str, str]], group: Mapping[str, str]
) -> list[tuple[str, str]]:
    """Choose the next pair of a picture to match; none if the others can't or need not join it to a group."""
    unjoined = [pair for pair in pairs if group.get(pair[0], pair[0]) != group.get(pair[1], pair[1])]
    if sum(pair in matched for pair in unjoined) >= MAX_STRANGERS:
        return []
    return [pair for pair in unjoined if pair not in matched][:1]


def collect_results(
    db: Path, queries: Sequence[str], candidates: Sequence[Candidate]
) -> list[dict[str, Any]]:
    """Collect the results of queries from a database."""
    with open_store(db) as store:
        by_query: dict[str, list[dict[str, Any]]] = {query: [] for query in queries}
        failed: dict[str, list[dict[str, str]]] = {}
        for candidate in candidates:
            pictures = by_query[candidate.query]
            rows = store.rows(
                "SELECT pairs.id, pairs.rank, pairs.score, pairs.error, a.width, a.height"
                f" FROM {PAIRS_WITH_IMAGES} WHERE a.path = ? AND b.path = ?",
                (candidate.query, candidate.picture),
            )
            for pair, rank, score, error, width, height in rows:
                if error is not None:
                    entry = {"path": candidate.picture, "error": error.strip().splitlines()[-1]}
                    failed.setdefault(candidate.query, []).append(entry)
                elif found := read_objects(store, pair):
                    framed = (replace(o, frame1=map_frame(o.transform, (width, height))) for o in found)
                    objects = [summarise_object(one) for one in framed]
                    known = {"path": candidate.picture, "votes": candidate.votes}
                    pictures.append({**known, "rank": rank, "score": score, "objects": objects})
    return [
        {
            "query": query,
            "pictures": sorted(pictures, key=lambda p: (-p["rank"], p["path"])),
            "failed": failed.get(query, []),
        }
        for query, pictures in by_query.items()
    ]


def summarise_object(found: MatchedObject) -> dict[str, Any]:
    """Describe an object by values that JSON can hold."""
    values = {name: getattr(found, name.replace("log10", "log")) for name in SUMMARISED}
    listed = {k: value.tolist() if isinstance(value, np.ndarray) else value for k, value in values.items()}
    return listed | summarise_agreement(found, 2)
