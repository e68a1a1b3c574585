"""Things that are parts of one, at all of their places."""

import numpy as np
import pytest

from matching.grouping.placing import _unite

REACH = 40.0


def draw(order, away=()):
    """Points of a thing at three corners, 12 at each, and of another one 30 px beside it; and their rows."""
    rng = np.random.default_rng(0)
    corners = np.array([[0.0, 0.0], [300.0, 20.0], [120.0, 400.0]])
    beside = corners[order] + [50.0, 0.0]
    beside[list(away)] += 100.0
    xy = np.vstack([corner + rng.uniform(0, 20, (12, 2)) for corner in (*corners, *beside)])
    rows = list(np.arange(72).reshape(6, 12))
    return xy, rows[:3], rows[3:]


def joins(*pair):
    """Ten matches join these places, and one joins others."""
    return np.array([pair] * 10 + [[2, 1]])


@pytest.mark.parametrize("order", [[0, 1, 2], [1, 2, 0], [2, 1, 0]])
def test_parts_are_united_at_each_place(order):
    xy, one, other = draw(order)
    place = np.argsort(order)  # of the second thing, beside each of the first
    found = _unite(one, other, (joins(0, 1), joins(*place[:2])), xy, REACH)
    assert [rows.tolist() for rows in found] == [[*one[k], *other[place[k]]] for k in range(3)]


def test_parts_that_are_apart_at_a_place_are_two_things():
    xy, one, other = draw([0, 1, 2], away=[2])
    assert _unite(one, other, (joins(0, 1), joins(0, 1)), xy, REACH) == []
    assert len(_unite(one[:2], other[:2], (joins(0, 1), joins(0, 1)), xy, REACH)) == 2


def test_parts_that_an_object_joins_the_other_way_are_two_things():
    xy, one, other = draw([0, 1, 2])
    assert _unite(one, other, (joins(0, 1), joins(1, 0)), xy, REACH) == []


def test_things_with_other_numbers_of_places_are_two():
    xy, one, other = draw([0, 1, 2])
    assert _unite(one, other[:2], (joins(0, 1), joins(0, 1)), xy, REACH) == []
