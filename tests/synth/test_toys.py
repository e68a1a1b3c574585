import numpy as np
import pytest
from scipy.spatial import cKDTree

from synth.toys import make_crowded


def nearest(points):
    return np.median(cKDTree(points).query(points, k=2)[0][:, 1])


def test_clusters_differ_in_density_and_shape():
    toy = make_crowded(seed=1)
    disc, ring, bar = (toy[toy.labels == k].points for k in range(3))
    assert nearest(ring) > 2 * nearest(disc)
    assert np.linalg.cond(np.cov(bar.T)) > 20 > np.linalg.cond(np.cov(disc.T))


def test_clusters_are_nearer_than_the_sparse_ones_neighbourhoods():
    toy = make_crowded(seed=0, gap=0.18)
    assert np.bincount(toy.labels).tolist() == [250, 180, 400]
    disc, ring, bar = (toy[toy.labels == k].points for k in range(3))
    for other in (ring, bar):
        assert 0.17 < cKDTree(disc).query(other)[0].min() < 0.4
    assert np.median(cKDTree(ring).query(ring, k=21)[0][:, 20]) > 0.3


def test_seeded():
    assert np.array_equal(make_crowded(3).points, make_crowded(3).points)
    assert not np.array_equal(make_crowded(3).points, make_crowded(4).points)


@pytest.mark.parametrize("gap", [0, -1, float("inf"), float("nan")])
def test_bad_gap(gap):
    with pytest.raises(ValueError, match=f"gap must be above 0 and finite, got {gap}"):
        make_crowded(gap=gap)
