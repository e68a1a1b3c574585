"""A collection goes on after an update, and beside other processes."""

import json
import shutil
import sqlite3
import threading
from contextlib import closing

import pytest
from database import content, rows
from PIL import Image
from planting import object_pair

from matching import InputError, MatchConfig
from matching.cli.commands import collection as command
from matching.collection import going_on, match_collection, plan_folder, plan_list
from matching.collection.database import checksums
from matching.collection.database.connection import wait_for_databases
from matching.collection.database.store import open_store
from matching.collection.kept_index._index import add_pictures
from matching.output.provenance import programs


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    folder = tmp_path_factory.mktemp("photos")
    for name, image in zip("ab", object_pair(), strict=True):
        Image.fromarray(image).save(folder / f"{name}.png")
    return folder


@pytest.fixture(scope="module")
def finished(photos, cache, tmp_path_factory):
    db = tmp_path_factory.mktemp("going-on") / "c.db"
    match_collection(plan_folder(photos), db, cache=cache, jobs=1)
    return db


@pytest.fixture
def db(finished, tmp_path):
    return shutil.copy(finished, tmp_path / "c.db")


@pytest.fixture
def plan(photos, tmp_path):
    """A pair that the database has not, of pictures that it has."""
    (tmp_path / "list").write_text(f"'{photos / 'b.png'}' '{photos / 'a.png'}'\n")
    return plan_list(tmp_path / "list")


def made_with(db, **versions):
    with open_store(db, MatchConfig()) as store:
        text = json.dumps({**programs(), **versions}, sort_keys=True)
        store.cursor("UPDATE settings SET value = ? WHERE name = 'programs'", (text,))


def test_a_changed_comment_and_other_libraries_are_no_hindrance(db, plan, cache, tmp_path, capsys):
    made_with(db, pillow="1.0", **{"its sources": "0123"})
    arguments = [
        "--pairs",
        str(tmp_path / "list"),
        "--db",
        str(db),
        "--cache",
        str(cache.folder),
        "--jobs",
        "1",
    ]
    assert command.main([*arguments, "--quiet"]) == 0
    told = capsys.readouterr().err
    assert "made with other library versions (pillow 1.0 (here " in told
    assert "1 pair matched again: the same results" in told
    assert rows(db, "SELECT count(*) FROM pairs WHERE status = 'matched'") == [(2,)]
    assert command.main([*arguments, "--quiet"]) == 0  # they are known now
    assert capsys.readouterr().err == ""


def test_other_sources_alone_are_not_even_told(db, plan, cache):
    made_with(db, **{"its sources": "0123"})
    summary = match_collection(plan, db, cache=cache, jobs=1)
    assert (summary.matched, summary.other_programs) == (1, "")


def test_other_libraries_whose_results_differ_are_refused(db, plan, cache):
    made_with(db, numpy="1.0")
    with open_store(db, MatchConfig()) as store:  # as they had found it
        store.cursor(
            "UPDATE matches SET score = score + 1e-12 WHERE candidate = (SELECT max(candidate) FROM matches)"
        )
        row = store.rows("SELECT * FROM matches ORDER BY candidate")
        store.cursor("DELETE FROM checksums WHERE part IN ('matches', 'objects', 'timings')")
        checksums.seal_results(store._db, row[0][0])
    before = content(db)
    told = r"other library versions, whose results differ \(numpy 1.0 \(here .*a.png and b.png matched again"
    with pytest.raises(InputError, match=told):
        match_collection(plan, db, cache=cache, jobs=1)
    assert content(db)["matches"] == before["matches"]
    assert rows(db, "SELECT count(*) FROM pairs WHERE status = 'matched'") == [(1,)]


def test_on_another_kind_of_processor_nothing_is_compared(db, plan, cache, monkeypatch):
    made_with(db, numpy="1.0")
    monkeypatch.setattr(going_on, "machine", lambda: "an abacus")
    summary = match_collection(plan, db, cache=cache, jobs=1)
    assert summary.matched == 1
    assert "(numpy 1.0 (here " in summary.other_programs


@pytest.fixture
def locked(db):
    """The database, while another process writes to it; to call ends that."""
    with closing(sqlite3.connect(db, isolation_level=None, check_same_thread=False)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield db, lambda: other.execute("COMMIT")


def test_where_nothing_is_to_do_a_locked_database_is_no_matter(locked, photos, cache):
    db, _ = locked
    with wait_for_databases(0):
        summary = match_collection(plan_folder(photos), db, cache=cache, jobs=1, retry=True)
    assert (summary.described, summary.matched, summary.objects) == (0, 0, 2)


def test_a_database_that_stays_locked_is_told(locked, plan, cache, tmp_path, capsys):
    db, _ = locked
    arguments = ["--pairs", str(tmp_path / "list"), "--db", str(db), "--cache", str(cache.folder), "--quiet"]
    assert command.main([*arguments, "--wait", "0"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.endswith(
        "c.db: the database is still locked by another process after 0 s; --wait SECONDS waits longer"
    )
    for wrong in ("-1", "nan", "soon", "1e9"):
        assert command.main([*arguments, "--wait", wrong]) == 2
        assert "must be a number of seconds from 0 to" in capsys.readouterr().err


def test_a_database_is_waited_for_and_that_is_told(locked, plan, cache):
    db, release = locked
    told = []

    def tell(text):
        told.append(text)
        threading.Timer(0.1, release).start()

    with wait_for_databases(600, tell):
        summary = match_collection(plan, db, cache=cache, jobs=1)
    assert summary.matched == 1
    assert told == [f"{db}: the database is locked by another process: waiting for up to 600 s (--wait)"]


def test_adding_what_an_index_has_needs_no_lock(photos, cache, tmp_path):
    paths = [str(path) for path in sorted(photos.glob("*.png"))]
    add_pictures(tmp_path, paths, cache=cache, jobs=1)
    with closing(sqlite3.connect(tmp_path / "index.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with wait_for_databases(0):
            added = add_pictures(tmp_path, paths, cache=cache, jobs=1)
            assert (added.indexed, added.counts.indexed) == (0, 2)
            with pytest.raises(InputError, match="the index is still locked by another process"):
                add_pictures(tmp_path, [*paths, str(photos / "c.png")], cache=cache, jobs=1)
