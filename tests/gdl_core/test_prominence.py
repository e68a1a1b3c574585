"""The most prominent branches: the definition, a trial of all choices, parts without edges, tiny clusters."""

import itertools

import numpy as np
import pytest
from graphs import any_problems, knn_problems
from hypothesis import given, settings
from hypothesis import strategies as st

from gdl_core import AffinityGraph, MergeTree, gdl_u, select_prominent_clusters
from gdl_core.prominence import prominences


def members(tree):
    """{node: set of samples}."""
    of = {c: set(np.flatnonzero(tree.initial_labels == c).tolist()) for c in range(tree.n_initial)}
    for t, (a, b) in enumerate(tree.children.tolist()):
        of[tree.n_initial + t] = of[a] | of[b]
    return of


@given(st.one_of(knn_problems(40), any_problems(20)))
@settings(max_examples=60, deadline=None)
def test_prominence_equals_the_definition(problem):
    graph, labels = problem
    tree = gdl_u(graph, labels)
    w = graph.to_csr().toarray()
    w = w + w.T
    one = graph.weights.max(initial=0.0) or 1.0
    found = prominences(tree, graph)
    for node, samples in members(tree).items():
        inside = sorted(samples)
        volume = w[inside].sum()
        cut = volume - w[np.ix_(inside, inside)].sum()
        np.testing.assert_allclose(found[node], len(inside) * (volume + one) / (cut + one), rtol=1e-9)


@given(st.one_of(knn_problems(14), any_problems(9)), st.integers(1, 4))
@settings(max_examples=80, deadline=None)
def test_no_other_choice_has_a_larger_product(problem, n_clusters):
    graph, labels = problem
    tree = gdl_u(graph, labels)
    roots, of, worth = tree.roots(), members(tree), np.log(prominences(tree, graph))
    found = select_prominent_clusters(tree, graph, n_clusters)
    assert found.n_clusters == max(min(n_clusters, tree.n_initial), len(roots))
    if found.n_clusters != n_clusters:
        return
    chosen = [set(np.flatnonzero(found.labels == c).tolist()) for c in range(n_clusters)]
    node_of = {frozenset(samples): node for node, samples in of.items()}
    sums = [
        worth[list(choice)].sum()
        for choice in itertools.combinations(of, n_clusters)
        if all(of[a].isdisjoint(of[b]) for a, b in itertools.combinations(choice, 2))
        and all(any(of[a] <= of[r] for a in choice) for r in roots.tolist())
    ]
    best = sum(worth[node_of[frozenset(c)]] for c in chosen)
    np.testing.assert_allclose(best, max(sums), rtol=1e-9)


def test_tiny_clusters_are_labelled_minus_one():
    w = np.zeros((9, 9))
    w[:4, :4] = w[4:8, 4:8] = 1.0
    w[3, 4] = w[3, 8] = w[8, 4] = 0.1
    graph = AffinityGraph.from_csr(w)
    tree = MergeTree(np.array([0] * 4 + [1] * 4 + [2]), np.array([[0, 1], [2, 3]]), np.array([0.2, 0.1]))
    found = select_prominent_clusters(tree, graph, 2)
    np.testing.assert_array_equal(found.labels, [0] * 4 + [1] * 4 + [-1])
    assert found.n_merges == 0
    assert set(select_prominent_clusters(tree, graph, 1).labels.tolist()) == {0}


def test_tiny_branches_are_used_if_others_are_too_few():
    labels = np.repeat([0, 1], [400, 1])
    tree = MergeTree(labels, np.array([[0, 1]]), np.zeros(1))
    graph = AffinityGraph(np.zeros(402), [], [])
    found = select_prominent_clusters(tree, graph, 2)
    assert (found.n_clusters, found.min_cluster_size) == (2, 1)


def test_zero_clusters_are_refused():
    tree = MergeTree(np.arange(2), np.array([[0, 1]]), np.ones(1))
    with pytest.raises(ValueError, match="n_clusters must be an integer of at least 1, got 0"):
        select_prominent_clusters(tree, AffinityGraph.from_csr(np.ones((2, 2))), 0)
