from dataclasses import replace

import numpy as np
import pytest
from planting import candidates as planted_at
from planting import moving, similarity, strangers, together

from matching import MatchConfig
from matching.config import SecondLookConfig
from matching.parts import PartsConfig
from matching.pipeline import cluster_candidates, find_objects
from matching.second_look import left_over, objects_of_their_own


def at_places(xy0, xy1):
    frames = np.tile(4 * np.eye(2), (len(xy0), 1, 1))
    return planted_at(xy0, xy1, frames, frames)


def none_reserved(candidates):
    return np.zeros(len(candidates), bool)


def test_what_is_near_an_object_at_both_ends_is_its_own():
    c = at_places(
        [(0, 0), (20, 0), (20, 0), (200, 0), (26, 0)],  # an object of one match, and four others:
        [(100, 0), (100, 20), (300, 0), (110, 0), (100, 0)],  # near at both ends, at one, the other, at one
    )
    assert list(left_over(c, [np.array([0])], none_reserved(c))) == [2, 3, 4]
    assert list(left_over(c, [np.array([0])], none_reserved(c), SecondLookConfig(reach=19))) == [
        1,
        2,
        3,
        4,
    ]
    assert list(left_over(c, [np.array([0])], none_reserved(c), SecondLookConfig(reach=1e9))) == []


def test_near_one_object_here_and_another_there_is_left_over():
    c = at_places([(0, 0), (500, 0), (1, 0)], [(0, 0), (500, 0), (501, 0)])
    assert list(left_over(c, [np.array([0]), np.array([1])], none_reserved(c))) == [2]


def test_matches_of_objects_give_their_places_to_the_best_of_the_reserve():
    rng = np.random.default_rng(0)
    c = replace(strangers(rng, 9, size=1e5), score=np.array([1, 4, 5, 7, 2, 8, 6, 3, 9]) / 10)
    reserve = np.arange(9) >= 5
    assert list(left_over(c, [np.array([0, 1])], reserve)) == [2, 3, 4, 6, 7]
    assert list(left_over(c, [np.array([0, 1])], reserve, SecondLookConfig(share=0.5))) == [2, 4]
    assert list(left_over(c, [np.array([0, 1])], reserve, SecondLookConfig(share=0))) == []


def test_parts_with_a_place_of_their_own():
    rng = np.random.default_rng(1)
    turned = similarity(0.5)
    c, (large, beside, on_top, copy, apart, apart_again) = together(
        moving(rng, 300, np.eye(2), shift=(400, 0)),
        moving(rng, 40, np.eye(2), start=(125, 0), shift=(525, 0)),  # goes on with the same motion
        moving(rng, 40, turned, start=(40, 40), shift=(440, 30), size=50),  # other matches of the same place
        moving(rng, 40, np.eye(2), shift=(0, 500)),
        moving(rng, 40, turned, start=(0, 400), shift=(700, 400)),
        moving(rng, 40, similarity(0.9), start=(0, 400), shift=(700, 400)),
    )
    parts = [beside, on_top, copy, apart, apart_again]
    assert list(objects_of_their_own(c, [large], parts, PartsConfig())) == [False, False, True, True, False]


def test_across_a_seam_nothing_continues_an_object():
    rng = np.random.default_rng(1)
    c, (large, beside) = together(
        moving(rng, 300, np.eye(2), shift=(400, 0)),
        moving(rng, 40, np.eye(2), start=(125, 0), shift=(525, 0)),
    )
    cell = np.zeros(len(c), np.int64)
    cell[beside] = 1
    assert list(objects_of_their_own(c, [large], [beside], PartsConfig())) == [False]
    assert list(left_over(c, [large], none_reserved(c), SecondLookConfig(reach=1e9))) == []
    c = replace(c, cell=cell)
    assert list(objects_of_their_own(c, [large], [beside], PartsConfig())) == [True]
    assert list(left_over(c, [large], none_reserved(c), SecondLookConfig(reach=1e9))) == list(beside)


@pytest.fixture
def crowded():
    """A large object that fills the list, and a small one that the list leaves six matches of."""
    rng = np.random.default_rng(2)
    both, _ = together(
        moving(rng, 500, np.eye(2), start=(20, 20), shift=(320, 20), size=250, noise=0.3),
        moving(rng, 6, np.eye(2), start=(400, 400), shift=(60, 400), noise=0.3),
        strangers(rng, 300),
    )
    reserve, _ = together(
        moving(rng, 25, np.eye(2), start=(400, 400), shift=(60, 400), noise=0.3), strangers(rng, 400)
    )
    return both, replace(reserve, score=reserve.score + 0.6)


def test_a_small_object_that_a_large_one_crowds_out(crowded):
    best, reserve = crowded
    assert len(cluster_candidates(best).scores) == 1
    everything, found = find_objects(best, reserve)
    assert len(everything) == len(best) + len(reserve)
    assert len(found.scores) == 2
    assert (np.diff(found.scores) <= 0).all()
    sides = [everything.xy0[found.labels == k].mean(axis=0) > 300 for k in range(2)]
    small = 0 if sides[0].all() else 1
    assert not sides[1 - small].any()
    members = np.flatnonzero(found.labels == small)
    assert len(members) >= 28
    moved = everything.xy1[members] - everything.xy0[members]
    assert np.abs(moved - [-340, 0]).max() < 3
    assert np.isin([500, 501, 502, 503, 504, 505], members).sum() >= 5


def test_without_objects_there_is_no_second_look():
    rng = np.random.default_rng(3)
    best, reserve = strangers(rng, 400), moving(rng, 60, np.eye(2))
    everything, found = find_objects(best, reserve)
    assert everything is best
    assert len(found.scores) == 0


def test_no_second_look(crowded):
    config = replace(MatchConfig(), second_look=SecondLookConfig(share=0))
    assert len(find_objects(*crowded, config)[1].scores) == 1


def test_what_is_on_top_of_an_object_that_has_grown_is_none():
    """A repeat of its pattern at the edge of the object, which reaches there only with the reserve."""
    rng = np.random.default_rng(6)
    large = moving(rng, 400, np.eye(2), start=(20, 20), shift=(420, 20), size=200, noise=0.3)
    edge = np.maximum(large.xy0[:, 0], large.xy0[:, 1]) > 150
    repeat = moving(rng, 30, np.eye(2), start=(155, 80), shift=(555, 150), size=65, noise=0.3)
    best, (_, on_top) = together(large[~edge], repeat)
    assert len(cluster_candidates(best).scores) == 2
    reserve = large[edge]
    _, found = find_objects(best, replace(reserve, score=reserve.score + 0.6))
    assert len(found.scores) == 1
    assert (found.labels == 0).sum() > 380
    assert (found.labels[on_top] < 0).all()
