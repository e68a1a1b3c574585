import numpy as np
import pytest
from scipy.spatial import cKDTree

from synth.toys import crowded, multiscale, two_densities


def nearest(points):
    return np.median(cKDTree(points).query(points, k=2)[0][:, 1])


def test_multiscale_has_three_clusters_of_different_size_density_and_shape():
    toy = multiscale(seed=1)
    assert np.bincount(toy.labels + 1).tolist() == [30, 250, 180, 150]
    spacing = [nearest(toy[toy.labels == k].points) for k in range(3)]
    assert spacing[1] > 2.5 * spacing[0] and spacing[2] > 1.5 * spacing[0]
    elongation = [np.linalg.cond(np.cov(toy[toy.labels == k].points.T)) for k in range(3)]
    assert elongation[2] > 20 > elongation[0]


def test_clusters_stand_apart():
    toy = multiscale(seed=0, n_noise=0)
    for a in range(3):
        gap = cKDTree(toy[toy.labels == a].points).query(toy[toy.labels != a].points)[0].min()
        assert gap > 0.3


def test_crowded_clusters_are_nearer_than_the_sparse_ones_neighbourhoods():
    toy = crowded(seed=0, gap=0.18)
    assert np.bincount(toy.labels).tolist() == [250, 180, 400]
    disc, ring, bar = (toy[toy.labels == k].points for k in range(3))
    for other in (ring, bar):
        assert 0.17 < cKDTree(disc).query(other)[0].min() < 0.4
    assert np.median(cKDTree(ring).query(ring, k=21)[0][:, 20]) > 0.3
    assert np.array_equal(crowded(3).points, crowded(3).points)
    with pytest.raises(ValueError, match="gap must be above 0, got 0"):
        crowded(gap=0)


def test_two_densities():
    toy = two_densities(seed=0, scale=2)
    assert np.bincount(toy.labels + 1).tolist() == [5, 120, 120]
    assert nearest(toy[toy.labels == 1].points) > 2 * nearest(toy[toy.labels == 0].points)


def test_seeded():
    assert np.array_equal(multiscale(3).points, multiscale(3).points)
    assert not np.array_equal(multiscale(3).points, multiscale(4).points)


def test_bad_settings():
    with pytest.raises(ValueError, match="scale must be above 0, got 0"):
        multiscale(scale=0)
    with pytest.raises(ValueError, match="n_noise must be 0 or more, got -1"):
        two_densities(n_noise=-1)
