"""What grouping tells of the groups that are no objects."""

from dataclasses import replace

import numpy as np
from matching.core.rounds import Context, Part, Round
from matching.grouping import group
from planting import similarity

from matching.core.config import MatchConfig
from matching.core.group import drop_below_gap
from matching.core.ledger import (
    IN_OBJECT,
    REASONS,
    Dropped,
    Rejection,
    Trace,
    choose_apart,
    choose_dropped,
    name_stages,
)
from matching.correspondences.correspondences import Correspondences

CONFIG = MatchConfig(objects=replace(MatchConfig().objects, evidence=0.0))


def moving(n, middle, matrix, rng, spread=60.0):
    """Matches of an object around a place."""
    xy0 = rng.uniform(-spread, spread, (n, 2)) + middle
    xy1 = (xy0 - middle) @ matrix.T + np.array(middle) + 40 + rng.normal(0, 0.4, (n, 2))
    return Correspondences(xy0, xy1, np.tile(matrix, (n, 1, 1)))


def scene(*parts):
    """The parts, then false matches."""
    rng = np.random.default_rng(0)
    noise = Correspondences(
        rng.uniform(0, 900, (300, 2)),
        rng.uniform(0, 900, (300, 2)),
        np.array([similarity(a, 1.0) for a in rng.uniform(-3, 3, 300)]),
    )
    parts = [*parts, noise]
    return Correspondences(*(np.concatenate([getattr(p, n) for p in parts]) for n in ("xy0", "xy1", "maps")))


def test_a_small_cluster_is_named_with_its_size():
    rng = np.random.default_rng(1)
    c = scene(moving(80, (200, 200), np.eye(2), rng), moving(11, (700, 700), similarity(0.5), rng))
    found = group(c, len(c), CONFIG)
    assert len(found.scores) == 1
    (small,) = [item for item in found.rejected if item.stage == "clusters" and item.members.min() >= 80]
    assert (small.measure, small.bound) == (len(small.members), 12)
    assert set(small.members) <= set(range(80, 91))
    located = small.locate(c.xy0, c.xy1)
    assert located.n_matches == len(small.members)
    assert np.array_equal(located.points0, c.xy0[small.members])
    assert located.reason == REASONS["clusters"].word
    assert np.allclose(located.centres[1], c.xy1[small.members].mean(axis=0))
    assert np.array_equal(located.swapped.points0, located.points1)


def test_the_bound_of_the_gap_is_the_lowest_new_score_above_it():
    rows = np.arange(80).reshape(4, 20)
    parts = [Part(own, own[:9], score) for own, score in zip(rows, (0.3, 0.9, 0.85, 0.4), strict=True)]
    trace = Trace(80)
    c = moving(80, (200, 200), np.eye(2), np.random.default_rng(0))
    state = drop_below_gap(Round(parts[:1], parts=parts, n_known=1), Context(c, 80, CONFIG, trace))
    assert state.parts == parts[:3]
    (item,), _ = trace.close(np.repeat([0, 1, 2, -1], 20))
    assert (item.stage, item.measure, item.bound) == ("largest gap", 0.4, 0.85)


def test_each_group_is_listed_once_and_objects_are_not():
    labels = np.full(100, -1)
    labels[:10] = 0
    dropped = [
        Dropped("clusters", np.arange(20, 28), 8, 12),
        Dropped("largest gap", np.arange(20, 40), 0.1, 0.5),
        Dropped("suppression", np.arange(4, 12)),  # most of it is in the object
        Dropped("clusters", np.arange(60, 66), 6, 12),
    ]
    chosen = choose_dropped(dropped, labels)
    assert [item.stage for item in chosen] == ["largest gap", "clusters"]
    assert chosen[1].members[0] == 60
    assert (labels >= 0).sum() == 10  # as they were


def test_every_correspondence_is_in_an_object_or_has_a_stage():
    rng = np.random.default_rng(1)
    c = scene(moving(80, (200, 200), np.eye(2), rng), moving(11, (700, 700), similarity(0.5), rng))
    found = group(c, len(c), CONFIG)
    assert np.array_equal(found.stages == IN_OBJECT, found.labels >= 0)
    told = name_stages(found.stages)
    assert {"graph", "clusters"} <= set(told[80:]) <= set(REASONS)
    for item in found.rejected:
        assert (told[item.members] == item.stage).mean() > 0.5
    nothing = group(c, 8, CONFIG)
    assert set(name_stages(nothing.stages)) == {"candidates"}


def test_what_was_never_clustered_is_told_apart_from_too_few_matches():
    """Only the first n_listed are clustered; a later round leaves out what is near an object."""
    rng = np.random.default_rng(1)
    moved = moving(80, (200, 200), np.eye(2), rng)
    near = moved[np.arange(4)]
    near = Correspondences(near.xy0, near.xy1[::-1], np.tile(similarity(2.0, 1.0), (4, 1, 1)))
    c = scene(moved)
    c = Correspondences(*(np.concatenate([getattr(p, n) for p in (c, near)]) for n in ("xy0", "xy1", "maps")))
    told = name_stages(group(c, 380, CONFIG).stages)
    assert set(told[380:]) == {"near object"}
    assert "candidates" not in told
    far = c[np.append(np.arange(380), np.arange(380)[::-1])]
    far = Correspondences(far.xy0 + 2000 * (np.arange(760) >= 380)[:, None], far.xy1, far.maps)
    one_round = replace(CONFIG, objects=replace(CONFIG.objects, rounds=1))
    assert set(name_stages(group(far, 380, one_round).stages)[380:]) == {"rounds"}


def test_what_lies_on_a_line_is_named_with_its_width():
    rng = np.random.default_rng(1)
    c = moving(80, (200, 200), np.eye(2), rng)
    c = Correspondences(c.xy0 * [1, 0.02], c.xy1 * [1, 0.02], c.maps)
    found = group(c, len(c), CONFIG)
    assert len(found.scores) == 0
    item = found.rejected[0]
    assert (item.stage, item.bound) == ("width", 0.15)
    assert item.measure < 0.05


def test_the_last_stage_counts_and_what_is_listed_says_the_same():
    trace = Trace(6)
    trace.drop("significance", np.arange(2))
    trace.drop("graph", np.arange(3))  # in a later round
    trace.drop_group("clusters", np.arange(3, 5), 2, 12)
    labels = np.array([-1, -1, -1, -1, -1, 0])
    groups, stages = trace.close(labels)
    assert [item.stage for item in groups] == ["clusters"]
    expected = ["significance", "significance", "graph", "clusters", "clusters", ""]
    assert name_stages(stages).tolist() == expected


def test_match_of_two_groups_gets_stage_of_larger_one():
    trace = Trace(12)
    trace.drop_group("clusters", np.arange(7, 12), 5, 12)
    trace.drop_group("suppression", np.arange(9))
    groups, stages = trace.close(np.full(12, -1))
    assert [item.stage for item in groups] == ["suppression", "clusters"]
    assert name_stages(stages).tolist() == ["suppression"] * 9 + ["clusters"] * 3


def test_of_several_sizes_each_group_is_listed_once():
    square = np.array([[0.0, 0.0], [10.0, 0.0], [10.0, 10.0], [0.0, 10.0]])
    groups = [Rejection("clusters", 4, 12, square + shift, square + shift) for shift in (0, 0.5, 100, 200)]
    chosen = choose_apart(groups, square + 200, square + 200, np.array([2.0, 2.0]))
    assert [item.points0[0, 0] for item in chosen] == [0, 100]
