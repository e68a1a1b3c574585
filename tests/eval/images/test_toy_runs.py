import numpy as np
import pytest
from definitions import indegree, outdegree

from eval import door
from eval.common.tables import read_csv
from eval.images import figures as image_figures
from eval.images import paper_figures
from eval.images.toy_runs import Degrees, degree_rows, degrees, label_toy, measure_toys
from eval.images.workers import OK
from gdl_core import affinity_graph, knn_graph
from synth.toys import PointSet, make_crowded


def test_degrees_are_those_of_the_definition():
    points = make_crowded(0, gap=0.05)
    w = affinity_graph(knn_graph(points.points, 10)).to_csr().toarray()
    own, other = np.flatnonzero(points.labels == 0), np.flatnonzero(points.labels == 2)
    pairs = [(indegree(w, i, other), outdegree(w, i, other)) for i in own]
    expected = np.array([pair for pair in pairs if max(pair) > 0])
    found = degrees(points, 0, 2, n_neighbors=10)
    np.testing.assert_allclose(np.c_[found.indegree, found.outdegree], expected, rtol=1e-12)
    np.testing.assert_allclose(found.root_product**2, expected.prod(axis=1), rtol=1e-9, atol=1e-30)


def test_the_product_is_small_across_clusters_and_large_within():
    rows = {(r["case"], r["quantity"]): r for r in degree_rows(range(3))}
    for quantity in ("indegree", "outdegree"):
        assert rows["within", quantity]["mean"] == pytest.approx(1, abs=0.02)
    across, within = rows["across", "root_product"], rows["within", "root_product"]
    assert across["mean"] < 0.5 < 0.9 < within["mean"] and across["share_nonzero"] < 0.5
    assert across["correlation"] < within["correlation"]


def test_toy_rows_tell_what_is_perfect():
    rows = measure_toys(("gdl-mcs", "complete"), range(2), (0.2,))
    assert [(r["method"], r["perfect"]) for r in rows] == [("gdl-mcs", 1), ("complete", 0)] * 2
    far = PointSet(
        np.repeat([[0.0, 0.0], [9.0, 9.0]], 15, axis=0) + np.random.default_rng(0).normal(size=(30, 2)),
        np.repeat([0, 1], 15),
    )
    assert set(label_toy(far, "link", None).tolist()) == {0, 1}


@pytest.fixture
def figures(monkeypatch):
    monkeypatch.setattr(paper_figures, "EIGHT", ("single", "gdl-u"))
    monkeypatch.setattr(paper_figures, "ALSO", ())
    return lambda options: door.main(["paper-figures", *options])


def test_the_command_draws_and_saves(figures, tmp_path, capsys):
    assert figures(["--seeds", "1", "--out", str(tmp_path)]) == 0
    first = capsys.readouterr().out
    assert "| GDL-U | 1 of 1 | 1 of 1 |" in first and "| single linkage |  | 0 of 1 |" in first
    assert {p.name for p in tmp_path.iterdir()} == {
        "toy.csv",
        "toy.png",
        "degrees.csv",
        "degrees.png",
    }


def test_each_gap_has_its_columns(figures, tmp_path, capsys):
    assert figures(["--seeds", "1", "--gaps", "0.3", "0.21", "0.3", "--out", str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    assert "| GDL-U | 1 of 1 | 1 of 1 | 1 of 1 | 1 of 1 |" in shown
    assert "| method | gap 0.3, a = 1 | gap 0.3, best parameter | gap 0.21, a = 1 |" in shown
    assert {row["gap"] for row in read_csv(tmp_path / "toy.csv")} == {0.3, 0.21}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--seeds", "0"], "--seeds: must be at least 1, got 0"),
        (["--gaps", "0.2", "-1"], "gap must be above 0 and finite, got -1"),
        (["--results", "none"], "a CSV file is needed"),
    ],
)
def test_bad_options_of_the_figures(figures, tmp_path, capsys, options, message):
    assert figures(["--seeds", "1", "--out", str(tmp_path), *options]) == 2
    assert message in capsys.readouterr().err


def test_figures_are_drawn(tmp_path):
    points = make_crowded(0)
    image_figures.draw_toy(points.points, [("a", points.labels)] * 3, tmp_path / "toy.png")
    d = Degrees(np.arange(5.0), np.arange(5.0))
    image_figures.draw_degrees(d, d, degree_rows(range(2)), tmp_path / "degrees.png")
    base = {"dataset": "coil20", "status": OK, "sigma": 0.0, "noise_seed": 0.0, "repeat": 1.0}
    runs = [{**base, "method": "agdl", "value": a, "nmi": 0.5 + a / 100} for a in (0.1, 1.0, 10.0)]
    noise = [
        {**runs[0], "sigma": s, "noise_seed": i, "nmi": 0.9 - s / 200 + i / 10}
        for s in (0.0, 20.0)
        for i in (0.0, 1.0)
    ]
    image_figures.draw_robustness(runs, [noise], "coil20", tmp_path / "robustness.png")
    assert all((tmp_path / f"{n}.png").stat().st_size > 5000 for n in ("toy", "degrees", "robustness"))
    assert image_figures.noise_curve(noise, "coil20", "agdl") == [
        (0.0, pytest.approx(0.95), 0.9, 1.0),
        (20.0, pytest.approx(0.85), 0.8, pytest.approx(0.9)),
    ]
    table = {line[0]: line[1:] for line in image_figures.robustness_table(runs, noise, "coil20")}
    assert table["AGDL"] == ["0.600", "0.510", "0.501", "0.950", "0.850", "0.100"]
