"""The experiment that alters prints: what it draws, and what it counts."""

import numpy as np
import pytest

from eval.matching.synthetic import alike
from eval.matching.synthetic.alike import ALTERED_SHARE, alter, measure, shares, summary
from synth.photographs import read_shipped


@pytest.fixture(scope="module")
def photographs():
    return read_shipped()


def test_one_place_of_the_given_share_is_altered(photographs):
    print_, other = photographs.models[0], photographs.tiles[0]
    changed = (alter(print_, other, np.random.default_rng(0), ALTERED_SHARE) != print_).any(axis=2)
    rows, columns = np.flatnonzero(changed.any(axis=1)), np.flatnonzero(changed.any(axis=0))
    box = (np.ptp(rows) + 1) * (np.ptp(columns) + 1)
    assert box / changed.size == pytest.approx(ALTERED_SHARE, rel=0.1)


def test_altered_print_is_told_from_a_copy(photographs):
    rows = [measure(photographs, "size", 300.0, 1, altered) for altered in (0, ALTERED_SHARE)]
    assert [row["same"] for row in rows] == ["yes", "no"]
    assert all(row["overlap"] > 0.8 for row in rows)
    assert shares(rows, "size")[300.0][:3] == (1.0, 1.0, 0.0)
    assert "| 300 | 1.00 | 1.00 | 0.00 |" in summary(rows)


def test_limits_name_the_smallest_place_that_is_told(photographs, monkeypatch):
    monkeypatch.setattr(alike, "LIMITS", {"bend": (0.0,), "blur": (8.0,)})
    monkeypatch.setattr(alike, "PLACES", (2.0, 48.0))
    _, _, bent, blurred = alike.limits(photographs, range(1, 2), quiet=True).splitlines()
    assert bent == "| bend, amplitude, px | 0 | 48 | 0% | 100% |"
    assert blurred.startswith("| blur, standard deviation, px | 8 | none |")
