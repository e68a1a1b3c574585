from functools import partial

import numpy as np
import pytest
from planting import make_groups

from matching.drivers.points.scene import regroup
from matching.drivers.points.solids import Solids, find_solids
from matching.grouping.groups import ObjectsConfig, label_groups
from matching.grouping.ledger import Ledger, name_steps

CONFIG = ObjectsConfig(min_matches=8)
CAMERA = np.array([[800.0, 0, 400], [0, 800, 300], [0, 0, 1]])


def see(xyz, angle, shift):
    """The pixels of points (n, 3) before and after a turn around the vertical axis, and a shift."""
    c, s = np.cos(angle), np.sin(angle)
    moved = (xyz - [0, 0, 5]) @ np.array([[c, 0, -s], [0, 1, 0], [s, 0, c]]) + [0, 0, 5] + shift
    seen = [np.asarray(points @ CAMERA.T) for points in (xyz, moved)]
    return [points[:, :2] / points[:, 2:] for points in seen]


def box(rng, middle, n):
    """Points (n, 3) on a rugged box."""
    return rng.uniform(-1, 1, (n, 3)) * [0.8, 0.8, 0.6] + [middle, 0, 5]


def two_boxes(seed=0, n=80, outliers=60):
    """Matches on two boxes that moved differently, and which box each is on, -1 for outliers."""
    rng = np.random.default_rng(seed)
    one, other = see(box(rng, -1, n), 0.15, [0.1, 0, 0]), see(box(rng, 1, n), -0.2, [0, 0.15, 0.3])
    wrong = rng.uniform((0, 0), (800, 600), (2, outliers, 2))
    xy0, xy1 = (np.vstack(ends) for ends in zip(one, other, wrong, strict=True))
    truth = np.repeat([0, 1, -1], [n, n, outliers])
    right = truth >= 0
    xy0[right] += rng.normal(0, 0.3, xy0[right].shape)
    xy1[right] += rng.normal(0, 0.3, xy1[right].shape)
    return xy0 - 400, xy1 - 400, truth


def complete(xy0, xy1, labels, mirrored="auto", scores=None):
    n_groups = labels.max() + 1
    groups = make_groups(labels, scores or [0.9 - 0.1 * k for k in range(n_groups)])
    ledger = Ledger(len(xy0))
    find = partial(find_solids, mirrored=mirrored, config=CONFIG)
    found = regroup(xy0, xy1, np.zeros(len(xy0)), groups, find, "solids", ledger)
    return found, ledger


@pytest.mark.parametrize("seed", range(4))
def test_halves_of_solid_things_take_in_the_rest(seed):
    xy0, xy1, truth = two_boxes(seed)
    halves = np.where(np.random.default_rng(seed).random(len(truth)) < 0.5, truth, -1)
    found, _ = complete(xy0, xy1, halves)
    labels = label_groups(len(truth), found)
    assert len(found) == 2
    assert np.mean(labels[truth >= 0] == truth[truth >= 0]) > 0.95
    assert np.mean(labels[truth < 0] < 0) > 0.85


def test_order_and_swapped_pictures_do_not_count():
    xy0, xy1, truth = two_boxes()
    halves = np.where(np.random.default_rng(1).random(len(truth)) < 0.5, truth, -1)
    labels = label_groups(len(truth), complete(xy0, xy1, halves)[0])
    order = np.random.default_rng(2).permutation(len(truth))
    shuffled = complete(xy0[order], xy1[order], halves[order])[0]
    assert np.array_equal(label_groups(len(truth), shuffled), labels[order])
    assert np.array_equal(label_groups(len(truth), complete(xy1, xy0, halves)[0]), labels)


def test_thing_in_no_group_is_added_with_lowest_score():
    xy0, xy1, truth = two_boxes()
    found, _ = complete(xy0, xy1, np.where(truth == 0, 0, -1))
    assert [solid.score for solid in found] == [0.9, 0.9]
    added = min(found, key=lambda solid: np.mean(truth[solid.rows] == 0))
    assert np.mean(truth[added.rows] == 1) > 0.9
    assert len(added.rows) > 70
    assert added.log_nfa < -8


def test_mirrored_things_are_added_only_where_they_may_be():
    xy0, xy1, truth = two_boxes()
    one = np.where(truth == 0, 0, -1)
    assert len(complete(xy0, xy1, one, mirrored=False)[0]) == 2
    assert len(complete(xy0, xy1, one, mirrored=True)[0]) == 1


