"""The number of separate clusters: the definition, blobs, thin curves, no structure."""

import numpy as np
import pytest
from graphs import any_problems, knn_problems
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_blobs, make_circles

from gdl_core import (
    AffinityGraph,
    GraphDegreeLinkage,
    MergeTree,
    count_separate_clusters,
    gdl_u,
)
from gdl_core.separation import crossing_shares


@given(st.one_of(knn_problems(40), any_problems(20)))
@settings(max_examples=60, deadline=None)
def test_crossing_share_is_the_definition(problem):
    graph, labels = problem
    tree = gdl_u(graph, labels)
    w = graph.to_csr().toarray()
    w = w + w.T
    expected = []
    for t in range(len(tree.children)):
        a, b = (tree.nodes_after(t) == node for node in tree.children[t])
        beside = (a & w[:, b].any(axis=1)) | (b & w[:, a].any(axis=1))
        crossing, around = 2 * w[np.ix_(a, b)].sum(), w[np.ix_(beside, a | b)].sum()
        share = crossing / around if around else 0.0
        expected.append(share * (1 + 2 / np.sqrt(max(beside.sum(), 1))))
    np.testing.assert_allclose(crossing_shares(tree, graph), expected, rtol=1e-9)


def test_count_by_hand():
    w = np.zeros((6, 6))
    for a, b in ((0, 1), (2, 3), (4, 5)):
        w[a, b] = w[b, a] = 1
    w[1, 2] = w[2, 1] = 0.1  # beside the boundary are 1 and 2: 0.4 of 4.4 crosses
    share = 0.4 / 4.4 * (1 + 2 / np.sqrt(2))
    graph = AffinityGraph.from_csr(w)
    tree = MergeTree(np.array([0, 0, 1, 1, 2, 2]), np.array([[0, 1]]), np.array([0.1]))
    assert count_separate_clusters(tree, graph, 2, max_crossing=share + 1e-9) == 3
    assert count_separate_clusters(tree, graph, 2, max_crossing=share - 1e-9) == 2
    assert count_separate_clusters(tree, graph, 3, max_crossing=1) == 1  # the other root has two samples
    assert count_separate_clusters(tree, graph, 7) == 1
    assert count_separate_clusters(tree, graph, 2, max_crossing=0) == 2  # the merge itself has some


def test_clusters_without_edges_are_separate():
    graph = AffinityGraph(np.zeros(4), [], [])
    tree = MergeTree(np.arange(3), np.array([[0, 1], [2, 3]]), np.zeros(2))
    np.testing.assert_array_equal(crossing_shares(tree, graph), [0, 0])
    assert count_separate_clusters(tree, graph) == 3


@pytest.mark.parametrize("n", [100, 500, 2000])
@pytest.mark.parametrize("kind", ["uniform", "normal"])
@pytest.mark.parametrize("n_features", [2, 5])
def test_one_cluster_where_there_is_no_structure(kind, n, n_features):
    x = getattr(np.random.default_rng(n), kind)(size=(n, n_features))
    assert GraphDegreeLinkage().fit(x).n_clusters_ == 1


@pytest.mark.parametrize("n", [100, 1000, 5000])
def test_thin_curves_are_not_cut(n):
    assert (
        GraphDegreeLinkage().fit(make_circles(n, factor=0.5, noise=0.03, random_state=0)[0]).n_clusters_ == 2
    )


@pytest.mark.parametrize("n_features", [2, 10])
@pytest.mark.parametrize("n_clusters", [1, 3, 8])
def test_blobs(n_clusters, n_features):
    x, _ = make_blobs(800, n_features, centers=n_clusters, center_box=(-30, 30), random_state=0)
    assert GraphDegreeLinkage().fit(x).n_clusters_ == n_clusters


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"min_cluster_size": 0}, "min_cluster_size must be an integer of at least 1, got 0"),
        ({"max_crossing": 1.5}, r"max_crossing must be in \[0, 1\], got 1.5"),
    ],
)
def test_bad_arguments(options, message):
    tree = MergeTree(np.arange(2), np.array([[0, 1]]), np.ones(1))
    with pytest.raises(ValueError, match=message):
        count_separate_clusters(tree, AffinityGraph.from_csr(np.ones((2, 2))), **options)
