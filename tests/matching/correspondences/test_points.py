import numpy as np
import pytest

from matching._common.threads import limit_threads
from matching.correspondences.points import (
    NearestMembers,
    is_inside,
    is_within_reach,
    list_neighbors,
    nearest_points,
)

rng = np.random.default_rng(0)
SETS = {
    "one": rng.uniform(0, 9, (1, 2)),
    "three": rng.uniform(0, 9, (3, 2)),
    "even": rng.uniform(0, 500, (300, 2)),
    "uneven": np.concatenate([rng.uniform(0, 5, (150, 2)), rng.uniform(0, 500, (150, 2))]),
    "ties": np.rint(rng.uniform(0, 10, (300, 2))) * 50,
    "line": np.stack([rng.uniform(0, 500, 300), np.full(300, 3.0)], axis=1),
    "slanting line": np.linspace(0, 1, 300)[:, None] * [400.0, 300.0] + 1e6,
    "spot": np.full((20, 2), 7.0),
}


def by_definition(points, places, k, reach=np.inf):
    """By (squared distance, number), from the matrix of all distances."""
    square = ((places[:, None] - points) ** 2).sum(axis=2)
    index = np.argsort(square, axis=1, kind="stable")[:, :k]
    square = np.take_along_axis(square, index, axis=1)
    missing = ~(square < reach**2)
    index[missing], square[missing] = -1, np.inf
    more = k - index.shape[1], 0  # of fewer points
    index = np.pad(index, ((0, 0), (0, max(more))), constant_values=-1)
    return index, np.sqrt(np.pad(square, ((0, 0), (0, max(more))), constant_values=np.inf))


@pytest.mark.parametrize("k", [1, 12])
@pytest.mark.parametrize("name", SETS)
def test_nearest_points_equal_the_definition(name, k):
    points = SETS[name]
    low, high = points.min(axis=0), points.max(axis=0)
    around = np.random.default_rng(1).uniform(low - 100, high + 100, (200, 2))
    for places in (around, np.rint(around / 50) * 50, points):
        for reach in (np.inf, 40.0):
            index, distance = nearest_points(points, places, k, reach)
            expected = by_definition(points, places, k, reach)
            assert np.array_equal(index, expected[0])
            assert np.array_equal(distance, expected[1])


@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("name", ["even", "ties", "line", "spot"])
def test_nearest_members_equal_the_definition_while_members_change(name, n_threads):
    points, rng, k = np.tile(SETS[name], (8, 1))[:1200], np.random.default_rng(2), 4
    everyone = np.arange(len(points))
    nearest, before = NearestMembers(points, k), np.full((len(points), k), -1)
    sizes = [1, 3, k, len(points) // 2, *[len(points) // 2] * 3]
    members = everyone[:0]
    for size in sizes:
        few = size != len(members)
        members = np.sort(
            rng.permutation(everyone)[:size] if few else _with_some_exchanged(rng, members, everyone)
        )
        rows = rng.permutation(everyone)[: len(points) - 10]
        with limit_threads(n_threads):
            renewed = nearest.renew(members, rows)
        square = ((points[:, None] - points[members]) ** 2).sum(axis=2)
        square[members, np.arange(len(members))] = np.inf  # itself
        order = np.argsort(square, axis=1, kind="stable")[:, :k]
        square, found = np.take_along_axis(square, order, axis=1), members[order]
        found[np.isinf(square)] = -1
        pad = (0, 0), (0, k - found.shape[1])
        found = np.pad(found, pad, constant_values=-1)[rows]
        square = np.pad(square, pad, constant_values=np.inf)[rows]
        assert np.array_equal(nearest.index[rows], found)
        assert np.array_equal(nearest.square[rows], square)
        assert np.array_equal(renewed, (found != before[rows]).any(axis=1))
        before[rows] = found
    assert name in ("ties", "spot") or not renewed.all()


def _with_some_exchanged(rng, members, everyone):
    others = np.setdiff1d(everyone, members)
    return np.concatenate([rng.permutation(members)[3:], rng.permutation(others)[:3]])


def test_points_and_places_may_be_missing():
    index, distance = nearest_points(np.empty((0, 2)), np.zeros((2, 2)), 3)
    assert (index == -1).all()
    assert np.isinf(distance).all()
    assert nearest_points(np.zeros((2, 2)), np.empty((0, 2)), 3)[0].shape == (0, 3)


def test_points_within_reach_of_others_are_found():
    others = np.array([[0.0, 0], [100, 0]])
    points = np.array([[3.0, 4], [3, 4.1], [95, 0], [50, 0]])
    assert is_within_reach(points, others, 5.05).tolist() == [True, False, True, False]
    assert is_within_reach(points, others, 5.0).tolist() == [False, False, False, False]
    assert not is_within_reach(points, others[:0], 5.0).any()


def test_points_amid_others_are_found():
    others = np.array([[10.0 * x, 10.0 * y] for x in range(5) for y in range(5)])
    points = np.array([[20.0, 20], [59, 20], [61, 20], [20, -19], [20, -21], [56, 56], [500, 500]])
    assert is_inside(points, others).tolist() == [True, True, False, True, False, False, False]
    assert np.array_equal(
        is_inside(points, np.repeat(others, 12, axis=0)), is_inside(points, others)
    )  # a pixel counts once
    # where the others are sparse they reach as far as they are apart
    between = np.array([[250.0, 250], [150, 50], [-20, 600]])
    assert is_inside(between, 10 * others).tolist() == [True, True, False]


@pytest.mark.parametrize("xy", [np.zeros((0, 2)), np.zeros((3, 2)), np.arange(12.0)[:, None] * [3.0, 1.0]])
def test_points_on_a_line_have_only_others_at_their_own_point_as_neighbours(xy):
    pairs = list_neighbors(xy)
    assert pairs.tolist() == ([[0, 1], [0, 2]] if len(xy) == 3 else [])


def test_neighbours_are_the_sides_of_triangles():
    xy = np.array([[0.0, 0.0], [40.0, 0.0], [0.0, 40.0], [30.0, 30.0], [0.0, 0.0]])
    assert list_neighbors(xy).tolist() == [[0, 1], [0, 2], [0, 3], [0, 4], [1, 3], [2, 3]]
