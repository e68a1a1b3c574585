import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import dying
import numpy as np
import pytest
from database import content, rows
from patience import PATIENCE
from PIL import Image

from matching import match
from matching.collection import match_collection, plan_folder, plan_list, work
from matching.collection.backends import local_backend

SCRIPT = Path(__file__).resolve().parents[3] / "scripts" / "match_collection.py"


@pytest.fixture(scope="module")
def done(folder, cache, tmp_path_factory):
    """The database of an undisturbed run over the folder, and its summary."""
    db = tmp_path_factory.mktemp("done") / "c.db"
    return db, match_collection(plan_folder(folder), db, cache=cache, jobs=1)


def test_every_result_equals_a_single_match(done, folder):
    db, _ = done
    pairs = rows(db, "SELECT pair, path0, path1, n_objects, score FROM results WHERE status = 'matched'")
    assert len(pairs) == 6
    for pair, path0, path1, n_objects, score in pairs:
        result = match(path0, path1)
        kept = np.flatnonzero(result.cluster >= 0)
        columns = np.column_stack(
            [kept, result.cluster[kept], result.xy0[kept], result.xy1[kept], result.score[kept]]
        )
        query = (
            "SELECT candidate, object, x0, y0, x1, y1, score FROM matches WHERE pair = ? ORDER BY candidate"
        )
        assert np.array_equal(np.array(rows(db, query, pair)).reshape(-1, 7), columns)
        assert n_objects == len(result.objects)
        assert score == max((o.score for o in result.objects), default=0)
        query = "SELECT score, transform, outline0, outline1 FROM objects WHERE pair = ? ORDER BY object"
        for o, (score, *shapes) in zip(result.objects, rows(db, query, pair), strict=True):
            assert score == o.score
            for text, array in zip(shapes, (o.transform, o.outline0, o.outline1), strict=True):
                assert np.array_equal(np.array(json.loads(text)), array)
    assert max(n for *_, n, _ in pairs) == 2


def test_failed_pictures_are_recorded_and_stop_nothing(done, folder):
    db, summary = done
    failed = dict(rows(db, "SELECT path, error FROM images WHERE status = 'failed'"))
    assert sorted(Path(path).name for path in failed) == ["e damaged.jpg", "f text.png"]
    for path, error in failed.items():
        assert error.startswith(path)
        assert "\n" not in error
    assert (summary.images, summary.failed_images, summary.pairs, summary.failed_pairs) == (6, 2, 15, 9)
    assert (summary.described, summary.matched, summary.internal_errors) == (6, 6, 0)
    assert rows(
        db, "SELECT count(*) FROM pairs WHERE status = 'failed' AND error LIKE '%damaged.jpg: %'"
    ) == [(5,)]


def test_finished_collection_is_not_repeated(done, folder, cache):
    db, _ = done
    before = content(db)
    again = match_collection(plan_folder(folder), db, cache=cache, jobs=1)
    assert (again.described, again.matched) == (0, 0)
    assert content(db) == before


def children(pid):
    """The processes that a process has started."""
    paths = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for path in paths for child in path.read_text().split()]


def count(db, table, status):
    """Rows of a table in a database that may not be there yet."""
    try:
        return rows(db, f"SELECT count(*) FROM {table} WHERE status = ?", status)[0][0]
    except sqlite3.OperationalError:
        return 0


def is_alive(pid):
    return Path(f"/proc/{pid}").exists()


def command(folder, db, cache, *arguments):
    return [
        sys.executable,
        str(SCRIPT),
        *map(str, ("--all", folder, "--db", db, "--cache", cache, *arguments)),
    ]


