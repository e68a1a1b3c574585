"""The comparison on people and strangers."""

import numpy as np
import pytest

from eval.clustering import strangers


def test_drawn_people_repeat_and_have_their_share_of_strangers():
    x, y = strangers.draw_people(16, 2.0, 0.3, 5)
    np.testing.assert_array_equal(x, strangers.draw_people(16, 2.0, 0.3, 5)[0])
    sizes = np.bincount(y[y >= 0])
    assert len(sizes) == strangers.N_PEOPLE
    assert 8 <= sizes.min() <= sizes.max() <= 40
    assert (y < 0).mean() == pytest.approx(0.3, abs=0.001)
    assert np.linalg.norm(x[y < 0], axis=1).mean() == pytest.approx(8, rel=0.05)


def test_score_counts_what_is_missed_and_what_is_added():
    y = np.array([0, 0, 0, 0, 1, 1, -1, -1])
    assert strangers.score(y, y) == (1.0, 1.0)
    assert strangers.score(y, np.array([0, 0, 0, -1, 1, 1, 1, -1])) == (
        pytest.approx((6 / 7 + 4 / 5) / 2),
        0.5,
    )
    assert strangers.score(y, np.full(8, -1)) == (0.0, 1.0)


def test_rows_hold_each_method_that_is_installed(monkeypatch):
    monkeypatch.setattr(strangers, "WIDTHS", (2.0,))
    monkeypatch.setattr(strangers, "SHARES", (0.3,))
    monkeypatch.setattr(strangers, "DIMENSIONS", (32,))
    monkeypatch.setattr(strangers, "SEEDS", (1,))
    monkeypatch.setattr(strangers, "read_digits", lambda: iter(()))
    methods = {name: strangers.METHODS[name] for name in ("GraphDegreeLinkage", "cut by distance", "HDBSCAN")}
    head, rows = strangers.stranger_rows(methods)
    assert head == ["strangers", *methods]
    f, found = map(float, rows[0][1].split(", "))
    assert f > 0.99
    assert found > 0.99


def test_digits_hold_few_strangers():
    name, x, y = next(strangers.read_digits())
    assert name == "digits without 0, 1"
    assert (y < 0).sum() == 2 * strangers.KEPT
    assert set(np.unique(y[y >= 0])) == set(range(2, 10))
    assert len(x) == len(y)
