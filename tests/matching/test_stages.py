"""Results of a stage change only with its number: by it, collections are told from others."""

import numpy as np
import pytest

from eval import door
from eval.maintain import record_stages
from eval.matching import stage_results
from matching.output.provenance import RESULT_VERSIONS


@pytest.fixture(scope="module")
def known():
    return dict(np.load(stage_results.RECORD))


def test_results_of_a_stage_change_only_with_its_number(known):
    numbers = {stage: int(known[f"number/{stage}"]) for stage in RESULT_VERSIONS}
    assert numbers == RESULT_VERSIONS, "python -m eval record-stages"
    assert stage_results.find_changes(known) == [], "raise their numbers in matching/output/provenance.py"


def test_the_record_has_something_of_each_stage(known):
    assert set(stage_results.COMPUTE) == set(RESULT_VERSIONS)
    for stage in RESULT_VERSIONS:
        assert sum(a.size for name, a in known.items() if name.startswith(f"{stage}/")) > 8, stage
    assert len(known["grouping/scores"]) >= 2
    assert len(known["features/0/xy"]) > 150


@pytest.mark.parametrize(("stage", "setting"), [("candidates", "per_feature"), ("grouping", "graph__scale")])
def test_a_changed_default_is_noticed(known, monkeypatch, stage, setting):
    config = stage_results.CONFIG.with_settings(**{setting: 2})
    monkeypatch.setattr(stage_results, "CONFIG", config)
    assert stage_results.find_changes(known) == [stage]


def test_changed_code_is_noticed_and_rounding_is_not(known, monkeypatch):
    describe = stage_results.describe_objects
    for shift, changed in ((0.01, ["objects"]), (1e-9, [])):

        def describe_otherwise(xy0, xy1, *more, shift=shift):
            return describe(xy0, xy1 + np.array([shift, 0]), *more)

        monkeypatch.setattr(stage_results, "describe_objects", describe_otherwise)
        assert stage_results.find_changes(known) == changed


def test_the_script_writes_nothing_if_a_stage_has_changed_and_its_number_has_not(
    monkeypatch, tmp_path, capsys
):
    monkeypatch.setattr(record_stages, "find_changes", lambda known: ["objects"])
    assert door.main(["record-stages", "--out", str(tmp_path / "stages.npz")]) == 1
    assert "raise its number" in capsys.readouterr().out
    assert not list(tmp_path.iterdir())
