"""Things that are parts of one, at all of their places."""

import numpy as np
import pytest

from matching.core.repeats.copies import Copies
from matching.core.repeats.folding import Repeat, Repeats
from matching.core.repeats.places import _absorb_parts

REACH = 40.0


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
    objects = [Repeat(np.arange(60), 0.8, None), Repeat(np.arange(60, 72), 0.4, None)]
    repeats = Repeats(objects, np.arange(n) % 2 == 1)  # every other match leads back
    ends = np.where(repeats.is_reversed[:, None], ends[:, ::-1], ends)
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
