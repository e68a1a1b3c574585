import numpy as np
import pytest
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform

from eval.matching.rivals._labels import renumber
from eval.matching.rivals.acc import hull_area, partial_linkage


def partial_linkage_by_definition(d, threshold, cap):
    clusters = {i: [i] for i in range(len(d))}

    def link(a, b):
        values = np.sort(d[np.ix_(clusters[a], clusters[b])], axis=None)
        return values[: min(len(clusters[a]), len(clusters[b]), cap)].mean()

    while len(clusters) > 1:
        value, a, b = min((link(a, b), a, b) for a in clusters for b in clusters if a < b)
        if value > threshold:
            break
        clusters[a] += clusters.pop(b)
    labels = np.empty(len(d), int)
    for a, members in clusters.items():
        labels[members] = a
    return labels


def random_distances(n, seed):
    points = np.random.default_rng(seed).normal(0, 1, (n, 2)).astype(np.float32)
    return np.linalg.norm(points[:, None] - points[None], axis=2).astype(np.float32)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("cap", [1, 3, 100])
@pytest.mark.slow
def test_linkage_agrees_with_its_definition(seed, cap):
    d = random_distances(30, seed)
    threshold = [0.2, 0.5, 1.0, 5.0][seed % 4]
    assert np.array_equal(
        partial_linkage(d, threshold, cap), partial_linkage_by_definition(d, threshold, cap)
    )


def test_cap_of_one_is_single_linkage():
    d = random_distances(80, 5)
    single = fcluster(linkage(squareform(d, checks=False), "single"), 0.3, criterion="distance")
    assert np.array_equal(renumber(partial_linkage(d, 0.3, 1)), renumber(single))


def test_hand_computed():
    # 0 and 1 merge at 1; then {0, 1} with {2}: the smallest distance, 2; then {3} with the rest at 4
    d = np.array([[0, 1, 2, 9], [1, 0, 6, 8], [2, 6, 0, 4], [9, 8, 4, 0]], np.float32)
    assert partial_linkage(d, 1.5, 10).tolist() == [0, 0, 2, 3]
    assert partial_linkage(d, 3.0, 10).tolist() == [0, 0, 0, 3]
    assert partial_linkage(d, 4.0, 10).tolist() == [0, 0, 0, 0]
    # two pairs: the mean of the two smallest of 5, 6, 7, 8 is 5.5
    d = np.array([[0, 1, 5, 6], [1, 0, 7, 8], [5, 7, 0, 1], [6, 8, 1, 0]], np.float32)
    assert partial_linkage(d, 5.4, 10).tolist() == [0, 0, 2, 2]
    assert partial_linkage(d, 5.6, 10).tolist() == [0, 0, 0, 0]


def test_area_of_points_on_a_line_is_zero():
    assert hull_area(np.array([[0, 0], [1, 1], [5, 5]])) == 0
    assert hull_area(np.array([[3, 4]])) == 0


def test_cap_must_be_positive():
    with pytest.raises(ValueError, match="cap must be at least 1, got 0"):
        partial_linkage(np.zeros((2, 2)), 1.0, 0)
