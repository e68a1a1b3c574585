import numpy as np
import pytest
from planting import moving, similarity, together

from matching.candidates import Candidates
from matching.repeats import split_at_repeats

SIDE = 120.0
STILL = np.eye(2)


def tile(rng, start, shift, n=100, linear=STILL, size=SIDE):
    return moving(rng, n, linear, start, shift, size)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def side_by_side(rng):
    """Two tiles that stand side by side in both pictures."""
    return together(tile(rng, (0, 0), (300, 40)), tile(rng, (170, 0), (470, 40)))[0]


def as_sets(parts):
    return [set(part.tolist()) for part in parts]


@pytest.mark.parametrize("swap", [False, True])
def test_each_elsewhere_on_its_own_they_are_two(rng, side_by_side, swap):
    first, second = tile(rng, (0, 0), (900, 500)), tile(rng, (170, 0), (100, 700))
    c, parts = together(side_by_side, first, second)
    if swap:
        c = Candidates(c.xy1, c.xy0, c.frames1, c.frames0, c.score, c.kind, c.cell)
    found = split_at_repeats(c, parts)
    assert as_sets(found) == [set(range(100)), set(range(100, 200)), *as_sets(parts[1:])]


def test_together_elsewhere_too_they_may_be_one(rng, side_by_side):
    again = together(tile(rng, (0, 0), (300, 500)), tile(rng, (170, 0), (470, 500)))[0]
    c, parts = together(side_by_side, again)
    assert as_sets(split_at_repeats(c, parts)) == as_sets(parts)


def test_a_repeat_of_one_piece_alone_says_nothing(rng, side_by_side):
    c, parts = together(side_by_side, tile(rng, (0, 0), (900, 500)))
    assert as_sets(split_at_repeats(c, parts)) == as_sets(parts)


def test_repeats_that_overlap_show_one_object(rng, side_by_side):
    left, right = tile(rng, (0, 0), (900, 500), size=170), tile(rng, (80, 0), (100, 700), size=170)
    c, parts = together(side_by_side, left, right)
    assert as_sets(split_at_repeats(c, parts)) == as_sets(parts)


def test_a_repeat_in_two_parts_is_one_repeat(rng, side_by_side):
    bent = similarity(0.02)
    left, right = tile(rng, (0, 0), (900, 500)), tile(rng, (170, 0), (1070, 503), linear=bent)
    c, parts = together(side_by_side, left, right)
    assert as_sets(split_at_repeats(c, parts)) == as_sets(parts)


def test_repeats_that_cover_little_say_nothing(rng, side_by_side):
    first, second = tile(rng, (0, 0), (900, 500), size=40), tile(rng, (200, 0), (100, 700), size=40)
    c, parts = together(side_by_side, first, second)
    assert as_sets(split_at_repeats(c, parts)) == as_sets(parts)


def test_two_merged_pairs_show_each_other_what_they_are(rng):
    """a b and b d stand together, a and d alone: b is what the pairs share."""
    a, b, d = (0, 0), (170, 0), (0, 170)
    pair = together(tile(rng, a, (300, 40)), tile(rng, b, (430, 40)))[0]
    other = together(tile(rng, b, (900, 40)), tile(rng, d, (730, 210)))[0]
    c, parts = together(pair, other, tile(rng, a, (100, 900)), tile(rng, d, (600, 900)))
    found = as_sets(split_at_repeats(c, parts))
    assert sorted(found, key=min) == [set(range(k, k + 100)) for k in range(0, 600, 100)]


def test_few_parts():
    c, parts = together(tile(np.random.default_rng(1), (0, 0), (5, 5)))
    assert split_at_repeats(c, []) == []
    assert as_sets(split_at_repeats(c, parts)) == as_sets(parts)
