"""Which objects are copies of one thing."""

import numpy as np
from planting import object_pair

from matching import match
from matching.objects.things import (
    Thing,
    find_things_of_repeats,
    list_in_rows,
    number_places,
)
from matching.pictures.images import add_mask, make_picture_of_array


def square(x, y, side):
    return np.array([[x, y], [x + side, y], [x + side, y + side], [x, y + side]], float)


def test_outlines_that_share_their_place_are_one_thing():
    whole, half, elsewhere = square(0, 0, 100), square(10, 10, 70), square(300, 0, 100)
    assert number_places([half, elsewhere, whole, elsewhere + 5]).tolist() == [0, 1, 0, 1]
    logo, neighbour = square(10, 10, 20), square(70, 0, 100)
    assert number_places([whole, logo, neighbour]).tolist() == [0, 1, 2]


def test_places_that_differ_from_most_are_alike():
    """Objects 0 to 2 join the places of one thing."""
    places = tuple(square(100 * k, 0, 50) for k in range(3))
    thing = Thing(0, (0, 1, 2), places, joined=((0, 1), (2, 0), (1, 2)))
    assert thing.find_alike(()) == ()
    assert thing.find_alike({0, 1}) == (0,)  # 1 and 2 are the same
    assert thing.find_alike({1}) == ()  # 2 looks as 1 does, and 1 as 0 does
    assert thing.find_alike({0, 1, 2}) == (1, 2)
    assert Thing(1, (3,), places[:1], periodic=True, joined=((0, 0),)).find_alike({3}) == ()


def test_no_outlines_and_single_points_are_numbered():
    assert number_places([]).tolist() == []
    assert number_places([np.array([[5.0, 5.0]]), np.array([[90.0, 5.0]])]).tolist() == [0, 1]


def test_places_that_objects_join_are_one_thing():
    """A texture is joined with itself. Places are listed from left to right, row by row."""
    a, b, c, d = (square(x, y, 50) for x, y in ((200, 0), (0, 0), (0, 100), (400, 0)))
    things = find_things_of_repeats([a, b, c, d], [(0, 1), (3, 3), (2, 1)])
    assert [(thing.objects, thing.periodic) for thing in things] == [((0, 2), False), ((1,), True)]
    assert [thing.joined for thing in things] == [((1, 0), (2, 0)), ((0, 0),)]
    assert [place.tolist() for place in things[0].places] == [b.tolist(), a.tolist(), c.tolist()]
    assert find_things_of_repeats([], []) == ()


def test_places_that_no_object_joins_are_none():
    (thing,) = find_things_of_repeats([square(x, 0, 50) for x in (0, 100, 200)], [(0, 2)])
    assert (len(thing.places), thing.joined) == (2, ((0, 1),))


def test_two_copies_in_a_picture_are_one_thing():
    picture, scene = object_pair()
    coffee = picture[:, 220:]
    found = match(coffee, np.hstack([scene[:220], coffee]))
    assert len(found.objects) == 2
    assert [item.thing for item in found.objects] == [0, 0]
    (thing,) = found.things
    assert thing.objects == (0, 1)
    assert len(thing.places) == 2
    for item in found.objects:
        assert abs(item.motion.scale - 1) < 0.02
        assert min(np.abs(item.frame1[0] - [x, -0.5]).max() for x in (219.5, 439.5)) < 3


def test_frame_surrounds_the_masked_part():
    picture, scene = object_pair()
    mask = np.zeros(picture.shape[:2], bool)
    mask[30:190, 40:200] = True
    assert add_mask(make_picture_of_array(picture), mask).box.tolist() == [[39.5, 29.5], [199.5, 189.5]]
    (found,) = match(picture, scene, mask0=mask).objects
    assert np.abs(found.frame1[0] - [39.5, 249.5]).max() < 3
    assert np.abs(found.frame1[2] - [199.5, 409.5]).max() < 3


def test_places_are_read_row_by_row_from_left_to_right():
    """The copies of a row stand a little higher or lower."""
    rows = [square(200, 4, 50), square(0, 10, 50), square(100, 0, 50), square(90, 80, 50), square(10, 84, 50)]
    assert list_in_rows(rows) == [1, 2, 0, 4, 3]
