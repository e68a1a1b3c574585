from dataclasses import replace

import numpy as np
import pytest
import skimage.data
from planting import crops, object_pair, true_shift

from matching import InputError, MatchConfig, MatchedObject, MatchResult, match
from matching._common.threads import limit_threads
from matching.drivers.pair import list_steps, match_pair
from matching.grouping.groups import FEW_MATCHES, make_group
from matching.grouping.methods import PAIR, Method
from matching.objects.transforms import apply_transform
from matching.output.words import describe_result
from matching.pictures.images import make_picture_of_array
from matching.searches.source import ImageSource

NAMES = ("xy0", "xy1", "cluster", "score")


def same(a, b):
    return all(getattr(a, name).tobytes() == getattr(b, name).tobytes() for name in NAMES)


@pytest.fixture(scope="module")
def pair():
    return object_pair()


@pytest.fixture(scope="module")
def found(pair):
    return match(*pair)


def test_two_objects_are_found_apart_and_right(found):
    assert isinstance(found, MatchResult)
    assert len(found.objects) == 2
    kept = found.cluster >= 0
    error = np.linalg.norm(true_shift(found.xy0[kept]) - found.xy1[kept], axis=1)
    assert np.median(error) < 0.5
    assert (error < 6).mean() > 0.97
    left = found.xy0[:, 0] < 219.5
    for k in range(2):
        assert left[found.cluster == k].mean() in (0.0, 1.0)
        assert (found.cluster == k).sum() > 50


def test_result_is_aligned(found):
    m = len(found.score)
    assert found.xy0.shape == found.xy1.shape == (m, 2)
    assert found.cluster.shape == (m,)
    assert [found.xy0.dtype, found.xy1.dtype, found.cluster.dtype, found.score.dtype] == [
        np.float64, np.float64, np.int64, np.float64,
    ]  # fmt: skip
    assert m <= MatchConfig().candidates.max_matches
    assert found.score.min() >= 0
    assert set(found.cluster) == {-1, 0, 1}
    assert sum(found.timings.values()) > 0


def test_objects_are_those_of_the_clusters(found):
    scores = [o.score for o in found.objects]
    assert scores == sorted(scores, reverse=True)
    for k, own in enumerate(found.objects):
        assert isinstance(own, MatchedObject)
        rows = found.cluster == k
        assert (own.id, own.n_matches) == (k, rows.sum())
        mapped = apply_transform(own.transform, found.xy0[rows])
        error = np.median(np.linalg.norm(mapped - found.xy1[rows], axis=1))
        assert own.transform_error == pytest.approx(error)
        assert own.transform_error < 1
        assert 0.5 < own.score <= 1  # nearly all of a match's nearest agree with it
        centre = own.outline0.mean(axis=0)[None]
        assert np.abs(apply_transform(own.transform, centre) - true_shift(centre)).max() < 2


def test_threads_change_nothing(pair, found):
    with limit_threads(1):
        assert same(match(*pair), found)


def test_swapping_the_pictures_swaps_the_matches(pair, found):
    swapped = match(*pair[::-1])
    assert np.array_equal(swapped.xy0, found.xy1)
    assert np.array_equal(swapped.xy1, found.xy0)
    assert np.array_equal(swapped.cluster, found.cluster)
    assert np.array_equal(swapped.score, found.score)
    for here, there in zip(found.objects, swapped.objects, strict=True):
        assert here.score == there.score
        corner = here.outline0
        assert (
            np.abs(apply_transform(there.transform, apply_transform(here.transform, corner)) - corner).max()
            < 3
        )


def test_nothing_in_common():
    c = crops()
    nothing = match(c["rocket"], c["chelsea"])
    assert nothing.objects == ()
    assert (nothing.cluster == -1).all()
    assert len(nothing.score) > 100


@pytest.mark.parametrize("paper", [False, True], ids=["default", "paper"])
@pytest.mark.parametrize("shape", [(1, 1), (3, 300), (300, 300)])
def test_pictures_without_features(shape, paper):
    black = np.zeros(shape, np.uint8)
    nothing = match(black, crops()["coffee"], MatchConfig.paper() if paper else MatchConfig())
    assert nothing.objects == ()
    assert nothing.xy0.shape == nothing.xy1.shape == (0, 2)


