"""Places of labels."""

import numpy as np

from matching.output.figures.lettering import place_labels

LOW, HIGH = (0, 0), (400, 300)


def square(x, y, side):
    return np.array([[x, y], [x + side, y], [x + side, y + side], [x, y + side]], float)


def overlap(places, sizes):
    """Pairs of labels that touch each other."""
    return [
        (i, j)
        for i, (a, size) in enumerate(zip(places, sizes, strict=True))
        for j, (b, other) in enumerate(zip(places[:i], sizes[:i], strict=True))
        if (np.abs(a - b) < (np.array(size) + other) / 2).all()
    ]


def test_label_lies_inside_a_large_object_and_outside_a_small_one():
    large, small = square(10, 10, 200), square(300, 200, 15)
    first, second = place_labels([large, small], [(20, 20)] * 2, LOW, HIGH)
    assert np.array_equal(first, [110, 110])
    assert second[1] + 10 < 200
    assert second[0] == 307.5


def test_labels_of_overlapping_objects_do_not_overlap():
    rng = np.random.default_rng(0)
    outlines = [square(*rng.uniform(0, 20, 2), rng.uniform(5, 300)) for _ in range(40)]
    sizes = [(rng.uniform(10, 40), 20) for _ in outlines]
    places = place_labels(outlines, sizes, LOW, HIGH)
    assert all(place is not None for place in places)
    assert overlap(places, sizes) == []
    halves = np.array(sizes) / 2
    assert (places - halves >= LOW).all()
    assert (places + halves <= HIGH).all()


def test_label_without_room_is_left_out():
    places = place_labels([square(0, 0, 10)] * 3, [(20, 20)] * 3, LOW, (45, 22))
    assert [place is None for place in places] == [False, False, True]
    assert place_labels([square(0, 0, 1)], [(20, 20)], LOW, (5, 5)) == [None]
