"""The number of separate clusters: the definition of conductance, blobs, digits, no structure."""

import numpy as np
import pytest
from graphs import any_problems, knn_problems
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_digits, make_blobs

from gdl_core import (
    AffinityGraph,
    GraphDegreeLinkage,
    MergeTree,
    count_separate_clusters,
    gdl_u,
)
from gdl_core.separation import merge_conductances


@given(st.one_of(knn_problems(40), any_problems(20)), st.integers(1, 6))
@settings(max_examples=60, deadline=None)
def test_conductance_is_the_definition(problem, size):
    graph, labels = problem
    tree = gdl_u(graph, labels)
    w, sizes = graph.to_csr().toarray(), tree.node_sizes()
    chosen = (sizes[tree.children] >= size).all(axis=1)
    expected = []
    for t in np.flatnonzero(chosen):
        a, b = (np.flatnonzero(tree.nodes_after(t) == node) for node in tree.children[t])
        cut = w[np.ix_(a, b)].sum() + w[np.ix_(b, a)].sum()
        expected.append(cut / min(w[c].sum() + w[:, c].sum() for c in (a, b)))
    np.testing.assert_allclose(merge_conductances(tree, graph, size), expected, rtol=1e-9)


def test_count_by_hand():
    w = np.zeros((6, 6))
    for a, b in ((0, 1), (2, 3), (4, 5)):
        w[a, b] = w[b, a] = 1
    w[1, 2] = w[2, 1] = 0.1  # 0.2 of 4.2: a conductance of 0.048
    graph = AffinityGraph.from_csr(w)
    tree = MergeTree(np.array([0, 0, 1, 1, 2, 2]), np.array([[0, 1]]), np.array([0.1]))
    assert count_separate_clusters(tree, graph, 2, max_conductance=0.2 / 4.2 + 1e-9) == 3
    assert count_separate_clusters(tree, graph, 2, max_conductance=0.2 / 4.2 - 1e-9) == 2
    assert count_separate_clusters(tree, graph, 3, max_conductance=1) == 1  # the other root has two samples
    assert count_separate_clusters(tree, graph, 7) == 1
    assert count_separate_clusters(tree, graph, 2, max_conductance=0) == 2  # the merge itself has some


def test_clusters_without_edges_are_separate():
    graph = AffinityGraph(np.zeros(4), [], [])
    tree = MergeTree(np.arange(3), np.array([[0, 1], [2, 3]]), np.zeros(2))
    np.testing.assert_array_equal(merge_conductances(tree, graph, 1), [0, 0])
    assert count_separate_clusters(tree, graph) == 3


@pytest.mark.parametrize("n_features", [2, 10])
@pytest.mark.parametrize("n_clusters", [1, 3, 8])
def test_blobs(n_clusters, n_features):
    x, _ = make_blobs(800, n_features, centers=n_clusters, center_box=(-30, 30), random_state=0)
    model = GraphDegreeLinkage(None, "gdl-u", min_cluster_size=5).fit(x)
    assert model.n_clusters_ == n_clusters


def test_digits():
    model = GraphDegreeLinkage(None, "gdl-u", min_cluster_size=5).fit(load_digits().data)
    assert 9 <= model.n_clusters_ <= 10


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"min_cluster_size": 0}, "min_cluster_size must be an integer of at least 1, got 0"),
        ({"max_conductance": 1.5}, r"max_conductance must be in \[0, 1\], got 1.5"),
    ],
)
def test_bad_arguments(options, message):
    tree = MergeTree(np.arange(2), np.array([[0, 1]]), np.ones(1))
    with pytest.raises(ValueError, match=message):
        count_separate_clusters(tree, AffinityGraph.from_csr(np.ones((2, 2))), **options)
