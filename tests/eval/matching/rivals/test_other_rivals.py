import numpy as np
import pytest
from planted import planted
from scipy import sparse

from eval.matching.rivals._labels import drop_small, renumber
from eval.matching.rivals.hdbscan import core_distances
from eval.matching.rivals.ransac import SAMPLERS, RansacParams, ransac, sift_matches, sift_ransac
from eval.matching.rivals.spectral_matching import SpectralParams, one_to_one, principal_eigenvector
from synth.composite import composite_pair, true_instance
from synth.photographs import read_shipped


def test_small_clusters_become_outliers():
    assert drop_small(np.array([0, 0, 0, 1, 2, 2, -1]), 2).tolist() == [0, 0, 0, -1, 1, 1, -1]
    assert drop_small(np.array([], int), 3).tolist() == []
    assert renumber(np.array([4, 9, 9, 4])).tolist() == [0, 1, 1, 0]


def test_core_distance_counts_the_sample_itself():
    d = np.array([[0.0, 1, 5], [1, 0, 2], [5, 2, 0]])
    assert core_distances(d, 2).tolist() == [1, 1, 2]
    assert np.isinf(core_distances(d, 4)).all()


def test_principal_eigenvector_agrees_with_a_dense_solver():
    w = np.random.default_rng(0).uniform(0, 1, (20, 20))
    w = w + w.T
    x, value = principal_eigenvector(sparse.csr_array(w))
    values, vectors = np.linalg.eigh(w)
    assert value == pytest.approx(values[-1]) and x == pytest.approx(np.abs(vectors[:, -1]))


def test_no_point_is_used_twice():
    xy0 = np.array([[0.0, 0], [0, 0], [9, 9], [5, 5]])
    xy1 = np.array([[1.0, 1], [2, 2], [2, 2], [7, 7]])
    x = np.array([0.9, 1.0, 0.8, 0.01])
    assert one_to_one(x, xy0, xy1, SpectralParams(min_confidence=0.1)).tolist() == [False, True, False, False]


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_every_sampler_finds_two_homographies(sampler):
    candidates, _, instance = planted(n_inliers=(80, 80), n_outliers=40)
    labels = ransac(None, candidates, RansacParams(sampler=sampler))
    assert ((labels >= 0) == (instance >= 0)).mean() > 0.9


def test_sift_matches_of_a_composite_are_mostly_true():
    pair = composite_pair(read_shipped(), 2, sigma=0, seed=1)
    matches, labels = sift_ransac(pair.image0, pair.image1)
    true = true_instance(pair, matches.xy0, matches.xy1) >= 0
    assert len(labels) == len(true) > 100
    assert true[labels >= 0].mean() > 0.8 and (labels[true] >= 0).mean() > 0.8


def test_images_without_features():
    flat = np.full((64, 64, 3), 128, np.uint8)
    assert len(sift_matches(flat, flat).score) == 0
    matches, labels = sift_ransac(flat, flat)
    assert len(labels) == 0 and matches.xy0.shape == (0, 2)
