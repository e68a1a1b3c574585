from dataclasses import replace

import numpy as np

from matching.objects.completeness import Completeness
from matching.objects.copies import Copies, count_copies, find_things_of_pair
from matching.objects.description import add_comparison, describe_object
from matching.output.words import describe_things

BOX = np.array([[0.0, 0.0], [100.0, 100.0]])


def found(number, corner, shift, size=100.0, value=0.9, visible=1.0):
    """An object whose matches cover a square of picture 0, which it shows at a shift."""
    rng = np.random.default_rng(number)
    xy0 = rng.uniform(corner, np.array(corner) + size, (40, 2))
    one = describe_object(number, xy0, xy0 + shift, 0.6, box=BOX)
    return replace(one, completeness=None if value is None else Completeness(value, visible, value, value))


def test_halves_of_one_copy_are_one_and_its_parts_belong_to_it():
    upper, lower = found(0, (0, 0), (300, 50), 50), found(1, (50, 50), (302, 51), 50)
    logo = found(2, (40, 40), (300, 52), 20, value=0.3)
    second = found(3, (0, 0), (500, 50))
    sister, again = found(4, (20, 20), (800, 50), 30, value=0.4), found(5, (20, 20), (801, 51), 30, value=0.2)
    hidden = found(6, (0, 0), (950, 50), value=0.9, visible=0.2)
    counted = count_copies([upper, lower, logo, second, sister, again, hidden])
    assert counted == Copies(((0, 1), (3,)), ((4, 5), (6,)))
    assert describe_things([upper, lower, logo, second, sister, again, hidden], "box") == [
        "box: 2 copies (objects 0, 1, 3; objects 0, 1, 3 may differ);"
        " 2 more places share a part of it (objects 4, 5, 6)"
    ]


def test_counts_are_described_in_lines():
    one, part = found(0, (0, 0), (300, 50)), found(1, (20, 20), (800, 50), 30, value=0.4)
    one = add_comparison(one, True)
    assert describe_things([one], "box") == []
    assert describe_things([one, part], "box") == [
        "box: 1 copy (object 0); 1 more place shares a part of it (object 1)"
    ]
    unknown = replace(one, completeness=None)
    assert count_copies([unknown]) == Copies((), ((0,),))
    assert describe_things([unknown, replace(unknown, id=1)], "box") == ["box: 2 places (objects 0, 1)"]
    assert count_copies([]) == Copies((), ())


def test_whole_place_that_differs_is_alike_and_no_copy():
    one, other = (
        add_comparison(found(k, (0, 0), shift), k == 0) for k, shift in enumerate([(300, 50), (500, 50)])
    )
    untold = found(2, (0, 0), (700, 50))
    counted = count_copies([one, other, untold])
    assert (counted.copies, counted.alike, counted.parts) == (((0,), (2,)), ((1,),), ())
    assert describe_things([one, other, untold], "king") == [
        "king: 2 copies (objects 0, 2; object 2 may differ), 1 alike but different (object 1)"
    ]
    assert describe_things([other], "king") == ["king: 0 copies, 1 alike but different (object 1)"]


def test_things_have_the_places_that_are_counted():
    """All of picture 0 is one thing: halves of a copy are one place, and what lies inside belongs to it."""
    upper, lower = found(0, (0, 0), (300, 50), 50), found(1, (50, 50), (302, 51), 50)
    logo, other = found(2, (40, 40), (300, 52), 20, value=0.3), found(3, (40, 40), (800, 52), 20, value=0.3)
    king = add_comparison(found(4, (0, 0), (500, 50)), False)
    whole, part = find_things_of_pair([upper, lower, logo, other, king])
    assert (whole.number, whole.objects, len(whole.places), whole.alike) == (0, (0, 1, 2, 4), 2, (1,))
    assert np.allclose(whole.places[1], king.frame1)
    assert (part.number, part.objects, len(part.places), part.alike) == (1, (3,), 1, ())


def test_without_a_whole_things_are_told_by_their_place_in_picture_0():
    objects = [
        found(number, corner, shift, 30, value=None)
        for number, (corner, shift) in enumerate(
            [((0, 0), (500, 0)), ((60, 60), (500, 0)), ((1, 1), (700, 0))]
        )
    ]
    things = find_things_of_pair(objects)
    assert [(thing.number, thing.objects, len(thing.places)) for thing in things] == [
        (0, (0, 2), 2),
        (1, (1,), 1),
    ]
    assert find_things_of_pair([]) == ()
