import numpy as np
import pytest
from planting import make_groups

from matching import group_matches
from matching.core.groups import label_groups
from matching.core.ledger import Ledger, name_steps
from matching.core.points.planes import (
    OUTLIER_COST,
    _assign,
    _choose,
    _find_near,
    _merge,
    _refit,
    find_planes_of_object,
    fit_plane,
    split_into_planes,
    squared_error,
)
from matching.objects.transforms import apply_transform
from synth.rooms import match_planes

LEFT = np.array([[1.1, 0.05, 10], [0.02, 1.0, 5], [3e-4, 0, 1]])
RIGHT = np.array([[0.8, 0.0, 70], [-0.04, 0.95, 17], [-2e-4, 0, 1]])


def corner(seed=0, noise=0.5, n=60):
    """Matches on two planes that meet at x = 200: points and planes."""
    rng = np.random.default_rng(seed)
    xy0 = rng.uniform((0, 0), (400, 300), (2 * n, 2))
    truth = (xy0[:, 0] > 200).astype(np.int64)
    xy1 = np.where(truth[:, None] == 0, apply_transform(LEFT, xy0), apply_transform(RIGHT, xy0))
    return xy0, xy1 + rng.normal(0, noise, xy1.shape), truth


def agreement(found, truth):
    """The share of matches in the plane that has most of theirs."""
    right = np.zeros(len(truth), bool)
    for k in np.unique(truth):
        own = truth == k
        most = np.bincount(found[own & (found >= 0)], minlength=1).argmax()
        right |= own & (found == most)
    return right.mean()


@pytest.mark.parametrize("seed", range(3))
def test_a_corner_has_two_planes(seed):
    xy0, xy1, truth = corner(seed)
    found = find_planes_of_object(xy0, xy1)
    assert found.max() == 1
    assert agreement(found, truth) > 0.95
    swapped = find_planes_of_object(xy1, xy0)
    assert agreement(swapped, truth) > 0.95


def test_one_plane_stays_whole():
    xy0, xy1, truth = corner()
    own = truth == 0
    assert (find_planes_of_object(xy0[own], xy1[own]) == 0).mean() > 0.97
    assert (find_planes_of_object(xy0[:12], xy1[:12]) == 0).all()  # few: not split


@pytest.mark.parametrize("seed", range(2))
def test_what_is_flat_is_no_two_planes_among_each_other(seed):
    rng = np.random.default_rng(seed)
    xy0 = rng.uniform((0, 0), (600, 400), (400, 2))
    xy1 = apply_transform(LEFT, xy0) + rng.normal(0, 0.5, xy0.shape)
    assert (find_planes_of_object(xy0, xy1) == 0).mean() > 0.98


def test_exact_matches_and_points_in_one_place():
    xy0, xy1, truth = corner(noise=0.0)
    assert agreement(find_planes_of_object(xy0, xy1), truth) > 0.98
    assert (find_planes_of_object(np.ones((40, 2)), np.ones((40, 2))) == 0).all()


def test_the_error_counts_in_the_deviations_that_noise_in_both_pictures_gives():
    shrink = np.diag([0.1, 0.1, 1.0])
    error = squared_error(shrink, np.array([[10.0, 0.0]]), np.array([[2.0, 0.0]]))
    np.testing.assert_allclose(error, [1 / 1.01])  # off by 1, of variance 1 + 0.1^2
    grow = squared_error(np.linalg.inv(shrink), np.array([[2.0, 0.0]]), np.array([[10.0, 0.0]]))
    np.testing.assert_allclose(grow, error)  # the same with pictures swapped
    horizon = np.array([[1, 0, 0], [0, 1, 0], [-1, 0, 2.0]])
    xy = np.array([[1.0, 1.0], [0.5, 0.0], [3.0, 1.0], [2.0, 1.0]])
    beyond = np.isinf(squared_error(horizon, xy, xy))
    assert beyond.tolist() == [False, False, True, True]


def test_the_fit_is_the_one_of_least_error():
    rng = np.random.default_rng(5)
    xy0 = rng.uniform((0, 0), (400, 300), (60, 2))
    xy1 = apply_transform(LEFT, xy0) + rng.normal(0, 0.5, (60, 2))
    xy0 = xy0 + rng.normal(0, 0.5, (60, 2))
    least = squared_error(fit_plane(xy0, xy1), xy0, xy1).sum()
    assert 0.6 < least / (0.25 * (2 * 60 - 8)) < 1.4  # as large as the noise
    for step in np.eye(9)[:8].reshape(8, 3, 3) * np.array([[1e-3, 1e-3, 0.1]] * 2 + [[3e-6, 3e-6, 0]]):
        for sign in (-1, 1):
            fitted = fit_plane(xy0, xy1)
            other = fitted / fitted[2, 2] + sign * step
            assert squared_error(other, xy0, xy1).sum() > least
    assert fit_plane(xy0[:3], xy1[:3]) is None


