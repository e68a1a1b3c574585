"""The paper's own example, small: composites of the shipped photographs."""

import pytest

from eval import door
from eval.common.tables import read_csv
from eval.matching.metrics import f_score
from eval.matching.synthetic.paper_example import COLUMNS, format_table, measure, methods
from synth.photographs import read_shipped

pytestmark = pytest.mark.filterwarnings("ignore:n_initial_neighbors")


@pytest.fixture(scope="module")
def rows():
    return list(measure(read_shipped(), range(1), side=96, outliers=300))


def test_each_method_is_measured_on_its_own_candidates(rows):
    assert [row["method"] for row in rows] == list(methods())
    for row in rows:
        assert set(row) == set(COLUMNS)
        assert row["candidates"] - row["true"] == 300
        assert 0 < row["places"] <= row["true"]
        assert row["correct"] <= min(row["detected"], row["true"])
        assert row["f"] == f_score(row["correct"], row["detected"], row["true"])


def test_without_duplicates_candidates_are_places(rows):
    shares = {row["method"]: row["places"] / row["true"] for row in rows}
    assert shares["--paper"] < 0.6 < 0.9 < shares["--paper, no duplicates"]


def test_the_best_candidates_as_they_are(rows):
    best = next(measure(read_shipped(), range(1), side=96, outliers=None))
    assert best["candidates"] <= 3000
    assert best["true"] == rows[0]["true"]


def test_the_table_ends_with_means():
    row = dict.fromkeys(COLUMNS, 4) | {"method": "a", "f": 0.5}
    lines = format_table([row | {"seed": 0}, row | {"seed": 1, "f": 0.25}]).splitlines()
    assert len(lines) == 2 + 2 + 1
    assert lines[-1].startswith("| a | mean | 4 of 4 | 4 | 4 | 4 | 0.375 |")


def test_the_script(tmp_path, capsys):
    options = ["--pairs", "1", "--side", "96", "--outliers", "100", "--out", str(tmp_path)]
    assert door.main(["paper-example", *options]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 2 + 2 * len(methods())
    assert [row["seed"] for row in read_csv(tmp_path / "paper_example.csv", COLUMNS)] == [0] * len(methods())
