"""Which objects are copies of one thing."""

import numpy as np
import pytest
from planting import object_pair

from matching import match
from matching.objects.things import (
    Thing,
    find_things_of_repeats,
    list_in_rows,
    list_joined_again,
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
    a, b, c, d, e = (square(x, 0, 50) for x in (0, 100, 200, 400, 500))
    things = find_things_of_repeats([a, d, b], [b + 3, e, c], [False, True, False])
    assert [thing.objects for thing in things] == [(0, 2), (1,)]
    assert [len(thing.places) for thing in things] == [3, 2]
    assert [thing.periodic for thing in things] == [False, True]
    assert find_things_of_repeats([], [], []) == ()


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


def test_places_are_the_largest_outlines_there():
    small, large, elsewhere, far = (
        square(10, 10, 80),
        square(0, 0, 100),
        square(300, 0, 90),
        square(600, 0, 90),
    )
    things = find_things_of_repeats(
        [small, large, far], [elsewhere, elsewhere + 2, far + 200], [True, False, True]
    )
    assert [thing.number for thing in things] == [0, 1]
    assert [thing.objects for thing in things] == [(0, 1), (2,)]
    first, second = things[0].places
    assert first.tolist() == large.tolist()
    assert second.tolist() == elsewhere.tolist()
    assert [place.tolist() for place in things[1].places] == [far.tolist(), (far + 200).tolist()]
    assert [thing.periodic for thing in things] == [False, True]  # half of the objects are not most of them


def test_known_places_belong_to_the_thing_even_if_no_object_joins_them():
    a, b, c, d, e = (square(x, 0, 50) for x in (0, 100, 200, 400, 500))
    joins = np.array([[2, 0], [-1, -1]])
    things = find_things_of_repeats([c, d], [a, e], [False, False], [[a, b, c]], joins)
    assert [(thing.objects, len(thing.places)) for thing in things] == [((0,), 3), ((1,), 2)]
    first, other = things[0].joined[0]
    assert np.array_equal(things[0].places[first], c) and np.array_equal(things[0].places[other], a)


@pytest.mark.parametrize("known", [False, True])
def test_texture_shifted_onto_itself_shares_no_place_with_copies(known):
    """Although its outlines, which reach far beyond, are similar to that place."""
    first, second = square(0, 0, 100), square(300, 0, 100)
    texture = square(0, 0, 130), square(5, 5, 125)
    joins = np.array([[0, 1], [-1, -1]]) if known else None
    things = find_things_of_repeats(
        [first, texture[0]], [second, texture[1]], [False, True], [[first, second]] if known else (), joins
    )
    assert [(thing.objects, thing.periodic) for thing in things] == [((0,), False), ((1,), True)]
    assert [place.tolist() for place in things[0].places] == [first.tolist(), second.tolist()]
    assert [thing.joined for thing in things] == [((0, 1),), ((0, 0),)]


def test_object_joins_two_different_places():
    """Both of its outlines are similar to a third one, or to each other."""
    large, far = square(0, 0, 100), square(300, 0, 100)
    arch = square(0, 0, 75), square(20, 20, 78)
    (thing,) = find_things_of_repeats([large, arch[0]], [far, arch[1]], [False, False])
    assert len(thing.places) == 3
    assert all(a != b for a, b in thing.joined)
    (thing,) = find_things_of_repeats([arch[0]], [square(5, 5, 75)], [False])
    assert thing.joined == ((0, 1),)


def test_objects_that_join_the_same_places_again_are_listed():
    """The third is the other way round; a texture may have several objects."""
    a, b, c = square(0, 0, 100), square(300, 0, 100), square(0, 300, 100)
    first, second = [a, a, b, a + 2, c, c], [b, c, a, b, c + 9, c + 8]
    things = find_things_of_repeats(first, second, [False] * 4 + [True] * 2)
    assert [thing.periodic for thing in things] == [False, True]
    assert list_joined_again(things) == [2, 3]
    assert list_joined_again(find_things_of_repeats(first[:2], second[:2], [False] * 2)) == []


def test_places_are_read_row_by_row_from_left_to_right():
    """The copies of a row stand a little higher or lower."""
    rows = [square(200, 4, 50), square(0, 10, 50), square(100, 0, 50), square(90, 80, 50), square(10, 84, 50)]
    assert list_in_rows(rows) == [1, 2, 0, 4, 3]
