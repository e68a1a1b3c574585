from dataclasses import replace

import numpy as np
import pytest
import skimage.data
from planting import candidates, crops, random_frames, similarity

from matching import MatchConfig, match
from matching._common import opencv
from matching.features.extraction import Features
from matching.grouping.methods import PAIR
from matching.pictures.images import make_picture_of_array
from matching.searches.details import group_details
from matching.searches.search import find_pair_candidates, group_candidates
from matching.searches.source import DescribedPicture, describe_picture, is_small

CONFIG = MatchConfig(working_pixels=90_000)  # so that the pictures here are large
DEFAULT = MatchConfig()
SIDE = 80  # pixels of the thing in the large picture
PLACE = np.array([530, 340])


@pytest.fixture(scope="module")
def thing():
    return crops(220)["coffee"]


@pytest.fixture(scope="module")
def scene(thing):
    """A picture (600, 800, 3) that shows the thing 80 pixels large, and 24 at the working size."""
    tiles = [skimage.data.astronaut()[:300, :400], skimage.data.chelsea()[:300, :400]]
    mosaic = np.vstack([np.hstack(tiles), np.hstack([np.ascontiguousarray(t[:, ::-1]) for t in tiles])])
    small = opencv.resize_area(thing, SIDE, SIDE)
    x, y = PLACE
    mosaic[y : y + SIDE, x : x + SIDE] = small
    return mosaic


def in_scene(xy):
    """Where points of the thing are in the scene."""
    return (xy + 0.5) * SIDE / 220 - 0.5 + PLACE


def errors(result, found):
    own = result.cluster == found.id
    return np.linalg.norm(in_scene(result.xy0[own]) - result.xy1[own], axis=1)


@pytest.fixture(scope="module")
def found(thing, scene):
    return match(thing, scene, CONFIG)


def test_a_detail_of_a_large_picture_is_found(found, thing, scene):
    assert len(found.objects) == 1
    assert np.median(errors(found, found.objects[0])) < 0.5
    assert found.objects[0].motion.scale == pytest.approx(SIDE / 220, rel=0.02)
    assert found.matched_at == pytest.approx((0.0484, 0.48))
    coarse = match(thing, scene, replace(CONFIG, max_pixels=CONFIG.working_pixels))
    assert coarse.objects == ()
    assert coarse.matched_at == pytest.approx((0.0484, 0.09), rel=0.02)


def test_swapped_pictures_have_the_same_objects(found, thing, scene):
    turned = match(scene, thing, CONFIG)
    assert turned.matched_at == found.matched_at[::-1]
    for a, b in (("xy0", "xy1"), ("xy1", "xy0"), ("cluster", "cluster"), ("score", "score")):
        assert getattr(found, a).tobytes() == getattr(turned, b).tobytes()


def test_a_limit_between_working_size_and_own_size(thing, scene):
    limited = match(thing, scene, replace(CONFIG, max_pixels=300_000))
    assert limited.matched_at[1] == pytest.approx(0.3, rel=0.01)
    assert len(limited.objects) == 1
    assert np.median(errors(limited, limited.objects[0])) < 1


def test_mirrored_details(thing, scene):
    mirrored = match(np.ascontiguousarray(thing[:, ::-1]), scene, CONFIG, mirrored=True)
    assert len(mirrored.objects) == 1
    assert mirrored.objects[0].motion.mirrored


def test_masks_hold_for_details(thing, scene):
    mask = np.full(scene.shape[:2], 255, np.uint8)
    mask[PLACE[1] : PLACE[1] + SIDE, PLACE[0] : PLACE[0] + SIDE] = 0
    assert match(thing, scene, CONFIG, mask1=mask).objects == ()


def test_details_beside_what_the_working_size_shows(thing, scene):
    both = scene.copy()
    both[350:570, 20:240] = thing
    found = match(thing, both, CONFIG)
    assert len(found.objects) == 2
    assert [o.id for o in found.objects] == [0, 1]
    assert found.objects[0].log_nfa <= found.objects[1].log_nfa  # the strongest evidence first
    large, small = sorted(found.objects, key=lambda o: -o.motion.scale)
    assert large.motion.scale == pytest.approx(1, abs=0.02)
    assert small.motion.scale == pytest.approx(SIDE / 220, rel=0.03)
    assert large.thing == small.thing
    few = match(thing, both, CONFIG, max_matches=60)
    assert len(few.cluster) <= 60


