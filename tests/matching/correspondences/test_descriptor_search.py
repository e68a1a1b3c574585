"""Search for near descriptors within a bound, against the search without."""

import numpy as np
import pytest
from planting import crops

from matching._common.threads import limit_threads
from matching.correspondences import candidates as steps
from matching.correspondences import descriptor_search
from matching.correspondences.candidates import CandidateConfig, match_with_reserve
from matching.correspondences.descriptor_search import (
    MAX_BOUND_SHARE,
    SURPLUS,
    estimate_bound,
    nearest_descriptors,
)
from matching.features.extraction import DESCRIPTOR_NORM, extract_features
from matching.pictures.images import make_picture_of_array


def make_descriptors(rng, n, centres):
    noisy = centres[rng.integers(0, len(centres), n)] + rng.exponential(0.4, (n, 128))
    return np.rint(DESCRIPTOR_NORM * np.sqrt(noisy / noisy.sum(axis=1, keepdims=True))).astype(np.float32)


@pytest.fixture(scope="module")
def sets():
    rng = np.random.default_rng(0)
    centres = rng.exponential(size=(40, 128))
    return make_descriptors(rng, 300, centres), make_descriptors(rng, 700, centres)


@pytest.mark.parametrize("quantile", [0.0, 0.001, 0.1, 0.9])
@pytest.mark.parametrize("width", [1, 3])
def test_search_within_a_bound_is_the_whole_search_cut_at_it(sets, quantile, width):
    nearest, squared = nearest_descriptors(*sets, width)
    bound = float(np.quantile(squared, quantile)) + 0.5
    within, distance = nearest_descriptors(*sets, width, bound=bound)
    is_near = squared < bound
    assert 0 < is_near.sum() < is_near.size
    assert np.array_equal(within, np.where(is_near, nearest, -1))
    assert np.array_equal(distance[is_near], squared[is_near])
    assert (distance[~is_near] >= bound - 1).all()


def test_search_within_a_bound_is_the_same_for_any_block_and_number_of_threads(sets):
    bound = float(np.median(nearest_descriptors(*sets, 2)[1])) + 0.5
    one = nearest_descriptors(*sets, 2, bound=bound)
    for n, block in ((1, 512), (2, 64), (2, 37)):
        with limit_threads(n):
            other = nearest_descriptors(*sets, 2, block, bound=bound)
        assert all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


def test_no_descriptors_have_no_nearest(sets):
    none = sets[0][:0]
    for pair in ((none, sets[1]), (sets[0], none)):
        nearest, _ = nearest_descriptors(*pair, 2, bound=1000.0)
        assert nearest.shape == (len(pair[0]), 2)
        assert (nearest == -1).all()


def test_estimated_bound_leaves_more_pairs_than_are_wanted(sets):
    many = np.concatenate([sets[0]] * 8) + np.arange(2400, dtype=np.float32)[:, None] % 3
    n_wanted = int(0.5 * MAX_BOUND_SHARE / SURPLUS * len(many) * len(sets[1]))
    bound = estimate_bound([(many, sets[1])], 3, n_wanted)
    assert np.isfinite(bound)
    assert (nearest_descriptors(many, sets[1], 3)[1] < bound).sum() > n_wanted
    assert estimate_bound([(many, sets[1])], 3, 1000 * n_wanted) == np.inf  # nothing would be saved


@pytest.fixture(scope="module")
def features():
    scene = np.hstack([crops()["coffee"], crops()["astronaut"]])
    return [extract_features(make_picture_of_array(p).grey) for p in (scene, crops()["coffee"][5:, 3:])]


@pytest.mark.parametrize("factor", [1.0, 0.2], ids=["estimated", "too small"])
@pytest.mark.parametrize("max_matches", [40, 150])
def test_candidates_are_the_same_with_and_without_a_bound(monkeypatch, features, max_matches, factor):
    config, bounds = CandidateConfig(max_matches=max_matches), []

    def estimate(*arguments):
        bounds.append(factor * estimate_bound(*arguments))
        return bounds[-1]

    monkeypatch.setattr(descriptor_search, "MAX_BOUND_SHARE", 1.0)
    monkeypatch.setattr(steps, "estimate_bound", estimate)
    found = match_with_reserve(*features, config)
    assert np.isfinite(bounds).all()
    monkeypatch.setattr(steps, "estimate_bound", lambda *arguments: np.inf)
    for one, other in zip(found, match_with_reserve(*features, config), strict=True):
        assert len(one) > 0
        for name in vars(one):
            assert np.array_equal(getattr(one, name), getattr(other, name)), name
