"""The command line as a user runs it."""

import csv
import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest
from database import rows

from matching.cli.commands import collection as command
from matching.cli.main import main
from matching.collection.reports import export

SCRIPT = Path(__file__).resolve().parents[3] / "scripts" / "match_collection.py"


@pytest.fixture(scope="module")
def finished(folder, cache, tmp_path_factory):
    """A finished database, with what the command printed."""
    place = tmp_path_factory.mktemp("finished")
    run = subprocess.run(
        [
            *(sys.executable, SCRIPT, "--all", folder, "--db", place / "c.db", "--cache", cache.folder),
            *("--jobs", "1", "--csv", place / "csv", "--parquet", place / "parquet"),
            *("--html", place / "c.html"),
        ],
        capture_output=True,
        text=True,
    )
    return place, run


def test_best_pairs_are_printed(finished):
    place, run = finished
    assert run.returncode == 0
    head, first, *_ = run.stdout.splitlines()
    assert head.split() == ["rank", "score", "objects", "matches", "pair"]
    assert first.endswith(("b second.png", "c.jpg"))
    *_, counts, csv_written, parquet_written, report_written = run.stderr.splitlines()
    failed = [line for line in run.stderr.splitlines() if line.startswith("failed: ")]
    assert [line.split(": ")[1].rpartition("/")[2] for line in failed] == ["e damaged.jpg", "f text.png"]
    assert counts.startswith("6 pictures (2 failed), 15 pairs (9 failed), 4 objects in 3 pairs;")
    assert csv_written == f"tables written to {place / 'csv'}"
    assert parquet_written == f"tables written to {place / 'parquet'}"
    assert report_written == f"report written to {place / 'c.html'}"
    with closing(sqlite3.connect(place / "c.db")) as db:
        rank, score = db.execute("SELECT rank, score FROM pairs ORDER BY rank DESC, id LIMIT 1").fetchone()
    assert first.split()[:2] == [f"{rank:.3f}", f"{score:.2f}"]


def test_csv_files_hold_the_tables(finished):
    place, _ = finished
    for table, n in (("images", 6), ("pairs", 15), ("objects", 4)):
        with (place / "csv" / f"{table}.csv").open(newline="") as file:
            lines = list(csv.DictReader(file))
        assert len(lines) == n
    assert list(lines[0]) == [name for _, name, *_ in rows(place / "c.db", "PRAGMA table_info(objects)")]
    with (place / "csv" / "matches.csv").open(newline="") as file:
        matches = [
            (int(m["pair"]), int(m["candidate"]), float(m["x0"]), float(m["score"]))
            for m in csv.DictReader(file)
        ]
    query = "SELECT pair, candidate, x0, score FROM matches ORDER BY pair, candidate"
    assert matches == rows(place / "c.db", query) != []


def test_parquet_files_hold_the_tables(finished):
    parquet = pytest.importorskip("pyarrow.parquet", reason="Parquet needs pyarrow")
    place, _ = finished
    for table, order in (("images", "id"), ("objects", "pair, object"), ("matches", "pair, candidate")):
        columns = parquet.read_table(place / "parquet" / f"{table}.parquet").to_pydict()
        expected = rows(place / "c.db", f"SELECT * FROM {table} ORDER BY {order}")
        assert list(zip(*columns.values(), strict=True)) == expected
    pairs = parquet.read_table(place / "parquet" / "pairs.parquet")
    assert {"path0", "path1"} <= set(pairs.column_names)
    assert str(pairs.schema.field("score").type) == "double"
    objects = parquet.read_schema(place / "parquet" / "objects.parquet")
    assert str(objects.field("log10_nfa").type) == "double"


def test_finished_database_can_be_exported_again(finished, tmp_path, capsys):
    place, _ = finished
    assert main(["collection", "--db", str(place / "c.db"), "--csv", str(tmp_path)]) == 0
    assert (tmp_path / "pairs.csv").read_bytes() == (place / "csv" / "pairs.csv").read_bytes()
    assert "a first.png" in capsys.readouterr().out


