import numpy as np
import pytest

from eval.command import RIVALS, main
from eval.methods import composite_config, find_rival_clusters, label_candidates
from eval.rivals import METHODS
from eval.trials import PairSettings, labelled_candidates
from matching import MatchConfig
from synth.photographs import shipped


@pytest.fixture(scope="module")
def candidates():
    pair = PairSettings(3, 2, 1, side=160).make(shipped())
    return labelled_candidates(pair).with_outliers(200).candidates


def test_the_command_offers_every_rival():
    assert set(RIVALS) == METHODS.keys()


@pytest.mark.parametrize("name", METHODS)
def test_a_rival_in_the_pipeline_keeps_what_it_keeps_alone(name, candidates):
    clustered = find_rival_clusters(name, candidates, MatchConfig())
    alone = label_candidates(candidates, (name,))[name].labels
    assert np.array_equal(clustered.labels >= 0, alone >= 0)
    assert len(clustered.scores) == clustered.labels.max() + 1
    assert (np.diff(clustered.scores) <= 0).all()


def test_no_method_sees_the_grid_of_the_tiles(candidates):
    assert composite_config().features.montage is None and not candidates.cell.any()


def test_match_command_with_a_rival(tmp_path, capsys):
    status = main(["--demo", "--method", "ransac", "--out", str(tmp_path / "o"), "--no-figure", "--quiet"])
    assert status == 0
    with np.load(tmp_path / "o/matches.npz") as z:
        assert z["cluster"].max() >= 1
