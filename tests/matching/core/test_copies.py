"""All places of things in one picture."""

from dataclasses import fields

import numpy as np
import pytest

from matching.core.groups import ObjectsConfig
from matching.core.repeats.copies import Seed, find_copies
from matching.core.repeats.motions import list_neighbors
from matching.features.extraction import DESCRIPTOR_NORM, Features

N = 60


def copies_at(offsets, rng, n=N):
    """Features of a thing of 90 by 90 pixels that stands at each offset (k, 2), thing by thing."""
    xy, descriptors = rng.uniform(0, 90, (n, 2)), rng.normal(size=(n, 128))
    descriptors *= DESCRIPTOR_NORM / np.linalg.norm(descriptors, axis=1, keepdims=True)
    m = n * len(offsets)
    return Features(
        np.concatenate([xy + offset for offset in offsets]),
        np.tile(8 * np.eye(2), (m, 1, 1)),
        np.tile(np.rint(descriptors), (len(offsets), 1)).astype(np.float32),
        np.zeros(m, np.int8),
        np.zeros(m, bool),
    )


def find(features, n=N):
    seed = Seed(np.arange(n), np.arange(n, 2 * n), 0.3)
    return find_copies(features, [seed], ObjectsConfig())


@pytest.mark.parametrize("offsets", [[(0, 0), (100, 0), (200, 0), (300, 0)], [(0, 0), (240, 30), (90, 200)]])
def test_two_places_lead_to_all_others(offsets):
    found = find(copies_at(np.array(offsets, float), np.random.default_rng(0)))
    assert found.must_join.tolist() == [True]
    (places,) = found.things
    numbers = sorted({int(k) for k in np.unique(rows // N)}.pop() for rows in places)
    assert numbers == list(range(len(offsets)))
    assert all(len(np.unique(rows // N)) == 1 and len(rows) >= 0.9 * N for rows in places)


@pytest.mark.parametrize("scale", [0.7, 1.0])
def test_a_place_whose_finer_features_a_smaller_copy_lacks_is_found_whole(scale):
    """Most neighbours of its features are finer ones. A copy of the same size would have them."""
    rng = np.random.default_rng(0)
    thing = copies_at(np.array([(0.0, 0.0), (200.0, 0.0), (400.0, 0.0)]), rng)
    finer = copies_at(np.zeros((1, 2)), rng, 4 * N)
    for k in (1, 2):
        own = slice(k * N, (k + 1) * N)
        thing.xy[own] = (thing.xy[own] - [200.0 * k, 0.0]) * scale + [200.0 * k, 0.0]
    thing.frames[N:] *= scale
    both = ([getattr(of, f.name) for of in (thing, finer)] for f in fields(Features))
    found = find(Features(*(np.concatenate(pair) for pair in both)))
    if scale < 1:
        (places,) = found.things
        assert sorted(rows[0] // N for rows in places) == [0, 1, 2]
        assert all(len(rows) >= 0.9 * N for rows in places)
    else:
        assert found.things == []


@pytest.mark.parametrize("xy", [np.zeros((0, 2)), np.zeros((3, 2)), np.arange(12.0)[:, None] * [3.0, 1.0]])
def test_points_on_a_line_have_only_others_at_their_own_point_as_neighbours(xy):
    pairs = list_neighbors(xy)
    assert pairs.tolist() == ([[0, 1], [0, 2]] if len(xy) == 3 else [])


def test_neighbours_are_the_sides_of_triangles():
    xy = np.array([[0.0, 0.0], [40.0, 0.0], [0.0, 40.0], [30.0, 30.0], [0.0, 0.0]])
    assert list_neighbors(xy).tolist() == [[0, 1], [0, 2], [0, 3], [0, 4], [1, 3], [2, 3]]


def test_matches_that_no_motion_explains_are_not_judged():
    features = copies_at(np.array([(0.0, 0.0), (100.0, 0.0)]), np.random.default_rng(0))
    features.xy[N:] = np.random.default_rng(1).uniform((100, 0), (190, 90), (N, 2))
    found = find(features)
    assert not found.must_join.any()
    assert found.things == []


def test_object_that_joins_both_of_two_places_is_left_as_it_is():
    found = find(copies_at(np.array([(0.0, 0.0), (100.0, 0.0)]), np.random.default_rng(0)))
    assert found.must_join.tolist() == [False]
    assert found.things == []


def thrice(*parts):
    """Features of parts that stand at three places each, and a seed that joins the first two places."""
    columns = ([getattr(part, f.name) for part in parts] for f in fields(Features))
    sizes = [len(part) // 3 for part in parts]
    starts = np.cumsum([0, *(3 * n for n in sizes)])
    first = np.concatenate([start + np.arange(n) for start, n in zip(starts, sizes, strict=False)])
    second = first + np.repeat(sizes, sizes)
    return Features(*(np.concatenate(column) for column in columns)), Seed(first, second, 0.3)


@pytest.mark.parametrize(("apart", "n_things"), [((0.0, 0.0), 1), ((6.0, 4.0), 2)])
def test_parts_across_a_band_are_one_thing_where_they_move_alike(apart, n_things):
    rng = np.random.default_rng(0)
    places = np.array([(0.0, 0.0), (150.0, 0.0), (300.0, 0.0)])
    lower = places + [0.0, 130.0] + np.arange(3)[:, None] * apart
    features, seed = thrice(copies_at(places, rng), copies_at(lower, rng))
    found = find_copies(features, [seed], ObjectsConfig())
    assert len(found.things) == n_things
    assert {len(places) for places in found.things} == {3}


def test_a_small_part_that_moves_otherwise_is_not_of_a_thing_whose_motion_is_fitted_to_both():
    """A shear, which no copy has, takes both to their copies."""
    rng = np.random.default_rng(0)
    upper, lower = copies_at(np.zeros((3, 2)), rng, 24), copies_at(np.arange(3)[:, None] * [150.0, 0.0], rng)
    upper.xy[:] = upper.xy / 2 + np.repeat([(20.0, -160.0), (178.0, -160.0), (336.0, -160.0)], 24, axis=0)
    features, seed = thrice(lower, upper)
    assert len(find_copies(features, [seed], ObjectsConfig()).things) == 2


def test_a_wall_is_cut_into_its_tiles():
    """No motion joins the first tile with the one that is right of it and above."""
    found = find(
        copies_at(
            np.array([(x, y) for y in (0.0, 92, 184) for x in (0.0, 92, 184)]), np.random.default_rng(0)
        )
    )
    (places,) = found.things
    assert len(places) == 9
    assert all(len(np.unique(rows % N)) == len(rows) for rows in places)
