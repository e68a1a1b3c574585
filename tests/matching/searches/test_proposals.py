import numpy as np
import pytest
from planting import make_groups, moving

from matching.grouping.groups import FEW_MATCHES
from matching.grouping.ledger import IN_OBJECT, STEPS, Ledger, name_steps
from matching.searches.proposals import Listing, Proposal, choose_rows, label_matches, locate


def test_objects_come_first_and_larger_ones_are_cut():
    labels = np.repeat([0, 1, -1], [40, 10, 30])
    distance = np.tile(np.linspace(0, 1, 10), 8)
    rows = choose_rows(labels, distance, np.zeros(80, bool), 30)
    assert np.bincount(labels[rows] + 1).tolist() == [0, 20, 10]
    assert distance[rows][labels[rows] == 0].max() < distance[:40].max()
    assert np.bincount(labels[choose_rows(labels, distance, np.zeros(80, bool), 60)] + 1).tolist() == [
        10,
        40,
        10,
    ]


def test_an_object_keeps_as_many_matches_as_the_smallest_object_has():
    labels = np.repeat([0, 1, -1], [40, 10, 30])
    for most in (1, 3, 15):
        rows = choose_rows(labels, np.zeros(80), np.zeros(80, bool), most)
        assert np.bincount(labels[rows] + 1).tolist() == [0, FEW_MATCHES, FEW_MATCHES]


@pytest.fixture
def located():
    """60 candidates of two objects and outliers, twice as large in the pictures as at the size used."""
    candidates = moving(np.random.default_rng(0), 60, np.eye(2), shift=(300.0, 0.0))
    groups, ledger = make_groups(np.repeat([0, 1, -1], [30, 20, 10]), [0.9, 0.5]), Ledger(60)
    ledger.drop("size", np.arange(50, 56), 6, 12)
    return candidates, locate(candidates, groups, ledger, (np.array([2.0, 2.0]), np.array([4.0, 3.0])))


def test_matches_and_rejected_groups_are_located_in_pixels_of_the_pictures(located):
    candidates, found = located
    assert np.allclose(found.xy0, 2 * candidates.xy0 + 0.5)  # the centre of a larger pixel
    assert np.allclose(found.xy1, candidates.xy1 * [4, 3] + [1.5, 1])
    assert [one.rows.tolist() for one in found.proposals] == [[*range(30)], [*range(30, 50)]]
    assert [one.score for one in found.proposals] == [0.9, 0.5]
    assert [one.steps.tolist() for one in found.proposals] == [[2.0, 4.0]] * 2
    for one in found.proposals:
        assert np.array_equal(one.xy0, found.xy0[one.rows])
        assert np.array_equal(one.xy1, found.xy1[one.rows])
        assert np.array_equal(one.distance, candidates.score[one.rows])
    assert name_steps(found.dropped_by).tolist() == [""] * 50 + ["size"] * 6 + ["candidates"] * 4
    (group,) = found.rejected
    assert np.array_equal(group.points0, found.xy0[50:56])
    swapped = found.swapped
    assert np.array_equal(swapped.xy0, found.xy1)
    assert [one.rows.tolist() for one in swapped.proposals] == [one.rows.tolist() for one in found.proposals]
    assert all(
        np.array_equal(one.xy0, own.xy1) for one, own in zip(swapped.proposals, found.proposals, strict=True)
    )
    assert [one.steps.tolist() for one in swapped.proposals] == [[4.0, 2.0]] * 2
    assert np.array_equal(swapped.rejected[0].points1, group.points0)


def test_distinct_matches_are_counted_among_those_of_the_proposal_when_asked():
    candidates = moving(np.random.default_rng(0), 20, np.eye(2))
    groups, asked = make_groups(np.repeat([0, 1], [12, 8]), [0.9, 0.5]), []

    def count(matches):
        asked.append(len(matches))
        return 7

    found = locate(candidates, groups, Ledger(20), (np.ones(2), np.ones(2)), count_distinct=count)
    assert asked == []
    assert [one.count_distinct() for one in found.proposals] == [7, 7]
    assert asked == [12, 8]


