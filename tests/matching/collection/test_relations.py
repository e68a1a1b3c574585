"""What two pictures are to each other, by known motions."""

import math

import numpy as np
import pytest

from matching.collection.reports.relations import (
    find_relation,
    find_relation_of_matches,
    fit_similarity,
    map_frame,
)

SIZE = 640, 480
COUNTS = (500, 500), 3000  # features of either picture, candidates


def motion(turn=0.0, scale=1.0, shift=(0.0, 0.0), mirror=False):
    """(3, 3): mirrored, turned, scaled, shifted."""
    c, s = scale * math.cos(math.radians(turn)), scale * math.sin(math.radians(turn))
    linear = np.array([[c, -s], [s, c]]) @ np.diag([-1.0 if mirror else 1.0, 1.0])
    return np.vstack([np.column_stack([linear, shift]), [0, 0, 1]])


def matches(transform, rng, size=SIZE, n=200, noise=0.5, where=(0.0, 0.0, 1.0, 1.0)):
    """n matches of a part of picture 0, given in shares of its width and height."""
    left, top, right, bottom = where
    xy0 = rng.uniform((left * size[0], top * size[1]), (right * size[0], bottom * size[1]), (n, 2))
    xy1 = np.column_stack([xy0, np.ones(n)]) @ transform.T
    return xy0, xy1[:, :2] / xy1[:, 2:] + rng.normal(0, noise, (n, 2))


def test_the_frame_is_where_the_corners_lie():
    assert np.allclose(map_frame(motion(90, 2, (960, 0)), SIZE), [[961, -1], [961, 1279], [1, 1279], [1, -1]])
    assert map_frame(np.array([[1, 0, 0], [0, 1, 0], [0.01, 0, -1]]), SIZE) is None


def about_the_middle(turn, scale=1.0, mirror=False, off=(0.0, 0.0)):
    """Turned within a canvas that is scaled as well."""
    made, middle = motion(turn, scale, mirror=mirror), (np.array(SIZE) - 1) / 2
    made[:2, 2] = off + middle * (scale if scale == 0.5 else 1) - made[:2, :2] @ middle
    return made


CASES = [
    ("copy", None, motion(), SIZE),
    ("copy", None, motion(shift=(3, -2)), SIZE),
    ("thumbnail", 1, motion(scale=0.3), (192, 144)),
    ("thumbnail", 0, motion(scale=3), (1920, 1440)),
    ("crop", 1, motion(shift=(-200, -100)), (300, 250)),
    ("crop", 0, motion(shift=(200, 100)), (1200, 900)),
    ("crop", 1, motion(scale=2, shift=(-500, -300)), (400, 300)),
    ("crop", 1, motion(90, shift=(300, -100)), (200, 300)),
    ("turned", None, motion(90, shift=(479, 0)), (480, 640)),
    ("turned", None, motion(180, shift=(639, 479)), SIZE),
    ("turned", None, motion(30, shift=(240, 0)), (794, 736)),
    ("turned", None, about_the_middle(30), SIZE),
    ("turned", None, about_the_middle(45), SIZE),
    ("turned", None, about_the_middle(90), SIZE),
    ("turned", None, about_the_middle(-20, 0.5), (320, 240)),
    ("mirrored", None, about_the_middle(30, mirror=True), SIZE),
    ("same thing", None, about_the_middle(30, off=(40.0, 30.0)), SIZE),
    ("mirrored", None, motion(shift=(639, 0), mirror=True), SIZE),
    ("same thing", None, motion(shift=(300, 200)), SIZE),
]


