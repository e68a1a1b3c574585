"""Objects between whose matches nothing agrees are dropped."""

import numpy as np
import pytest
import skimage.data
from planting import crops

from matching import find_repeats, match
from matching.core.agreement import keep_agreeing, look_at_objects
from matching.core.pixel_matches import PixelMatches, PixelObject
from matching.objects.description import describe_object
from matching.pictures.images import make_picture_of_array


@pytest.fixture(scope="module")
def planted():
    """Two pictures whose left halves agree and whose right halves don't, with matches on both halves."""
    rng = np.random.default_rng(0)
    cat, coffee, rocket = (crops()[name][:160, :160] for name in ("chelsea", "coffee", "rocket"))
    pictures = [make_picture_of_array(np.hstack([cat, other])) for other in (coffee, rocket)]
    xy = rng.uniform(10, 150, (120, 2)) + np.repeat([[0.0, 0.0], [160.0, 0.0]], 60, axis=0)
    labels = np.repeat([0, 1], 60)
    objects = tuple(PixelObject(0.8, -50.0, np.ones(2)) for _ in range(2))
    matches = PixelMatches(xy, xy, np.zeros(120), labels, np.zeros(120, np.int8), objects)
    described = [describe_object(k, xy[labels == k], xy[labels == k], 0.8, log_nfa=-50.0) for k in (0, 1)]
    return pictures, matches, described


def test_object_whose_pixels_disagree_is_dropped_with_its_measure(planted):
    pictures, matches, described = planted
    looks = look_at_objects(described, matches, *pictures, 6.0)
    (kept,), matches = keep_agreeing(described, looks, matches, 25.0)
    assert (kept.id, kept.is_same, kept.confidence) == (0, True, "sure")
    assert kept.differences == ()
    (rejected,) = matches.rejected
    assert (rejected.step, rejected.reason, rejected.n_matches) == ("agreement", "no-agreement", 60)
    assert rejected.measure < rejected.bound
    assert matches.labels.tolist() == [0] * 60 + [-1] * 60


def test_object_that_cannot_be_told_is_kept_and_doubtful(planted):
    _, matches, described = planted
    flat = make_picture_of_array(np.full((160, 320), 90, np.uint8))
    looks = look_at_objects(described, matches, flat, flat, 6.0)
    kept, same = keep_agreeing(described, looks, matches, 25.0)
    assert same is matches
    assert [one.is_same for one in kept] == [None, None]


def test_narrow_object_without_a_map_is_one_only_if_pixels_confirm_it():
    stones, other = skimage.data.gravel()[:160, :160], skimage.data.brick()[:160, :160]
    rng = np.random.default_rng(1)
    xy0 = np.column_stack([np.linspace(5, 155, 12), 80 + rng.normal(0, 4, 12)])
    xy1 = xy0 + rng.normal(0, 0.3, xy0.shape)
    found = describe_object(0, xy0, xy1, 0.8, log_nfa=-50.0)
    one = PixelObject(0.8, -50.0, np.ones(2), is_map_clear=False)
    matches = PixelMatches(xy0, xy1, np.zeros(12), np.zeros(12, np.int64), np.zeros(12, np.int8), (one,))
    for second, n_kept in ((stones, 1), (other, 0)):
        pictures = make_picture_of_array(stones), make_picture_of_array(second)
        looks = look_at_objects([found], matches, *pictures, 6.0)
        kept, left = keep_agreeing([found], looks, matches, 25.0)
        assert len(kept) == n_kept
        assert [(group.step, group.measure < group.bound) for group in left.rejected] == [
            ("agreement", True)
        ] * (1 - n_kept)


def test_altered_print_is_said_to_differ_where_it_does():
    print_ = crops()["coffee"].copy()
    altered = print_.copy()
    altered[80:130, 60:110] = crops()["rocket"][20:70, 20:70]
    (one,) = match(print_, altered).objects
    assert one.is_same is False
    (difference,) = one.differences
    low, high = difference.polygon1.min(axis=0), difference.polygon1.max(axis=0)
    assert (low > [40, 60]).all() and (high < [130, 150]).all()
    (same,) = match(print_, print_).objects
    assert same.is_same is True


def test_places_of_one_picture_that_look_the_same_are_kept():
    tile = crops()["coffee"][:120, :120]
    page = np.full((300, 500, 3), 200, np.uint8)
    page[40:160, 40:160] = page[120:240, 320:440] = tile
    (one,) = find_repeats(page).objects
    assert one.is_same is True


def test_outlines_reach_the_edges_of_agreement_but_not_over_other_objects(planted):
    _, matches, described = planted
    cat = crops()["chelsea"][:160, :160]
    same = make_picture_of_array(np.hstack([cat, cat]))
    looks = look_at_objects(described, matches, same, same.negative.negative, 6.0)
    for k, one in enumerate(keep_agreeing(described, looks, matches, 25.0)[0]):
        assert np.array_equal(one.outline0, described[k].outline0)
    alone = matches.drop("agreement", np.array([True, False]), 25.0)
    (one,), _ = keep_agreeing(described[:1], looks[:1], alone, 25.0)
    assert np.ptp(one.outline0[:, 0]) > 250
    assert one.motion.share > 0.9
