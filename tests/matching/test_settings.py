"""Every setting is declared with its bounds, the program runs at them, and each setting changes something."""

import json
import re
from argparse import ArgumentTypeError
from dataclasses import asdict, fields, is_dataclass, replace
from functools import cache

import numpy as np
import pytest
from planting import bent, geometry, moving, object_pair, similarity, strangers, together

from matching import InputError, MatchConfig
from matching.cli.arguments import make_config, make_parser
from matching.correspondences.candidates import match_with_reserve
from matching.correspondences.view_candidates import match_views
from matching.features.extraction import extract_features
from matching.grouping.clusters import link
from matching.grouping.group import build_graph, group
from matching.grouping.groups import label_groups
from matching.grouping.ledger import Ledger
from matching.grouping.methods import GIVEN_ALONE, PAIR, choose_method
from matching.grouping.planes import find_planes
from matching.pictures.images import make_picture
from matching.searches.source import describe_picture
from matching.settings import DECLARED

UNDECLARED = {"features__regions"}  # several words
IN_SEAMS = {"merging__seam", "merging__decisive"}  # tests/matching/grouping/test_seams.py


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
    return [
        (name, s) for name, s in settings() if s is not None and np.isfinite([s.minimum, s.maximum]).all()
    ]


def test_every_setting_is_declared():
    assert {name for name, declared in settings() if declared is None} == UNDECLARED
    left = {name for name, s in settings() if s is not None} - {name for name, _ in numbers()}
    kinds = {type(dict(settings())[name].default) for name in left}
    assert kinds == {bool, str}
    assert len(numbers()) > 35


@cache
def described_pair():
    return tuple(describe_picture(make_picture(picture)).features for picture in object_pair(80))


@cache
def scene():
    """A bent thing in two parts, two things that move alike, one of few matches, and strangers."""
    rng = np.random.default_rng(0)
    flag = bent(rng, 260, size=300.0, waves=12.0)
    parts = [
        flag[abs(flag.xy0[:, 0] - 150) > 25],
        moving(rng, 60, np.eye(2), start=(350.0, 0.0), shift=(700.0, 10.0), noise=0.5),
        moving(rng, 60, similarity(0.06), start=(420.0, 60.0), shift=(775.0, 75.0), noise=0.5),
        moving(rng, 9, similarity(0.5), start=(100.0, 100.0), shift=(800.0, 500.0), size=60.0),
        strangers(rng, 150),
    ]
    joined = geometry(together(*parts)[0])
    return joined[np.random.default_rng(1).permutation(len(joined))]


def run_stage(stage, config):
    """What the stage that reads a setting makes of small data: a list of arrays."""
    if stage == "features":
        found = extract_features(object_pair(80)[0].mean(axis=2).astype(np.uint8), config.features)
        return [found.xy, found.frames, found.descriptors]
    if stage == "candidates":
        config = config.with_settings(max_matches=min(config.candidates.max_matches, 100))
        return [part.score for part in match_with_reserve(*described_pair(), config.candidates)]
    if stage == "view_candidates":
        config = config.with_settings(max_matches=20)
        found, n_listed = match_views(*described_pair(), config.candidates, config.view_candidates)
        return [found.score, np.array(n_listed)]
    if stage == "":
        return [describe_picture(make_picture(object_pair(80)[0]), config).features.xy]
    if stage == "clustering" and config.clustering.bandwidth != MatchConfig().clustering.bandwidth:
        paper = MatchConfig.paper()  # nothing else reads it
        config = replace(paper, clustering=replace(paper.clustering, bandwidth=config.clustering.bandwidth))
    matches = scene()[::2] if stage == "smooth_map" else scene()  # each is predicted from up to all others
    ledger, details = Ledger(len(matches)), []
    if stage == "objects":  # only the given matches without pictures are tested for significance
        alone = group(matches, 330, config, GIVEN_ALONE)
        details.append(label_groups(len(matches), alone))
    groups = group(matches, 330, config, choose_method(config, PAIR), ledger)
    if stage == "clustering" and not config.is_paper:  # later steps hide some changes
        graph = build_graph(matches, np.arange(330), config, Ledger(len(matches)))
        details = [] if graph is None else [link(matches, graph, config.clustering).tree.affinities]
    if stage == "planes":
        overlap = config.suppression.share
        groups = find_planes(matches, groups, config.planes, config.graph.scale, overlap, ledger)
    labels = label_groups(len(matches), groups)
    steps, _ = ledger.close(labels, matches.xy0, matches.xy1)
    return [labels, np.array([found.score for found in groups]), steps, *details]


@cache
def run_by_default(stage):
    return run_stage(stage, MatchConfig())


def differs(one, other):
    return len(one) != len(other) or not all(map(np.array_equal, one, other))


@pytest.mark.filterwarnings("ignore:n_initial_neighbors")
@pytest.mark.parametrize("name", [name for name, _ in numbers()])
def test_setting_changes_results_at_one_of_its_bounds(name):
    declared, stage = dict(settings())[name], name.rpartition("__")[0]
    bounds = declared.minimum, declared.maximum
    found = [run_stage(stage, MatchConfig().with_settings(**{name: value})) for value in bounds]
    assert all(np.isfinite(array).all() for arrays in found for array in arrays)
    if name not in IN_SEAMS:
        assert any(differs(arrays, run_by_default(stage)) for arrays in found)


@pytest.mark.parametrize("name", [name for name, _ in numbers()])
def test_values_beyond_bounds_are_refused(name):
    declared, own = dict(settings())[name], name.rsplit("__", 1)[-1]
    beyond = [
        (declared.maximum * 2 + 1, "at most"),
        (declared.minimum - 1, "at least"),
        (-1e300, ""),
        (1e300, ""),
    ]
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
        assert action.type(str(declared.maximum)) == declared.maximum
        with pytest.raises(ArgumentTypeError, match=re.escape(f"must be {declared.rule}, got")):
            action.type(str(declared.maximum * 2))
        assert declared.text in action.help
    assert len(found) == 6
