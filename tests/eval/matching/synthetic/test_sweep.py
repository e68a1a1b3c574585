import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from eval import door
from eval.common.tables import read_csv
from eval.matching.synthetic import sweep
from eval.matching.synthetic.methods import NAMES, Labelling, label_candidates, parameters
from eval.matching.synthetic.trials import PairSettings, label_true_candidates, measures
from synth.photographs import read_shipped

ROOT = Path(__file__).parents[4]
SIDE = 96
SMALL = ["--quick", "--trials", "1", "--side", str(SIDE), "--methods", "agdl", "ransac", "ransac+stages"]


def options(out):
    return [*SMALL, "--quiet", "--jobs", "1", "--out", str(out)]


def main(out):
    return door.main(["sweep", *options(out)])


def without_seconds(path):
    return [{k: v for k, v in row.items() if k != "seconds"} for row in read_csv(path)]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    out = tmp_path_factory.mktemp("whole")
    assert main(out) == 0
    return out


def test_every_point_trial_and_method_has_its_row(whole):
    rows = read_csv(whole / "trials.csv")
    assert tuple(rows[0]) == sweep.COLUMNS
    keys = [tuple(r[k] for k in ("sweep", "n_outliers", "sigma", "n_common", "seed", "method")) for r in rows]
    assert len(set(keys)) == len(keys) == 6 * 3
    for row in rows:
        assert 0 <= row["true_matches"] <= min(row["n_true"], row["kept"])
        assert 0 <= row["true_joined"] <= row["joined"] and row["seed"] == sweep.FIRST_SEED
        assert row["joined"] == 0 or row["method"] != "ransac"
        assert row["n_false"] <= row["n_outliers"] and 0 <= row["f"] <= 1
        assert isinstance(json.loads(row["params"]), dict) and row["version"] and row["images"] == "shipped"
    assert (whole / "sweep.png").stat().st_size > 10_000
    assert "| agdl |" in (whole / "sweep.md").read_text()


