"""Scenes of things on a table, what is right about a result, and the table and diagram made of that."""

from types import SimpleNamespace

import numpy as np
import pytest

from eval import door
from eval.common.tables import read_csv
from eval.matching.synthetic import tabletops
from synth.photographs import Photographs

PICTURES = tuple(np.random.default_rng(k).integers(0, 256, (300, 400, 3), np.uint8) for k in range(3))
PHOTOGRAPHS = Photographs(PICTURES, (), "noise")


def result_of(*points):
    return SimpleNamespace(objects=[SimpleNamespace(points0=np.array(own, float)) for own in points])


@pytest.mark.parametrize(
    ("kind", "amount", "moved"),
    [("beside", 16, True), ("turn", 8, True), ("on top", 8, True), ("bend", 8, False)],
)
def test_scenes_hold_what_their_kind_says(kind, amount, moved):
    scene = tabletops.make_scene(PHOTOGRAPHS, kind, amount, 2)
    same = tabletops.make_scene(PHOTOGRAPHS, kind, amount, 2)
    np.testing.assert_array_equal(scene.image1, same.image1)
    assert set(np.unique(scene.owner0)) == ({-1, 0, 1} if moved else {-1, 0})
    y, x = np.nonzero((scene.owner0 == 0) & (scene.owner1 == 0))
    stays = np.linalg.norm(scene.place0[y, x] - scene.place1[y, x], axis=1)
    assert stays.max() < 1e-9 if moved else stays.mean() > 1


def test_two_things_are_right_if_each_is_an_object():
    scene = tabletops.make_scene(PHOTOGRAPHS, "beside", 16, 0)
    left, right = [[300, 300 + k] for k in range(10)], [[640, 300 + k] for k in range(10)]
    assert tabletops.is_right(scene, result_of(left, right), "beside")
    assert tabletops.is_right(scene, result_of(left[:8] + right[:2], right), "beside")
    assert not tabletops.is_right(scene, result_of(left[:7] + right[:3], right), "beside")
    assert not tabletops.is_right(scene, result_of(left + right), "beside")
    assert not tabletops.is_right(scene, result_of(left, right, right), "beside")
    assert not tabletops.is_right(scene, result_of(), "beside")


def test_one_thing_is_right_if_it_is_one_object_on_both_sides_of_its_band():
    scene = tabletops.make_scene(PHOTOGRAPHS, "bend", 8, 0)
    left, right = [[320, 300 + k] for k in range(8)], [[640, 300 + k] for k in range(8)]
    assert tabletops.is_right(scene, result_of(left + right), "bend")
    assert not tabletops.is_right(scene, result_of(left + right[:7]), "bend")
    assert not tabletops.is_right(scene, result_of(left, right), "bend")
    assert not tabletops.is_right(scene, result_of(), "bend")


def test_the_script_writes_the_table_and_the_diagram(tmp_path, monkeypatch, capsys):
    def measure(_photographs, kind, amount, seed):
        right = int(amount > 8 or seed == 5)
        return {"kind": kind, "amount": amount, "seed": seed, "right": right, "objects": 2}

    monkeypatch.setattr(tabletops, "measure", measure)
    monkeypatch.setattr(tabletops, "choose_photographs", lambda _: PHOTOGRAPHS)
    given = ["--kinds", "turn", "bend", "--pairs", "2", "--seed", "5", "--out", str(tmp_path), "--quiet"]
    assert door.main(["tabletops", *given]) == 0
    rows = read_csv(tmp_path / "tabletops.csv", tabletops.COLUMNS)
    assert len(rows) == 20
    assert tabletops.shares(rows)["turn"] == {2: 0.5, 4: 0.5, 8: 0.5, 16: 1.0, 32: 1.0}
    assert (tmp_path / "tabletops.png").stat().st_size > 5000
    assert "| 16: 100% |" in capsys.readouterr().out
