"""Things that are parts of one, at all of their places."""

import numpy as np
import pytest

from matching.grouping.copies import Copies
from matching.grouping.objects import Groups
from matching.grouping.placing import _absorb_parts, _unite
from matching.grouping.repeats import Repeats

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


def boxes(offset):
    """A box of 60 features at three places, with a logo of 12 beside two of them, moved by offset at one."""
    rng = np.random.default_rng(0)
    box, logo = rng.uniform(0, [100, 60], (60, 2)), rng.uniform([40, 70], [60, 90], (12, 2))
    at = np.array([[0.0, 0.0], [300.0, 20.0], [120.0, 400.0]])
    xy = np.vstack([*(box + to for to in at), logo, logo + at[1] + offset])
    places = [np.arange(60) + 60 * k for k in range(3)]
    ends = np.vstack(
        [np.column_stack(places[:2]), np.column_stack([np.arange(180, 192), np.arange(192, 204)])]
    )
    return xy, ends, places, [np.arange(180, 192), np.arange(192, 204)]


def absorb(xy, ends, things):
    n = len(ends)
    groups = Groups(np.repeat([0, 1], [60, 12]), np.array([0.8, 0.4]))
    repeats = Repeats(groups, np.arange(n) % 2 == 1, np.zeros(2, bool))  # every other match leads back
    ends = np.where(repeats.reversed[:, None], ends[:, ::-1], ends)
    return _absorb_parts(ends, repeats, Copies(things, np.zeros(2, bool)), xy, REACH).things


@pytest.mark.parametrize("is_thing", [True, False])
def test_a_part_of_some_places_that_moves_as_they_do_is_no_thing(is_thing):
    """Whether it is a thing already, or only an object."""
    xy, ends, box, logo = boxes((0.0, 0.0))
    (found,) = absorb(xy, ends, [box, logo] if is_thing else [box])
    assert [rows.tolist() for rows in found] == [[*box[0], *logo[0]], [*box[1], *logo[1]], box[2].tolist()]


@pytest.mark.parametrize("offset", [(6.0, 0.0), (0.0, 100.0)])
def test_what_moves_otherwise_or_is_not_beside_it_stays_a_thing(offset):
    xy, ends, box, logo = boxes(offset)
    assert len(absorb(xy, ends, [box, logo])) == 2
    assert len(absorb(xy, ends, [box])) == 1