def test_a_swapped_proposal_has_its_negative_in_the_other_picture():
    xy = np.zeros((2, 2))
    one = Proposal(np.arange(2), xy, xy + 1, np.zeros(2), 0.5, np.ones(2), negative=1)
    assert (one.swapped.negative, one.swapped.swapped.negative) == (0, 1)
    assert np.array_equal(one.swapped.xy0, xy + 1)


def test_matches_of_proposals_that_are_not_kept_say_why(located):
    _, found = located
    first, second = found.proposals
    matches = label_matches(found, [second], [], None)
    assert matches.labels.tolist() == [-1] * 30 + [0] * 20 + [-1] * 10
    steps = ["agreement"] * 30 + [""] * 20 + ["size"] * 6 + ["candidates"] * 4
    assert name_steps(matches.dropped_by).tolist() == steps
    matches = label_matches(found, [second], [first], None)
    assert name_steps(matches.dropped_by)[:30].tolist() == ["details"] * 30


def test_matches_of_other_searches_come_last_and_objects_are_numbered_as_given(located):
    _, found = located
    first, _ = found.proposals
    xy = np.full((9, 2), 7.0)
    other = Proposal(np.arange(9), xy, xy + 1, np.full(9, 0.3), 0.7, np.ones(2))
    matches = label_matches(found, [other, first], [], None)
    assert matches.labels.tolist() == [1] * 30 + [-1] * 30 + [0] * 9
    assert np.array_equal(matches.xy1[60:], xy + 1)
    assert name_steps(matches.dropped_by)[60:].tolist() == [""] * 9
    few = label_matches(found, [other, first], [], 20)
    assert np.bincount(few.labels + 1, minlength=3).tolist() == [0, 9, 11]


def test_dropped_objects_leave_the_others_renumbered(located):
    _, found = located
    matches = label_matches(found, found.proposals, [], None)
    fewer = matches.drop("places", np.array([False, True]))
    assert fewer.labels.tolist() == [-1] * 30 + [0] * 20 + [-1] * 10
    assert name_steps(fewer.dropped_by[:30]).tolist() == ["places"] * 30
    assert np.array_equal(fewer.dropped_by[30:], matches.dropped_by[30:])
    same = matches.drop("places", np.array([True, True]))
    assert np.array_equal(same.labels, matches.labels)
    assert np.array_equal(same.dropped_by, matches.dropped_by)


def test_at_most_as_many_matches_are_kept_as_are_asked_for():
    candidates = moving(np.random.default_rng(0), 60, np.eye(2))
    groups = make_groups(np.repeat([-1, 0], 30), [0.9])  # of the pool, which is not listed
    found = locate(candidates, groups, Ledger(60), (np.ones(2), np.ones(2)), 40)
    matches = label_matches(found, found.proposals, [], 40)
    assert len(matches.xy0) == 40
    assert matches.labels.tolist() == [-1] * 10 + [0] * 30
    assert np.array_equal(matches.distance, candidates.score[np.r_[:10, 30:60]])  # the best outliers stay


def test_outliers_of_the_pool_come_after_those_that_are_listed():
    n = 30
    xy, dropped_by = np.zeros((n, 2)), np.full(n, STEPS.index("graph"), np.int8)
    found = Listing(xy, xy, np.linspace(1, 0, n), dropped_by, (), n_listed=20)
    assert np.array_equal(label_matches(found, [], [], 15).distance, found.distance[5:20])
    assert not (label_matches(found, [], [], 15).dropped_by == IN_OBJECT).any()


def test_share_near_counts_matches_that_are_near_in_both_pictures():
    xy = np.random.default_rng(0).uniform(0, 300, (20, 2))
    one = Proposal(np.arange(20), xy, xy, np.zeros(20), 0.5, np.array([1.0, 2.0]))
    moved = xy + np.repeat([[0.0, 0.0], [900.0, 0.0]], [15, 5], axis=0)
    other = Proposal(np.arange(20), moved, xy, np.zeros(20), 0.5, np.array([2.0, 1.0]))
    assert other.share_near(one, 5.0) == 0.75
    assert one.share_near(other, 5.0) == 0.75
    near = Proposal(np.arange(20), xy + 6, xy, np.zeros(20), 0.5, np.array([2.0, 1.0]))  # 8.5 pixels away
    assert near.share_near(one, 5.0) == 1.0  # the larger step counts
    assert near.share_near(one, 3.0) < 1.0