@pytest.mark.parametrize("seed", range(4))
def test_random_matches_are_no_thing(seed):
    xy0, xy1, truth = two_boxes(seed, outliers=1500)
    found, _ = complete(xy0, xy1, truth)
    assert len(found) == 2
    assert np.mean(label_groups(len(truth), found)[truth < 0] < 0) > 0.98


def test_bent_group_stays_as_it_is():
    rng = np.random.default_rng(0)
    xy0 = rng.uniform(-400, 400, (150, 2))
    bend = np.column_stack([np.sin(xy0[:, 1] / 60), np.sin(xy0[:, 0] / 60)])
    wrong = rng.uniform(-400, 400, (2, 50, 2))
    xy0, xy1 = np.vstack([xy0, wrong[0]]), np.vstack([xy0 + 15 * bend, wrong[1]])
    labels = np.repeat([0, -1], [150, 50])
    (found,), _ = complete(xy0, xy1, labels)
    assert np.array_equal(found.rows, np.arange(150))


@pytest.mark.parametrize(
    ("perspective", "noise", "seed"), [(0.0, 0.0, 7), (3e-4, 0.0, 6), (3e-4, 0.3, 8), (1e-3, 0.3, 1)]
)
def test_flat_group_takes_in_nothing_on_arbitrary_lines(perspective, noise, seed):
    rng = np.random.default_rng(seed)
    xy0 = np.vstack([rng.uniform(-100, 100, (60, 2)), rng.uniform(-400, 400, (300, 2))])
    xy1 = xy0 @ [[0.9, 0.3], [-0.3, 0.9]] / (1 + perspective * xy0[:, :1]) + rng.normal(0, noise, xy0.shape)
    xy1[60:] = rng.uniform(-400, 400, (300, 2))
    labels = np.repeat([0, -1], [60, 300])
    found, _ = complete(xy0, xy1, labels)
    assert label_groups(len(labels), found).tolist() == labels.tolist()


def test_member_that_moves_differently_leaves():
    xy0, xy1, truth = two_boxes()
    labels = truth.copy()
    labels[-1] = 0  # an outlier
    found, ledger = complete(xy0, xy1, labels)
    found = label_groups(len(truth), found)
    steps, _ = ledger.close(found, xy0, xy1)
    assert found[-1] == -1
    assert name_steps(steps)[-1] == "solids"


def test_far_matches_are_left_alone():
    xy0, xy1, truth = two_boxes()
    expected = label_groups(len(truth), complete(xy0, xy1, truth)[0])
    far = np.full((3, 2), 1e9)
    found, _ = complete(np.vstack([xy0, far]), np.vstack([xy1, far]), np.append(truth, [-1, -1, -1]))
    assert np.array_equal(label_groups(len(truth) + 3, found), np.append(expected, [-1, -1, -1]))


def test_without_groups_nothing_is_added():
    xy0, xy1, truth = two_boxes()
    assert complete(xy0, xy1, np.full(len(truth), -1))[0] == []
    same = np.zeros((20, 2))
    (kept,), _ = complete(same, same, np.zeros(20, np.int64))
    assert len(kept.rows) == 20


def test_price_counts_what_is_saved_by_chance():
    rng = np.random.default_rng(0)
    few, many, small = (
        Solids.from_places(rng.uniform(0, 1, (n, 4)), area)
        for n, area in ((100, 0.5), (10_000, 0.5), (100, 1e-6))
    )
    solid = np.array([[[[0, 0, 0], [0, 0, 1], [0, -1, 0]], np.eye(3) / 0.01]])
    assert 0 < few.price(solid, 4e-4)[0] < many.price(solid, 4e-4)[0]
    assert small.price(solid, 4e-4)[0] == np.inf  # the pictures are smaller than the noise
    across, along = rng.uniform(-1, 1, (2, 10**6)) * [[0.02], [0.5]]
    gain = few.gain(solid, 4e-4)[0]
    cost = 3.5 * np.log1p(((across / 4e-4) ** 2 + (along / 0.01) ** 2) / 5) - gain
    by_chance = np.maximum(-cost, 0).mean() * 4 * 0.02 * 0.5 / 0.5
    more = many.price(solid, 4e-4)[0] - few.price(solid, 4e-4)[0]
    assert more == pytest.approx(0.8 * (3 * 9900 * by_chance + 13 / 2 * np.log(100)), rel=0.05)
