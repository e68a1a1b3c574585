"""A changed byte of a database is told, or changes nothing that is read."""

import sqlite3
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest
from stored import FILES, fill, result

from matching import InputError, MatchConfig
from matching.collection.database.store import open_store
from matching.collection.kept_index._store import open_index
from matching.collection.records import IndexedRecord, PairRecord, make_pair_record
from matching.collection.retrieval._codes import ENTRY

TRIALS = 100


def dump(path):
    with closing(sqlite3.connect(path)) as db:
        tables = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        rows = {name: db.execute(f"SELECT * FROM {name}").fetchall() for name in tables}
        return rows, db.execute("SELECT sql FROM sqlite_master ORDER BY name").fetchall()


def made_database(path):
    with open_store(path, MatchConfig()) as store:
        fill(store)
        store.add_pairs([(0, 0), (1, 1), (2, 2), (1, 0)])
        for pair in (0, 3, 4):
            store.record_pair(make_pair_record(pair, FILES, result()))
        store.record_pair(PairRecord(6, FILES, 5))
        store.fail_pairs_of_failed_images()


def read_database(path):
    with open_store(path) as store:
        names = ("settings", "images", "pairs", "objects", "matches", "timings", "results")
        return [store.rows(f"SELECT * FROM {name} ORDER BY 1, 2") for name in names]


def made_index(folder):
    rng = np.random.default_rng(0)
    with open_index(folder, MatchConfig(), create=True) as index:
        paths = [f"/pictures/{k}.jpg" for k in range(40)]
        index.update(paths)
        for number, _ in [*index.pending()]:
            entries = np.zeros(5, ENTRY)
            entries["id"] = number * 2**16 + np.arange(5)
            entries["bits"] = rng.integers(0, 256, (5, 32))
            index.add([IndexedRecord(number, "5" * 64, 1000, 5, entries)])
        index.update([], paths[:3])


def read_index(path):
    with open_index(path.parent, MatchConfig()) as index:
        rows = [index.rows(f"SELECT * FROM {name}") for name in ("settings", "pictures", "segments", "dead")]
        return rows, index.paths(range(100)), index.counts()


@pytest.mark.parametrize(
    ("name", "make", "read"),
    [
        ("c.db", made_database, read_database),
        ("index/index.db", lambda path: made_index(path.parent), read_index),
    ],
    ids=["collection", "index"],
)
def test_a_changed_byte_is_told_or_changes_nothing(tmp_path, name, make, read):
    path = tmp_path / name
    make(path)
    whole, wanted = path.read_bytes(), read(path)
    rng = np.random.default_rng(0)
    told = 0
    for place in rng.choice(len(whole), TRIALS, replace=False):
        damaged = bytearray(whole)
        damaged[place] ^= int(rng.integers(1, 256))
        path.unlink()
        path.write_bytes(damaged)
        try:
            found = read(path)
        except InputError as error:
            assert str(path.parent) in str(error)
            told += 1
        else:
            assert found == wanted, place
    assert told > TRIALS / 5  # a part of each page is empty


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ("UPDATE matches SET x0 = x0 + 1e-9 WHERE pair = 3 AND candidate = 2", "matches 3"),
        ("DELETE FROM matches WHERE pair = 4 AND candidate = 0", "matches 4"),
        ("UPDATE objects SET score = 1 WHERE pair = 0", "objects 0"),
        ("UPDATE pairs SET rank = 2 WHERE id = 3", "pairs 3"),
        ("DELETE FROM pairs WHERE id = 6", "pairs 6"),
        ("UPDATE images SET path = '/d' WHERE id = 1", "images 1"),
        ("DELETE FROM settings WHERE name = 'version'", "settings version"),
        ("DELETE FROM timings WHERE pair = 0", "timings 0"),
        ("DROP VIEW results", "schema results"),
        ("DELETE FROM checksums WHERE part = 'pairs' AND key = 1", "pairs 1"),
    ],
)
def test_what_another_program_has_changed_is_named(tmp_path, change, named):
    made_database(tmp_path / "c.db")
    with closing(sqlite3.connect(tmp_path / "c.db")) as raw, raw:
        raw.execute(change)
    for config in (None, MatchConfig()):
        with (
            pytest.raises(InputError, match=rf"is damaged.*\({named}\)"),
            open_store(tmp_path / "c.db", config),
        ):
            pass
    with open_store(tmp_path / "c.db", MatchConfig(), restart=True) as store:
        assert store.value("SELECT count(*) FROM images") == 0


def test_all_that_is_written_has_its_checksums(tmp_path):
    """Pictures that change, fail and are tried again, results that go: the database stays whole."""
    path = tmp_path / "c.db"
    made_database(path)
    with open_store(path, MatchConfig()) as store:
        store.forget_changed({0: "6" * 64})
    read_database(path)
    with open_store(path, MatchConfig()) as store:
        store.forget_failed()
        store.add_pairs([(2, 0)], shortlist="0123")
    read_database(path)
    with open_store(path, MatchConfig()) as store:
        store.record_programs({"numpy": "0"})
        store.record_pair(replace(make_pair_record(4, FILES, result()), timings={}))
    read_database(path)
