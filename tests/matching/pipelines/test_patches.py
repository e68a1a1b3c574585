"""Small patches that a picture shows twice."""

import numpy as np
import pytest
import skimage.data

from matching import MatchConfig, find_repeats
from matching.pictures.images import make_picture
from matching.pipelines.description import describe_picture
from matching.pipelines.patches import describe_patches

SIDE = 40
FIRST, SECOND = np.array([150, 90]), np.array([40, 180])


@pytest.fixture(scope="module")
def photograph():
    return skimage.data.coffee()[60:320, 120:400].copy()


def test_a_copied_patch_of_forty_pixels_is_found_and_nothing_in_the_photograph_itself(photograph):
    assert find_repeats(photograph).objects == ()
    changed = photograph.copy()
    (x, y), (u, v) = FIRST, SECOND
    changed[v : v + SIDE, u : u + SIDE] = photograph[y : y + SIDE, x : x + SIDE]
    found = find_repeats(changed)
    (thing,) = found.things
    assert len(thing.places) == 2 and not thing.periodic
    (item,) = found.objects
    assert item.n_matches >= 8 and item.transform_error < 0.3
    assert np.abs(np.median(item.points1 - item.points0, axis=0) - (FIRST - SECOND)).max() < 0.5
    for points, corner in ((item.points0, SECOND), (item.points1, FIRST)):
        assert ((points > corner - 1) & (points < corner + SIDE)).all()


def test_a_large_picture_and_the_grouping_of_the_paper_have_no_search_for_patches(photograph):
    large = make_picture(np.zeros((800, 900), np.uint8))
    described = describe_picture(large)
    assert describe_patches(large, described, MatchConfig()) is None
    small = make_picture(photograph)
    assert describe_patches(small, describe_picture(small), MatchConfig.paper()) is None
