"""Of every candidate it can be said which object it is in, or which step dropped it and why."""

from dataclasses import replace

import cv2
import numpy as np
import pytest
import skimage.data
from planting import crops, object_pair

from matching import MatchConfig, find_repeats, group_matches, match
from matching.grouping.reasons import REASONS
from matching.output.words import count_dropped
from synth.composite import composite_pair
from synth.photographs import read_shipped


def check(result):
    """The sum is complete: each candidate is in an object or was dropped by a step with a reason."""
    assert len(result.dropped_by) == len(result.cluster)
    assert np.array_equal(result.dropped_by == "", result.cluster >= 0)
    assert set(result.dropped_by) - {""} <= set(REASONS)
    kept = sum(found.n_matches for found in result.objects)
    assert kept + sum(count_dropped(result).values()) == len(result.cluster)
    assert all(item.n_matches and item.step in REASONS for item in result.rejected)
    sizes = [item.n_matches for item in result.rejected]
    assert sizes == sorted(sizes, reverse=True)
    text = result.explain()
    assert all(f"{n}  {step}" in text for step, n in count_dropped(result).items())
    return result


def find(result, step):
    return [item for item in result.rejected if item.step == step]


def test_composites():
    pair = composite_pair(read_shipped(), 2, 5.0, 3, side=150, copies=2)
    assert check(match(pair.image0, pair.image1, max_matches=1500)).objects


def test_unrelated_pictures_and_the_evidence():
    result = check(match(skimage.data.astronaut()[:250, :250], skimage.data.coffee()[:250, :250]))
    assert not result.objects
    assert set(result.dropped_by) == {"evidence"}
    assert all(item.measure < item.bound == 4 for item in find(result, "evidence"))


def test_flat_pictures():
    assert check(match(np.zeros((60, 80)), np.zeros((60, 80)))).explain().startswith("no group")


@pytest.mark.filterwarnings("ignore:n_initial_neighbors")
def test_the_papers_way():
    result = check(match(*object_pair(), MatchConfig.paper()))
    assert {"largest gap"} <= set(result.dropped_by)
    assert all(item.measure < item.bound for item in find(result, "largest gap"))


def test_one_picture():
    thing = crops(120)["coffee"]
    sheet = np.hstack([thing, skimage.data.chelsea()[:120, :120], thing])
    assert check(find_repeats(sheet)).objects
    assert not check(find_repeats(skimage.data.astronaut()[:200, :200])).objects


def test_a_texture_of_one_picture():
    cell = cv2.resize(skimage.data.astronaut()[60:100, 200:240], (16, 16))
    check(find_repeats(np.tile(cell, (9, 9, 1)), max_matches=1500))


@pytest.mark.parametrize("planes", [False, True])
def test_given_matches(planes):
    rng = np.random.default_rng(0)
    xy0 = rng.uniform(0, 800, (300, 2))
    xy1 = rng.uniform(0, 800, (300, 2))
    near = (xy0 < 300).all(axis=1)
    xy1[near] = xy0[near] * 1.1 + 40 + rng.normal(0, 0.4, (near.sum(), 2))
    xy0[-1] = 1e9
    result = check(group_matches(xy0, xy1, planes=planes))
    assert len(result.objects) == 1
    assert result.dropped_by[-1] == "stray"
    assert check(group_matches(xy0[:5], xy1[:5])).dropped_by.tolist() == ["candidates"] * 5
    assert set(check(group_matches(xy0[:-1], rng.permutation(xy1[:-1]))).dropped_by) == {"significance"}


def test_views_and_details():
    picture = skimage.data.coffee()
    turned = cv2.warpPerspective(picture, np.array([[0.3, 0, 60], [0.05, 0.9, 20], [0.0, 0, 1]]), (300, 400))
    config = replace(MatchConfig(), view_synthesis=True)
    check(match(skimage.data.astronaut()[:200, :200], turned[:200], config, max_matches=500))
    check(match(picture[:220, :220], picture, working_pixels=60_000))
