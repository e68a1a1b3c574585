"""Runs, budget and resuming, the report, and the command as a user runs it."""

import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from eval import door
from eval.common.tables import read_csv
from eval.images import command as module
from eval.images import report as image_report
from eval.images import runs as image_runs
from eval.images.baselines import METHODS, Method
from eval.images.datasets import ImageSet
from eval.images.runs import Plan, Subject, read_finished, run
from eval.images.workers import OK, OVER

ROOT = Path(__file__).parents[3]
TWO = (Subject("textures"),)


def command(*options):
    return door.main(["images", *map(str, options)])


@pytest.mark.slow
def test_runs_are_measured_once_and_resumed(tmp_path):
    path = tmp_path / "runs.jsonl"
    plan = Plan(TWO, ("gdl-u", "k-means"), quick=True)
    rows = run(plan, None, path, 1, quiet=True)
    assert [(r["method"], r["value"], r["status"]) for r in rows] == [
        ("gdl-u", 1.0, OK),
        ("k-means", None, OK),
    ]
    assert all(r["nmi"] > 0.9 and r["ce"] < 0.1 and r["clusters"] == 4 for r in rows)
    assert all(r["seconds"] >= r["search_seconds"] >= 0 and r["cpu_seconds"] > 0 for r in rows)
    before = path.read_bytes()
    path.write_bytes(before + b'{"torn')
    assert run(plan, None, path, 1, quiet=True) == rows and path.read_bytes() == before
    more = run(Plan(TWO, ("gdl-u", "k-means", "gdl-mcs"), quick=True), None, path, 1, quiet=True)
    assert more[:2] == rows and path.read_bytes().startswith(before)


def test_the_same_rows_for_any_number_of_processes(tmp_path):
    plan = Plan(TWO, ("g-link", "k-means"), quick=True)
    kept = ("method", "value", "nmi", "ce", "ari", "clusters")
    found = [
        [{k: r[k] for k in kept} for r in run(plan, None, tmp_path / f"{n}.jsonl", n, quiet=True)]
        for n in (1, 2)
    ]
    assert found[0] == found[1]


def test_a_method_over_the_budget_is_stopped_and_not_tried_again_without_more(tmp_path):
    path = tmp_path / "runs.jsonl"
    start = time.monotonic()
    rows = run(Plan(TWO, ("affinity-propagation",), budget=0.01), None, path, 1, quiet=True)
    assert rows[-1]["status"] == OVER and "nmi" not in rows[-1] and time.monotonic() - start < 100
    before = path.read_bytes()
    again = run(Plan(TWO, ("affinity-propagation",), budget=0.01), None, path, 1, quiet=True)
    assert again == rows and path.read_bytes() == before


def test_a_finished_run_stands_before_one_over_the_budget():
    over, whole = {"value": 1.0, "status": OVER, "seconds": 1}, {"value": 1.0, "status": OK, "nmi": 0.5}
    for rows in ((over, whole), (whole, over)):
        assert read_finished({"method": "njw", "row": row} for row in rows) == {"njw": {1.0: whole}}


def test_an_error_in_a_method_keeps_its_traceback(tmp_path, monkeypatch):
    broken = ImageSet("coil20", np.full((30, 4, 4), np.nan, np.float32), np.arange(30))
    monkeypatch.setattr(image_runs.datasets, "load", lambda *_: broken)
    with pytest.raises(RuntimeError, match="ended with exit code 1"):
        run(Plan((Subject("coil20"),), ("gdl-u",)), tmp_path, tmp_path / "runs.jsonl", 1, quiet=True)


def test_more_neighbours_than_samples_are_refused(tmp_path):
    np.savez(tmp_path / "coil20.npz", X=np.zeros((5, 4, 4), np.uint8), y=np.arange(5))
    with pytest.raises(ValueError, match=r"must be in \[1, 4\] for the 5 samples of coil20, got 20"):
        run(Plan((Subject("coil20"),), ("gdl-u",)), tmp_path, tmp_path / "runs.jsonl", 1, quiet=True)


def a_run(dataset, method, value, nmi, status=OK, seconds=1.0, sigma=0.0, n_neighbors=20):
    row = {"dataset": dataset, "method": method, "value": value, "status": status, "sigma": sigma}
    found = {"nmi": nmi, "ce": 1 - nmi, "ari": nmi, "clusters": 3} if status == OK else {}
    return {
        **row,
        **found,
        "seconds": seconds,
        "search_seconds": 0.5,
        "cpu_seconds": 1,
        "search_cpu_seconds": 0.5,
        "n_neighbors": METHODS[method].n_neighbors or n_neighbors,
    }


def test_the_best_run_of_each_method_counts():
    runs = [
        a_run("coil20", "njw", 1.0, 0.7),
        a_run("coil20", "njw", 10.0, 0.8),
        a_run("coil20", "njw", 100.0, 0.9, sigma=20.0),
        a_run("coil20", "leiden", 2.0, 0.6),
        a_run("coil20", "zell", 1.0, 0.5),
        a_run("coil20", "zell", 10.0, 0, OVER, seconds=60.0),
        a_run("coil20", "dgsc", 1.0, 0, OVER, seconds=60.0),
    ]
    planned = {name: len(METHODS[name].values) for name in METHODS}
    njw, leiden, zell, dgsc = image_report.choose_best_rows(runs, planned)
    assert (njw["nmi"], njw["bandwidth"], njw["note"]) == (0.8, 10.0, "2 of 9 values")
    assert np.isnan(leiden["bandwidth"]) and (leiden["parameter"], leiden["value"]) == ("resolution", 2.0)
    assert (zell["nmi"], zell["note"]) == (0.5, "over 60 s after 1 of 9")
    assert np.isnan(dgsc["nmi"]) and dgsc["note"] == "over 60 s after 0 of 9"
    text = image_report.report([njw, leiden, zell, dgsc])
    assert (
        "| NJW | 0.800 [2 of 9 values] (0.889) |" in text
        and "| DGSC | over 60 s after 0 of 9 (0.904) |" in text
    )
    assert "| Zell | 0.500 [over 60 s after 1 of 9] (0.911) |" in text and "frgc: FRGC" in text