def test_transparent_objects_are_not_found(pair):
    alpha = np.full(pair[0].shape[:2], 255, np.uint8)
    alpha[:, :220] = 0
    found = match(np.dstack([pair[0], alpha]), pair[1])
    assert len(found.objects) == 1
    assert found.xy0[:, 0].min() > 218


def test_coarser_working_scale_gives_pixels_of_the_picture(pair):
    large = [np.repeat(np.repeat(p, 2, axis=0), 2, axis=1) for p in pair]
    found = match(*large, MatchConfig(max_pixels=pair[0][..., 0].size))
    assert len(found.objects) >= 1
    kept = found.cluster >= 0
    xy0 = (found.xy0[kept] + 0.5) / 2 - 0.5
    error = np.linalg.norm((true_shift(xy0) + 0.5) * 2 - 0.5 - found.xy1[kept], axis=1)
    assert np.median(error) < 2
    assert (error < 16).mean() > 0.95  # a pixel of the coarser working image is nearly 3


def test_a_whole_object_is_one_object():
    coffee = crops(260)["coffee"]
    found = match(coffee, np.rot90(coffee).copy())
    assert len(found.objects) == 1
    kept = found.cluster >= 0
    turned = np.column_stack([found.xy0[kept, 1], 259 - found.xy0[kept, 0]])
    assert np.median(np.linalg.norm(turned - found.xy1[kept], axis=1)) < 0.5


@pytest.mark.filterwarnings("ignore:n_initial_neighbors")
def test_the_papers_way_runs_and_differs(pair, found):
    paper = match(*pair, MatchConfig.paper())
    assert len(paper.objects) == paper.cluster.max() + 1 > len(found.objects)  # it merges to n_T clusters
    assert [o.n_matches for o in paper.objects] == np.bincount(paper.cluster[paper.cluster >= 0]).tolist()
    right = np.linalg.norm(true_shift(paper.xy0) - paper.xy1, axis=1) < 3
    assert right[paper.cluster >= 0].mean() > right[paper.cluster < 0].mean() + 0.3
    larger = max(paper.objects, key=lambda o: o.n_matches)
    assert np.median(np.linalg.norm(true_shift(larger.points0) - larger.points1, axis=1)) < 1
    assert all(o.confidence is None for o in paper.objects)
    assert not np.array_equal(paper.score, found.score)


def make_sources(pair, config):
    return [ImageSource(make_picture_of_array(image), config) for image in pair]


def test_rival_of_all_steps_can_be_put_in(pair):
    calls = []

    def group_every_other(matches, config, ledger):
        rows = np.arange(len(matches))
        calls.append((len(matches), config))
        ledger.reach("method", rows[1::2])
        return [make_group(rows[::2], 7.0)]

    config = MatchConfig().with_settings(max_matches=200)
    result = match_pair(*make_sources(pair, config), Method(group=group_every_other))
    assert calls == [(200, config)]
    assert result.objects[0].score == 7
    assert result.cluster.tolist() == [0, -1] * 100
    assert result.dropped_by.tolist() == ["", "method"] * 100
    assert result.objects[0].confidence == "sure"  # what lies between its matches is looked at
    assert "details" not in result.timings


def test_rival_clustering_can_be_put_in(pair, found):
    n_clustered = []

    def keep_count(correspondences, graph, config):
        n_clustered.append(len(graph.rows))
        return PAIR.cluster(correspondences, graph, config)

    result = match_pair(*make_sources(pair, MatchConfig()), replace(PAIR, cluster=keep_count))
    assert same(result, found)
    assert n_clustered


@pytest.mark.filterwarnings("ignore:n_initial_neighbors")
def test_settings_of_the_paper_take_the_place_of_any_method(pair):
    def never(*given):
        raise AssertionError("another method than the paper's")

    config = MatchConfig.paper().with_settings(max_matches=500)
    result = match_pair(*make_sources(pair, config), Method(group=never))
    assert result.objects
    assert (
        list(result.timings) == [*list_steps(config)[1:]] == ["features", "candidates", "grouping", "objects"]
    )


