"""What a database holds, for comparison."""

import sqlite3
from contextlib import closing

TABLES = ("settings", "images", "pairs", "objects", "matches")  # all but the timings


def content(path):
    """All rows of all tables but the timings."""
    with closing(sqlite3.connect(path)) as db:
        return {table: db.execute(f"SELECT * FROM {table}").fetchall() for table in TABLES}


def rows(path, query, *parameters):
    with closing(sqlite3.connect(path)) as db:
        return db.execute(query, parameters).fetchall()
