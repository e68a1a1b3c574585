"""All files of a run appear together, or none: whenever it is stopped, and by whatever."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from matching.errors import InputError
from matching.output import commit
from matching.output.commit import DECIDED, finish_earlier_run
from matching.output.folders import check_folder, make_temporary_folder, place_files, write_files

OLD = {"matches.npz": b"old", "matches.png": b"old figure"}
NEW = {"matches.npz": b"new", "matches.csv": b"new table"}
FOREIGN = {"notes.txt": b"mine"}

# Runs KILLED in a process that ends without a word before its k-th call of the system, for all k
KILLER = """
import os, sys
from pathlib import Path
from {module} import run
CALLS = "open", "os.rename", "os.mkdir", "os.rmdir", "os.remove", "os.listdir", "os.scandir", "os.chmod"
def stop_at(number):
    count = [0]
    def look(event, _):
        if event in CALLS:
            count[0] += 1
            if count[0] == number:
                os._exit(9)
    sys.addaudithook(look)
for number in range(1, 1000):
    folder = Path(sys.argv[1]) / str(number)
    child = os.fork()
    if child == 0:
        stop_at(number)
        run(folder)
        os._exit(0)
    if os.waitpid(child, 0)[1] == 0:
        print(number)
        break
"""
PLAIN = """
import json, os
from pathlib import Path
from matching.output.folders import write_files
def manifest(digests):
    return json.dumps({"objects": [], "files": digests}).encode()
def run(folder):
    write_files(folder, NEW.items(), manifest)
"""


def _manifest(digests):
    return json.dumps({"objects": [], "files": digests}).encode()


def _content(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and not any(part.endswith(commit.PART) for part in path.parts)
    }


def _write(folder, files):
    write_files(folder, files.items(), _manifest)


def kill_at_each_call(tmp_path, script, prepare):
    """The folders in which the run was killed, each at another call."""
    for number in range(1, 200):
        prepare(tmp_path / "runs" / str(number))
    (tmp_path / "killed_run.py").write_text(script)
    path = os.pathsep.join([str(tmp_path), str(Path(__file__).parents[3])])
    command = [sys.executable, "-c", KILLER.format(module="killed_run"), str(tmp_path / "runs")]
    environment = {**os.environ, "PYTHONPATH": path}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    return [tmp_path / "runs" / str(number) for number in range(1, int(done.stdout))]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_run_that_is_killed_at_any_call_of_the_system(tmp_path):
    def prepare(folder):
        _write(folder, OLD)
        for name, content in FOREIGN.items():
            (folder / name).write_bytes(content)

    folders = kill_at_each_call(tmp_path, f"NEW = {NEW!r}\n" + PLAIN, prepare)
    assert len(folders) > 20
    prepare(tmp_path / "old")
    prepare(tmp_path / "new")
    _write(tmp_path / "new", NEW)
    old, new = _content(tmp_path / "old"), _content(tmp_path / "new")
    found = []
    for folder in folders:
        check_folder(folder)  # the next run
        assert _content(folder) in (old, new)
        found.append(_content(folder) == new)
        _write(folder, NEW)
        assert _content(folder) == new
    assert found == sorted(found)  # from some call on it is decided
    assert 0 < sum(found) < len(found)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_an_export_of_tables_that_is_killed_at_any_call(tmp_path):
    from matching.collection.database.store import open_store
    from matching.collection.reports.export import check_tables_replaceable, export
    from matching.config import MatchConfig

    for name, paths in (("old", ["a.png"]), ("new", ["a.png", "b.png"])):
        with open_store(tmp_path / f"{name}.db", MatchConfig()) as store:
            store.add_images(paths)
    script = f"""
from pathlib import Path
from matching.collection.reports.export import export
def run(folder): export(Path({str(tmp_path / "new.db")!r}), folder, "csv")
"""
    tables = {}
    for name in ("old", "new"):
        export(tmp_path / f"{name}.db", tmp_path / name, "csv")
        tables[name] = _content(tmp_path / name)

    def prepare(folder):
        folder.mkdir(parents=True)
        for name, content in tables["old"].items():
            (folder / name).write_bytes(content)

    folders = kill_at_each_call(tmp_path, script, prepare)
    for folder in folders:
        check_tables_replaceable(folder, "csv")
    found = [_content(folder) == tables["new"] for folder in folders]
    assert all(_content(folder) in tables.values() for folder in folders)
    assert found == sorted(found)
    assert 0 < sum(found) < len(found)


@pytest.mark.parametrize("failing", range(1, 5))
def test_a_move_that_fails_takes_back_those_before_it(tmp_path, monkeypatch, failing):
    _write(tmp_path, OLD)
    before, calls = _content(tmp_path), []
    rename = Path.rename

    def fail(self, target):
        calls.append(target)
        if len(calls) == failing + 1:  # the first one decides
            raise OSError(28, "No space left on device", str(self), None, str(target))
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", fail)
    with pytest.raises(InputError, match="can't be written"):
        _write(tmp_path, NEW)
    assert _content(tmp_path) == before
    assert {path.name for path in tmp_path.iterdir()} == set(before)


def _stop_in_the_middle(folder, monkeypatch):
    def stop(_):
        raise SystemExit

    with monkeypatch.context() as patch:
        patch.setattr(commit, "_move", stop)
        with pytest.raises(SystemExit):
            _write(folder, NEW)


def test_what_somebody_changed_meanwhile_is_not_replaced(tmp_path, monkeypatch):
    _write(tmp_path, OLD)
    _stop_in_the_middle(tmp_path, monkeypatch)
    (tmp_path / "matches.csv").write_bytes(b"mine")
    with pytest.raises(InputError, match=r"matches.csv: was changed while a run was replacing it"):
        finish_earlier_run(tmp_path)
    assert (tmp_path / "matches.csv").read_bytes() == b"mine"
    (tmp_path / "matches.csv").unlink()
    finish_earlier_run(tmp_path)
    assert (tmp_path / "matches.csv").read_bytes() == NEW["matches.csv"]


def test_a_journal_reaches_no_other_folder(tmp_path):
    folder, victim = tmp_path / "out", tmp_path / "precious"
    decided = folder / f".x{DECIDED}"
    (decided / commit.REPLACED).mkdir(parents=True)
    victim.write_bytes(b"x")
    digest = commit.compute_digest(victim)
    (decided / commit.JOURNAL).write_text(json.dumps({"new": ["../y"], "there": {"../precious": digest}}))
    (folder / "y").write_bytes(b"y")
    finish_earlier_run(folder)
    assert victim.read_bytes() == b"x"
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["out", "precious", "y"]


def test_a_journal_that_tells_nothing_is_removed(tmp_path):
    (tmp_path / f".x{DECIDED}").mkdir()
    (tmp_path / f".x{DECIDED}" / commit.JOURNAL).write_text("[")
    finish_earlier_run(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_run_left_goes_after_a_day(tmp_path):
    part, young = commit.name_part(tmp_path), commit.name_part(tmp_path)
    for folder in (part, young, tmp_path / ".mine.part"):
        (folder / "inside").mkdir(parents=True)
        os.utime(folder, (time.time() - 90_000,) * 2)
    os.utime(young)
    finish_earlier_run(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {young.name, ".mine.part"}


def test_a_new_folder_appears_as_a_whole(tmp_path):
    with make_temporary_folder(tmp_path / "new") as part:
        (part / "a").write_bytes(b"a")
        assert part.parent == tmp_path
        place_files(part, tmp_path / "new", ["a"])
    assert _content(tmp_path) == {"new/a": b"a"}
