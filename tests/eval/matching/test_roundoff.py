"""The experiment that moves inputs by one unit in the last place counts what changes."""

from types import SimpleNamespace

import numpy as np
import pytest

from eval import door
from eval.matching.roundoff import compare, move


def result(*objects):
    """A result with objects at (first, last, is_same)."""
    made = []
    for first, last, is_same in objects:
        points = np.arange(first, last)[:, None] * [1.0, 0.5]
        made.append(SimpleNamespace(points0=points, points1=points + 7, is_same=is_same))
    return SimpleNamespace(objects=made)


def test_each_change_is_counted():
    before = result((0, 10, True), (20, 30, True), (40, 50, None))
    counts = compare(before, [before, result((0, 9, False), (25, 60, None), (100, 110, None))])
    assert counts == {
        "ways": 2,
        "objects": 6,
        "matches": 60,
        "appeared": 2,
        "vanished": 2,
        "same": 1,
        "changed": 1,
    }


@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_numbers_move_by_one_unit_in_the_last_place_and_equal_ones_alike(kind):
    values = np.repeat(np.random.default_rng(0).normal(size=50), 2).astype(kind).reshape(10, 10)
    for seed in range(3):
        moved = move(values, seed)
        assert moved.dtype == kind
        assert (np.abs(moved - values) <= np.spacing(np.abs(values))).all() and (moved != values).all()
        assert (moved.reshape(-1, 2)[:, 0] == moved.reshape(-1, 2)[:, 1]).all()
    assert (move(values, 0) != move(values, 1)).any()


def test_surfaces_without_noise_do_not_hang_on_the_last_bit(tmp_path, capsys):
    (tmp_path / "data").mkdir()
    options = ["--data", tmp_path / "data", "--only", "surfaces 0", "--surfaces", 1, "--ways", 1, "--quiet"]
    assert door.main(["roundoff", *map(str, options), "--out", str(tmp_path)]) == 0
    assert "| surfaces 0 | 1 |" in capsys.readouterr().out
    assert len((tmp_path / "roundoff.csv").read_text().splitlines()) == 2
