import runpy
from pathlib import Path

import numpy as np
import pytest

from eval.pictures import cluster_scores, draw_detection, draw_scores
from eval.trials import PairSettings, labelled_candidates
from synth.photographs import shipped

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def trial():
    pair = PairSettings(5, 2, 0, side=160).make(shipped())
    return pair, labelled_candidates(pair).with_outliers(300)


def test_scores_fall_and_the_kept_clusters_are_the_true_ones(trial):
    scores, kept, share = cluster_scores(trial[1])
    assert (np.diff(scores) <= 0).all() and 0 < kept.sum() < len(scores)
    assert (np.diff(kept.astype(int)) <= 0).all() and share[kept].min() > 0.5
    assert ((share >= 0) & (share <= 1)).all()


def test_pictures_are_written(trial, tmp_path):
    draw_detection(*trial, "acc", tmp_path / "new/detection.png")
    draw_scores(trial[1], tmp_path / "new/scores.png")
    assert sorted(p.name for p in (tmp_path / "new").iterdir()) == ["detection.png", "scores.png"]


def test_command_reports_bad_input(tmp_path, capsys):
    main = runpy.run_path(str(ROOT / "scripts/plot_pair.py"))["main"]
    assert main(["--sigma", "-1", "--out", str(tmp_path / "o")]) == 2
    assert "sigma must be a number of pixels, 0 or more, got -1.0" in capsys.readouterr().err
    assert not (tmp_path / "o").exists()
