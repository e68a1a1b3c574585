"""The database of a collection: one SQLite file, which no crash can damage.

Every picture and every pair is written in one transaction. The numbers of pictures and pairs follow from the
plan, not from the order of the work. So the finished database always holds the same rows, except for timings,
even if runs were stopped.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from matching.collection.database.connection import Database, connect
from matching.collection.database.settings import check_settings, make_settings
from matching.collection.records import ImageRecord, PairRecord, from_json, to_json
from matching.errors import InputError
from matching.grouping.config import MatchConfig
from matching.objects.description import MatchedObject
from matching.pictures.names import is_file

PAIRS_WITH_IMAGES = "pairs JOIN images AS a ON a.id = image0 JOIN images AS b ON b.id = image1"
MATCHABLE = (
    f"{PAIRS_WITH_IMAGES} WHERE pairs.status = 'pending' AND a.status = 'described'"
    " AND b.status = 'described'"
)
SHORTLIST_PREFIX = "shortlist:"
RESULT_TABLES = ("matches", "objects", "timings")  # tables with rows of pairs
TABLES = (*RESULT_TABLES, "pairs", "images", "settings")


@contextmanager
def open_store(path: str | Path, config: MatchConfig | None = None, restart: bool = False) -> Iterator[Store]:
    """Open a database; create it if it is missing and a configuration is given."""
    path = Path(path)
    if config is None and not is_file(path):
        raise InputError(f"{path}: no such database")
    foreign = f"{path}: is not a database of gdl-match collection"
    with connect(path, f"{path}: the database", foreign) as connection:
        store = Store(connection)
        names = store.names()
        if (names or config is None) and not names >= {*TABLES}:
            raise InputError(foreign)
        if config is not None:
            store.make_tables(__package__, lambda: make_settings(config), restart)
        names_checked = ("schema",) if config is None else ("schema", "code", "config")
        wanted = {name: make_settings(config or MatchConfig())[name] for name in names_checked}
        check_settings(store.settings(), wanted, f"{path}: the database")
        yield store


class Store(Database):
    """The open database of a collection."""

    def value(self, query: str, parameters: Sequence[Any] = ()) -> Any:
        """Read the first value of a query's first row."""
        return self._db.execute(query, parameters).fetchone()[0]

    def cursor(self, query: str, parameters: Sequence[Any] = ()) -> sqlite3.Cursor:
        """Make a cursor over a query, with the columns in its `description`; it gives the rows one by one."""
        return self._db.execute(query, parameters)

    def add_images(self, paths: Iterable[str]) -> list[int]:
        """Add pictures that are not in the database yet, and return the numbers of all."""
        paths = list(paths)
        with self.transaction():
            known = dict(self._db.execute("SELECT path, id FROM images"))
            new = [path for path in paths if path not in known]
            known |= {path: len(known) + k for k, path in enumerate(new)}
            self._db.executemany("INSERT INTO images (id, path) VALUES (?, ?)", ((known[p], p) for p in new))
        return [known[path] for path in paths]

    def add_pairs(self, pairs: Iterable[tuple[int, int]], shortlist: str | None = None) -> None:
        """Add pairs that are not in the database yet."""
        with self.transaction():
            self._db.executemany(
                "INSERT OR IGNORE INTO pairs (id, image0, image1)"
                " SELECT ifnull(max(id), -1) + 1, ?, ? FROM pairs",
                pairs,
            )
            if shortlist is not None:
                row = SHORTLIST_PREFIX + shortlist, ""
                self._db.execute("INSERT OR REPLACE INTO settings VALUES (?, ?)", row)

    def pending_pairs(self) -> Iterator[tuple[int, int, int]]:
        """Read the pairs that are to be matched, page by page, so that results can be recorded meanwhile."""
        return self.pages(f"SELECT pairs.id, image0, image1 FROM {MATCHABLE} AND pairs.id")

    def n_pending_pairs(self) -> int:
        """Count the pairs that are to be matched now."""
        return int(self.value(f"SELECT count(*) FROM {MATCHABLE}"))

    def has_shortlist(self, shortlist: str) -> bool:
        """Test whether the database has the pairs of a shortlist."""
        query = "SELECT count(*) FROM settings WHERE name = ?"
        return bool(self.value(query, (SHORTLIST_PREFIX + shortlist,)))

    def forget_changed(self, contents: Mapping[int, str | None]) -> int:
        """Make pictures whose file has changed pending again, together with all their pairs."""
        known = dict(self._db.execute("SELECT id, sha256 FROM images WHERE status != 'pending'"))
        changed = [(k,) for k, content in contents.items() if k in known and content != known[k]]
        if not changed:
            return 0
        with self.transaction():
            either = "(SELECT id FROM pairs WHERE image0 = ?1 OR image1 = ?1)"
            for table in RESULT_TABLES:
                self._db.executemany(f"DELETE FROM {table} WHERE pair IN {either}", changed)
            self._db.executemany(
                "UPDATE pairs SET status = 'pending', n_candidates = NULL, n_matches = NULL,"
                " n_objects = NULL, score = NULL, rank = NULL, error = NULL WHERE image0 = ?1 OR image1 = ?1",
                changed,
            )
            self._db.executemany(
                "UPDATE images SET status = 'pending', sha256 = NULL, width = NULL, height = NULL,"
                " n_features = NULL, error = NULL WHERE id = ?",
                changed,
            )
        return len(changed)

    def forget_failed(self) -> None:
        """Make failed pictures and pairs pending again."""
        with self.transaction():
            for table, column in (("images", ", sha256 = NULL"), ("pairs", "")):
                self._db.execute(
                    f"UPDATE {table} SET status = 'pending', error = NULL{column} WHERE status = 'failed'"
                )

    def record_image(self, record: ImageRecord) -> None:
        """Write the result for a picture, unless another process has written it."""
        with self.transaction():
            self._db.execute(
                "UPDATE images SET status = ?, sha256 = ?, width = ?, height = ?, n_features = ?, error = ?"
                " WHERE id = ? AND status = 'pending'",
                (
                    *("described" if record.error is None else "failed", record.content, record.width),
                    *(record.height, record.n_features, record.error, record.id),
                ),
            )

    def record_pair(self, record: PairRecord) -> None:
        """Write the result for a pair, unless another process has written it."""
        with self.transaction():
            if record.error is not None:
                self._end_pair(record, "failed", None, None, None, None, None, record.error)
                return
            best = [
                max((getattr(o, name) for o in record.objects), default=0.0) for name in ("score", "rank")
            ]
            counts = record.n_candidates, len(record.matches), len(record.objects)
            if self._end_pair(record, "matched", *counts, *best, None):
                self._db.executemany(
                    "INSERT INTO objects VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)", _object_rows(record)
                )
                matches = ((record.id, *row) for row in record.matches.tolist())
                self._db.executemany("INSERT INTO matches VALUES (?,?,?,?,?,?,?,?)", matches)
                timings = ((record.id, stage, seconds) for stage, seconds in record.timings.items())
                self._db.executemany("INSERT INTO timings VALUES (?,?,?)", timings)

    def _end_pair(self, record: PairRecord, *columns: Any) -> bool:
        """Write the columns of a pending pair; False if another process has written them."""
        updated = self._db.execute(
            "UPDATE pairs SET status = ?, n_candidates = ?, n_matches = ?, n_objects = ?, score = ?,"
            " rank = ?, error = ? WHERE id = ? AND status = 'pending'",
            (*columns, record.id),
        )
        return updated.rowcount == 1

    def fail_pairs_of_failed_images(self) -> None:
        """Mark pairs with a failed picture as failed, with the reason of that picture.

        If both failed, it is the reason of the first.
        """
        with self.transaction():
            for column in ("image0", "image1"):
                self._db.execute(
                    "UPDATE pairs SET status = 'failed', error = images.error FROM images"
                    f" WHERE images.id = pairs.{column} AND images.status = 'failed'"
                    " AND pairs.status = 'pending'"
                )


def read_objects(store: Store, pair: int) -> list[MatchedObject]:
    """Read the objects of a pair, without their points."""
    return [
        from_json(text)
        for (text,) in store.rows("SELECT record FROM objects WHERE pair = ? ORDER BY object", (pair,))
    ]


def _object_rows(record: PairRecord) -> Iterator[tuple[Any, ...]]:
    """Make the rows of the table of objects."""
    for o in record.objects:
        shape = (json.dumps(a.tolist()) for a in (o.outline0, o.outline1))
        transform = json.dumps(o.transform.tolist()), o.transform_kind, o.transform_error
        covariance = json.dumps(o.transform_covariance, default=np.ndarray.tolist)
        differences = json.dumps([asdict(one) for one in o.differences], default=np.ndarray.tolist)
        agreement = o.is_same, o.is_doubtful, differences
        row = o.id, o.n_matches, o.score, o.log_nfa, *transform, covariance, *shape, *agreement
        yield record.id, *row, to_json(o)