@pytest.mark.parametrize(("kind", "derived", "transform", "size1"), CASES)
def test_kinds(kind, derived, transform, size1):
    rng = np.random.default_rng(0)
    xy0, xy1 = matches(transform, rng)
    inside = (xy1 > 0).all(axis=1) & (xy1 < size1).all(axis=1)
    for told in (
        find_relation(transform, SIZE, size1),
        find_relation_of_matches(xy0[inside], xy1[inside], transform, SIZE, size1, *COUNTS),
    ):
        assert (told.kind, told.derived) == (kind, derived)
    back = find_relation(np.linalg.inv(transform), size1, SIZE)
    reverse = find_relation(transform, SIZE, size1).reverse()
    assert (back.kind, back.derived) == (reverse.kind, reverse.derived)
    numbers = np.array([(r.share0, r.share1, abs(r.turn), r.scale) for r in (back, reverse)])
    assert np.allclose(*numbers)


def test_numbers_of_a_crop():
    told = find_relation(motion(90, 2, (300, -100)), SIZE, (200, 300))
    assert (round(told.turn), round(told.scale, 6), told.mirrored) == (90, 2, False)
    flipped = find_relation(np.diag([1.0, -1, 1]), SIZE, SIZE)
    assert (abs(flipped.turn), flipped.mirrored) == (180, True)
    assert told.share0 == pytest.approx(200 * 300 / 4 / 640 / 480)
    assert told.share1 == pytest.approx(1)


def test_a_photograph_of_a_picture_is_no_copy():
    """Seen from the side, filling the other picture."""
    rng = np.random.default_rng(0)
    tilted = np.array([[1.0, 0.05, 0], [0, 1.0, 0], [2e-4, 0, 1]])
    told = find_relation_of_matches(*matches(tilted, rng), tilted, SIZE, (600, 440), *COUNTS)
    assert told.kind == "same thing"


def test_a_part_pasted_elsewhere_is_no_crop():
    """All matches agree, and surround a quarter of what both would show."""
    rng = np.random.default_rng(0)
    part = matches(motion(), rng, where=(0.3, 0.3, 0.75, 0.75))
    assert find_relation_of_matches(*part, motion(), SIZE, SIZE, *COUNTS).kind == "same thing"


def test_matches_that_one_motion_does_not_explain():
    rng = np.random.default_rng(0)
    xy0, xy1 = matches(motion(), rng)
    others = matches(motion(shift=(90, 60)), rng)
    told = find_relation_of_matches(
        np.vstack([xy0, others[0]]), np.vstack([xy1, others[1]]), motion(), SIZE, SIZE, *COUNTS
    )
    assert told.kind == "same thing"


@pytest.mark.parametrize("mirror", [False, True])
def test_a_similarity_is_found_from_points(mirror):
    true = motion(37, 1.7, (40, -9), mirror)
    found = fit_similarity(*matches(true, np.random.default_rng(0), noise=0))
    assert np.allclose(found, true)


def test_two_matches_are_no_evidence():
    xy = np.array([[1.0, 1.0], [600.0, 400.0]])
    assert find_relation_of_matches(xy, xy, motion(), SIZE, SIZE, *COUNTS).kind == "same thing"


def test_siblings_are_no_thumbnails():
    """Header and rim are alike, and surround all of the rest: few of the features match."""
    rng = np.random.default_rng(0)
    header, foot = (
        matches(motion(scale=0.4), rng, n=40, where=part) for part in ((0, 0, 1, 0.2), (0, 0.9, 1, 1))
    )
    xy0, xy1 = (np.vstack(ends) for ends in zip(header, foot, strict=True))
    told = find_relation_of_matches(xy0, xy1, motion(scale=0.4), SIZE, (256, 192), (5200, 1700), 3000)
    assert told.kind == "same thing"
    told = find_relation_of_matches(xy0, xy1, motion(scale=0.4), SIZE, (256, 192), (900, 160), 3000)
    assert told.kind == "thumbnail"


def test_no_frame_no_numbers():
    beyond = np.array([[1, 0, 0], [0, 1, 0], [0.01, 0, -1]])
    told = find_relation(beyond, SIZE, SIZE)
    assert told.kind == "same thing"
    assert math.isnan(told.share0) and math.isnan(told.reverse().scale)
