import numpy as np
import pytest
from planted import planted

from eval.matching.metrics import count_objects, score_matches
from eval.matching.rivals import RIVALS, load_rival


@pytest.mark.parametrize("name", RIVALS)
@pytest.mark.parametrize("seed", [0, 1])
def test_finds_planted_clusters(name, seed):
    candidates, distances, instance = planted(seed=seed)
    labels = load_rival(name).label(distances, candidates)
    assert labels.dtype == np.int64 and labels.shape == instance.shape
    assert score_matches(labels >= 0, instance >= 0).f > 0.9
    count = count_objects(labels, instance, 3)
    assert (count.found, count.mixed) == (3, 0)


@pytest.mark.parametrize("name", RIVALS)
def test_labels_are_numbered_by_falling_size(name):
    candidates, distances, _ = planted(n_inliers=(40, 80, 60), seed=3)
    labels = load_rival(name).label(distances, candidates)
    sizes = np.bincount(labels[labels >= 0])
    assert (sizes > 0).all() and (np.diff(sizes) <= 0).all()


@pytest.mark.parametrize("name", RIVALS)
def test_same_input_same_labels_and_input_left_alone(name):
    candidates, distances, _ = planted(seed=2)
    before = distances.copy()
    first, second = (load_rival(name).label(distances, candidates) for _ in range(2))
    assert np.array_equal(first, second) and np.array_equal(distances, before)


@pytest.mark.parametrize("name", RIVALS)
@pytest.mark.parametrize("m", [0, 1, 2, 5])
def test_hardly_any_candidates(name, m):
    candidates, distances, _ = planted(n_inliers=(), n_outliers=m)
    assert load_rival(name).label(distances, candidates).tolist() == [-1] * m


@pytest.mark.parametrize("name", RIVALS)
def test_pure_noise_is_mostly_removed(name):
    candidates, distances, _ = planted(n_inliers=(), n_outliers=200)
    assert (load_rival(name).label(distances, candidates) >= 0).mean() < 0.1


@pytest.mark.parametrize("name", RIVALS)
def test_parameters_of_both_uses_have_one_type(name):
    rival = load_rival(name)
    assert type(rival.params) is type(rival.params_with_stages)
    assert rival.params != rival.params_with_stages
