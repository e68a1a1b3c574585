"""All places of things in one picture."""

from dataclasses import fields

import numpy as np
import pytest

from matching.drivers.repeats.copies import find_things
from matching.drivers.repeats.motions import find_motions, make_scene
from matching.features.extraction import DESCRIPTOR_NORM, Features
from matching.grouping.groups import ObjectsConfig

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
    """The things of a group of matches that takes the first n features to the next ones."""
    config, seeds = ObjectsConfig(), np.arange(n)
    scene = make_scene(features, 0.3, config.reach)
    motions = find_motions(scene, seeds, seeds + n, 0.3, config)
    return [
        [rows[rows >= 0] for rows in places]
        for places in find_things(features.xy, motions, seeds, seeds[:0], config)
    ]


@pytest.mark.parametrize("offsets", [[(0, 0), (100, 0), (200, 0), (300, 0)], [(0, 0), (240, 30), (90, 200)]])
def test_two_places_lead_to_all_others(offsets):
    (places,) = find(copies_at(np.array(offsets, float), np.random.default_rng(0)))
    numbers = sorted({int(k) for k in np.unique(rows // N)}.pop() for rows in places)
    assert numbers == list(range(len(offsets)))
    assert all(len(np.unique(rows // N)) == 1 and len(rows) >= 0.9 * N for rows in places)


def test_a_place_whose_finer_features_a_smaller_copy_lacks_is_found_whole():
    """Most neighbours of its features are finer ones."""
    rng, scale = np.random.default_rng(0), 0.7
    thing = copies_at(np.array([(0.0, 0.0), (200.0, 0.0), (400.0, 0.0)]), rng)
    finer = copies_at(np.zeros((1, 2)), rng, 4 * N)
    for k in (1, 2):
        own = slice(k * N, (k + 1) * N)
        thing.xy[own] = (thing.xy[own] - [200.0 * k, 0.0]) * scale + [200.0 * k, 0.0]
    thing.frames[N:] *= scale
    both = ([getattr(of, f.name) for of in (thing, finer)] for f in fields(Features))
    (places,) = find(Features(*(np.concatenate(pair) for pair in both)))
    assert sorted(rows[0] // N for rows in places) == [0, 1, 2]
    assert all(len(rows) >= 0.9 * N for rows in places)


def test_matches_that_no_motion_explains_are_not_judged():
    features = copies_at(np.array([(0.0, 0.0), (100.0, 0.0)]), np.random.default_rng(0))
    features.xy[N:] = np.random.default_rng(1).uniform((100, 0), (190, 90), (N, 2))
    assert find(features) == []


def test_a_thing_at_two_places_is_left_to_the_group_of_matches():
    assert find(copies_at(np.array([(0.0, 0.0), (100.0, 0.0)]), np.random.default_rng(0))) == []


def test_a_wall_is_cut_into_its_tiles():
    """No motion joins the first tile with the one that is right of it and above."""
    corners = np.array([(x, y) for y in (0.0, 92, 184) for x in (0.0, 92, 184)])
    (places,) = find(copies_at(corners, np.random.default_rng(0)))
    assert len(places) == 9
    assert all(len(np.unique(rows % N)) == len(rows) for rows in places)
