import numpy as np
import pytest
from planted import planted

from eval.matching.baselines.registry import METHODS, PARAMS
from eval.matching.metrics import count_objects, score_matches


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("seed", [0, 1])
def test_finds_planted_clusters(name, seed):
    candidates, distances, instance = planted(seed=seed)
    labels = METHODS[name](distances, candidates)
    assert labels.dtype == np.int64 and labels.shape == instance.shape
    assert score_matches(labels >= 0, instance >= 0).f > 0.9
    count = count_objects(labels, instance, 3)
    assert (count.found, count.mixed) == (3, 0)


@pytest.mark.parametrize("name", METHODS)
def test_labels_are_numbered_by_falling_size(name):
    candidates, distances, _ = planted(n_inliers=(40, 80, 60), seed=3)
    labels = METHODS[name](distances, candidates)
    sizes = np.bincount(labels[labels >= 0])
    assert (sizes > 0).all() and (np.diff(sizes) <= 0).all()


@pytest.mark.parametrize("name", METHODS)
def test_same_input_same_labels_and_input_left_alone(name):
    candidates, distances, _ = planted(seed=2)
    before = distances.copy()
    first, second = (METHODS[name](distances, candidates) for _ in range(2))
    assert np.array_equal(first, second) and np.array_equal(distances, before)


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("m", [0, 1, 2, 5])
def test_hardly_any_candidates(name, m):
    candidates, distances, _ = planted(n_inliers=(), n_outliers=m)
    assert METHODS[name](distances, candidates).tolist() == [-1] * m


@pytest.mark.parametrize("name", METHODS)
def test_pure_noise_is_mostly_removed(name):
    candidates, distances, _ = planted(n_inliers=(), n_outliers=200)
    assert (METHODS[name](distances, candidates) >= 0).mean() < 0.1


def test_every_method_has_its_parameters():
    assert METHODS.keys() == PARAMS.keys()
