import numpy as np
import pytest

from matching.errors import InputError
from matching.grouping.refinement.suppression import SuppressionConfig, find_uncovered, is_amid


def patch(rng, corner, size, n=64):
    """n points (a square number) spread evenly over a square."""
    side = round(n**0.5)
    steps = (np.stack(np.meshgrid(np.arange(side), np.arange(side)), axis=2).reshape(-1, 2) + 0.5) / side
    return (steps + rng.uniform(-0.2, 0.2, (n, 2)) / side) * size + np.array(corner)


def rows(*lengths):
    ends = np.cumsum(lengths)
    return [np.arange(e - n, e) for n, e in zip(lengths, ends, strict=True)]


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def test_a_logo_on_its_own_object_goes(rng):
    object0 = patch(rng, (0, 0), 200, 196)
    logo = patch(rng, (40, 40), 40, 36)
    xy0 = np.concatenate([object0, logo])  # in image 1 the other printing of the logo
    xy1 = np.concatenate([object0 + np.array([300, 0]), logo + np.array([80 + 300, 60])])
    parts = rows(196, 36)
    kept = find_uncovered(xy0, xy1, parts, 0.7)
    assert list(kept) == [0]


def test_a_copy_stays(rng):
    object0 = patch(rng, (0, 0), 200, 196)
    again = patch(rng, (0, 0), 200, 144)
    xy0 = np.concatenate([object0, again])
    xy1 = np.concatenate([object0, again + np.array([250, 20])])
    assert len(find_uncovered(xy0, xy1, rows(196, 144), 0.7)) == 2
    assert len(find_uncovered(xy1, xy0, rows(196, 144), 0.7)) == 2


def test_what_moved_in_front_of_its_background_stays(rng):
    """The background has matches neither where it was nor where it is; around it, it has."""
    background = patch(rng, (0, 0), 600, 2500)
    was, now = np.array([100, 100]), np.array([350, 300])
    for corner in (was, now):
        background = background[~((background > corner) & (background < corner + 150)).all(axis=1)]
    moved = patch(rng, (0, 0), 150, 100)
    xy0, xy1 = np.concatenate([background, moved + was]), np.concatenate([background, moved + now])
    assert len(find_uncovered(xy0, xy1, rows(len(background), 100), 0.5)) == 2


@pytest.mark.parametrize("scale", [1, 9])
def test_matches_cover_more_where_they_are_sparse(rng, scale):
    object0, logo = patch(rng, (0, 0), 300, 225), patch(rng, (40, 40), 80, 64)
    xy0, xy1 = np.concatenate([object0, logo]) * scale, np.concatenate([object0, logo + 100])
    assert len(find_uncovered(xy0, xy1, rows(225, 64), 0.5)) == 1


def test_neighbours_stay(rng):
    xy0 = np.concatenate([patch(rng, (0, 0), 100), patch(rng, (110, 0), 100), patch(rng, (0, 300), 50)])
    assert len(find_uncovered(xy0, xy0 + 5, rows(64, 64, 64), 0.7)) == 3


def test_what_goes_covers_nothing(rng):
    big = patch(rng, (0, 0), 200, 196)
    inside = patch(rng, (50, 50), 60)
    xy = np.concatenate([big, inside, inside])
    kept = find_uncovered(xy, xy, rows(196, 64, 64), 0.7)
    assert len(kept) == 1


def test_one_part_or_none():
    xy = np.zeros((5, 2))
    assert list(find_uncovered(xy, xy, [], 0.7)) == []
    assert list(find_uncovered(xy, xy, rows(5), 0.7)) == [0]


def test_neighbours_of_equal_size_all_stay(rng):
    xy = np.concatenate([patch(rng, (300 * k, 0), 100) for k in range(4)])
    parts = rows(64, 64, 64, 64)
    assert list(find_uncovered(xy, xy, parts[::-1], 0.7)) == [0, 1, 2, 3]


def test_by_one_asks_that_one_part_covers_in_both_pictures(rng):
    # two things that stand twice: the second pair of places is covered by different objects in either picture
    a, b = patch(rng, (0, 0), 100, 100), patch(rng, (300, 0), 100, 100)
    xy0, xy1 = np.concatenate([a, b, a]), np.concatenate([a, b, b])
    parts = rows(100, 100, 100)
    assert list(find_uncovered(xy0, xy1, parts, 0.5)) == [0, 1]
    assert list(find_uncovered(xy0, xy1, parts, 0.5, by_one=True)) == [0, 1, 2]
    same = np.concatenate([a, b, a])
    assert list(find_uncovered(xy0, same, parts, 0.5, by_one=True)) == [0, 1]


def test_a_share_of_exactly_so_many_points_is_enough():
    # three of six points lie within 14.1 pixels of the larger object's, whose
    # eighth neighbours are as far, in both pictures
    large = np.array([[10.0 * x, 10.0 * y] for x in range(10) for y in range(10)])
    small = np.array([[20.0, 20], [30, 30], [104, 50], [106, 50], [150, 150], [160, 150]])
    xy = np.concatenate([large, small])
    parts = rows(100, 6)
    assert list(find_uncovered(xy, xy, parts, 0.5)) == [0]
    assert list(find_uncovered(xy, xy, parts, 0.51)) == [0, 1]


def test_points_amid_others():
    others = np.array([[10.0 * x, 10.0 * y] for x in range(5) for y in range(5)])
    points = np.array([[20.0, 20], [59, 20], [61, 20], [20, -19], [20, -21], [56, 56], [500, 500]])
    assert is_amid(points, others).tolist() == [True, True, False, True, False, False, False]
    # where the others are sparse they reach as far as they are apart
    between = np.array([[250.0, 250], [150, 50], [-20, 600]])
    assert is_amid(between, 10 * others).tolist() == [True, True, False]


def test_after_a_contained_part_others_are_looked_at(rng):
    big, inside, elsewhere = patch(rng, (0, 0), 200, 196), patch(rng, (50, 50), 60), patch(rng, (500, 0), 60)
    xy = np.concatenate([big, inside, elsewhere])
    assert list(find_uncovered(xy, xy, rows(196, 64, 64), 0.7)) == [0, 2]


@pytest.mark.parametrize("name", ["share"])
def test_settings_out_of_range(name):
    with pytest.raises(InputError, match=f"{name} must be at least"):
        SuppressionConfig(**{name: -1})
