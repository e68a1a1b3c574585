import json
import sqlite3
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest
from stored import fill, result

from matching import InputError, MatchConfig
from matching.collection.database import settings as settings_module
from matching.collection.database import store as store_module
from matching.collection.database.connection import WAIT_SECONDS
from matching.collection.database.settings import describe_other_programs, make_settings
from matching.collection.database.store import open_store, read_objects
from matching.collection.records import ImageRecord, PairRecord, make_pair_record
from matching.collection.reports.query_results import collect_results
from matching.objects.description import add_comparison
from matching.objects.differences import Difference
from matching.objects.frames import Motion
from matching.output.files import summarise_object


@pytest.fixture
def db(tmp_path):
    return tmp_path / "c.db"


def test_numbers_follow_the_order_of_the_plan(db):
    with open_store(db, MatchConfig()) as store:
        assert store.add_images(["/b", "/a"]) == [0, 1]
        assert store.add_images(["/a", "/c", "/b"]) == [1, 2, 0]
        store.add_pairs([(1, 0), (1, 0), (0, 1)])
        store.add_pairs([(2, 0), (1, 0)])
        assert store.rows("SELECT id, image0, image1 FROM pairs ORDER BY id") == [
            (0, 1, 0),
            (1, 0, 1),
            (2, 2, 0),
        ]


def test_result_is_kept_to_the_last_bit(db):
    made = result()
    with open_store(db, MatchConfig()) as store:
        fill(store).record_pair(make_pair_record(0, made))
        rows = np.array(store.rows("SELECT candidate, object, x0, y0, x1, y1, score FROM matches"))
        objects = store.rows("SELECT object, n_matches, score, transform, transform_error FROM objects")
        pair = store.rows("SELECT status, n_candidates, n_matches, n_objects, score FROM pairs WHERE id = 0")
    kept = made.cluster >= 0
    assert np.array_equal(rows[:, 0], np.flatnonzero(kept))
    assert np.array_equal(rows[:, 1], made.cluster[kept])
    assert np.array_equal(rows[:, 2:6], np.hstack([made.xy0, made.xy1])[kept])
    assert np.array_equal(rows[:, 6], made.score[kept])
    assert pair == [("matched", 60, 50, 2, 50.1)]
    for row, o in zip(objects, made.objects, strict=True):
        assert row[:3] == (o.id, o.n_matches, o.score)
        assert row[3] == str(o.transform.tolist())
        assert row[4] == o.transform_error


def test_objects_are_read_with_what_differs(db):
    """A doubtful one is not called sure, and queries list what differs as matches.json does."""
    made = result()
    square = np.array([[0.0, 0.0], [9.0, 0.0], [9.0, 9.5]])
    difference = Difference(square, square + 2, 0.1, 20.0, 8.0)
    first = replace(add_comparison(made.objects[0], False, [difference]), log_nfa=-12.0)
    second = replace(add_comparison(made.objects[1], True), is_doubtful=True, log_nfa=-12.0)
    with open_store(db, MatchConfig()) as store:
        fill(store).record_pair(make_pair_record(0, replace(made, objects=(first, second))))
        read = read_objects(store, 0)
    assert [found.is_same for found in read] == [False, True]
    assert [found.confidence for found in read] == ["sure", "look at it"]
    assert read[0].doubt == "differs in 1 place"
    (again,) = read[0].differences
    assert np.array_equal(again.polygon1, difference.polygon1)
    assert (again.share, again.evidence) == (0.1, 20.0)
    summary = summarise_object(read[0])
    assert summary["same"] is False
    assert summary["differences"][0]["polygon0"] == square.tolist()


def test_results_are_sorted_by_rank(db):
    """The share that is covered counts besides the score: a whole product comes before a logo."""
    made = result()
    logo, whole = (
        replace(made.objects[0], score=score, motion=Motion(np.zeros(2), 0.0, 1.0, False, share))
        for score, share in ((51.0, 0.01), (50.0, 0.9))
    )
    with open_store(db, MatchConfig()) as store:
        store.add_images(["/query", "/logo", "/whole"])
        store.add_pairs([(0, 1), (0, 2)])
        for number in range(3):
            store.record_image(ImageRecord(number, "5" * 64, 100, 90, 1000))
        for pair, found in enumerate((logo, whole)):
            one = replace(made, objects=(found,), cluster=np.minimum(made.cluster, 0))
            store.record_pair(make_pair_record(pair, one))
    (found,) = collect_results(db, {"/query": {"/logo": 9, "/whole": 5}})
    assert [picture.path for picture in found.pictures] == ["/whole", "/logo"]
    assert [picture.score for picture in found.pictures] == [50.0, 51.0]
    assert [picture.rank for picture in found.pictures] == [whole.rank, logo.rank]


def test_pair_is_written_once_by_two_processes(db):
    with open_store(db, MatchConfig()) as one, open_store(db, MatchConfig()) as other:
        fill(one).record_pair(make_pair_record(0, result()))
        other.record_pair(PairRecord(0, 5))
        other.record_pair(PairRecord(0, error="late"))
        assert other.rows("SELECT status, n_candidates FROM pairs WHERE id = 0") == [("matched", 60)]


