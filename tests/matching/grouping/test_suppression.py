import numpy as np
import pytest

from matching.correspondences.correspondences import Correspondences
from matching.grouping.groups import Part
from matching.grouping.ledger import Ledger
from matching.grouping.suppression import drop_contained, suppress_contained

RADIUS = 3.0  # pixels


def patch(rng, corner, size, n=64):
    """n points (a square number) spread evenly over a square."""
    side = round(n**0.5)
    steps = (np.stack(np.meshgrid(np.arange(side), np.arange(side)), axis=2).reshape(-1, 2) + 0.5) / side
    return (steps + rng.uniform(-0.2, 0.2, (n, 2)) / side) * size + np.array(corner)


def correspondences(xy0, xy1):
    return Correspondences(xy0, xy1, np.tile(np.eye(2), (len(xy0), 1, 1)))


def find_uncontained(xy0, xy1, parts, share, radius, **how):
    return suppress_contained(correspondences(xy0, xy1), parts, share, radius, **how)


def rows(*lengths):
    ends = np.cumsum(lengths)
    return [np.arange(e - n, e) for n, e in zip(lengths, ends, strict=True)]


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def test_a_logo_on_its_own_object_goes(rng):
    """It is printed twice: its points are those of the object's own matches, but joined otherwise."""
    rest, first, second = patch(rng, (0, 0), 200, 196), patch(rng, (40, 40), 40, 36), np.array([80.0, 60])
    object0 = np.concatenate([rest, first, first + second])
    logo = first + rng.normal(0, 0.5, first.shape)
    xy0 = np.concatenate([object0, logo])
    xy1 = np.concatenate([object0, logo + second]) + np.array([300, 0])
    assert find_uncontained(xy0, xy1, rows(len(object0), 36), 0.5, RADIUS).tolist() == [0]


def test_a_copy_stays(rng):
    object0 = patch(rng, (0, 0), 200, 196)
    xy0 = np.concatenate([object0, object0[::2]])
    xy1 = np.concatenate([object0, object0[::2] + np.array([250, 20])])
    assert len(find_uncontained(xy0, xy1, rows(196, 98), 0.5, RADIUS)) == 2
    assert len(find_uncontained(xy1, xy0, rows(196, 98), 0.5, RADIUS)) == 2


def test_what_has_points_of_its_own_amid_a_larger_object_stays(rng):
    """As on a bend that the larger one leaves out, or what moved in front of a background."""
    around = patch(rng, (0, 0), 200, 196)
    xy0 = np.concatenate([around, patch(rng, (60, 60), 50)])
    assert len(find_uncontained(xy0, xy0 + 5, rows(196, 64), 0.5, RADIUS)) == 2


def test_what_goes_contains_nothing(rng):
    """The third part shares its points in image 1 with the second, which is contained, alone."""
    first, other = patch(rng, (0, 0), 200, 196), patch(rng, (0, 500), 60)
    contained = np.concatenate([first[50:100], other])  # of image 1
    xy0 = np.concatenate([first, first[:114], first[:64]])
    xy1 = np.concatenate([first, contained, other])
    assert find_uncontained(xy0, xy1, rows(196, 114, 64), 0.4, RADIUS).tolist() == [0, 2]


def test_one_part_or_none():
    xy = np.zeros((5, 2))
    assert find_uncontained(xy, xy, [], 0.5, RADIUS).tolist() == []
    assert find_uncontained(xy, xy, rows(5), 0.5, RADIUS).tolist() == [0]


def test_by_one_asks_that_one_part_shares_in_both_pictures(rng):
    # two things that stand twice: the third object shares its points with different objects in either picture
    a, b = patch(rng, (0, 0), 100, 100), patch(rng, (300, 0), 100, 100)
    xy0, xy1 = np.concatenate([a, b, a]), np.concatenate([a, b, b])
    parts = rows(100, 100, 100)
    assert find_uncontained(xy0, xy1, parts, 0.5, RADIUS).tolist() == [0, 1]
    assert find_uncontained(xy0, xy1, parts, 0.5, RADIUS, by_one=True).tolist() == [0, 1, 2]
    same = np.concatenate([a, b, a])
    assert find_uncontained(xy0, same, parts, 0.5, RADIUS, by_one=True).tolist() == [0, 1]


def test_a_share_of_exactly_so_many_points_is_enough():
    # in picture 0 three of six points, and in picture 1 four, are nearer than 3 pixels to one of the larger's
    large = np.array([[20.0 * x, 20.0 * y] for x in range(10) for y in range(10)])
    small = np.array([[0.0, 0], [22, 20], [40, 42.9], [63, 60], [50, 50], [70, 70]])
    xy0, xy1 = np.concatenate([large, small]), np.concatenate([large, small])
    xy1[103] = 60, 60
    parts = rows(100, 6)
    for pictures in ((xy0, xy1), (xy1, xy0)):
        assert find_uncontained(*pictures, parts, 0.5, RADIUS).tolist() == [0]
        assert find_uncontained(*pictures, parts, 0.51, RADIUS).tolist() == [0, 1]


def test_after_a_contained_part_others_are_looked_at(rng):
    big, elsewhere = patch(rng, (0, 0), 200, 196), patch(rng, (500, 0), 60)
    xy0 = np.concatenate([big, big[:64], elsewhere])
    xy1 = np.concatenate([big, big[100:164], elsewhere])
    assert find_uncontained(xy0, xy1, rows(196, 64, 64), 0.5, RADIUS).tolist() == [0, 2]


def test_parts_that_known_objects_contain_are_dropped(rng):
    big, elsewhere = patch(rng, (0, 0), 200, 196), patch(rng, (500, 0), 60)
    xy = np.concatenate([big, big[:64], elsewhere])
    known, inside, outside = rows(196, 64, 64)
    ledger = Ledger(len(xy))
    parts = [Part(inside, 0.1), Part(outside, 0.2)]
    uncontained = find_uncontained(xy, xy, [known, inside, outside], 0.5, RADIUS)
    kept = drop_contained(parts, uncontained, 1, ledger)
    assert kept == parts[1:]
    (dropped,) = ledger.close(np.full(len(xy), -1), xy, xy)[1]
    assert dropped.step == "suppression"
    assert np.array_equal(dropped.points0, xy[inside])
