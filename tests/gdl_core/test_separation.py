"""The number of separate clusters: the definition, blobs, thin curves, no structure."""

from types import SimpleNamespace

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
    separation,
)
from gdl_core.separation import crossing_weights


@given(st.one_of(knn_problems(40), any_problems(20)))
@settings(max_examples=60, deadline=None)
def test_crossing_weight_equals_the_definition(problem):
    graph, labels = problem
    tree = gdl_u(graph, labels)
    w = graph.to_csr().toarray()
    w = w + w.T
    degree = w.sum(axis=1)
    expected = []
    for t in range(len(tree.children)):
        a, b = (tree.nodes_after(t) == node for node in tree.children[t])
        is_beside = (a & w[:, b].any(axis=1)) | (b & w[:, a].any(axis=1))
        within = [np.average(degree[c], weights=degree[c]) if degree[c].any() else 0 for c in (a, b)]
        crossing = w[np.ix_(is_beside & a, b)].sum() + w[np.ix_(is_beside & b, a)].sum()
        n = is_beside.sum()
        expected.append(crossing / n / min(within) * (1 + 2 / np.sqrt(n)) if n else 0.0)
    np.testing.assert_allclose(crossing_weights(tree, graph), expected, rtol=1e-9)


def test_crossing_weight_equals_a_hand_computed_value():
    w = np.zeros((6, 6))
    for a, b in ((0, 1), (2, 3), (4, 5)):
        w[a, b] = w[b, a] = 1
    w[1, 2] = w[2, 1] = 0.1  # beside the boundary are 1 and 2; degrees of both sides are 1 and 1.1, twice
    graph = AffinityGraph.from_csr(w)
    tree = MergeTree(np.array([0, 0, 1, 1, 2, 2]), np.array([[0, 1]]), np.array([0.1]))
    within = 2 * (1 + 1.1**2) / (1 + 1.1)
    np.testing.assert_allclose(crossing_weights(tree, graph), [0.2 / within * (1 + 2 / np.sqrt(2))])
    assert (
        count_separate_clusters(tree, graph, 2) == 2
    )  # 0.23 crosses at the merge, so it joins no separate clusters
    assert count_separate_clusters(tree, graph, 3) == 1  # the other root has two samples
    assert count_separate_clusters(tree, graph, 7) == 1


@pytest.mark.parametrize(
    ("crossing", "n_clusters"),
    [
        ([], 1),
        ([0.0, 0.01, 0.015, 0.5], 4),  # merges up to 0.015 always join separate clusters
        ([0.0, 0.01, 0.04, 0.1, 0.12, 0.3], 4),  # and so do those below the largest gap
        ([0.0, 0.03, 0.06, 0.08, 0.09, 0.3], 6),  # which may end at 0.15
        ([0.1, 0.11, 0.12], 1),  # or begin at 0.015
        ([0.05, 0.06, 0.07, 0.08, 0.1, 0.12, 0.13], 1),
        ([0.049, 0.06, 0.07, 0.08, 0.1, 0.12, 0.13], 5),  # a smallest weight below 0.05 is always a valley
        ([0.01, 0.06, 0.07, 0.08, 0.1, 0.12, 0.13], 2),
        ([0.15, 0.5], 1),  # merges from 0.15 on never join separate clusters
    ],
)
def test_largest_gap_decides_the_number_of_clusters(monkeypatch, crossing, n_clusters):
    m = len(crossing)
    children = np.stack([np.arange(m) * 2, np.arange(m) * 2 + 1], axis=1)
    children[1:, 0] = m + 1 + np.arange(m - 1)
    children[:, 1] = np.arange(1, m + 1)
    children[:1, 0] = 0
    monkeypatch.setattr(separation, "crossing_weights", lambda tree, graph: np.array(crossing[::-1]))
    tree = MergeTree(np.arange(m + 1), children, np.ones(m))
    assert count_separate_clusters(tree, AffinityGraph(np.zeros(m + 2), [], []), 1) == n_clusters


def test_piece_that_leads_to_all_others_is_no_community():
    # 64 triangles; each corner of one is joined to a corner of every other: of its weight 2 stays, 2.52 leave
    w = np.kron(np.eye(64), np.ones((3, 3))) + 0.04 * np.kron(1 - np.eye(64), np.eye(3))
    np.fill_diagonal(w, 0)
    graph = AffinityGraph.from_csr(w)
    tree = gdl_u(graph, np.repeat(np.arange(64), 3))
    assert crossing_weights(tree, graph)[0] < separation.FIRST_VALLEY  # to one other
    assert count_separate_clusters(tree, graph, 3) == 1


def test_clusters_without_edges_are_separate():
    graph = AffinityGraph(np.zeros(4), [], [])
    tree = MergeTree(np.arange(3), np.array([[0, 1], [2, 3]]), np.zeros(2))
    np.testing.assert_array_equal(crossing_weights(tree, graph), [0, 0])
    assert count_separate_clusters(tree, graph) == 3


@pytest.mark.parametrize("n", [100, 500, 2000])
@pytest.mark.parametrize("kind", ["uniform", "normal"])
@pytest.mark.parametrize("n_features", [2, 5])
def test_samples_without_structure_are_one_cluster(kind, n, n_features):
    x = getattr(np.random.default_rng(n), kind)(size=(n, n_features))
    assert GraphDegreeLinkage().fit(x).n_clusters_ == 1


@pytest.mark.parametrize("n_features", [10, 30, 100])
@pytest.mark.parametrize("kind", ["uniform", "normal"])
def test_samples_of_many_features_are_one_cluster(kind, n_features):
    x = getattr(np.random.default_rng(100), kind)(size=(3000, n_features))
    assert GraphDegreeLinkage().fit(x).n_clusters_ == 1


@pytest.mark.parametrize("n", [100, 1000, 5000])
def test_thin_curves_are_not_cut(n):
    assert (
        GraphDegreeLinkage().fit(make_circles(n, factor=0.5, noise=0.03, random_state=0)[0]).n_clusters_ == 2
    )


@pytest.mark.parametrize(("n", "smallest"), [(100, 10), (1000, 30), (6000, 30), (10_000, 50)])
def test_default_min_cluster_size_depends_on_the_graph(n, smallest):
    graph = SimpleNamespace(n_samples=n, indices=np.empty(30 * n, np.int32))
    assert separation.default_min_cluster_size(graph) == smallest


@pytest.mark.parametrize("n_features", [2, 10])
@pytest.mark.parametrize("n_clusters", [1, 3, 8])
def test_blobs_are_counted(n_clusters, n_features):
    x, _ = make_blobs(800, n_features, centers=n_clusters, center_box=(-30, 30), random_state=0)
    assert GraphDegreeLinkage().fit(x).n_clusters_ == n_clusters


@pytest.mark.parametrize(("n_features", "apart"), [(2, 3.8), (3, 4.5)])
def test_touching_blobs_are_counted(n_features, apart):
    rng = np.random.default_rng(0)
    centres = apart * np.stack(np.meshgrid(*[[0, 1]] * n_features), axis=-1).reshape(-1, n_features)
    x = np.concatenate([rng.normal(size=(200, n_features)) + c for c in centres])
    assert GraphDegreeLinkage().fit(x).n_clusters_ == 2**n_features


def test_min_cluster_size_of_zero_is_refused():
    tree = MergeTree(np.arange(2), np.array([[0, 1]]), np.ones(1))
    with pytest.raises(ValueError, match="min_cluster_size must be an integer of at least 1, got 0"):
        count_separate_clusters(tree, AffinityGraph.from_csr(np.ones((2, 2))), 0)