def test_picture_is_written_once_by_two_processes(db):
    with open_store(db, MatchConfig()) as one, open_store(db, MatchConfig()) as other:
        fill(one)
        other.record_image(ImageRecord(0, "6" * 64, 10, 9, 1))
        other.record_image(ImageRecord(1, None, error="late"))
        other.record_image(ImageRecord(2, "6" * 64, 10, 9, 1))
        assert one.rows("SELECT status, sha256, n_features FROM images ORDER BY id") == [
            *[("described", "5" * 64, 1000)] * 2,
            ("failed", None, None),
        ]


def test_matched_pair_does_not_fail_with_its_picture(db):
    with open_store(db, MatchConfig()) as store:
        fill(store).record_pair(make_pair_record(0, result()))
        store._db.execute("UPDATE images SET status = 'failed', n_features = NULL, error = 'x' WHERE id = 1")
        store.fail_pairs_of_failed_images()
        assert store.rows("SELECT status, error FROM pairs WHERE id = 0") == [("matched", None)]


def test_pairs_of_failed_pictures_fail_with_their_reason(db):
    with open_store(db, MatchConfig()) as store:
        fill(store).fail_pairs_of_failed_images()
        assert store.rows("SELECT id, status, error FROM pairs") == [
            (0, "pending", None),
            (1, "failed", "/c: no such file"),
            (2, "failed", "/c: no such file"),
        ]


def test_changed_picture_and_its_pairs_are_pending_again(db):
    with open_store(db, MatchConfig()) as store:
        fill(store).record_pair(make_pair_record(0, result()))
        store.add_pairs([(0, 0)])
        store.record_pair(make_pair_record(3, result()))
        store.fail_pairs_of_failed_images()
        assert store.forget_changed({0: "5" * 64, 1: "5" * 64, 2: None}) == 0
        assert store.forget_changed({0: "5" * 64, 1: "6" * 64, 2: None}) == 1
        assert store.rows("SELECT id, status, n_objects FROM pairs") == [
            (0, "pending", None), (1, "failed", None), (2, "pending", None), (3, "matched", 2),
        ]  # fmt: skip
        assert store.rows("SELECT DISTINCT pair FROM matches") == [(3,)]
        assert store.rows("SELECT status FROM images") == [("described",), ("pending",), ("failed",)]
        assert store.forget_changed({2: "7" * 64}) == 1  # it is there now


def test_other_settings_are_rejected_by_name(db):
    config = MatchConfig()
    other = replace(config, clustering=replace(config.clustering, n_clusters=7))
    with open_store(db, config) as store:
        fill(store)
    with pytest.raises(InputError, match=r"clustering.n_clusters is None, not 7"), open_store(db, other):
        pass


def test_other_code_is_refused_and_other_libraries_reported(db, monkeypatch):
    config = MatchConfig()
    rows = {**make_settings(config), "version": "0.0.1", "programs": json.dumps({"OpenCV": "3.0.0"})}
    with monkeypatch.context() as patch:
        patch.setattr(store_module, "make_settings", lambda config: rows)
        with open_store(db, config) as store:
            fill(store)
    with open_store(db, config) as store:
        assert describe_other_programs(make_settings(config)) == ""
        assert describe_other_programs(store.settings()).startswith("results may differ: of the database, ")
    digest = settings_module.code_digest()
    monkeypatch.setattr(settings_module, "code_digest", lambda: "another")
    reason = rf"made in another way: code is {digest}, not another.*another --db"
    with pytest.raises(InputError, match=reason), open_store(db, config):
        pass
    with open_store(db) as store:  # reading is allowed
        assert store.value("SELECT count(*) FROM pairs") == 3


def test_locked_database_is_an_input_error(db):
    with open_store(db, MatchConfig()), closing(sqlite3.connect(db, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        token = WAIT_SECONDS.set(0)
        try:
            with (
                pytest.raises(InputError, match=r"still locked by another process after 0 s; --wait SECONDS"),
                open_store(db, MatchConfig()) as store,
            ):
                store.add_images(["/a"])
        finally:
            WAIT_SECONDS.reset(token)


def test_other_schema_is_rejected_and_can_be_restarted(db):
    with open_store(db, MatchConfig()) as store:
        fill(store)
    with closing(sqlite3.connect(db, isolation_level=None)) as raw:
        raw.execute("UPDATE settings SET value = '2' WHERE name = 'schema'")
    for config in (MatchConfig(), None):
        with pytest.raises(InputError, match=r"schema is 2, not .*--restart"), open_store(db, config):
            pass
    with open_store(db, MatchConfig(), restart=True) as store:
        assert store.value("SELECT count(*) FROM images") == 0


def test_foreign_file_is_rejected(tmp_path):
    text, other, folder = tmp_path / "text.db", tmp_path / "other.db", tmp_path / "folder"
    text.write_text("not a database, but long enough to have the header of one" * 20)
    with closing(sqlite3.connect(other)) as raw:
        raw.execute("CREATE TABLE images (id INTEGER)")
    folder.mkdir()
    before = text.read_bytes()
    for path, restart in ((text, False), (other, False), (other, True)):
        with (
            pytest.raises(InputError, match="is not a database of"),
            open_store(path, MatchConfig(), restart),
        ):
            pass
    assert text.read_bytes() == before
    with closing(sqlite3.connect(other)) as raw:
        assert raw.execute("SELECT name FROM sqlite_master").fetchall() == [("images",)]
    for path in (folder, tmp_path / "missing/c.db"):
        with pytest.raises(InputError, match=r"can't be"), open_store(path, MatchConfig()):
            pass
    with pytest.raises(InputError, match="no such database"), open_store(tmp_path / "none.db"):
        pass
    assert not (tmp_path / "none.db").exists()
