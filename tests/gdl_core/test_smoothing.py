"""Smoothing by random walks: the definition by powers of matrices, threads, labels that stay."""

import numpy as np
import pytest
from graphs import samples
from sklearn.datasets import make_blobs

from gdl_core import AffinityGraph, affinity_graph, knn_graph, smooth_labels


def plain_smooth(graph, labels, n_steps):
    """Smooth by dense matrices, for clusters that are never left empty."""
    w = graph.to_csr().toarray()
    w = w + w.T
    degree = w.sum(axis=1)
    walk = np.linalg.matrix_power(w / degree[:, None], n_steps)
    for _ in range(50):
        member = np.equal.outer(labels, np.arange(labels.max() + 1)).astype(float)
        found = ((walk @ member) / np.sqrt(degree @ member)).argmax(axis=1)
        assert len(set(found.tolist())) == labels.max() + 1
        if (found == labels).all():
            break
        labels = found
    return labels


@pytest.mark.parametrize("kind", ["normal", "clumps", "integers"])
@pytest.mark.parametrize("n_steps", [1, 2, 7])
def test_smoothing_equals_the_definition(kind, n_steps):
    rng = np.random.default_rng(3)
    x = samples(kind, 200, 2, rng)
    graph = affinity_graph(knn_graph(x, 8))
    start = (x[:, 0] > np.median(x[:, 0])) + 2 * (x[:, 1] > np.median(x[:, 1]))
    start = np.where(rng.random(200) < 0.2, rng.integers(0, 4, 200), start)
    found = smooth_labels(graph, start, n_steps)
    assert (found != start).any()
    np.testing.assert_array_equal(found, plain_smooth(graph, start, n_steps))


def test_ragged_boundary_becomes_smooth():
    x, y = make_blobs(600, centers=[[0, 0], [6, 0]], random_state=0)
    graph = affinity_graph(knn_graph(x, 30))
    wrong = np.where(np.random.default_rng(0).random(600) < 0.2, 1 - y, y)
    assert (smooth_labels(graph, wrong) == y).mean() > 0.99


def test_labels_do_not_depend_on_the_number_of_threads():
    x, y = make_blobs(3000, 5, centers=12, cluster_std=3, random_state=0)
    graph = affinity_graph(knn_graph(x, 15))
    one = smooth_labels(graph, y)
    assert (one != y).any()
    for n_jobs in (2, 3, -1):
        np.testing.assert_array_equal(smooth_labels(graph, y, n_jobs=n_jobs), one)


def test_noise_isolated_samples_and_single_clusters_stay():
    w = np.zeros((7, 7))
    w[0, 1] = w[1, 2] = w[2, 0] = w[3, 4] = w[4, 5] = 1.0  # 6 has no edge
    graph = AffinityGraph.from_csr(w)
    labels = np.array([0, 0, -1, 1, 1, 1, 2])
    np.testing.assert_array_equal(smooth_labels(graph, labels), labels)
    np.testing.assert_array_equal(smooth_labels(graph, labels, 0), labels)
    np.testing.assert_array_equal(smooth_labels(graph, [0] * 7), [0] * 7)


def test_noise_is_placed_where_walks_lead_if_that_is_wanted():
    x, y = make_blobs(300, centers=[[0, 0], [6, 0]], random_state=0)
    graph = affinity_graph(knn_graph(x, 10))
    is_noise = np.random.default_rng(0).random(300) < 0.7
    labels = smooth_labels(graph, np.where(is_noise, -1, y), places_noise=True)
    assert (labels == y).mean() > 0.99
    np.testing.assert_array_equal(smooth_labels(graph, np.where(y, -1, 0), places_noise=True) >= 0, True)


def test_no_cluster_is_lost():
    w = np.ones((12, 12)) - np.eye(12)
    labels = np.array([0] * 11 + [1])
    assert set(smooth_labels(AffinityGraph.from_csr(w), labels, 3).tolist()) == {0, 1}


def test_negative_number_of_steps_is_refused():
    with pytest.raises(ValueError, match="n_steps must be an integer of at least 0, got -1"):
        smooth_labels(AffinityGraph.from_csr(np.ones((2, 2))), [0, 1], -1)
