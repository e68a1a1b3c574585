import numpy as np
import pytest

from eval.matching.command import main
from eval.matching.rivals import RIVALS
from eval.matching.synthetic.methods import WITH_STAGES, label_candidates
from eval.matching.synthetic.stages import group_by_rival
from eval.matching.synthetic.trials import PairSettings, label_true_candidates
from matching import MatchConfig
from matching.grouping.groups import label_groups
from matching.grouping.ledger import Ledger, name_steps
from synth.photographs import read_shipped


@pytest.fixture(scope="module")
def trial():
    pair = PairSettings(3, 2, 1, side=160).make(read_shipped())
    return label_true_candidates(pair).with_outliers(200)


def test_command_offers_every_rival(capsys):
    with pytest.raises(SystemExit):
        main(["--help"])
    assert ", ".join(RIVALS) in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("name", RIVALS)
def test_a_rival_in_place_of_all_steps_keeps_what_it_keeps_alone(name, trial):
    matches, ledger = trial.candidates.correspondences, Ledger(len(trial.candidates))
    groups = group_by_rival(name, matches, MatchConfig(), ledger)
    labels = label_groups(len(matches), groups)
    alone = label_candidates(trial.candidates, trial.pool, (name,))[name].labels
    listed, pool = np.split(alone, [len(trial.candidates)])
    assert np.array_equal(labels >= 0, listed >= 0) and (pool == -1).all()
    assert (np.diff([found.score for found in groups]) <= 0).all()
    steps = name_steps(ledger.close(labels, matches.xy0, matches.xy1)[0])
    assert set(steps[labels < 0]) <= {"method"}


def test_stages_take_true_matches_from_the_pool(trial):
    names = ("agdl", *WITH_STAGES)
    candidates, pool = trial.candidates[::2], trial.candidates[1::2]
    for name, found in label_candidates(candidates, pool, names).items():
        joined, true = found.labels[len(candidates) :] >= 0, trial.instance[1::2] >= 0
        assert (joined & true).sum() > 0.7 * true.sum() and true[joined].mean() > 0.9, name


def test_match_command_with_a_rival(tmp_path, capsys):
    status = main(["--demo", "--method", "ransac", "--out", str(tmp_path / "o"), "--no-figure", "--quiet"])
    assert status == 0
    with np.load(tmp_path / "o/matches.npz") as z:
        assert z["cluster"].max() >= 1