def test_planes_have_the_scores_of_their_objects_and_do_not_depend_on_the_order():
    xy0, xy1, _ = corner()
    n = len(xy0)
    groups, ledger = make_groups(np.zeros(n), [0.7]), Ledger(n)
    planes = split_into_planes(xy0, xy1, groups, ledger)
    assert [plane.score for plane in planes] == [0.7, 0.7]
    assert len(planes[0].rows) >= len(planes[1].rows)
    labels = label_groups(n, planes)
    assert set(name_steps(ledger.close(labels, xy0, xy1)[0])[labels < 0]) <= {"planes"}
    order = np.random.default_rng(3).permutation(n)
    again = split_into_planes(xy0[order], xy1[order], groups, Ledger(n))
    assert np.array_equal(label_groups(n, again), labels[order])
    assert split_into_planes(xy0, xy1, [], Ledger(n)) == []


def test_planes_of_a_room_are_told_apart_where_they_are_asked_for():
    given = match_planes(9)
    whole, planes = (group_matches(given.xy0, given.xy1, planes=asked) for asked in (False, True))
    assert len(whole.objects) == 1
    assert len(planes.objects) >= 5
    assert all(o.transform_kind == "homography" or o.n_matches < 30 for o in planes.objects)
    for k in range(len(planes.objects)):
        own = given.label[planes.cluster == k]
        assert np.bincount(own[own >= 0]).max() > 0.6 * len(own)


@pytest.mark.parametrize("seed", range(2))
def test_the_fit_is_better_than_the_truth(seed):
    """Of matches whose depths differ by a factor of five, which weighs algebraic errors alike."""
    rng = np.random.default_rng(seed)
    steep = np.array([[1.1, 0.05, 10], [0.02, 1.0, 5], [0.01, 0, 1]])
    xy0 = rng.uniform((0, 0), (400, 300), (60, 2))
    xy1 = apply_transform(steep, xy0) + rng.normal(0, 0.5, (60, 2))
    assert squared_error(fit_plane(xy0, xy1), xy0, xy1).sum() < squared_error(steep, xy0, xy1).sum()


def test_a_match_chooses_the_plane_that_is_most_probable_with_its_neighbours():
    rng = np.random.default_rng(0)
    cost, near = rng.uniform(0, 3, (3, 40)), rng.integers(0, 40, (40, 14))
    labels = rng.integers(-1, 2, 40)
    for n, chosen in enumerate(_assign(cost, near, labels)):
        count = [np.count_nonzero(labels[near[n]] == p) for p in (0, 1, -1)]
        probable = [np.exp(-cost[p, n]) * (count[p] + 0.5) for p in range(3)]
        assert chosen == [0, 1, -1][int(np.argmax(probable))]


def test_a_plane_has_eight_matches():
    xy0, xy1, _ = corner()
    labels = np.repeat([0, 1, -1], [8, 7, 105])
    planes, renumbered = _refit(xy0, xy1, [LEFT, RIGHT], labels)
    assert len(planes) == 1
    assert np.array_equal(renumbered, np.where(labels == 0, 0, -1))


def test_the_accuracy_is_that_of_the_better_proposals():
    """The first quartile of chi-squared over 20 degrees of freedom is 0.77 of its mean."""
    xy0, xy1, truth = corner(n=400)
    own = truth == 0
    error = squared_error(LEFT, xy0[own], xy1[own]).mean() / 2
    assert 0.7 < _choose(xy0[own], xy1[own])[1] / error < 0.85


@pytest.mark.parametrize("bend", [0.0, 0.007, 0.009, 0.02])
def test_planes_are_merged_where_that_costs_less(bend):
    n, variance = 200, 0.125
    for seed in range(3):
        rng = np.random.default_rng(seed)
        xy0 = rng.uniform((0, 0), (400, 300), (n, 2))
        labels = (xy0[:, 0] > 200).astype(np.int64)
        xy1 = apply_transform(LEFT, xy0) + rng.normal(0, 0.5, (n, 2))
        xy1[:, 1] += bend * np.maximum(xy0[:, 0] - 200, 0)
        near = _find_near(xy0, xy1)
        apart = [fit_plane(xy0[labels == p], xy1[labels == p]) for p in (0, 1)]
        one = fit_plane(xy0, xy1)
        costs = [2 * 4 * np.log(n), 4 * np.log(n)]  # of naming eight numbers, to half the logarithm of n each
        for k in range(n):
            own = apart[labels[k]]
            for p, plane in enumerate((own, one)):
                error = squared_error(plane, xy0[[k]], xy1[[k]])[0]
                costs[p] += min(error / (2 * variance), OUTLIER_COST)
            count = np.bincount(labels[near[k]], minlength=2) + 0.5
            costs[0] -= np.log(count[labels[k]] / count.sum())  # of telling which of the two it is on
        assert len(_merge(xy0, xy1, apart, near, labels, variance)[0]) == (2 if costs[0] < costs[1] else 1)