def test_nothing_in_common_is_status_1(folder, cache, tmp_path, capsys):
    (tmp_path / "list").write_text(f"'{folder / 'c.jpg'}' '{folder / 'd plain.png'}'\n")
    where = ["--pairs", tmp_path / "list", "--db", tmp_path / "c.db", "--cache", cache.folder]
    assert main(["collection", *map(str, where), "--jobs", "1", "--quiet"]) == 1
    captured = capsys.readouterr()
    assert captured.out == "no common object\n"
    assert captured.err == ""


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ([], "the following arguments are required: --db"),
        (["--db", "c.db"], "one of --pairs, --all, or --query with --gallery is needed"),
        (["--db", "c.db", "--all", ".", "--pairs", "x"], "give one of --pairs, --all"),
        (["--db", "c.db", "--query", "."], "--query and --gallery must be given together"),
        (["--db", "c.db", "--pairs", "list", "--shortlist", "5"], "--shortlist requires --all"),
        (["--db", "c.db", "--all", ".", "--jobs", "0"], "must be a whole number"),
        (["--db", "c.db", "--all", ".", "--jobs", "2", "--scheduler", "tcp://h:1"], "give only one of them"),
        (["--db", "c.db", "--csv", "out", "--restart"], "--restart requires --pairs"),
        (["--db", "c.db", "--all", "missing"], "missing: the folder can't be read"),
        (["--db", "c.db", "--csv", "out"], "c.db: no such database"),
        (["--db", "no/c.db", "--pairs", "list"], "no/c.db: the database can't be used"),
        (["--db", "c.db", "--pairs", "list", "--html", "."], ".: was not written by gdl-match"),
        (["--db", "c.db", "--html", "y/../c.db"], "is the database; choose another --html"),
        (["--db", "c.db", "--pairs", "list", "--html", "list/c.html"], "list: is a file, not a folder"),
        (["--db", "c.db", "--pairs", "list", "--csv", "list"], "list: is a file, not a folder"),
        (["--db", "list", "--pairs", "list"], "list: is not a database of gdl-match collection"),
        (["--db", "c.db", "--pairs", "list", "--cache", "list"], "list: is a file, not a folder"),
    ],
)
def test_bad_input_is_one_line_and_status_2(tmp_path, monkeypatch, capsys, arguments, reason):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "list").write_text("a.png b.png\n" + "# long enough to have the header of a database\n" * 40)
    if "--cache" not in arguments and "list" in arguments:
        arguments = [*arguments, "--cache", "cache"]
    assert main(["collection", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith("gdl-match collection: error: ")
    assert reason in captured.err
    assert captured.err.count("\n") == 1
    assert captured.out == ""


def test_report_replaces_only_earlier_reports(finished, tmp_path, capsys):
    page, where = tmp_path / "page.html", ["--db", str(finished[0] / "c.db"), "--quiet", "--html"]
    page.write_text("<p>mine</p>")
    assert main(["collection", *where, str(page)]) == 2
    assert f"{page}: was not written by gdl-match" in capsys.readouterr().err
    assert page.read_text() == "<p>mine</p>"
    page.unlink()
    for _ in range(2):
        assert main(["collection", *where, str(page)]) == 0


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("name", ["images", "matches"])
def test_foreign_tables_are_not_replaced(finished, tmp_path, capsys, kind, name):
    pytest.importorskip("pyarrow")
    mine = tmp_path / f"{name}.{kind}"
    mine.write_text("image,caption\nx.png,at the sea\n")
    assert main(["collection", "--db", str(finished[0] / "c.db"), f"--{kind}", str(tmp_path)]) == 2
    error = capsys.readouterr().err
    assert len(error.splitlines()) == 1
    assert f"{mine}: was not written by gdl-match collection" in error
    assert [path.name for path in tmp_path.iterdir()] == [mine.name]
    mine.unlink()
    for _ in range(2):  # an export replaces an earlier one
        assert main(["collection", "--db", str(finished[0] / "c.db"), f"--{kind}", str(tmp_path)]) == 0
    assert len(list(tmp_path.iterdir())) == 4


def test_interrupted_export_leaves_nothing(finished, tmp_path, monkeypatch):
    written = []

    def interrupted(path, cursor):
        written.append(path)
        path.write_text("half")
        if len(written) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(export, "_write_csv", interrupted)
    assert (
        main(["collection", "--db", str(finished[0] / "c.db"), "--csv", str(tmp_path / "new" / "csv")]) == 130
    )
    assert len(written) == 3
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="sends POSIX signals")
@pytest.mark.parametrize("table", ["images", "pairs"])
def test_interrupted_command_prints_a_line_and_leaves_no_folders(folder, tmp_path, table):
    """A terminal interrupts all processes: those that are just starting too."""
    arguments = [*("--all", folder, "--db", tmp_path / "c.db", "--cache", tmp_path / "cache"), "--quiet"]
    process = subprocess.Popen(
        [sys.executable, SCRIPT, *arguments, "--jobs", "2", "--csv", tmp_path / "csv"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    while process.poll() is None and not has_begun(tmp_path / "c.db", table):
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGINT)
    output, error = process.communicate(timeout=60)
    if process.returncode != 0:  # else it was faster
        told = "gdl-match collection: interrupted; run the same command again to continue"
        first, *others = error.splitlines()
        assert (process.returncode, output, first) == (130, "", told)
        # what loky says of a process that was interrupted while it started
        assert not others or "resource_tracker" in others[0]
        assert not (tmp_path / "csv").exists()


def has_begun(db, table):
    """Whether a row of a table of a database, which may not be there yet, is done."""
    try:
        return rows(db, f"SELECT count(*) FROM {table} WHERE status != 'pending'")[0][0] > 0
    except sqlite3.OperationalError:
        return False


@pytest.mark.parametrize("way", ["no folder", "not writable"])
def test_without_a_home_folder_features_are_kept_among_temporary_files(folder, tmp_path, monkeypatch, way):
    def find(*_, **__):
        if way == "no folder":
            raise RuntimeError("could not determine the home directory")
        (tmp_path / "file").touch()
        return tmp_path / "file" / "cache"

    monkeypatch.setattr(command, "user_cache_path", find)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    made = command.open_cache(command.make_parser().parse_args(["--db", "c.db"])).folder
    assert made.is_dir() and made.parent == tmp_path.resolve()
