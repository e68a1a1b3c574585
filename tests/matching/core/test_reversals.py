"""Objects that one picture shows mirrored or in negative."""

import numpy as np
import pytest
import skimage.data
from planting import crops

from matching import MatchConfig, match
from matching.core import reversals
from matching.core.methods import MANY
from matching.core.pair import match_pair
from matching.core.reasons import REASONS
from matching.core.reversals import MIRRORED, NEGATIVE, is_promising
from matching.core.source import ImageSource, describe_picture
from matching.features.extraction import mirrored_features
from matching.objects.frames import MIN_PICTURE_SHARE
from matching.pictures.images import make_picture_of_array

COLUMNS = "xy0", "xy1", "cluster", "score", "dropped_by"


def same(a, b):
    return all(getattr(a, name).tobytes() == getattr(b, name).tobytes() for name in COLUMNS)


@pytest.fixture(scope="module")
def stones():
    """A picture (220, 220, 3) without symmetry, which a face would have."""
    return np.dstack([skimage.data.gravel()[:220, :220]] * 3)


@pytest.fixture(scope="module")
def other():
    return skimage.data.coffee()[:220, :220]


def flip(picture):
    return np.ascontiguousarray(picture[:, ::-1])


def describe(picture):
    return describe_picture(make_picture_of_array(picture)).features


def match_as_one_of_many(*pair):
    return match_pair(*(ImageSource(make_picture_of_array(picture)) for picture in pair), MANY)


def test_a_picture_and_its_mirror_image_are_promising(stones, other):
    plain, turned = describe(stones), describe(flip(stones))
    assert is_promising(plain, turned, MIRRORED) and is_promising(turned, plain, MIRRORED)
    assert is_promising(plain, mirrored_features(plain), MIRRORED)
    assert not is_promising(plain, plain, MIRRORED)
    assert not is_promising(plain, turned, NEGATIVE)
    assert not is_promising(plain, describe(other), MIRRORED)


def test_a_picture_and_its_negative_are_promising(stones, other):
    plain, negative = describe(stones), describe(255 - stones)
    assert is_promising(plain, negative, NEGATIVE) and is_promising(negative, plain, NEGATIVE)
    assert not is_promising(plain, plain, NEGATIVE)
    assert not is_promising(plain, negative, MIRRORED)
    assert not is_promising(plain, describe(255 - other), NEGATIVE)


def test_a_part_of_the_mirror_image_is_promising_whichever_picture_is_larger(stones):
    scene = np.hstack([flip(stones), *(crops()[name] for name in ("coffee", "chelsea", "rocket"))])
    plain, turned = describe(stones), describe(scene)
    assert is_promising(plain, turned, MIRRORED) and is_promising(turned, plain, MIRRORED)


@pytest.mark.parametrize("setting", ["evidence", "min_degree"])
def test_without_a_test_of_evidence_unrelated_pictures_are_not_promising(setting, stones):
    config = MatchConfig().with_settings(**{setting: 0})
    for unrelated in (skimage.data.coffee()[:220, :220], skimage.data.rocket()[:220, :220]):
        assert not is_promising(describe(stones), describe(unrelated), MIRRORED, config)


def test_pictures_without_features_are_not_promising(stones):
    black = describe(np.zeros((50, 50), np.uint8))
    for reversal in (MIRRORED, NEGATIVE):
        assert not is_promising(black, describe(stones), reversal)
        assert not is_promising(black, black, reversal)


def test_a_mirrored_picture_is_found_without_an_option(stones):
    found = match(stones, flip(stones))
    (one,) = found.objects
    assert one.motion.mirrored
    assert one.confidence == "sure"
    assert not found.negative
    kept = found.cluster == 0
    error = np.abs(found.xy1[kept] - np.column_stack([219 - found.xy0[kept, 0], found.xy0[kept, 1]]))
    assert np.median(error) < 0.5
    swapped = match(flip(stones), stones)
    assert np.array_equal(swapped.xy0, found.xy1) and np.array_equal(swapped.cluster, found.cluster)


def test_a_negative_picture_is_found_without_an_option(stones):
    found = match(stones, 255 - stones)
    (one,) = found.objects
    assert found.negative
    assert not one.motion.mirrored
    kept = found.cluster == 0
    assert np.median(np.abs(found.xy1[kept] - found.xy0[kept])) < 0.5


def test_a_solved_pair_is_not_tried_mirrored(stones):
    """One of the pictures shows the thing mirrored as well; only the option finds that too."""
    scene = np.hstack([stones, flip(stones)])
    (one,) = match(stones, scene).objects
    assert not one.motion.mirrored
    both = match(stones, scene, mirrored=True)
    assert sorted(found.motion.mirrored for found in both.objects) == [False, True]


@pytest.mark.parametrize("reverse", [flip, lambda picture: 255 - picture], ids=["mirrored", "negative"])
def test_one_of_many_pairs_is_searched_for_the_same_reversals(reverse, stones):
    found = match_as_one_of_many(stones, reverse(stones))
    assert len(found.objects) == 1
    assert same(found, match(stones, reverse(stones)))


def test_one_of_many_pairs_that_is_not_promising_is_not_searched(stones, other, monkeypatch):
    def never(*given):
        raise AssertionError("a reversal of a pair that is not promising")

    monkeypatch.setattr(reversals, "find_objects", never)
    assert match_as_one_of_many(stones, other).objects == ()
    with pytest.raises(AssertionError, match="not promising"):
        match(stones, other)


@pytest.mark.parametrize(
    ("reverse", "step", "reason"),
    [
        (flip, "mirrored", "small-and-mirrored"),
        (lambda picture: 255 - picture, "negative", "small-in-negative"),
    ],
    ids=["mirrored", "negative"],
)
def test_small_reversed_print_is_rejected_with_its_share(reverse, step, reason, stones):
    """Letters and other symmetric print match their mirror image, and are often shown in negative."""
    small = stones[:80, :80]
    pages = np.full((2, 400, 400, 3), 110, np.uint8)
    pages[0, 100:180, 60:140], pages[1, 150:230, 220:300] = small, reverse(small)
    found = match(*pages)
    assert found.objects == ()
    assert not found.negative
    group = found.rejected[0]
    assert (group.step, group.reason) == (step, reason)
    assert 0.02 < group.measure < 80**2 / 400**2 < group.bound == MIN_PICTURE_SHARE
    assert group.is_cause
    assert np.abs(group.centres[0] - [100, 140]).max() < 10
    assert np.abs(group.centres[1] - [260, 190]).max() < 10
    swapped = match(*pages[::-1]).rejected[0]
    assert (swapped.step, swapped.n_matches) == (step, group.n_matches)
    assert np.array_equal(swapped.points1, group.points0)


def test_reversals_are_steps_with_reasons():
    assert {MIRRORED.step, NEGATIVE.step} <= set(REASONS)
    assert REASONS[MIRRORED.step].word == "small-and-mirrored"
    assert REASONS[NEGATIVE.step].word == "small-in-negative"