@pytest.mark.parametrize(("most", "n_objects"), [(1, 0), (10, 1), (40, 2)])
def test_a_handful_of_candidates(pair, found, most, n_objects):
    result = match(*pair, max_matches=most)
    assert len(result.score) == most
    if not result.objects:
        assert np.array_equal(np.sort(result.score), np.sort(found.score)[:most])  # the best there are
    assert (np.linalg.norm(true_shift(result.xy0) - result.xy1, axis=1) < 1).all()
    assert (result.cluster < 0).sum() == most - sum(o.n_matches for o in result.objects)
    assert all(o.n_matches >= FEW_MATCHES for o in result.objects)  # small pictures are looked at enlarged
    assert len(result.objects) == n_objects


def test_an_object_of_the_reserve_where_a_textured_one_fills_the_list():
    ground, product = np.dstack([skimage.data.grass()] * 3)[:140, :140], crops(140)["astronaut"]
    noisy = product + np.random.default_rng(5).normal(0, 10, product.shape)
    first, second = np.full((2, 340, 340, 3), 110, np.uint8)
    first[20:160, 20:160], first[180:320, 180:320] = ground, product
    second[180:320, 180:320], second[20:160, 20:160] = ground, noisy.clip(0, 255)
    config = replace(MatchConfig(), candidates=replace(MatchConfig().candidates, max_matches=200))
    result = match(first, second, config)
    assert len(result.score) == 200
    large, small = sorted(result.objects, key=lambda o: -o.n_matches)
    assert large.n_matches > small.n_matches > 20
    product = result.cluster == small.id
    assert np.abs(result.xy1[product] - result.xy0[product] + 160).max() < 4


def test_a_picture_and_itself():
    image = crops()["coffee"]
    result = match(image, image)
    still = np.linalg.norm(result.xy0 - result.xy1, axis=1) < 1
    assert still.sum() > 100
    assert (result.cluster[still] == 0).mean() > 0.95


@pytest.mark.parametrize(
    ("value", "rule"),
    [
        (("SIFT",), r"must be some of \('mser', 'sift'\), got \('SIFT',\)"),
        ("sift", "must be some of .* got 'sift'"),
        ((), "must be some of .* got"),
    ],
)
def test_regions_that_there_are_none_of(value, rule):
    with pytest.raises(InputError, match=f"regions {rule}"):
        replace(MatchConfig().features, regions=value)


@pytest.mark.parametrize("config", [{}, None, MatchConfig])
def test_settings_of_another_type_are_told(config):
    with pytest.raises(TypeError, match="config must be a MatchConfig, got"):
        match(np.zeros((9, 9), np.uint8), np.zeros((9, 9), np.uint8), config)


def test_settings_of_a_stage_of_another_type_are_told():
    with pytest.raises(InputError, match="features must be a FeatureConfig, got dict"):
        MatchConfig(features={})


def test_mirrored_objects_are_found_when_asked_for(pair, found):
    first, scene = pair
    turned = np.hstack([scene[:220], first[:, :220][:, ::-1]])  # coffee as it is, the astronaut turned over
    both = match(first, turned, MatchConfig(mirrored=True))
    assert sorted(item.motion.mirrored for item in both.objects) == [False, True]
    astronaut = next(item for item in both.objects if item.motion.mirrored)
    point = np.array([[50.0, 60.0]])
    assert np.abs(apply_transform(astronaut.transform, point) - [440 + 219 - 50, 60]).max() < 2
    swapped = match(turned, first, MatchConfig(mirrored=True))
    assert np.array_equal(swapped.xy0, both.xy1)
    assert np.array_equal(swapped.cluster, both.cluster)


def test_a_picture_in_negative_is_told(pair, found):
    first, scene = pair
    negative = match(first, 255 - scene)
    assert negative.negative
    assert not found.negative
    n_matches = [o.n_matches for o in found.objects]  # key points are rounded otherwise
    assert [o.n_matches for o in negative.objects] == pytest.approx(n_matches, rel=0.01)
    assert describe_result(negative).startswith("2 objects in both, with one picture in negative, ")
    swapped = match(255 - scene, first)
    assert np.array_equal(swapped.xy0, negative.xy1)
    assert np.array_equal(swapped.cluster, negative.cluster)


def test_without_objects_a_negative_changes_nothing():
    one, other = skimage.data.coins(), skimage.data.page()
    result = match(one, other)
    assert not result.objects
    assert not result.negative
    assert not match(one, other, MatchConfig.paper()).negative


def test_result_without_objects_is_false():
    flat = np.zeros((60, 80), np.uint8)
    assert not match(flat, flat)
    assert len(match(flat, flat)) == 0
