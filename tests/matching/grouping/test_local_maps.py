"""Maps that the neighbours of a match agree on."""

import numpy as np
import pytest
from planting import similarity
from scipy.spatial import cKDTree

from matching.grouping.local_maps import vote_for_maps

SLOPE = 0.1
TURNED = similarity(0.7, 2.0)


@pytest.fixture
def turned():
    """Points of a square, and where a similarity takes them."""
    xy0 = np.random.default_rng(0).uniform(0, 100, (40, 2))
    return xy0, xy0 @ TURNED.T + [300, 20]


def test_a_similarity_is_found_from_points_alone(turned):
    xy0, xy1 = turned
    near = cKDTree(xy0).query(xy0, 9)[1][:, 1:]
    found = vote_for_maps(xy0, xy1, near, SLOPE)
    assert np.allclose(found.maps, TURNED, atol=1e-9)
    assert np.allclose(found.support, 1)
    assert found.agreeing.all()
    assert found.near is near


def test_support_is_the_share_of_neighbours_that_a_map_explains():
    # three neighbours move with the match; the fourth is off by its own distance and a slope of 0.1
    xy0 = np.array([[0.0, 0.0], [10, 0], [0, 10], [-10, 0], [0, -10]])
    xy1 = xy0 + 50
    xy1[4] += [10.0, 0.0]
    near = np.array([[1, 2, 3, 4], *[[0, 0, 0, 0]] * 4])
    found = vote_for_maps(xy0, xy1, near, SLOPE)
    gap = np.hypot(10, 10)
    residual = np.linalg.norm(xy1[4] - xy1[0] - found.maps[0] @ (xy0[4] - xy0[0]))
    explained = [
        1 / (1 + (np.linalg.norm(xy1[j] - xy1[0] - found.maps[0] @ xy0[j]) / (SLOPE * 10)) ** 2)
        for j in (1, 2, 3)
    ]
    expected = np.mean([*explained, 1 / (1 + (residual / (SLOPE * gap)) ** 2)])
    assert found.support[0] == pytest.approx(expected)
    assert 0.7 < found.support[0] < 0.8
    assert np.allclose(found.maps[0], np.eye(2), atol=0.01)


def test_own_maps_stay_unless_the_neighbours_agree_on_a_better_one(turned):
    xy0, xy1 = turned
    near = cKDTree(xy0).query(xy0, 9)[1][:, 1:]
    own = np.tile(np.eye(2), (40, 1, 1))
    own[:20] = TURNED @ np.diag([1.0, 1 + 1e-12])
    found = vote_for_maps(xy0, xy1, near, SLOPE, own)
    assert np.allclose(found.maps, TURNED, atol=1e-9)
    assert found.agreeing.all()
    # neighbours that go anywhere agree on nothing
    anywhere = np.random.default_rng(1).uniform(0, 1000, (40, 2))
    found = vote_for_maps(xy0, anywhere, near, SLOPE, own)
    lost = ~found.agreeing
    assert lost.mean() > 0.9
    assert np.array_equal(found.maps[lost], own[lost])
