"""The database of a collection: one SQLite file, which a crash at any moment leaves whole.

Every picture and every pair is one transaction, and goes from pending to its end once. Numbers of pictures
and pairs follow from the plan, never from the order in which work ends. So however often a run was stopped,
and however many processes wrote, the finished database holds the same rows; timings aside.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path

from matching.collection.settings import check_settings, settings_of
from matching.errors import InputError
from matching.pictures.names import is_file

BUSY = 60  # seconds to wait for another writer
KEY_OF_SHORTLIST, KEY_OF_MACHINE = "shortlist:", "machine:"
TABLES = ("matches", "objects", "timings", "pairs", "images", "settings")  # none refers to a later one's rows


@contextmanager
def open_store(path, config=None, restart=False):
    """The Store of a file, made if it is missing and a config is given.

    restart : whether to remove all that it holds, whatever it was made with

    Raises InputError where the file is no such database, or, with a config, was made with other settings or
    programs.
    """
    path = Path(path)
    if config is None and not is_file(path):
        raise InputError(f"{path}: no such database")
    try:
        connection = sqlite3.connect(path, timeout=BUSY, isolation_level=None)
    except sqlite3.Error as error:
        raise InputError(f"{path}: the database can't be opened ({error})") from None
    try:
        connection.execute("PRAGMA foreign_keys = ON")
        _prepare(connection, path, config, restart)
        yield Store(connection)
    except sqlite3.OperationalError as error:  # disk full, locked, taken away
        raise InputError(f"{path}: the database can't be used ({error})") from None
    except sqlite3.DatabaseError as error:
        if isinstance(error, sqlite3.IntegrityError):
            raise
        raise InputError(f"{path}: is not a database of gdl-match-collection ({error})") from None
    finally:
        connection.close()


def _prepare(connection, path, config, restart):
    connection.execute("BEGIN IMMEDIATE" if config else "BEGIN")  # two first runs at once make one schema
    try:
        tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
        if restart and set(TABLES) <= tables:
            connection.execute("DROP VIEW IF EXISTS results")
            for table in TABLES:
                connection.execute(f"DROP TABLE {table}")
            tables = set()
        if not tables and config is not None:
            # executescript would commit what stands before it
            for statement in files(__package__).joinpath("schema.sql").read_text("utf-8").split(";\n"):
                connection.execute(statement)
            rows = settings_of(config).items()
            connection.executemany("INSERT INTO settings VALUES (?, ?)", rows)
        elif not set(TABLES) <= tables:
            raise InputError(f"{path}: is not a database of gdl-match-collection")
        else:
            check_settings(dict(connection.execute("SELECT name, value FROM settings")), config, path)
        connection.execute("COMMIT")
    except BaseException:
        connection.rollback()
        raise


class Store:
    """Reads and writes the tables of an open database."""

    def __init__(self, connection):
        self._db = connection

    @contextmanager
    def _transaction(self):
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._db.execute("COMMIT")
        except BaseException:
            self._db.rollback()
            raise

    def rows(self, query, parameters=()):
        """All rows of a query."""
        return self._db.execute(query, parameters).fetchall()

    def value(self, query, parameters=()):
        """The first value of a query's first row."""
        return self._db.execute(query, parameters).fetchone()[0]

    def cursor(self, query, parameters=()):
        """A cursor over a query: columns in `description`, rows one by one."""
        return self._db.execute(query, parameters)

    def add_images(self, paths):
        """Make sure that all paths are there; returns their numbers."""
        with self._transaction():
            known = dict(self._db.execute("SELECT path, id FROM images"))
            new = [path for path in paths if path not in known]
            known |= {path: len(known) + k for k, path in enumerate(new)}
            self._db.executemany("INSERT INTO images (id, path) VALUES (?, ?)", ((known[p], p) for p in new))
        return [known[path] for path in paths]

    def add_pairs(self, pairs, shortlist=None):
        """Make sure that all pairs (image0, image1) of picture numbers are there.

        shortlist : what they were chosen by, remembered with them
        """
        with self._transaction():
            known = set(self._db.execute("SELECT image0, image1 FROM pairs"))
            new = [pair for pair in dict.fromkeys(pairs) if pair not in known]
            rows = ((len(known) + k, *pair) for k, pair in enumerate(new))
            self._db.executemany("INSERT INTO pairs (id, image0, image1) VALUES (?, ?, ?)", rows)
            if shortlist is not None:
                row = (KEY_OF_SHORTLIST + shortlist, str(len(set(pairs))))
                self._db.execute("INSERT OR REPLACE INTO settings VALUES (?, ?)", row)

    def has_shortlist(self, shortlist):
        """Whether the pairs of this shortlist are there."""
        query = "SELECT count(*) FROM settings WHERE name = ?"
        return bool(self.value(query, (KEY_OF_SHORTLIST + shortlist,)))

    def forget_changed(self, contents):
        """Make pictures pending again whose file is another one than it was, with all their pairs.

        contents : picture number -> SHA-256 of the file as it is, None if it can't be read
        """
        known = dict(self._db.execute("SELECT id, sha256 FROM images WHERE status != 'pending'"))
        changed = [(k,) for k, content in contents.items() if k in known and content != known[k]]
        with self._transaction():
            either = "(SELECT id FROM pairs WHERE image0 = ?1 OR image1 = ?1)"
            for table in ("matches", "objects", "timings"):
                self._db.executemany(f"DELETE FROM {table} WHERE pair IN {either}", changed)
            self._db.executemany(
                "UPDATE pairs SET status = 'pending', n_candidates = NULL, n_matches = NULL,"
                " n_objects = NULL, score = NULL, error = NULL WHERE image0 = ?1 OR image1 = ?1",
                changed,
            )
            self._db.executemany(
                "UPDATE images SET status = 'pending', sha256 = NULL, width = NULL, height = NULL,"
                " n_features = NULL, error = NULL WHERE id = ?",
                changed,
            )
        return len(changed)

    def forget_failed(self):
        """Make pictures and pairs pending again that failed."""
        with self._transaction():
            for table, also in (("images", ", sha256 = NULL"), ("pairs", "")):
                self._db.execute(
                    f"UPDATE {table} SET status = 'pending', error = NULL{also} WHERE status = 'failed'"
                )

    def machines(self):
        """The kinds of processors that results come from, each as a line."""
        query = "SELECT value FROM settings WHERE substr(name, 1, ?) = ? ORDER BY value"
        return tuple(value for (value,) in self.rows(query, (len(KEY_OF_MACHINE), KEY_OF_MACHINE)))

    def _record_machine(self, origin):
        if origin is not None:
            number = hashlib.sha256(origin.machine.encode()).hexdigest()[:12]
            row = KEY_OF_MACHINE + number, origin.machine
            self._db.execute("INSERT OR IGNORE INTO settings VALUES (?, ?)", row)

    def record_image(self, record):
        """Write what is known of a picture, unless another process has."""
        with self._transaction():
            self._record_machine(record.origin)
            self._db.execute(
                "UPDATE images SET status = ?, sha256 = ?, width = ?, height = ?, n_features = ?, error = ?"
                " WHERE id = ? AND status = 'pending'",
                (
                    "described" if record.error is None else "failed",
                    *(
                        record.content,
                        record.width,
                        record.height,
                        record.n_features,
                        record.error,
                        record.id,
                    ),
                ),
            )

    def record_pair(self, record):
        """Write what is known of a pair, unless another process has, or has found that a picture changed."""
        with self._transaction():
            self._record_machine(record.origin)
            if record.error is not None:
                self._end_pair(record, "failed", None, None, None, None, record.error)
                return
            best = max((o.score for o in record.objects), default=0.0)
            counts = record.n_candidates, len(record.candidate), len(record.objects)
            if self._end_pair(record, "matched", *counts, best, None):
                self._db.executemany("INSERT INTO objects VALUES (?,?,?,?,?,?,?,?,?)", _object_rows(record))
                self._db.executemany("INSERT INTO matches VALUES (?,?,?,?,?,?,?,?)", _match_rows(record))
                timings = ((record.id, stage, seconds) for stage, seconds in record.timings.items())
                self._db.executemany("INSERT INTO timings VALUES (?,?,?)", timings)

    def _end_pair(self, record, *columns):
        ended = self._db.execute(
            "UPDATE pairs SET status = ?, n_candidates = ?, n_matches = ?, n_objects = ?, score = ?,"
            " error = ? WHERE id = ? AND status = 'pending'"
            " AND (SELECT sha256 FROM images WHERE id = image0) = ?"
            " AND (SELECT sha256 FROM images WHERE id = image1) = ?",
            (*columns, record.id, *record.contents),
        )
        return ended.rowcount == 1

    def fail_pairs_of_failed_images(self):
        """Pairs that can't be matched because a picture failed, failed with its reason (the first one's)."""
        with self._transaction():
            for column in ("image0", "image1"):
                self._db.execute(
                    "UPDATE pairs SET status = 'failed', error = images.error FROM images"
                    f" WHERE images.id = pairs.{column} AND images.status = 'failed'"
                    " AND pairs.status = 'pending'"
                )


def _object_rows(record):
    for o in record.objects:
        shape = (json.dumps(a.tolist()) for a in (o.outline0, o.outline1))
        transform = json.dumps(o.transform.tolist()), o.transform_kind, o.transform_error
        yield record.id, o.id, o.n_matches, o.score, *transform, *shape


def _match_rows(record):
    columns = record.candidate, record.cluster, *record.xy0.T, *record.xy1.T, record.score
    for row in zip(*(column.tolist() for column in columns), strict=True):
        yield record.id, *row