@pytest.mark.slow
def test_run_killed_at_any_moment_continues_to_the_same_result(done, folder, tmp_path):
    db, rng, jobs = tmp_path / "c.db", random.Random(0), 2
    far_enough = (
        lambda: count(db, "images", "described") >= 1,
        lambda: count(db, "pairs", "matched") >= 2,
    )
    for reached in far_enough:
        run = subprocess.Popen(
            command(folder, db, tmp_path / "cache", "--jobs", jobs, "--quiet"), stdout=subprocess.DEVNULL
        )
        while not reached() and run.poll() is None:
            time.sleep(0.01)
        time.sleep(rng.uniform(0, 0.3))
        workers = children(run.pid)
        os.kill(run.pid, signal.SIGKILL)
        run.wait()
    end = time.monotonic() + PATIENCE
    while any(map(is_alive, workers)) and time.monotonic() < end:
        time.sleep(0.1)
    assert not any(map(is_alive, workers))  # they don't outlive the run
    run = subprocess.run(command(folder, db, tmp_path / "cache", "--jobs", 1), capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert content(db) == content(done[0])


def test_picture_that_changes_is_matched_again(tmp_path, folder, cache):
    for name in ("a first.png", "c.jpg"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    plan = plan_folder(tmp_path)
    match_collection(plan, tmp_path / "c.db", cache=cache, jobs=1)
    assert rows(tmp_path / "c.db", "SELECT n_objects FROM pairs") == [(1,)]
    Image.fromarray(np.zeros((50, 50), np.uint8)).save(tmp_path / "c.jpg")
    summary = match_collection(plan, tmp_path / "c.db", cache=cache, jobs=1)
    assert (summary.described, summary.matched) == (1, 1)
    assert rows(tmp_path / "c.db", "SELECT n_objects, n_matches FROM pairs") == [(0, 0)]
    (tmp_path / "c.jpg").unlink()
    summary = match_collection(plan, tmp_path / "c.db", cache=cache, jobs=1)
    assert (summary.failed_images, summary.failed_pairs) == (1, 1)


def test_picture_can_be_paired_with_itself_and_in_reverse(tmp_path, folder, cache):
    names = [("c.jpg", "c.jpg"), ("a first.png", "c.jpg"), ("c.jpg", "a first.png")]
    (tmp_path / "list").write_text("".join(f"{folder / a}\t{folder / b}\n" for a, b in names))
    match_collection(plan_list(tmp_path / "list"), tmp_path / "c.db", cache=cache, jobs=1)
    there, back = (
        rows(tmp_path / "c.db", f"SELECT {columns} FROM matches WHERE pair = {pair}")
        for pair, columns in ((1, "object, x0, y0, x1, y1"), (2, "object, x1, y1, x0, y0"))
    )
    assert there == back != []
    assert rows(tmp_path / "c.db", "SELECT n_objects FROM pairs") == [(1,)] * 3


def test_failures_are_retried_on_request(done, tmp_path, folder, cache, monkeypatch):
    def broken(*_, **__):
        raise ZeroDivisionError("planted")

    plan = plan_folder(folder)
    with monkeypatch.context() as patch:
        patch.setattr(work, "match_pair", broken)
        match_collection(plan, tmp_path / "c.db", cache=cache, jobs=1)
    summary = match_collection(plan, tmp_path / "c.db", cache=cache, jobs=1)
    assert (summary.matched, summary.internal_errors) == (0, 6)
    (error,) = rows(tmp_path / "c.db", "SELECT DISTINCT error FROM pairs WHERE error LIKE 'internal%'")[0]
    assert "Traceback" in error
    assert "ZeroDivisionError: planted" in error
    summary = match_collection(plan, tmp_path / "c.db", cache=cache, jobs=1, retry=True)
    assert (summary.described, summary.matched, summary.internal_errors) == (2, 6, 0)
    assert content(tmp_path / "c.db") == content(done[0])


def test_names_and_files_of_any_kind_are_recorded(tmp_path, folder, cache):
    picture = (folder / "c.jpg").read_bytes()
    for name in (b"a\nb <i>.jpg", b"bytes\xff.jpg"):
        Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name)).write_bytes(picture)
    os.mkfifo(tmp_path / "pipe.jpg")
    (tmp_path / "lost.jpg").symlink_to("nowhere")
    (tmp_path / "folder.jpg").mkdir()
    match_collection(plan_folder(tmp_path), tmp_path / "c.db", cache=cache, jobs=1)
    told = rows(tmp_path / "c.db", "SELECT path, status, error FROM images ORDER BY path")
    assert [
        (Path(path).name, status, error and error.rpartition(": ")[2]) for path, status, error in told
    ] == [
        ("a\nb <i>.jpg", "described", None),
        ("bytes\\udcff.jpg", "failed", "the name is not UTF-8; rename the file"),
        ("lost.jpg", "failed", "no such file"),
        ("pipe.jpg", "failed", "is not a file"),
    ]


def test_task_that_kills_its_process_is_the_only_one_lost():
    with local_backend(2) as run:
        tasks = ((k, "x" * k) for k in range(8))
        found = run(dying.die_on_three, tasks, lambda number, error: SimpleNamespace(id=number, error=error))
        records = {record.id: record for record in found}
    assert sorted(records) == list(range(8))
    assert "died" in records.pop(3).error
    assert all(record.length == k for k, record in records.items())


def test_relative_paths_start_from_the_current_folder_of_each_run(tmp_path, monkeypatch):
    """Worker processes are used again, but not those of another folder."""
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "it").write_text(name)
        monkeypatch.chdir(tmp_path / name)
        with local_backend(2) as run:
            assert [record.text for record in run(dying.read_here, [(0, "it"), (1, "it")], None)] == [
                name
            ] * 2
