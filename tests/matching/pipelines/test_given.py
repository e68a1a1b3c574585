import numpy as np
import pytest

import matching
from matching import InputError, group_matches
from matching.pipelines.given import _sort_matches


def scene(seed=0):
    """Two surfaces of 60 and 40 points that move apart, and 60 strangers: points and labels."""
    rng = np.random.default_rng(seed)
    a, b = rng.uniform(0, 200, (60, 2)), rng.uniform(250, 400, (40, 2))
    c, s = np.cos(0.5), np.sin(0.5)
    turned = (b - 300) @ np.array([[c, s], [-s, c]]) * 1.2 + [150, 300]
    xy0 = np.vstack([a, b, rng.uniform(0, 450, (60, 2))])
    moved = np.vstack([np.add(a, [200, 30]), turned, rng.uniform(0, 450, (60, 2))])
    xy1 = moved + rng.normal(0, 0.7, (160, 2))
    return xy0, xy1, np.repeat([0, 1, -1], [60, 40, 60])


def share_right(found, truth):
    """The share of matches that are in the group which has most of their object, outliers in none."""
    right = (found < 0) & (truth < 0)
    for k in range(truth.max() + 1):
        most = np.bincount(found[(truth == k) & (found >= 0)], minlength=1).argmax()
        right |= (truth == k) & (found == most)
    return right.mean()


def test_points_alone_give_the_objects():
    xy0, xy1, truth = scene()
    result = group_matches(xy0, xy1)
    assert share_right(result.cluster, truth) > 0.95
    assert len(result.objects) == 2
    assert np.array_equal(result.xy0, xy0) and np.array_equal(result.xy1, xy1)


@pytest.mark.parametrize("factor", [0.1, 10, 1e-6])
def test_units_do_not_count(factor):
    xy0, xy1, _ = scene()
    found, scaled = group_matches(xy0, xy1), group_matches(xy0 * factor, xy1 * factor)
    expected = found.cluster
    assert np.array_equal(scaled.cluster, expected)
    for one, other in zip(found.objects, scaled.objects, strict=True):
        assert other.motion.share == pytest.approx(one.motion.share, rel=1e-3)
        assert other.rank == pytest.approx(one.rank, rel=1e-3)
        assert other.motion.scale == pytest.approx(one.motion.scale, rel=1e-2)
    assert np.array_equal(group_matches(xy0, xy1 * factor).cluster, expected)


@pytest.mark.parametrize("degrees", [37, 90, 201])
def test_turns_of_a_picture_do_not_count(degrees):
    xy0, xy1, _ = scene()
    expected = group_matches(xy0, xy1).cluster
    c, s = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    turn = np.array([[c, s], [-s, c]])
    assert np.array_equal(group_matches(xy0 @ turn, xy1).cluster, expected)
    assert np.array_equal(group_matches(xy0 @ turn, xy1 @ turn).cluster, expected)


def test_order_and_swapped_pictures_do_not_count():
    xy0, xy1, _ = scene()
    expected = group_matches(xy0, xy1).cluster
    assert np.array_equal(group_matches(xy1, xy0).cluster, expected)
    order = np.random.default_rng(5).permutation(len(xy0))
    assert np.array_equal(group_matches(xy0[order], xy1[order]).cluster, expected[order])


def test_of_equal_matches_with_different_frames_the_same_one_counts_in_any_order():
    rng = np.random.default_rng(1)
    places = np.repeat(rng.uniform(0, 9, (20, 2)), 3, axis=0)
    maps, scores = rng.normal(size=(60, 2, 2)), np.zeros(60)
    expected = _sort_matches(places, places + 1, maps, scores).maps
    assert expected.shape == (20, 2, 2)
    for order in (np.arange(60)[::-1], rng.permutation(60)):
        found = _sort_matches(places[order], places[order] + 1, maps[order], scores)
        assert np.array_equal(found.maps, expected)


def test_bad_points_are_named():
    xy0, xy1, _ = scene()
    xy0[3, 1] = np.nan
    with pytest.raises(InputError, match=r"xy0 must hold finite numbers.*, got \[.*nan\] in row 3"):
        matching.group_matches(xy0, xy1)


@pytest.mark.parametrize("bad", [1e39, -1e200, np.inf, 1j])
def test_numbers_that_cannot_be_computed_with_are_told(bad):
    xy0, xy1, _ = scene()
    with pytest.raises(InputError, match="xy1 must"):
        group_matches(xy0, np.where(np.arange(160)[:, None] == 7, bad, xy1))


def test_a_match_more_than_once_and_points_on_a_line():
    xy0, xy1, _ = scene()
    twice = group_matches(np.vstack([xy0, xy0]), np.vstack([xy1, xy1])).cluster
    assert np.array_equal(twice, np.tile(group_matches(xy0, xy1).cluster, 2))
    line = np.linspace(0, 500, 100)[:, None] * [1, 2]
    assert (group_matches(line, 1.1 * line + 5).cluster == -1).all()  # fixes no map