def test_two_large_pictures_of_different_scale(thing, scene):
    close = np.kron(thing, np.ones((2, 2, 1), np.uint8))  # 0.19 megapixels
    found = match(close, scene, CONFIG)
    assert len(found.objects) == 1
    assert found.matched_at == pytest.approx((0.1936, 0.48))
    assert found.objects[0].motion.scale == pytest.approx(SIDE / 440, rel=0.03)


def test_two_large_pictures_that_the_working_size_solves(scene):
    found = match(scene, np.ascontiguousarray(scene[:550, :750]), CONFIG)
    assert found.confidence == "sure"
    assert max(found.matched_at) < 0.1


def few_matches(n, n_chance=140, side=36, seed=0):
    """Candidates of a detail of `side` pixels that is ten times as large in picture 0, and of chance."""
    rng = np.random.default_rng(seed)
    xy0 = np.concatenate([rng.uniform(0, 10 * side, (n, 2)), rng.uniform(0, 10 * side, (n_chance, 2))])
    xy1 = np.concatenate(
        [xy0[:n] / 10 + 900 + rng.normal(0, 0.3, (n, 2)), rng.uniform(0, 4000, (n_chance, 2))]
    )
    frames0 = random_frames(rng, len(xy0)) * 3
    turns = np.concatenate([np.zeros(n), rng.uniform(0, 2 * np.pi, n_chance)])
    frames1 = np.array([similarity(angle, 0.1) for angle in turns]) @ frames0
    return candidates(xy0, xy1, frames0, frames1)


def group_few(found):
    fields = {"xy": found.xy0, "frames": found.frames0, "kind": found.kind, "bright": found.kind > 0}
    features = Features(descriptors=np.zeros((len(found), 128), np.float32), **fields)
    plain = np.ones(2)
    seen = DescribedPicture(features, plain, b"", np.zeros((2, 2)), plain)
    return group_details(seen, seen, (found, found[:0]), DEFAULT, PAIR)


def test_a_detail_needs_fewer_matches_than_other_objects():
    found = few_matches(10)
    detail = group_few(found)
    (one,) = detail.proposals
    assert (one.rows < 10).sum() >= 9
    assert (one.rows >= 10).sum() <= 1
    assert np.allclose(detail.xy0, found.xy0)  # and not in the other order
    assert np.allclose(detail.xy1, found.xy1)
    assert group_candidates(found, found[:0]).groups == []
    for seed in range(5):
        assert group_few(few_matches(0, 150, seed=seed)).proposals == ()


def test_nothing_in_common_and_no_features(scene):
    assert match(crops(220)["rocket"], scene, CONFIG).objects == ()
    assert match(np.zeros((50, 50), np.uint8), scene, CONFIG).objects == ()


def test_the_paper_has_no_details(thing, scene):
    paper = replace(MatchConfig.paper(), working_pixels=90_000)
    assert match(thing, scene, paper).matched_at[1] < 0.1


def small_pair(side=24):
    """A thing, and a picture of 220 x 220 px that shows it `side` pixels large."""
    thing = crops(220)["astronaut"]
    scene = np.ascontiguousarray(crops(220)["chelsea"])
    scene[120 : 120 + side, 90 : 90 + side] = opencv.resize_area(thing, side, side)
    return thing, scene


def test_a_small_picture_is_enlarged_where_nothing_sure_is_found():
    thing, scene = small_pair()
    pictures = [make_picture_of_array(image) for image in (thing, scene)]
    described = [describe_picture(picture) for picture in pictures]
    assert [is_small(own) for own in described] == [True, True]
    features = [own.features for own in described]
    assert group_candidates(*find_pair_candidates(*features, MatchConfig())).groups == []
    found = match(thing, scene)
    assert len(found.objects) == 1
    own = found.cluster == 0
    error = (found.xy0[own] + 0.5) * 24 / 220 - 0.5 + [90, 120] - found.xy1[own]
    assert np.median(np.linalg.norm(error, axis=1)) < 0.5
    assert found.matched_at == pytest.approx((0.0484, 0.0484))
    assert match(scene, thing).xy0.tobytes() == found.xy1.tobytes()


def test_a_small_picture_is_enlarged_with_its_mask():
    thing, scene = small_pair()
    left = np.zeros(scene.shape[:2], np.uint8)
    left[:, :170] = 255
    found = match(thing, scene, mask1=left)
    assert len(found.objects) == 1
    assert found.xy1[:, 0].max() < 170