@pytest.mark.slow
def test_a_killed_sweep_goes_on_to_the_same_table(whole, tmp_path):
    command = [sys.executable, str(ROOT / "scripts/sweep.py"), *options(tmp_path)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    journal = tmp_path / "trials.jsonl"
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and not (journal.exists() and journal.read_bytes().count(b"\n") >= 2):
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    assert journal.read_bytes().count(b"\n") >= 2 and not (tmp_path / "trials.csv").exists()
    with journal.open("ab") as file:
        file.write(b'{"mark": "torn li')  # as if killed in the middle of a line
    before = journal.read_bytes()
    assert main(tmp_path) == 0
    assert journal.read_bytes().startswith(before[: before.rfind(b"\n") + 1])
    assert without_seconds(tmp_path / "trials.csv") == without_seconds(whole / "trials.csv")


def test_a_finished_sweep_is_not_computed_again(whole):
    journal, table = (whole / "trials.jsonl").read_bytes(), (whole / "trials.csv").read_bytes()
    assert main(whole) == 0
    assert (whole / "trials.jsonl").read_bytes() == journal and (whole / "trials.csv").read_bytes() == table


def test_other_methods_or_images_do_not_share_a_journal():
    photographs = read_shipped()
    plan = sweep.Plan(sweep.quick_points(), (0,), ("acc",))
    other = type(photographs)(photographs.models[:-1], photographs.tiles, "shipped")
    marks = [sweep.fingerprint(plan, photographs), sweep.fingerprint(plan, other)]
    marks.append(sweep.fingerprint(sweep.Plan(plan.points, (0,), ("ransac",)), photographs))
    assert len(set(marks)) == 3
    assert marks[0] == sweep.fingerprint(sweep.Plan(sweep.full_points(), (1, 2), ("acc",)), photographs)


def test_nine_panels_of_one_varied_factor():
    from eval.matching.synthetic.report import panels

    rows = [
        {"sweep": sweep.SWEEPS[p.sweep], "n_outliers": p.n_outliers, "sigma": p.sigma, "n_common": p.n_common}
        for p in sweep.full_points()
    ]
    grid = panels(rows)
    assert len(grid) == 9 and min(map(len, grid.values())) >= 5
    assert sweep.N_TRIALS == 30


def test_pairs_are_shared_between_the_sweeps():
    plan = sweep.Plan(sweep.full_points(), (0, 1))
    pairs = plan.pairs()
    assert len(pairs) == 24 * 2
    assert pairs[PairSettings(10, 3, 0)] == (400, 800, 1200, 1600, 2000)


@pytest.fixture(scope="module")
def small_trial():
    return label_true_candidates(PairSettings(5, 3, 0, side=SIDE).make(read_shipped()))


def test_a_trial_holds_the_true_candidates_and_the_best_false_ones(small_trial):
    trial = small_trial.with_outliers(40)
    false = trial.instance < 0
    assert false.sum() == 40 and (~false).sum() == (small_trial.best & (small_trial.instance >= 0)).sum() > 20
    left = np.sort(small_trial.candidates.score[small_trial.instance < 0])
    assert np.sort(trial.candidates.score[false]) == pytest.approx(left[:40])
    everything = small_trial.with_outliers(10**6)
    assert (everything.instance < 0).sum() == (small_trial.instance < 0).sum()


def test_the_pool_is_the_next_best_of_what_is_not_listed(small_trial):
    trial = small_trial.with_outliers(40)
    everyone = [tuple(row) for row in np.hstack([small_trial.candidates.xy0, small_trial.candidates.xy1])]
    listed, pool = (
        [tuple(row) for row in np.hstack([part.xy0, part.xy1])] for part in (trial.candidates, trial.pool)
    )
    assert len(set(listed) | set(pool)) == len(listed) + len(pool) == 2 * len(listed)
    others = np.array([row not in set(listed) for row in everyone])
    best = np.sort(small_trial.candidates.score[others])[: len(pool)]
    assert np.array_equal(trial.pool.score, best)
    assert (np.diff(trial.candidates.score) >= 0).all()
    assert len(trial.pool_instance) == len(pool)


def test_scores_count_the_list_alone(small_trial):
    pair = PairSettings(5, 3, 0, side=SIDE).make(read_shipped())
    trial = small_trial.with_outliers(40)
    true = np.concatenate([trial.instance, trial.pool_instance])
    all_true = measures(trial.instance, Labelling(true, 1.0), pair, trial.pool_instance)
    assert (all_true["f"], all_true["true_matches"]) == (1, (trial.instance >= 0).sum())
    assert all_true["joined"] == all_true["true_joined"] == (trial.pool_instance >= 0).sum()
    all_joined = np.concatenate([trial.instance, np.zeros(len(trial.pool), int)])
    wrong = measures(trial.instance, Labelling(all_joined, 1.0), pair, trial.pool_instance)
    assert wrong["f"] == 1 and wrong["joined"] == len(trial.pool)
    assert wrong["true_joined"] == all_true["true_joined"]


@pytest.mark.filterwarnings("ignore:n_initial_neighbors=2 gives fewer")  # of the paper's own way
def test_every_method_labels_a_trial(small_trial):
    trial = small_trial.with_outliers(200)
    found = label_candidates(trial.candidates, trial.pool, NAMES)
    assert list(found) == [n for n in NAMES if n != "sift-ransac"]
    for name, labelling in found.items():
        n = len(trial.candidates) + len(trial.pool)
        assert labelling.labels.shape == (n,) and labelling.seconds > 0, name
        assert json.loads(parameters(name))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("method,f\nagdl,1\n", "must have the columns .*; sweep is missing"),
        (",".join(sweep.COLUMNS) + "\nsigma,1\n", "row 1 must have as many fields as the header, "),
        (
            ",".join(sweep.COLUMNS) + "\n" + ",".join(["1"] * len(sweep.COLUMNS)) + "\n",
            "sweep must be one of",
        ),
    ],
    ids=["columns", "short row", "name"],
)
def test_a_report_of_a_damaged_table(tmp_path, capsys, content, message):
    (tmp_path / "trials.csv").write_text(content)
    assert door.main(["sweep", "--report", "--out", str(tmp_path)]) == 2
    assert re.search(message, capsys.readouterr().err)
