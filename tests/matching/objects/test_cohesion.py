"""Which matches of an object belong together."""

import numpy as np
import pytest
from planting import crops

from matching.objects.cohesion import find_coherent_parts

SIDE = 100


@pytest.fixture(scope="module")
def c():
    return {name: crop[:SIDE, :SIDE] for name, crop in crops().items()}


def spread(rng, left, top, n=80):
    return rng.uniform((left + 4, top + 4), (left + SIDE - 4, top + SIDE - 4), (n, 2))


def page(*places):
    """A grey page (400, 500, 3) with crops at places (left, top)."""
    picture = np.full((400, 500, 3), 120, np.uint8)
    for crop, left, top in places:
        picture[top : top + SIDE, left : left + SIDE] = crop
    return picture


def test_what_agrees_all_over_is_one_part(c):
    rng = np.random.default_rng(0)
    picture = page((c["coffee"], 20, 20), (c["coffee"], 260, 30))
    xy = spread(rng, 20, 20)
    found = find_coherent_parts(picture, xy, xy + np.array([240, 10]), 25.0, 12)
    assert (found == 0).mean() > 0.9
    assert found.max() == 0


def test_things_with_another_one_between_them_are_two(c):
    """A B C above A D C: A and C moved alike, but not what lies between them."""
    rng = np.random.default_rng(0)
    row0 = [(c["coffee"], 20, 20), (c["rocket"], 120, 20), (c["chelsea"], 220, 20)]
    row1 = [(c["coffee"], 20, 220), (c["astronaut"], 120, 220), (c["chelsea"], 220, 220)]
    xy = np.concatenate([spread(rng, 20, 20), spread(rng, 220, 20), spread(rng, 120, 20, 40)])
    found = find_coherent_parts(page(*row0, *row1), xy, xy + np.array([0, 200]), 25.0, 12)
    first, second = (set(part) - {-1} for part in (found[:80], found[80:160]))
    assert len(first) == len(second) == 1
    assert first != second
    assert (found[160:] == -1).mean() > 0.8  # the print there is another one


@pytest.mark.parametrize(("off", "n"), [(0.0, 1), (3.0, 2)])
def test_what_lies_apart_is_one_only_where_it_moves_as_one_print(c, off, n):
    """The gap of 26 px between the two is of one colour."""
    rng = np.random.default_rng(0)
    picture = page(
        (c["coffee"], 20, 20),
        (c["chelsea"], 20, 146),
        (c["coffee"], 260, 20),
        (c["chelsea"], 260 + int(off), 146),
    )
    xy = np.concatenate([spread(rng, 20, 20), spread(rng, 20, 146)])
    shift = np.repeat([[240.0, 0.0], [240.0 + off, 0.0]], 80, axis=0)
    found = find_coherent_parts(picture, xy, xy + shift + rng.normal(0, 0.3, xy.shape), 25.0, 12)
    assert len(set(found) - {-1}) == n
    assert (found >= 0).mean() > 0.9


def test_matches_where_nothing_is_printed_are_no_part():
    xy = np.random.default_rng(0).uniform(20, 120, (40, 2))
    assert (find_coherent_parts(page(), xy, xy + 200, 25.0, 12) == -1).all()
