"""Isolated branches: the definition, a trial of all choices, parts without edges, the number of clusters."""

import itertools

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
    count_isolated_branches,
    gdl_u,
    leakages,
    select_isolated_branches,
)
from gdl_core.isolation import branch_costs


def members(tree):
    """{node: set of samples}."""
    of = {c: set(np.flatnonzero(tree.initial_labels == c).tolist()) for c in range(tree.n_initial)}
    for t, (a, b) in enumerate(tree.children.tolist()):
        of[tree.n_initial + t] = of[a] | of[b]
    return of


def cliques(n_cliques, weight, size=3):
    """A chain of cliques joined by one edge of this weight each, and its hierarchy."""
    w = np.kron(np.eye(n_cliques), np.ones((size, size)))
    for c in range(1, n_cliques):
        w[size * c - 1, size * c] = w[size * c, size * c - 1] = weight
    np.fill_diagonal(w, 0)
    graph = AffinityGraph.from_csr(w)
    return gdl_u(graph, np.repeat(np.arange(n_cliques), size)), graph


@given(st.one_of(knn_problems(40), any_problems(20)))
@settings(max_examples=60, deadline=None)
def test_leakage_equals_the_definition(problem):
    graph, labels = problem
    tree = gdl_u(graph, labels)
    w = graph.to_csr().toarray()
    found = leakages(tree, graph)
    total = w.sum(axis=0) * w.sum(axis=1)
    for node, samples in members(tree).items():
        is_inside = np.isin(np.arange(len(w)), sorted(samples))
        leaving = w[is_inside][:, ~is_inside].sum(axis=1) * w[~is_inside][:, is_inside].sum(axis=0)
        whole = total[is_inside].sum()
        expected = np.sqrt(leaving.sum() / whole) if whole > 0 else 1.0
        np.testing.assert_allclose(found[node], expected, rtol=1e-6, atol=2e-6)


def test_leakage_equals_a_hand_computed_value():
    tree, graph = cliques(2, 0.5)
    # of each triangle one corner has degree 0.5 outside and 2.5 in all, two have 2 in all
    np.testing.assert_allclose(leakages(tree, graph), [*[np.sqrt(0.25 / (6.25 + 4 + 4))] * 2, 0])
    n = np.array([3, 3, 6])
    np.testing.assert_allclose(branch_costs(tree, graph), (leakages(tree, graph) + 1 / n) / (1 + 1 / n))


@given(st.one_of(knn_problems(14), any_problems(9)), st.integers(1, 4))
@settings(max_examples=80, deadline=None)
def test_no_other_choice_costs_less(problem, n_clusters):
    graph, labels = problem
    tree = gdl_u(graph, labels)
    of, cost, n = members(tree), branch_costs(tree, graph), len(labels)
    roots = [r for r in tree.roots().tolist() if len(of[r]) > np.log(n)] or tree.roots().tolist()
    under_roots = [v for v in of if any(of[v] <= of[r] for r in roots)]
    found = select_isolated_branches(tree, graph, n_clusters)
    n_leaves = sum(v < tree.n_initial for v in under_roots)
    assert found.n_clusters == max(min(n_clusters, n_leaves), len(roots))
    if found.n_clusters != n_clusters:
        return
    chosen = [frozenset(np.flatnonzero(found.labels == c).tolist()) for c in range(n_clusters)]
    node_of = {frozenset(samples): node for node, samples in of.items()}
    sums = [
        cost[list(choice)].sum()
        for choice in itertools.combinations(under_roots, n_clusters)
        if all(of[a].isdisjoint(of[b]) for a, b in itertools.combinations(choice, 2))
        and all(any(of[a] <= of[r] for a in choice) for r in roots)
    ]
    np.testing.assert_allclose(sum(cost[node_of[c]] for c in chosen), min(sums), rtol=1e-9)


def test_parts_without_edges_hold_clusters_if_they_are_large():
    graph = AffinityGraph(np.zeros(9), [], [])  # of 8 samples, ln(8) = 2.1
    tree = MergeTree(np.array([0, 0, 0, 1, 1, 1, 2, 2]), np.empty((0, 2), np.int64), np.empty(0))
    found = select_isolated_branches(tree, graph, 1)
    np.testing.assert_array_equal(found.labels, [0, 0, 0, 1, 1, 1, -1, -1])
    assert count_isolated_branches(tree, graph) == 2


def test_more_clusters_than_initial_ones_are_the_initial_ones():
    tree, graph = cliques(3, 0.1)
    np.testing.assert_array_equal(select_isolated_branches(tree, graph, 9).labels, np.repeat([0, 1, 2], 3))


@pytest.mark.parametrize("function", [select_isolated_branches, count_isolated_branches])
def test_zero_clusters_are_refused(function):
    with pytest.raises(ValueError, match="must be an integer of at least 1, got 0"):
        function(*cliques(2, 0.1), 0)


# --- the number of clusters ---------------------------------------------------------------------------


@pytest.mark.parametrize("n_cliques", [1, 2, 5, 20])
def test_cliques_in_a_chain_are_counted(n_cliques):
    tree, graph = cliques(n_cliques, 0.01, 30)
    # with a further merge inside each clique, so that more clusters can be chosen
    labels = np.arange(len(tree.initial_labels)) // 15
    assert count_isolated_branches(gdl_u(graph, labels), graph) == n_cliques


def test_small_branches_are_not_counted():
    _, graph = cliques(5, 0.01, 30)
    tree = gdl_u(graph, np.arange(150) // 15)
    assert [count_isolated_branches(tree, graph, size) for size in (1, 15, 151)] == [5, 5, 1]
    assert count_isolated_branches(tree, graph, 31) < 5


@pytest.mark.parametrize("n", [100, 500, 2000])
@pytest.mark.parametrize("kind", ["uniform", "normal"])
@pytest.mark.parametrize("n_features", [2, 5])
def test_samples_without_structure_are_one_cluster(kind, n, n_features):
    rng = np.random.default_rng(n)
    draws = [getattr(rng, kind)(size=(n, n_features)) for _ in range(12)]
    counts = [GraphDegreeLinkage().fit(x).n_clusters_ for x in draws]
    assert counts.count(1) >= 11  # of 100 samples in a square, one draw in fifty has a gap


@pytest.mark.parametrize("n_features", [10, 30, 100])
@pytest.mark.parametrize("kind", ["uniform", "normal"])
def test_samples_of_many_features_are_one_cluster(kind, n_features):
    x = getattr(np.random.default_rng(100), kind)(size=(3000, n_features))
    assert GraphDegreeLinkage().fit(x).n_clusters_ == 1


@pytest.mark.parametrize("n", [100, 1000, 5000])
def test_thin_curves_are_not_cut(n):
    x, _ = make_circles(n, factor=0.5, noise=0.03, random_state=0)
    assert GraphDegreeLinkage().fit(x).n_clusters_ == 2


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
