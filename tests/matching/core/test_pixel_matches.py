import numpy as np
import pytest
from planting import make_groups, moving

from matching.core.groups import FEW_MATCHES
from matching.core.ledger import Ledger, RejectedGroup, name_steps
from matching.core.pixel_matches import choose_rows, locate


def test_objects_come_first_and_larger_ones_are_cut():
    labels = np.repeat([0, 1, -1], [40, 10, 30])
    score = np.tile(np.linspace(0, 1, 10), 8)
    rows = choose_rows(labels, score, np.zeros(80, bool), 30)
    assert np.bincount(labels[rows] + 1).tolist() == [0, 20, 10]
    assert score[rows][labels[rows] == 0].max() < score[:40].max()
    assert np.bincount(labels[choose_rows(labels, score, np.zeros(80, bool), 60)] + 1).tolist() == [
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
    return candidates, locate(candidates, groups, ledger, np.array([2.0, 2.0]), np.array([4.0, 3.0]))


def test_matches_and_rejected_groups_are_located_in_pixels_of_the_pictures(located):
    candidates, found = located
    assert np.allclose(found.xy0, 2 * candidates.xy0 + 0.5)  # the centre of a larger pixel
    assert np.allclose(found.xy1, candidates.xy1 * [4, 3] + [1.5, 1])
    assert found.labels.tolist() == [0] * 30 + [1] * 20 + [-1] * 10
    assert found.n_kept == 50
    assert [one.score for one in found.objects] == [0.9, 0.5]
    assert [one.steps.tolist() for one in found.objects] == [[2.0, 4.0]] * 2
    assert name_steps(found.dropped_by).tolist() == [""] * 50 + ["size"] * 6 + ["candidates"] * 4
    (group,) = found.rejected
    assert np.array_equal(group.points0, found.xy0[50:56])
    swapped = found.swapped
    assert np.array_equal(swapped.xy0, found.xy1) and np.array_equal(swapped.labels, found.labels)
    assert [one.steps.tolist() for one in swapped.objects] == [[4.0, 2.0]] * 2
    assert np.array_equal(swapped.rejected[0].points1, group.points0)


def test_dropped_objects_become_rejected_groups_and_the_others_are_renumbered(located):
    _, found = located
    fewer = found.drop("places", np.array([False, True]), 1.0)
    assert fewer.labels.tolist() == [-1] * 30 + [0] * 20 + [-1] * 10
    assert [one.score for one in fewer.objects] == [0.5]
    assert name_steps(fewer.dropped_by[:30]).tolist() == ["places"] * 30
    assert [group.step for group in fewer.rejected] == ["places", "size"]
    assert np.array_equal(fewer.rejected[0].points0, found.xy0[:30])
    assert found.drop("places", np.array([True, True]), 1.0) is found


def test_rejected_groups_of_another_search_are_added_unless_they_are_near():
    candidates = moving(np.random.default_rng(0), 20, np.eye(2))
    step = np.ones(2)
    found = locate(candidates, make_groups(np.zeros(20), [0.9]), Ledger(20), step, step)
    near = RejectedGroup("line", 0.1, 0.15, found.xy0[:9] + 3, found.xy1[:9] + 3)
    far = RejectedGroup("size", 9, 12, found.xy0[:9] + 900, found.xy1[:9] + 900)
    assert found.add_rejected([], 10.0) is found
    assert [group.step for group in found.add_rejected([near, far], 10.0).rejected] == ["size"]
    assert [group.step for group in found.add_rejected([near, far], 1.0).rejected] == ["line", "size"]


def test_at_most_as_many_matches_are_located_as_are_listed():
    candidates = moving(np.random.default_rng(0), 60, np.eye(2))
    groups = make_groups(np.repeat([-1, 0], 30), [0.9])  # of the pool, which is not listed
    found = locate(candidates, groups, Ledger(60), np.ones(2), np.ones(2), 40)
    assert len(found.xy0) == 40
    assert found.labels.tolist() == [-1] * 10 + [0] * 30
    assert np.array_equal(found.score, candidates.score[np.r_[:10, 30:60]])  # the best outliers stay
