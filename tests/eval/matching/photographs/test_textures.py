"""Pairs of textures, what is measured of them, and the script that measures each in its own process."""

import json

import numpy as np
import pytest

from eval.common.tables import read_csv
from eval.matching.photographs.textures import (
    COLUMNS,
    measure_texture,
    photographs_to_print,
    summary,
    texture_pair,
)
from scripts.measure import evaluate_textures

SIZE = (120, 160)


@pytest.mark.parametrize("kind", ["halftone", "checks"])
def test_pairs(kind):
    photographs = photographs_to_print(None)
    a, b = texture_pair(kind, 3, False, SIZE, photographs)
    c, d = texture_pair(kind, 3, True, SIZE, photographs)
    assert a.shape == b.shape == (*SIZE, 3)
    assert not np.array_equal(a, b)
    assert np.array_equal(a, c) and np.array_equal(c, d)


def test_measured():
    blank = np.zeros((60, 60, 3), np.uint8)
    row = measure_texture((blank, blank))
    assert (row["objects"], row["score"]) == (0, 0.0)
    photograph = photographs_to_print(None)[0]
    row = measure_texture((photograph, photograph))
    assert row["objects"] >= 1 and row["score"] > 0.5 and row["seconds"] > 0


def test_summary():
    row = {"kind": "dots", "itself": 0, "score": 0.0, "seconds": 2.0, "megabytes": 300}
    rows = [row | {"objects": 0}, row | {"objects": 3, "score": 21.5, "seconds": 4.25}]
    rows += [row | {"itself": 1, "objects": 1, "megabytes": 512}]
    lines = summary(rows).splitlines()
    assert lines[2] == "| dots | unrelated | 2 | 1 | 3 | 21.5 | 4.25 | 300 |"
    assert lines[3] == "| dots | itself | 1 | 1 | 1 | 0 | 2 | 512 |"


def test_script(tmp_path, capsys, monkeypatch):
    row = {"objects": 2, "score": 15.5, "seconds": 1.0, "megabytes": 200}
    commands = []

    def run(command, **options):
        commands.append(command)
        return type("Run", (), {"returncode": 0, "stdout": json.dumps(row)})

    monkeypatch.setattr(evaluate_textures.subprocess, "run", run)
    arguments = ["--kinds", "dots", "--pairs", "1", "--seed", "4", "--out", str(tmp_path), "--quiet"]
    assert evaluate_textures.main(arguments) == 0
    assert [r["itself"] for r in read_csv(tmp_path / "textures.csv", COLUMNS)] == [0, 1]
    assert [c[-1] == "--itself" for c in commands] == [False, True]
    assert "| dots | unrelated | 1 | 1 | 2 | 15.5 | 1 | 200 |" in capsys.readouterr().out
    assert evaluate_textures.main([*arguments, "--pairs", "0"]) == 2
    assert "--pairs must be at least 1, got 0" in capsys.readouterr().err


def test_one_pair_in_a_process(capsys):
    assert evaluate_textures.main(["--one", "--kinds", "dots", "--size", *map(str, SIZE)]) == 0
    assert json.loads(capsys.readouterr().out)["megabytes"] > 10