@pytest.mark.parametrize("n_neighbors", [5, 30])
def test_rows_and_heads_tell_the_neighbours(n_neighbors):
    methods = ("gdl-mcs", "gdl-mcs-10", "k-means") if n_neighbors > 10 else ("gdl-mcs", "k-means")
    runs = [a_run("coil20", method, 1.0, 0.7, n_neighbors=n_neighbors) for method in methods]
    rows = image_report.choose_best_rows(runs, dict.fromkeys(methods, 1))
    told = {row["method"]: row["n_neighbors"] for row in rows}
    assert told == {m: 10 if m == "gdl-mcs-10" else n_neighbors for m in methods}
    head = "| set | K=5 | best" if n_neighbors == 5 else "| set | K=30 | K=10 | best"
    assert head in image_report.report(rows)


def test_a_method_with_more_neighbours_than_the_graph_is_left_out_or_named(tmp_path, capsys):
    options = ["--out", str(tmp_path), "--datasets", "textures", "--quick", "--quiet", "--neighbors", "5"]
    assert "gdl-mcs-10" not in module.choose_methods(None, 9)
    assert "gdl-mcs-10" in module.choose_methods(None, 10)
    assert "without gdl-mcs-10, which needs --neighbors 10 or more" in capsys.readouterr().err
    assert command(*options, "--methods", "gdl-mcs-10") == 2
    assert "n_neighbors must be at least 10 for gdl-mcs-10, got 5" in capsys.readouterr().err
    assert command(*options, "--methods", "gdl-mcs", "link") == 0
    for name in ("runs.csv", "clustering.csv"):
        assert [row["n_neighbors"] for row in read_csv(tmp_path / name)] == [5, 5]
    assert "| set | K=5 | best rival |" in capsys.readouterr().out


def test_a_table_of_before_is_refused(tmp_path, capsys):
    (tmp_path / "clustering.csv").write_text("dataset,method\ncoil20,agdl\n")
    assert command("--out", tmp_path, "--report") == 2
    assert "clustering.csv must have the columns" in (err := capsys.readouterr().err)
    assert "; bandwidth is missing" in err


def test_the_papers_tables_are_whole():
    assert (
        image_report.PAPER_NMI["mnist_test"]["gdl-u"] == 0.844
        and image_report.PAPER_CE["yaleb"]["agdl"] == 0.197
    )
    assert image_report.PAPER_SECONDS["usps9298"]["zell"] == 9703


COMMANDED = ("gdl-u", "gdl-mcs", "link")


@pytest.fixture(scope="module")
def commanded(tmp_path_factory):
    """A folder that the command wrote, and how the command ended."""
    out = tmp_path_factory.mktemp("commanded")
    options = ("--datasets", "textures", "--methods", *COMMANDED, "--quick", "--quiet")
    line = [sys.executable, str(ROOT / "scripts/cluster_images.py"), "--out", str(out), *options]
    return out, subprocess.run(line, cwd=ROOT, capture_output=True, text=True)


def test_the_command_writes_its_files_and_prints_its_tables(commanded, capsys):
    (tmp_path, done), methods = commanded, COMMANDED
    assert done.returncode == 0 and done.stderr == ""
    rows = read_csv(tmp_path / "clustering.csv")
    assert {"dataset", "method", "bandwidth", "nmi", "ce", "seconds"} <= set(rows[0])
    assert {r["method"] for r in rows} == set(methods) and all(r["dataset"] == "textures" for r in rows)
    assert (tmp_path / "clustering.md").read_text() + "\n" == done.stdout
    assert len(read_csv(tmp_path / "runs.csv")) == 3
    assert all(json.loads(line)["mark"] for line in (tmp_path / "runs.jsonl").read_text().splitlines())
    assert command("--out", tmp_path, "--report") == 0
    assert capsys.readouterr().out == done.stdout


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--data", "{tmp}/none"], "must be a folder with one of coil20.npz"),
        (["--datasets", "frgc"], "set frgc is not available: FRGC"),
        (["--methods", "gdl3"], "--methods: invalid choice: 'gdl3'"),
        (["--jobs", "0"], "--jobs: must be at least 1, got 0"),
        (["--budget", "-1"], "--budget: must be at least"),
        (["--noise", "yaleb2"], "set must be one of"),
        (["--report"], "clustering.csv: no such file; a CSV file is needed"),
    ],
)
def test_bad_input_gives_one_line_and_status_2(tmp_path, options, message, capsys):
    options = [o.replace("{tmp}", str(tmp_path)) for o in options]
    assert command("--out", tmp_path / "out", "--quiet", *options) == 2
    shown = capsys.readouterr()
    assert message in shown.err and len(shown.err.splitlines()) == 1 and shown.out == ""
    assert not (tmp_path / "out").exists()


def test_a_method_that_is_not_installed_is_left_out_or_named(monkeypatch, capsys):
    monkeypatch.setattr(Method, "is_installed", lambda self: self.package is None)
    assert "leiden" not in module.choose_methods(None, 20) and "agdl" in module.choose_methods(None, 20)
    assert "without leiden, which needs scikit-network" in capsys.readouterr().err
    with pytest.raises(ValueError, match=r"finch needs finch-clust: pip install gdl-match\[eval\]"):
        module.choose_methods(["finch"], 20)
