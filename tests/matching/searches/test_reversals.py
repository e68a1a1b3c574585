"""Objects that one picture shows mirrored or in negative."""

import numpy as np
import pytest
import skimage.data
from planting import crops

from matching import MatchConfig, match
from matching.drivers.pair import match_pair
from matching.grouping.ledger import IN_OBJECT
from matching.grouping.methods import MANY
from matching.pictures.images import make_picture_of_array
from matching.searches import cascade
from matching.searches.proposals import Listing, Proposal
from matching.searches.reversals import find_nearest, find_promising
from matching.searches.search import GroupedCandidates
from matching.searches.source import ImageSource

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
    return [one.name for one in find_promising(open_source(picture0, config), open_source(picture1, config))]


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

    monkeypatch.setattr(cascade, "search_reversed", fail)
    assert match(stones, other).objects == ()
    with pytest.raises(AssertionError, match="not promising"):
        match(stones, flip(stones))


def test_small_reversed_print_between_whose_matches_everything_agrees_is_found(stones):
    small = stones[:80, :80]
    for reverse, name in ((flip, "mirrored"), (lambda picture: 255 - picture, "negative")):
        pages = np.full((2, 400, 400, 3), 110, np.uint8)
        pages[0, 100:180, 60:140], pages[1, 150:230, 220:300] = small, reverse(small)
        found = match(*pages)
        (one,) = found.objects
        assert (one.motion.mirrored, found.negative) == (name == "mirrored", name == "negative")
        assert np.abs(one.points0.mean(axis=0) - [100, 140]).max() < 10
        assert np.abs(one.points1.mean(axis=0) - [260, 190]).max() < 10


def test_plain_group_that_agreement_rejects_does_not_hide_reversed_object(stones, other, monkeypatch):
    """The plain group comes first, but nothing between its matches agrees."""
    scene = np.hstack([flip(stones), other])
    xy = np.random.default_rng(0).uniform(20, 200, (40, 2))
    ends = xy, xy + np.array([220.0, 0.0])
    locate = GroupedCandidates.locate

    def locate_false(*arguments):
        found = locate(*arguments)
        if found.proposals:
            return found
        is_first = np.array_equal(arguments[1].features.xy, plain_first)
        sides = ends if is_first else ends[::-1]
        false = Proposal(np.arange(40), *sides, np.zeros(40), 0.9, np.ones(2), count_distinct=lambda: 0)
        return Listing(
            false.xy0, false.xy1, np.zeros(40), np.full(40, IN_OBJECT, np.int8), (false,), found.rejected
        )

    plain_first = open_source(stones).described.features.xy
    monkeypatch.setattr(GroupedCandidates, "locate", locate_false)
    found = match(stones, scene)
    (one,) = found.objects
    assert one.motion.mirrored
    assert "agreement" in [group.step for group in found.rejected]
