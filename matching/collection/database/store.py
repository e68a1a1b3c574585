"""The database of a collection: one SQLite file, which no crash can damage.

Every picture and every pair is written in one transaction. The numbers of pictures and pairs follow from the
plan, not from the order of the work. So the finished database always holds the same rows, except for timings,
even if runs were stopped.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from matching.collection.database.connection import Database, connect
from matching.collection.database.settings import check_settings, make_settings
from matching.collection.records import ImageRecord, PairRecord, object_from_json, object_to_json, to_json
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
TABLES = {"matches", "objects", "timings", "pairs", "images", "settings"}
OBJECT_COLUMNS = (  # attributes of an object in the columns of its table
    *("id", "n_matches", "score", "log_nfa", "transform", "transform_kind", "transform_error"),
    *("transform_covariance", "outline0", "outline1", "is_same", "is_doubtful", "differences"),
)


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
        if (names or config is None) and not names >= TABLES:
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
        return self.execute(query, parameters).fetchone()[0]

    def counts(self) -> dict[str, int]:
        """Count pictures, pairs and objects."""
        names = "images", "failed_images", "pairs", "failed_pairs", "pairs_with_objects", "objects"
        (values,) = self.rows(
            "SELECT (SELECT count(*) FROM images), (SELECT count(*) FROM images WHERE status = 'failed'),"
            " count(*), total(status = 'failed'), total(n_objects > 0), total(n_objects) FROM pairs"
        )
        return dict(zip(names, map(int, values), strict=True))

    def add_images(self, paths: Iterable[str]) -> list[int]:
        """Add pictures that are not in the database yet, and return the numbers of all."""
        paths = list(paths)
        with self.transaction():
            known = dict(self.execute("SELECT path, id FROM images"))
            new = [path for path in paths if path not in known]
            known |= {path: len(known) + k for k, path in enumerate(new)}
            self.executemany("INSERT INTO images (id, path) VALUES (?, ?)", ((known[p], p) for p in new))
        return [known[path] for path in paths]

    def add_pairs(self, pairs: Iterable[tuple[int, int]], shortlist: str | None = None) -> None:
        """Add pairs that are not in the database yet."""
        with self.transaction():
            self.executemany(
                "INSERT OR IGNORE INTO pairs (id, image0, image1)"
                " SELECT ifnull(max(id), -1) + 1, ?, ? FROM pairs",
                pairs,
            )
            if shortlist is not None:
                row = SHORTLIST_PREFIX + shortlist, ""
                self.execute("INSERT OR REPLACE INTO settings VALUES (?, ?)", row)

    def pending_pairs(self) -> Iterator[tuple[int, int, int]]:
        """Read the pairs that are to be matched, page by page, so that results can be recorded meanwhile."""
        return self.pages(f"SELECT pairs.id, image0, image1 FROM {MATCHABLE} AND pairs.id")

    def n_pending_pairs(self) -> int:
        """Count the pairs that are to be matched now."""
        return int(self.value(f"SELECT count(*) FROM {MATCHABLE}"))

    def forget_changed(self, contents: Mapping[int, str | None]) -> int:
        """Make pictures whose file has changed pending again, together with all their pairs."""
        known = dict(self.rows("SELECT id, sha256 FROM images WHERE status != 'pending'"))
        changed = [(k,) for k, content in contents.items() if k in known and content != known[k]]
        with self.transaction():
            self._forget("pairs", "image0 = ?1 OR image1 = ?1", changed)
            self._forget("images", "id = ?1", changed)
        return len(changed)

    def forget_failed(self) -> None:
        """Make failed pictures and pairs pending again."""
        with self.transaction():
            for table in ("pairs", "images"):
                self._forget(table, "status = 'failed'", [()])

    def _forget(self, table: str, condition: str, parameters: Sequence[tuple[int, ...]]) -> None:
        """Replace rows by pending ones, without the rows of other tables that belong to them."""
        columns = {"images": "id, path", "pairs": "id, image0, image1"}[table]
        select = f"SELECT {columns} FROM {table} WHERE {condition}"
        self.executemany(f"INSERT OR REPLACE INTO {table} ({columns}) {select}", parameters)

    def record_image(self, record: ImageRecord) -> None:
        """Write the result for a picture, unless another process has written it."""
        with self.transaction():
            self.execute(
                "UPDATE images SET status = iif(:error IS NULL, 'described', 'failed'), sha256 = :content,"
                " width = :width, height = :height, n_features = :n_features, error = :error"
                " WHERE id = :id AND status = 'pending'",
                vars(record),
            )

    def record_pair(self, record: PairRecord) -> None:
        """Write the result for a pair, unless another process has written it."""
        counts: dict[str, float | None] = {
            name: max((getattr(o, name) for o in record.objects), default=0.0) for name in ("score", "rank")
        }
        counts |= {"n_matches": len(record.matches), "n_objects": len(record.objects)}
        counts["n_candidates"] = record.n_candidates
        if record.error is not None:
            counts = dict.fromkeys(counts)
        with self.transaction():
            updated = self.execute(
                "UPDATE pairs SET status = iif(:error IS NULL, 'matched', 'failed'), score = :score,"
                " rank = :rank, n_candidates = :n_candidates, n_matches = :n_matches,"
                " n_objects = :n_objects, error = :error WHERE id = :id AND status = 'pending'",
                {**vars(record), **counts},
            )
            if updated.rowcount == 1:
                self._insert("objects", [(record.id, *_list_columns(found)) for found in record.objects])
                self._insert("matches", [(record.id, *row) for row in record.matches.tolist()])
                self._insert("timings", [(record.id, *row) for row in record.timings.items()])

    def _insert(self, table: str, rows: Sequence[Sequence[Any]]) -> None:
        """Insert rows with all columns of a table."""
        if rows:
            marks = ",".join("?" * len(rows[0]))
            self.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)

    def fail_pairs_of_failed_images(self) -> None:
        """Mark pairs with a failed picture as failed, with the reason of that picture.

        If both failed, it is the reason of the first.
        """
        with self.transaction():
            for column in ("image0", "image1"):
                self.execute(
                    "UPDATE pairs SET status = 'failed', error = images.error FROM images"
                    f" WHERE images.id = pairs.{column} AND images.status = 'failed'"
                    " AND pairs.status = 'pending'"
                )


def read_objects(store: Store, pair: int) -> list[MatchedObject]:
    """Read the objects of a pair, without their points."""
    return [
        object_from_json(text)
        for (text,) in store.rows("SELECT record FROM objects WHERE pair = ? ORDER BY object", (pair,))
    ]


def _list_columns(found: MatchedObject) -> Iterator[Any]:
    """List the columns of the table of objects but the pair; what is neither number nor text is JSON."""
    for value in (getattr(found, name) for name in OBJECT_COLUMNS):
        yield value if value is None or isinstance(value, int | float | str) else to_json(value)
    yield object_to_json(found)
