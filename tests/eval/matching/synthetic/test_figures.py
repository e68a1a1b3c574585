import runpy
from pathlib import Path

import numpy as np
import pytest

from eval.matching.synthetic.figures import draw_clusters, draw_detection, draw_graph, draw_scores, stages
from eval.matching.synthetic.trials import PairSettings, label_true_candidates
from synth.photographs import read_shipped

ROOT = Path(__file__).parents[4]


@pytest.fixture(scope="module")
def trial():
    pair = PairSettings(5, 2, 0, side=160).make(read_shipped())
    return pair, label_true_candidates(pair).with_outliers(300)


@pytest.fixture(scope="module")
def found(trial):
    return stages(trial[1])


def test_clusters_fall_in_size_and_lose_outliers_only(trial, found):
    sizes = np.bincount(found.clusters[found.clusters >= 0])
    assert (np.diff(sizes) <= 0).all() and sizes[0] > sizes[-1]
    left = found.members >= 0
    assert np.array_equal(found.members[left], found.clusters[left])
    true = trial[1].instance >= 0
    large = (found.clusters >= 0) & (sizes[found.clusters] >= 8)
    assert true[left].mean() > true[large].mean() and (true & left).sum() > 0.9 * (true & large).sum()


def test_scores_fall_and_the_kept_clusters_are_the_true_ones(found):
    assert len(found.scores) == len(np.unique(found.members[found.members >= 0]))
    assert (np.diff(found.scores) <= 0).all() and found.kept.any()
    assert (np.diff(found.kept.astype(int)) <= 0).all() and found.share[found.kept].min() > 0.5
    assert ((found.share >= 0) & (found.share <= 1)).all()


def test_pictures_are_written(trial, found, tmp_path):
    draw_detection(*trial, "acc", tmp_path / "new/detection.png")
    draw_graph(*trial, found, tmp_path / "new/graph.png")
    draw_clusters(*trial, found, tmp_path / "new/clusters.png")
    draw_scores(found, tmp_path / "new/scores.png")
    names = ["clusters.png", "detection.png", "graph.png", "scores.png"]
    assert sorted(p.name for p in (tmp_path / "new").iterdir()) == names


def test_command_reports_bad_input(tmp_path, capsys):
    main = runpy.run_path(str(ROOT / "scripts/draw/plot_pair.py"))["main"]
    assert main(["--sigma", "-1", "--out", str(tmp_path / "o")]) == 2
    assert "sigma must be a number of pixels, 0 or more, got -1.0" in capsys.readouterr().err
    assert not (tmp_path / "o").exists()
