"""What is recorded of matches that are in no object."""

from dataclasses import replace

import numpy as np
import pytest
from planting import make_groups, similarity

from matching.correspondences.correspondences import Correspondences
from matching.grouping.clusters import drop_below_gap, find_above_largest_gap
from matching.grouping.config import MatchConfig
from matching.grouping.group import group
from matching.grouping.groups import MAX_MAP_ERROR, label_groups
from matching.grouping.ledger import IN_OBJECT, Ledger, RejectedGroup, choose_apart, name_steps
from matching.grouping.methods import GIVEN_ALONE, PAIR
from matching.grouping.reasons import REASONS

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


def close(ledger, labels):
    """The name of the step of each match, and the rejected groups; each match is at its number."""
    places = np.arange(2.0 * len(labels)).reshape(-1, 2)
    steps, rejected = ledger.close(np.array(labels), places, -places)
    return name_steps(steps).tolist(), rejected


def rows_of(rejected):
    """The rows of the matches of a group, if each match is at its number."""
    return (rejected.points0[:, 0] / 2).astype(int).tolist()


def run(c, n_listed, config=CONFIG, method=PAIR):
    """The groups, the group of each match, the name of the step of each, and the rejected groups."""
    ledger = Ledger(len(c))
    groups = group(c, n_listed, config, method, ledger)
    labels = label_groups(len(c), groups)
    steps, rejected = ledger.close(labels, c.xy0, c.xy1)
    assert np.array_equal(steps == IN_OBJECT, labels >= 0)
    return groups, labels, name_steps(steps), rejected


@pytest.fixture(scope="module")
def large_and_small():
    """An object of 80 matches, eleven matches that agree, which are too few, and false ones."""
    rng = np.random.default_rng(1)
    return scene(moving(80, (200, 200), np.eye(2), rng), moving(11, (700, 700), similarity(0.5), rng))


def test_a_small_cluster_is_listed_with_its_size(large_and_small):
    c = large_and_small
    groups, _, steps, rejected = run(c, len(c))
    assert len(groups) == 1
    (small,) = [
        item for item in rejected if item.step == "size" and np.isin(item.points0, c.xy0[80:91]).all()
    ]
    assert (small.measure, small.bound) == (small.n_matches, 12)
    rows = np.flatnonzero(np.isin(c.xy0, small.points0).all(axis=1))
    assert set(rows) <= set(range(80, 91))
    assert np.array_equal(small.points1, c.xy1[rows])
    assert (steps[rows] == "size").all()
    assert (small.reason, small.text) == (REASONS["size"].word, REASONS["size"].text)
    assert np.allclose(small.centres[1], c.xy1[rows].mean(axis=0))
    assert np.array_equal(small.swapped.points0, small.points1)


def test_the_bound_of_the_gap_is_the_lowest_score_above_it():
    groups = make_groups(np.repeat(np.arange(3), 20), [0.9, 0.85, 0.4])
    ledger = Ledger(60)
    assert drop_below_gap(groups, find_above_largest_gap, ledger) == groups[:2]
    _, (item,) = close(ledger, np.repeat([0, 1, -1], 20))
    assert (item.step, item.measure, item.bound) == ("largest gap", 0.4, 0.85)


def test_each_group_is_listed_once_and_groups_mostly_inside_objects_are_not():
    labels = np.full(100, -1)
    labels[:10] = 0
    ledger = Ledger(100)
    ledger.drop("size", np.arange(20, 28), 8, 12)
    ledger.drop("largest gap", np.arange(20, 40), 0.1, 0.5)
    ledger.drop("suppression", np.arange(4, 12))  # most of it is in the object
    ledger.drop("size", np.arange(60, 66), 6, 12)
    _, rejected = close(ledger, labels)
    assert [item.step for item in rejected] == ["largest gap", "size"]
    assert rows_of(rejected[1]) == list(range(60, 66))
    assert (labels >= 0).sum() == 10  # as they were


@pytest.mark.parametrize(("n_inside", "n_listed"), [(2, 1), (3, 0), (4, 0)])
def test_a_group_with_half_of_its_matches_in_an_object_is_not_listed(n_inside, n_listed):
    ledger = Ledger(6)
    ledger.drop("line", np.arange(6))
    steps, rejected = close(ledger, [0] * n_inside + [-1] * (6 - n_inside))
    assert len(rejected) == n_listed
    assert steps == [""] * n_inside + ["line"] * (6 - n_inside)  # they came to that step all the same


def test_every_match_is_in_an_object_or_has_a_step(large_and_small):
    c = large_and_small
    _, _, steps, rejected = run(c, len(c))
    assert {"graph", "size"} <= set(steps[80:]) <= set(REASONS)
    for item in rejected:
        rows = np.isin(c.xy0, item.points0).all(axis=1)
        assert (steps[rows] == item.step).mean() > 0.5
    assert set(run(c, 8)[2]) == {"candidates"}


