"""Objects that one picture shows mirrored or in negative."""

from dataclasses import replace

import numpy as np
import pytest
import skimage.data
from planting import crops

from matching import MatchConfig, match
from matching.core import pair, reversals
from matching.core.methods import MANY, PAIR
from matching.core.pair import Found, match_pair
from matching.core.pixel_matches import PixelMatches, PixelObject
from matching.core.reasons import REASONS
from matching.core.reversals import MIRRORED, NEGATIVE, find_nearest, find_promising, search_reversed
from matching.core.source import ImageSource
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


def open_source(picture, config=None):
    return ImageSource(make_picture_of_array(picture), config or MatchConfig())


def find(picture0, picture1, config=None):
    """The names of the promising reversals."""
    return [one.step for one in find_promising(open_source(picture0, config), open_source(picture1, config))]


def match_as_one_of_many(*pair):
    return match_pair(*(ImageSource(make_picture_of_array(picture)) for picture in pair), MANY)


def test_mirror_image_and_negative_are_promising(stones, other):
    for reverse, name in ((flip, "mirrored"), (lambda picture: 255 - picture, "negative")):
        assert find(stones, reverse(stones)) == find(reverse(stones), stones) == [name]
        assert find(stones, reverse(other)) == []
    assert find(stones, stones) == []


def test_part_of_mirror_image_is_promising_whichever_picture_is_larger(stones):
    scene = np.hstack([flip(stones), *(crops()[name] for name in ("coffee", "chelsea", "rocket"))])
    assert find(stones, scene) == find(scene, stones) == ["mirrored"]


@pytest.mark.parametrize("setting", ["evidence", "min_degree"])
def test_unrelated_pictures_are_not_promising_without_test_of_evidence(setting, stones):
    config = MatchConfig().with_settings(**{setting: 0})
    for unrelated in (skimage.data.coffee()[:220, :220], skimage.data.chelsea()):
        assert find(stones, unrelated, config) == []


def test_pictures_without_features_are_not_promising(stones):
    black = np.zeros((50, 50), np.uint8)
    assert find(black, stones) == find(stones, black) == find(black, black) == []


def test_most_similar_feature_has_same_kind_and_brightness(stones, other):
    few, features = open_source(stones).largest, open_source(other).described.features
    for row, k in enumerate(find_nearest(few, features).tolist()):
        alike = (features.kind == few.kind[row]) & (features.bright == few.bright[row])
        products = features.descriptors @ few.descriptors[row]
        assert alike[k] and products[k] == products[alike].max()


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


@pytest.mark.parametrize("name", ["astronaut", "chelsea"])
def test_mirrored_face_is_found_although_its_symmetric_parts_match_plainly(name):
    face = crops()[name]
    (one,) = match(face, flip(face)).objects
    assert one.motion.mirrored
    assert one.n_matches > 200


def test_a_negative_picture_is_found_without_an_option(stones):
    found = match(stones, 255 - stones)
    (one,) = found.objects
    assert found.negative
    assert not one.motion.mirrored
    kept = found.cluster == 0
    assert np.median(np.abs(found.xy1[kept] - found.xy0[kept])) < 0.5


def test_mirrored_thing_is_found_beside_plain_one(stones):
    scene = np.hstack([stones, flip(stones)])
    assert sorted(found.motion.mirrored for found in match(stones, scene).objects) == [False, True]


def test_negative_thing_is_found_beside_plain_one(stones, other):
    """A window in dark mode on a wallpaper that is not in negative."""
    first, second = np.hstack([stones, other]), np.hstack([255 - stones, other])
    found = match(first, second)
    assert found.negative
    places = sorted((one.points0[:, 0].mean() > stones.shape[1]) for one in found.objects)
    assert places == [False, True]
    assert {one.confidence for one in found.objects} == {"sure"}
    swapped = match(second, first)
    assert np.array_equal(swapped.xy0, found.xy1) and np.array_equal(swapped.cluster, found.cluster)


@pytest.mark.parametrize("reverse", [flip, lambda picture: 255 - picture], ids=["mirrored", "negative"])
def test_one_of_many_pairs_is_searched_for_the_same_reversals(reverse, stones):
    found = match_as_one_of_many(stones, reverse(stones))
    assert len(found.objects) == 1
    assert same(found, match(stones, reverse(stones)))


def test_pair_that_is_not_promising_is_not_searched(stones, other, monkeypatch):
    def fail(*arguments):
        raise AssertionError("a reversal of a pair that is not promising")

    monkeypatch.setattr(reversals, "find_objects", fail)
    assert match(stones, other).objects == ()
    with pytest.raises(AssertionError, match="not promising"):
        match(stones, flip(stones))


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
    assert 0.02 < group.measure < 80**2 / 400**2 < group.bound <= MIN_PICTURE_SHARE
    assert group.is_cause
    assert np.abs(group.centres[0] - [100, 140]).max() < 10
    assert np.abs(group.centres[1] - [260, 190]).max() < 10
    swapped = match(*pages[::-1]).rejected[0]
    assert (swapped.step, swapped.n_matches) == (step, group.n_matches)
    assert np.array_equal(swapped.points1, group.points0)


def test_plain_object_that_agreement_rejects_does_not_hide_reversed_one(stones, other, monkeypatch):
    """The mirrored object is only to be looked at, so that a plain object would come first."""
    scene = np.hstack([flip(stones), other])
    first, second = (ImageSource(make_picture_of_array(picture)) for picture in (stones, scene))
    xy = np.random.default_rng(0).uniform(20, 200, (40, 2))
    rows = np.zeros(40, np.int64), np.zeros(40, np.int8)
    plain = PixelMatches(
        xy, xy + np.array([220.0, 0.0]), np.zeros(40), *rows, (PixelObject(0.9, -50.0, np.ones(2)),)
    )

    def find_doubtful(*arguments):
        found = search_reversed(*arguments)
        return replace(found, objects=tuple(replace(one, log_nfa=-2.5) for one in found.objects))

    monkeypatch.setattr(pair, "search_reversed", find_doubtful)
    found = pair.add_reversed(Found(plain, (first.described, second.described)), first, second, PAIR)
    (one,), _ = pair.keep_existing(first, second, found)
    assert one.motion.mirrored
    assert [group.step for group in found.matches.rejected[:1]] == ["agreement"]


def test_reversals_are_steps_with_reasons():
    assert {MIRRORED.step, NEGATIVE.step} <= set(REASONS)
    assert REASONS[MIRRORED.step].word == "small-and-mirrored"
    assert REASONS[NEGATIVE.step].word == "small-in-negative"
