import numpy as np
import pytest

from eval.common.tables import read_csv, write_csv
from eval.matching.synthetic import methods, report


def row(method, f, seed=0, sweep="sigma", n_outliers=400, sigma=5.0, n_common=3):
    extra = {"precision": f, "recall": f, "true_matches": 10, "objects": 3, "objects_found": 2, "clusters": 4}
    point = {"sweep": sweep, "n_outliers": n_outliers, "sigma": sigma, "n_common": n_common, "seed": seed}
    return {"method": method, "f": f, "mixed": 0, "seconds": 1.0, **extra, **point}


ROWS = [
    *(row("agdl", f, seed) for seed, f in enumerate((0.9, 0.8, 0.7))),
    *(row("acc", f, seed) for seed, f in enumerate((0.8, 0.85, 0.6))),
    *(row("graph-shift", f, seed) for seed, f in enumerate((0.7, 0.7, 0.65))),
]


def test_share_of_trials_won():
    share, n = report.win_share(ROWS)
    assert n == 3 and share == pytest.approx(2 / 3)


def test_a_tie_is_no_win():
    share, _ = report.win_share([row("agdl", 1.0), row("acc", 1.0), row("graph-shift", 0.5)])
    assert share == 0


def test_curve_has_the_mean_and_its_interval():
    x, y, half = report.curve(ROWS, "sigma", "agdl")
    assert x.tolist() == [5] and y == pytest.approx([0.8])
    assert half == pytest.approx([1.96 * 0.1 / np.sqrt(3)])


def test_summary_names_where_a_rival_is_ahead():
    rows = ROWS + [row(m, f, sigma=30.0) for m, f in (("agdl", 0.5), ("acc", 0.6), ("graph-shift", 0.4))]
    text = report.summary(rows)
    assert "| acc | 1 of 2 | 0.100 | 0 of 2 | - |" in text
    assert "| graph-shift | 0 of 2 | - | 0 of 2 | - |" in text
    assert "66.7%" in report.summary(ROWS)


def test_figure(tmp_path):
    report.draw(ROWS, tmp_path / "f.png")
    assert (tmp_path / "f.png").read_bytes().startswith(b"\x89PNG")


def test_every_method_has_a_style_of_its_own(tmp_path):
    report.draw([row(name, 0.5, seed) for name in methods.NAMES for seed in (0, 1)], tmp_path / "f.png")
    assert len(set(report.STYLES.values())) == len(report.STYLES)


def test_report_of_sift_ransac_alone(tmp_path):
    rows = [row("sift-ransac", f, seed) for seed, f in enumerate((0.9, 0.7))]
    text = report.summary(rows)
    assert "| N = " not in text and "| σₙ (N = 400, M = 3) | 0.800 |" in text
    assert "| σₙ (N = 400, M = 3) | 0.667 |" in text  # of the objects
    assert text.startswith("Seeds 0 to 1.\n") and "nan" not in text
    report.draw(rows, tmp_path / "f.png")
    assert (tmp_path / "f.png").read_bytes().startswith(b"\x89PNG")


def test_csv_round_trip(tmp_path):
    rows = [{"a": 1.5, "b": float("nan"), "c": "x,y"}, {"a": 2, "b": 0.1, "c": "z"}]
    write_csv(tmp_path / "t.csv", ["a", "b", "c"], rows)
    back = read_csv(tmp_path / "t.csv")
    assert back[0]["c"] == "x,y" and np.isnan(back[0]["b"]) and back[1] == {"a": 2.0, "b": 0.1, "c": "z"}
    assert [p.name for p in tmp_path.iterdir()] == ["t.csv"]


def test_no_rows(tmp_path):
    with pytest.raises(ValueError, match="no such file"):
        read_csv(tmp_path / "none.csv")
    (tmp_path / "empty.csv").write_text("a,b\n")
    with pytest.raises(ValueError, match="must hold at least one row"):
        read_csv(tmp_path / "empty.csv")
