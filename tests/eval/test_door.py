"""The door to the experiments: their list, options that are refused in one line, exit statuses."""

import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from eval import door

ROOT = Path(__file__).parents[2]


def refusal(capsys, *arguments):
    """The one line with which bad arguments are refused."""
    assert door.main([*map(str, arguments)]) == 2
    shown = capsys.readouterr()
    (line,) = shown.err.splitlines()
    assert shown.out == ""
    return line


def test_all_are_listed_and_an_unknown_one_is_refused(capsys):
    assert door.main([]) == door.main(["--help"]) == 0
    told = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in told[-len(door.EXPERIMENTS) :]] == list(door.EXPERIMENTS)
    assert refusal(capsys, "swep").startswith("eval swep: NAME must be one of sweep, ablation, ")


@pytest.mark.parametrize("name", door.EXPERIMENTS)
def test_each_has_help(name, capsys):
    with pytest.raises(SystemExit) as ended:
        door.main([name, "--help"])
    assert ended.value.code == 0
    told = capsys.readouterr().out
    assert told.startswith(f"usage: python -m eval {name} ")
    assert len(told.split("\n\n")) >= 3  # usage, what it measures, options


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("ablation", ["--pairs", "0"], "argument --pairs: must be at least 1, got 0"),
        ("ablation", ["--jobs", "0"], "--jobs: must be a number of processes, or -1 for all cores, got 0"),
        ("ablation", ["--variants", "none"], "--variants must be among default, "),
        ("ablation", ["--data", "none"], "none must hold folders with two images and gt.npz, found none"),
        ("paper-example", ["--side", "0"], "--side: must be at least 32, got 0"),
        ("pairs", ["--data", "none", "--methods", "magic"], "invalid choice: 'magic' (choose from"),
        ("sweep", ["--copies", "10"], "--copies: invalid choice: 10"),
        ("sweep", ["--trials", "one"], "--trials: must be a number, got one"),
        ("sweep", ["--models", "only"], "--models and --tiles must be given together"),
        ("sweep", ["--models", "/no", "--tiles", "/no"], "/no must be a folder of images"),
        ("shelves", ["--data", "none"], "none/scenes/labels.json must hold the labels"),
        ("counts", ["--data", "none", "--only", "covers"], "none/retrieval/queries must hold pictures"),
        ("details", ["--data", "a", "--prints", "0"], "--prints: must be at least 1, got 0"),
        ("unrelated", ["a"], "the following arguments are required: FOLDER"),
        ("reliability", ["--data", "none", "--only", "birds"], "invalid choice: 'birds'"),
        ("learned", ["--data", "none", "--pairs", "0"], "argument --pairs: must be at least 1, got 0"),
        ("groups", [], "give --data DIR, --planes N, or both"),
        ("speed", ["a.png"], "two pictures are needed, or none, got 1"),
        ("shortlist", ["--data", "none"], "none must hold scenes/labels.json"),
        ("index", ["--data", "none", "--out", "index"], "none must hold photographs, found 0"),
        ("collection", ["--data", "none"], "none must hold models/*.jpg"),
        ("clustering", ["speed"], "PART must be one of growth, "),
        ("clustering", ["given"], "given: --graph must name a folder"),
        ("clustering", ["growth", "--sizes", "10"], "--sizes: must be at least 1000, got 10"),
        (
            "clustering",
            ["suite", "--data", "none"],
            "with clustering/suite/other_iris.npz, got none",
        ),
        ("mutate", ["none.py", "--tests", "tests"], "none.py must be a path from"),
    ],
)
def test_bad_options(name, options, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert message in refusal(capsys, name, *options)


@pytest.mark.parametrize("name", ["sweep", "images", "views"])
def test_a_file_as_folder_of_results_is_refused(name, tmp_path, capsys):
    (tmp_path / "out").write_text("")
    assert "out must be a folder, but it is a file" in refusal(capsys, name, "--out", tmp_path / "out")


def test_exit_status(capsys):
    def refuse():
        raise ValueError("x must be 1, got 2")

    def stop():
        raise KeyboardInterrupt

    assert door.exit_status("a", lambda: None) == 0
    assert door.exit_status("a", lambda: 1) == 1
    assert door.exit_status("a", refuse) == 2
    assert door.exit_status("a", stop) == 130
    assert capsys.readouterr().err.splitlines() == ["eval a: x must be 1, got 2", "eval a: stopped"]
    assert door.exit_status("a", lambda: 1 // 0) == 3
    told = capsys.readouterr().err
    assert told.startswith("Traceback")
    assert told.endswith("ZeroDivisionError: integer division or modulo by zero\n")


def test_as_a_process():
    run = subprocess.run([sys.executable, "-m", "eval", "pairs"], cwd=ROOT, capture_output=True, text=True)
    told = "eval pairs: the following arguments are required: --data\n"
    assert (run.returncode, run.stdout, run.stderr) == (2, "", told)


@pytest.mark.parametrize(
    ("script", "name"),
    [("ablation", "ablation"), ("cluster_images", "images"), ("evaluate_pairs", "pairs"), ("sweep", "sweep")],
)
def test_scripts_are_doors_to_one_experiment(script, name, monkeypatch):
    asked = []
    monkeypatch.setattr(door, "main", lambda argv: asked.append(argv) or 1)
    monkeypatch.setattr(sys, "argv", ["script.py", "--quiet"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(ROOT / "scripts" / f"{script}.py"), run_name="__main__")
    assert (asked, ended.value.code) == ([[name, "--quiet"]], 1)
