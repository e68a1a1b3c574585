"""Every setting is declared with its bounds, and the program runs at them."""

import json
import re
from argparse import ArgumentTypeError
from dataclasses import asdict, fields, is_dataclass, replace

import numpy as np
import pytest
from planting import object_pair

from matching import InputError, MatchConfig, group_matches, match
from matching.cli.arguments import make_config, make_parser
from matching.settings import DECLARED

UNDECLARED = {"features__regions"}  # several words


def settings():
    """(name, its Setting) of every setting of every stage, as `match` takes them."""
    for part in fields(MatchConfig):
        value = getattr(MatchConfig(), part.name)
        if not is_dataclass(value):
            yield part.name, part.metadata.get(DECLARED)
            continue
        for own in fields(value):
            yield f"{part.name}__{own.name}", own.metadata.get(DECLARED)


def numbers():
    return [(name, s) for name, s in settings() if s is not None and np.isfinite([s.least, s.most]).all()]


def test_every_setting_is_declared():
    assert {name for name, declared in settings() if declared is None} == UNDECLARED
    left = {name for name, s in settings() if s is not None} - {name for name, _ in numbers()}
    kinds = {type(dict(settings())[name].default) for name in left}
    assert kinds == {bool, str}
    assert len(numbers()) > 35


@pytest.mark.filterwarnings("ignore:n_initial_neighbors")
@pytest.mark.parametrize("name", [name for name, _ in numbers()])
def test_the_program_runs_at_the_bounds_and_tells_what_lies_beyond(name):
    declared = dict(settings())[name]
    pair = object_pair(80)
    for value in (declared.least, declared.most):
        result = match(*pair, **{name: value})
        assert len(result.cluster) == len(result.xy0)
        assert all(np.isfinite(o.transform).all() for o in result.objects)
    own = name.rsplit("__", 1)[-1]
    beyond = [(declared.most * 2 + 1, "at most"), (declared.least - 1, "at least"), (-1e300, ""), (1e300, "")]
    for value, rule in [*beyond, (float("nan"), ""), (float("inf"), ""), ("1", ""), (True, ""), ([1], "")]:
        whole = int(value) if rule and (declared.kind or type(declared.default)) is int else value
        with pytest.raises(InputError, match=f"{own} must be .*{rule}"):
            MatchConfig().with_settings(**{name: whole})


@pytest.mark.parametrize("value", [0, 1, "yes", None, [], np.ones(2)])
def test_truth_values_are_true_or_false(value):
    for name, declared in settings():
        if declared is not None and isinstance(declared.default, bool):
            with pytest.raises(InputError, match="must be True or False"):
                MatchConfig().with_settings(**{name: value})
            assert MatchConfig().with_settings(**{name: np.bool_(True)})


def test_numbers_of_numpy_become_python_s():
    plain = MatchConfig().with_settings(max_matches=500, reserve=2.0)
    made = MatchConfig().with_settings(max_matches=np.int32(500), reserve=np.float32(2))
    assert repr(made) == repr(plain) == repr(MatchConfig().with_settings(max_matches=500, reserve=2))
    assert json.loads(json.dumps(asdict(made)))["candidates"]["max_matches"] == 500


def test_the_command_line_has_the_same_defaults_and_bounds():
    assert make_config(make_parser().parse_args([])) == MatchConfig()
    options = {action.dest: action for action in make_parser()._actions}
    found = set()
    for name, declared in settings():
        stage, _, own = name.rpartition("__")
        action = options.get(own)
        if stage not in ("candidates", "clustering") or action is None or own == "method":
            continue
        found.add(own)
        assert action.default == declared.default
        assert action.type(str(declared.most)) == declared.most
        with pytest.raises(ArgumentTypeError, match=re.escape(f"must be {declared.rule}, got")):
            action.type(str(declared.most * 2))
        assert declared.text in action.help
    assert len(found) == 6


def test_a_sample_of_given_matches_is_as_large_as_told():
    rng = np.random.default_rng(0)
    xy0 = rng.uniform(0, 500, (400, 2))
    xy1 = xy0 + 9 + rng.normal(0, 1.0, xy0.shape)
    few = replace(MatchConfig(), candidates=replace(MatchConfig().candidates, max_matches=40))
    all_of_them, sampled = (group_matches(xy0, xy1, config=c).objects for c in (MatchConfig(), few))
    assert len(all_of_them) == len(sampled) == 1
    assert sampled[0].score != all_of_them[0].score  # maps of neighbours farther away


def test_the_help_says_that_merging_may_end_before_the_number_of_clusters():
    text = " ".join(make_parser().format_help().split())
    assert "at which merging stops, n_T; it ends earlier if no two clusters have the minimum affinity" in text