def test_what_was_never_clustered_is_told_apart_from_too_few_matches():
    """Only the first n_listed are clustered; a later round leaves out what is near an object."""
    rng = np.random.default_rng(1)
    moved = moving(80, (200, 200), np.eye(2), rng)
    near = moved[np.arange(4)]
    near = Correspondences(near.xy0, near.xy1[::-1], np.tile(similarity(2.0, 1.0), (4, 1, 1)))
    c = scene(moved)
    c = Correspondences(*(np.concatenate([getattr(p, n) for p in (c, near)]) for n in ("xy0", "xy1", "maps")))
    steps = run(c, 380)[2]
    assert set(steps[380:]) == {"reach"}
    assert "candidates" not in steps
    far = c[np.append(np.arange(380), np.arange(380)[::-1])]
    far = Correspondences(far.xy0 + 2000 * (np.arange(760) >= 380)[:, None], far.xy1, far.maps)
    one_round = replace(CONFIG, objects=replace(CONFIG.objects, rounds=1))
    assert set(run(far, 380, one_round)[2][380:]) == {"rounds"}


def test_group_on_a_line_is_listed_with_the_error_of_its_map():
    rng = np.random.default_rng(1)
    c = moving(80, (200, 200), np.eye(2), rng)
    c = Correspondences(c.xy0 * [1, 0.02], c.xy1 * [1, 0.02], c.maps)
    groups, *_, rejected = run(c, len(c), method=GIVEN_ALONE)
    assert groups == []
    assert (rejected[0].step, rejected[0].bound) == ("line", MAX_MAP_ERROR)
    assert rejected[0].measure > MAX_MAP_ERROR


def test_the_last_step_counts_and_listed_groups_say_the_same():
    ledger = Ledger(6)
    ledger.reach("significance", np.arange(2))
    ledger.reach("graph", np.arange(3))  # in a later round
    ledger.drop("size", np.arange(3, 5), 2, 12)
    steps, rejected = close(ledger, [-1, -1, -1, -1, -1, 0])
    assert [item.step for item in rejected] == ["size"]
    assert steps == ["significance", "significance", "graph", "size", "size", ""]


def test_match_of_two_groups_gets_step_of_larger_one():
    ledger = Ledger(12)
    ledger.drop("size", np.arange(7, 12), 5, 12)
    ledger.drop("suppression", np.arange(9))
    steps, rejected = close(ledger, [-1] * 12)
    assert [item.step for item in rejected] == ["suppression", "size"]
    assert steps == ["suppression"] * 9 + ["size"] * 3


def test_matches_that_reach_no_step_are_too_few_candidates():
    ledger = Ledger(4)
    ledger.reach("graph", np.array([False, True, False, False]))
    assert close(ledger, [-1] * 4) == (["candidates", "graph", "candidates", "candidates"], ())


def test_closing_changes_nothing():
    ledger = Ledger(5)
    ledger.drop("size", np.arange(3), 3, 12)
    first = close(ledger, [0, 0, 0, -1, -1])
    assert first == ([""] * 3 + ["candidates"] * 2, ())
    steps, (item,) = close(ledger, [-1] * 5)
    assert steps == ["size"] * 3 + ["candidates"] * 2
    assert rows_of(item) == [0, 1, 2]


def test_renumbered_matches_are_entered_under_their_own_numbers():
    """Number 0 is match 3, and so on; matches 1 and 5 have no number."""
    ledger = Ledger(6)
    other = ledger.renumber(np.array([0, 2, 3, 4]), np.array([3, 1, 0, 2]))
    other.reach("graph", np.array([True, True, True, True]))
    other.drop("size", np.array([0, 3]), 2, 12)
    steps, (item,) = close(ledger, [-1] * 6)
    assert steps == ["size", "candidates", "graph", "size", "graph", "candidates"]
    assert rows_of(item) == [0, 3]
    assert (item.measure, item.bound) == (2, 12)


def test_one_number_may_stand_for_several_matches_and_several_for_one():
    ledger = Ledger(5)
    several = ledger.renumber(np.arange(5), np.array([0, 0, 1, 1, 1]))  # equal matches, listed once
    several.drop("size", np.array([1]), 1, 12)
    assert close(ledger, [-1] * 5)[0] == ["candidates"] * 2 + ["size"] * 3
    ledger = Ledger(3)
    both_ways = ledger.renumber(np.array([0, 1, 2, 0, 1, 2]), np.arange(6))  # each in both directions
    both_ways.drop("line", np.array([0, 1, 4]), 0.1, 0.15)
    steps, (item,) = close(ledger, [-1] * 3)
    assert steps == ["line", "line", "candidates"]
    assert rows_of(item) == [0, 1]  # ascending, each once


def test_a_ledger_may_be_renumbered_twice():
    ledger = Ledger(6)
    inner = ledger.renumber(np.array([1, 3, 5]), np.arange(3)).renumber(np.array([2, 0]), np.arange(2))
    inner.drop("size", np.array([0]), 1, 12)
    inner.reach("graph", np.array([1]))
    assert close(ledger, [-1] * 6)[0] == ["candidates", "graph", *["candidates"] * 3, "size"]


def test_of_several_sizes_each_group_is_listed_once():
    square = np.array([[0.0, 0.0], [10.0, 0.0], [10.0, 10.0], [0.0, 10.0]])
    groups = [RejectedGroup("size", 4, 12, square + shift, square + shift) for shift in (0, 0.5, 100, 200)]
    chosen = choose_apart(groups, square + 200, square + 200, np.array([2.0, 2.0]))
    assert [item.points0[0, 0] for item in chosen] == [0, 100]


def test_reasons_are_different_words_and_clauses():
    assert len({reason.word for reason in REASONS.values()}) == len(REASONS)
    assert len({reason.text for reason in REASONS.values()}) == len(REASONS)
    assert all(" " not in reason.word and not reason.text.endswith(".") for reason in REASONS.values())
