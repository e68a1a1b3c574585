"""The results of queries, as values that JSON can hold: the matched pictures with their objects."""

import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy

from matching.collection.database.store import JOINED, Store, open_store, read_objects
from matching.collection.kept_index._index import Candidate
from matching.collection.plan import Plan
from matching.collection.reports.groups import find_joined
from matching.collection.reports.relations import map_frame
from matching.collection.run import match_collection
from matching.objects.description import MatchedObject

STRANGERS = 2  # after this many candidates that did not join the group of a picture, no more are tried


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
    """Match each picture with its candidates, but only pairs that may join groups.

    In each round, every picture proposes its best two candidates outside its group. The pairs with the most
    votes are matched, but not those that other pairs may make unnecessary: a pair waits if better pairs and
    known groups would already connect its two pictures. After two candidates that did not join its group, a
    picture proposes no more, because the others share even less with it.

    Each pair is matched once, in an order that does not depend on the index.
    """
    waiting: dict[str, list[Candidate]] = {}
    for candidate in candidates:
        waiting.setdefault(candidate.query, []).append(candidate)
    with tempfile.TemporaryDirectory() as folder:
        path = db or Path(folder) / "groups.db"
        group: dict[str, str] = {}
        matched: set[tuple[str, str]] = set()
        strangers: Counter[str] = Counter()
        while True:
            asked: Counter[tuple[str, str]] = Counter()  # pair -> votes
            for query, best in waiting.items():
                new, strangers[query] = _choose_next(best, strangers[query], matched, group)
                for pair, votes in new.items():
                    asked[pair] = max(asked[pair], votes)
            chosen = _choose_without_rings(asked, group)
            if matched and not chosen:
                break
            matched.update(chosen)
            found = verify_candidates([Candidate(*pair, 0) for pair in chosen], db=path, **running)
            with found, open_store(path) as store:
                group = find_joined(store, matched)  # without later pairs of a stopped run
            if not chosen:
                break
        yield path


def _choose_next(
    best: list[Candidate], n_strangers: int, matched: set[tuple[str, str]], group: Mapping[str, str]
) -> tuple[dict[tuple[str, str], int], int]:
    """The pairs of a picture to match next, with their votes, and how many of its candidates were strangers.

    Candidates that have been matched, or are already joined, are removed from `best`.
    """
    new: dict[tuple[str, str], int] = {}
    for candidate in tuple(best):
        if n_strangers + len(new) >= STRANGERS:
            break
        pair = min(candidate.query, candidate.picture), max(candidate.query, candidate.picture)
        if pair in matched or _are_joined(group, *pair):
            n_strangers += not _are_joined(group, *pair)
            best.remove(candidate)
        else:
            new[pair] = candidate.votes
    return new, n_strangers


def _choose_without_rings(
    asked: Mapping[tuple[str, str], int], group: Mapping[str, str]
) -> list[tuple[str, str]]:
    """The pairs with the most votes that connect all that can be connected (a spanning tree), sorted."""
    links: dict[tuple[str, ...], tuple[str, str]] = {}  # two groups -> the best pair between them
    for pair in sorted(asked, key=lambda pair: (-asked[pair], pair)):
        links.setdefault(tuple(sorted(group.get(name, name) for name in pair)), pair)
    if not links:
        return []
    names, ends = np.unique(list(links), return_inverse=True)
    weights = np.arange(1, len(links) + 1), ends.reshape(-1, 2).T  # all different, so the tree is unique
    tree = scipy.sparse.csgraph.minimum_spanning_tree(scipy.sparse.coo_array(weights, 2 * names.shape))
    pairs = list(links.values())
    return sorted(pairs[int(weight) - 1] for weight in tree.data)


def _are_joined(group: Mapping[str, str], first: str, second: str) -> bool:
    return first in group and group[first] == group.get(second)


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
                f" FROM {JOINED} WHERE a.path = ? AND b.path = ?",
                (candidate.query, candidate.picture),
            )
            for pair, rank, score, error, width, height in rows:
                if error is not None:
                    entry = {"path": candidate.picture, "error": error.strip().splitlines()[-1]}
                    failed.setdefault(candidate.query, []).append(entry)
                elif objects := _objects(store, pair, (width, height)):
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


def _objects(store: Store, pair: int, size: tuple[int, int]) -> list[dict[str, Any]]:
    found = read_objects(store, pair)
    return [summarise_object(replace(o, frame1=map_frame(o.transform, size))) for o in found]


def summarise_object(found: MatchedObject) -> dict[str, Any]:
    """Describe an object by values that JSON can hold."""
    return {
        "id": found.id,
        "n_matches": found.n_matches,
        "score": found.score,
        "log10_nfa": found.log_nfa,
        "confidence": found.confidence,
        "transform": found.transform.tolist(),
        "transform_kind": found.transform_kind,
        "transform_error": found.transform_error,
        "outline0": found.outline0.tolist(),
        "outline1": found.outline1.tolist(),
        "frame1": None if found.frame1 is None else found.frame1.tolist(),
    }
