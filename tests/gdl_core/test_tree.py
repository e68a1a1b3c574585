"""The hierarchy: cuts, linkage matrix, selection of clusters, completion by distance, outlier scores."""

import itertools

import numpy as np
import pytest
from definitions import indegree, outdegree
from graphs import any_problems, knn_problems, same_partition
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.cluster.hierarchy import dendrogram, fcluster, is_valid_linkage
from scipy.sparse.csgraph import connected_components

from gdl_core import (
    AffinityGraph,
    KnnGraph,
    MergeTree,
    affinity_graph,
    complete_by_distance,
    connectivity_scores,
    gdl_u,
    initial_clusters,
    knn_graph,
    place_by_tree,
    select_clusters,
    smooth_labels,
    split_at_largest_gap,
)
from gdl_core.completion import make_distances_among
from gdl_core.tree import place_nodes


def tree_of(initial, children, affinities=None):
    children = np.array(children, np.int64).reshape(-1, 2)
    affinities = np.ones(len(children)) if affinities is None else np.array(affinities)
    return MergeTree(np.array(initial), children, affinities)


# --- cuts --------------------------------------------------------------------------------------------


def test_cut_equals_hand_computed_partitions():
    tree = tree_of([0, 1, 0, 2, 3], [[1, 3], [0, 4], [2, 5]])
    np.testing.assert_array_equal(tree.cut(4), [0, 1, 0, 2, 3])
    np.testing.assert_array_equal(tree.cut(3), [0, 1, 0, 2, 1])
    np.testing.assert_array_equal(tree.cut(2), [0, 0, 0, 1, 0])
    np.testing.assert_array_equal(tree.cut(1), [0] * 5)
    np.testing.assert_array_equal(tree.cut(99), [0, 1, 0, 2, 3])
    np.testing.assert_array_equal(tree.node_sizes(), [2, 1, 1, 1, 2, 4, 5])
    np.testing.assert_array_equal(tree.roots(), [6])
    with pytest.raises(ValueError, match="n_clusters must be an integer of at least 1, got 0"):
        tree.cut(0)


def test_cut_stops_at_min_affinity():
    tree = tree_of([0, 1, 2, 3], [[0, 1], [2, 4], [3, 5]], [1.0, 0.5, 0.8])
    np.testing.assert_array_equal(tree.cut(1, min_affinity=0.5), [0, 0, 0, 0])
    np.testing.assert_array_equal(tree.cut(1, min_affinity=0.6), [0, 0, 1, 2])
    np.testing.assert_array_equal(tree.cut(1, min_affinity=2), [0, 1, 2, 3])


def test_tree_may_be_empty():
    tree = tree_of(np.empty(0, np.int64), [])
    assert tree.n_initial == 0
    assert tree.cut(1).shape == (0,)
    assert tree.linkage().shape == (0, 4)


def test_tree_is_immutable():
    with pytest.raises(AttributeError):
        tree_of([0, 1], [[0, 1]]).children = None


@given(st.one_of(knn_problems(), any_problems()))
@settings(max_examples=40, deadline=None)
def test_each_cut_has_n_clusters_and_refines_the_next(problem):
    tree = gdl_u(*problem)
    previous = None
    for k in range(tree.n_initial, tree.n_initial - len(tree.children) - 1, -1):
        labels = tree.cut(k)
        assert labels.max() + 1 == k
        if previous is not None:
            assert len(set(zip(previous.tolist(), labels.tolist(), strict=True))) == k + 1
        previous = labels


# --- linkage -----------------------------------------------------------------------------------------


@given(st.one_of(knn_problems(), any_problems()))
@settings(max_examples=40, deadline=None)
def test_linkage_is_valid_and_monotone(problem):
    tree = gdl_u(*problem)
    if len(tree.initial_labels) < 2:
        assert tree.linkage().shape == (0, 4)
        return
    z = tree.linkage()
    assert is_valid_linkage(z)
    assert (np.diff(z[:, 2]) >= 0).all()
    assert z[-1, 3] == len(tree.initial_labels)
    dendrogram(z, no_plot=True)
    assert same_partition(fcluster(z, 0.5, criterion="distance"), tree.initial_labels)


def test_heights_equal_hand_computed_values():
    tree = tree_of([0, 1, 2, 3, 4], [[0, 1], [2, 3], [4, 5], [6, 7]], [1.0, 0.1, 0.5, 0.0])
    np.testing.assert_allclose(tree.heights(), [1, 2, 2, 3])
    assert tree_of([0, 1], [[0, 1]], [0.0]).heights() == [1.0]


# --- counting clusters of some size -------------------------------------------------------------------


def test_last_cut_with_enough_large_clusters_is_used():
    # sizes 3 and 3 are there, then 1+1, 2+1 makes a third, then it is merged away
    tree = tree_of([0, 0, 0, 1, 1, 1, 2, 3, 4], [[2, 3], [4, 5], [0, 1]])
    chosen = select_clusters(tree, 2, 3)
    assert (chosen.n_merges, chosen.n_clusters, chosen.min_cluster_size) == (3, 2, 3)
    chosen = select_clusters(tree, 3, 3)
    assert chosen.n_merges == 2
    np.testing.assert_array_equal(chosen.labels, [0, 0, 0, 1, 1, 1, 2, 2, 2])


def test_min_cluster_size_is_reduced_until_a_cut_has_enough():
    tree = tree_of([0, 0, 1, 1, 2, 3], [[2, 3], [0, 1], [4, 5]])
    chosen = select_clusters(tree, 3, 4)
    assert (chosen.n_clusters, chosen.min_cluster_size, chosen.n_merges) == (3, 2, 1)


def test_samples_of_small_clusters_are_labelled_minus_one():
    tree = tree_of([0, 0, 0, 1, 2, 2, 2], [])
    chosen = select_clusters(tree, 2, 2)
    np.testing.assert_array_equal(chosen.labels, [0, 0, 0, -1, 1, 1, 1])


def test_merges_without_affinity_are_used_only_if_needed():
    tree = tree_of([0, 0, 0, 1, 1, 1, 2, 3, 3, 3], [[0, 2], [1, 4], [3, 5]], [1.0, 0.0, 0.0])
    assert select_clusters(tree, 3, 3).n_merges == 1
    assert select_clusters(tree, 2, 3).n_merges == 2
    tree = tree_of([0, 0, 0, 1, 1, 1, 2], [[0, 2], [1, 3]], [0.0, 0.0])
    assert select_clusters(tree, 2, 3).n_merges == 0


def test_separate_parts_may_exceed_n_clusters():
    assert select_clusters(tree_of([0, 1, 2], [[0, 1]]), 1).n_clusters == 2


@given(knn_problems(), st.integers(1, 12), st.integers(1, 9))
@settings(max_examples=30, deadline=None)
def test_selected_clusters_equal_the_last_cut_by_brute_force(problem, n_clusters, size):
    tree = gdl_u(*problem)
    chosen = select_clusters(tree, n_clusters, size)
    wanted = min(n_clusters, tree.n_initial)
    counts = {
        m: [int((np.bincount(tree.after(t)) >= m).sum()) for t in range(len(tree.children) + 1)]
        for m in range(1, size + 1)
    }
    m = max(m for m in counts if max(counts[m]) >= wanted)
    assert chosen.min_cluster_size == m
    exact = [t for t, count in enumerate(counts[m]) if count == wanted]
    assert chosen.n_merges == (exact[-1] if exact else len(tree.children))
    assert chosen.n_clusters == counts[m][chosen.n_merges]


def test_min_cluster_size_of_one_selects_the_plain_cut():
    x = np.random.default_rng(0).normal(size=(150, 2))
    knn = knn_graph(x, 6)
    tree = gdl_u(affinity_graph(knn), initial_clusters(knn))
    for k in (len(tree.roots()), 20):
        np.testing.assert_array_equal(select_clusters(tree, k).labels, tree.cut(k))


def test_samples_in_no_cluster_are_placed_where_the_hierarchy_joins_them():
    tree = MergeTree(np.arange(6), np.array([[0, 1], [2, 3], [4, 6], [7, 8]]), np.ones(4))
    labels = np.array([0, -1, 1, 1, -1, -1])  # 4 joins 0 and 1; nothing joins 5
    np.testing.assert_array_equal(place_by_tree(tree, labels), [0, 0, 1, 1, 0, -1])
    np.testing.assert_array_equal(place_by_tree(tree, np.where(labels == 1, 1, -1)), [1, 1, 1, 1, 1, -1])


def test_labels_must_fit_the_graph():
    graph = AffinityGraph.from_csr(np.ones((3, 3)))
    for function in (smooth_labels, connectivity_scores):
        with pytest.raises(ValueError, match=r"labels must have shape \(3,\), got \(2,\)"):
            function(graph, [-1, 0])
        with pytest.raises(ValueError, match=r"labels must be integers, got 0\.5"):
            function(graph, [-1, 0, 0.5])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda tree: tree.cut(1.5), "n_clusters must be an integer of at least 1, got 1.5"),
        (lambda tree: select_clusters(tree, 1.5), "n_clusters must be an integer of at least 1, got 1.5"),
        (
            lambda tree: select_clusters(tree, 1, 2.5),
            "min_cluster_size must be an integer of at least 1, got 2.5",
        ),
    ],
)
def test_numbers_must_be_whole(call, message):
    with pytest.raises(ValueError, match=message):
        call(tree_of([0, 1], [[0, 1]]))


@pytest.mark.parametrize(("n_clusters", "size", "name"), [(0, 1, "n_clusters"), (1, 0, "min_cluster_size")])
def test_selection_refuses_sizes_below_one(n_clusters, size, name):
    with pytest.raises(ValueError, match=f"{name} must be an integer of at least 1, got 0"):
        select_clusters(tree_of([0, 1], [[0, 1]]), n_clusters, size)


# --- completion by distance ---------------------------------------------------------------------------


def test_completion_joins_the_nearest_parts_first():
    centres = np.array([0.0, 10.0, 11.5, 30.0])
    x = np.concatenate([c + np.linspace(0, 0.5, 6) for c in centres])[:, None]
    knn = knn_graph(x, 3)
    graph = affinity_graph(knn)
    tree = gdl_u(graph, initial_clusters(knn))
    parts = connected_components(graph.to_csr(), connection="weak")[0]
    assert parts == len(tree.roots()) == 4
    whole = complete_by_distance(tree, knn.n_neighbors, graph, make_distances_among(x, "euclidean"))
    assert len(whole.roots()) == 1
    assert (whole.affinities[-3:] == 0).all()
    of_part = np.repeat(np.arange(4), 6)
    assert same_partition(whole.cut(3), np.array([0, 1, 1, 2])[of_part])
    assert same_partition(whole.cut(2), np.array([0, 0, 0, 1])[of_part])
    distances = np.abs(x - x.T)
    dense = complete_by_distance(tree, knn.n_neighbors, graph, make_distances_among(distances, "precomputed"))
    np.testing.assert_array_equal(whole.children, dense.children)
    assert len(complete_by_distance(tree, knn.n_neighbors, graph).roots()) == 4


def test_completion_follows_one_way_edges_first():
    # 4 points to 3, nothing points to 4: no affinity, but an edge
    knn = KnnGraph([[1], [0], [3], [2], [3]], [[1.0], [1.0], [1.0], [1.0], [5.0]])
    graph = affinity_graph(knn)
    tree = gdl_u(graph, np.array([0, 0, 1, 1, 2]))
    assert len(tree.children) == 0
    np.testing.assert_array_equal(complete_by_distance(tree, knn.n_neighbors, graph).children, [[1, 2]])


def test_completion_takes_the_largest_weight():
    w = np.zeros((7, 7))
    w[0, 3], w[6, 4], w[6, 1] = 0.4, 0.3, 0.9
    tree = tree_of([0, 0, 0, 1, 1, 1, 2], [])
    whole = complete_by_distance(tree, 0, AffinityGraph.from_csr(w))
    np.testing.assert_array_equal(whole.children, [[0, 2], [1, 3]])
    np.testing.assert_array_equal(whole.affinities, [0, 0])


@pytest.mark.parametrize("seed", range(20))
def test_completion_by_weight_equals_the_definition(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 25))
    w = np.where(rng.random((n, n)) < 0.2, rng.random((n, n)), 0)
    np.fill_diagonal(w, 0)
    whole = complete_by_distance(tree_of(np.arange(n), []), 0, AffinityGraph.from_csr(w))
    members, children = {i: [i] for i in range(n)}, []
    while True:
        value = {
            (a, b): max(w[np.ix_(members[a], members[b])].max(), w[np.ix_(members[b], members[a])].max())
            for a, b in itertools.combinations(members, 2)
        }
        a, b = max(value, key=value.__getitem__, default=(0, 0))
        if not value.get((a, b), 0) > 0:
            break
        members[n + len(children)] = members.pop(a) + members.pop(b)
        children.append((a, b))
    np.testing.assert_array_equal(whole.children, np.array(children).reshape(-1, 2))


@given(knn_problems(40))
@settings(max_examples=30, deadline=None)
def test_nodes_lie_side_by_side_on_a_line(problem):
    tree = gdl_u(*problem)
    first, end, order = place_nodes(tree)
    for t in range(len(tree.children)):
        node = tree.n_initial + t
        inside = tree.nodes_after(t + 1) == node
        assert sorted(order[first[node] : end[node]]) == np.flatnonzero(inside).tolist()


# --- outliers ----------------------------------------------------------------------------------------


@given(any_problems(max_vertices=15))
@settings(max_examples=40, deadline=None)
def test_connectivity_scores_equal_the_definition(problem):
    graph, labels = problem
    labels = labels.copy()
    labels[labels == 1] = -1
    w = graph.to_csr().toarray()
    expected = []
    for c in range(labels.max() + 1):
        members = np.flatnonzero(labels == c)
        expected.append(sum(indegree(w, i, members) + outdegree(w, i, members) for i in members))
    np.testing.assert_allclose(connectivity_scores(graph, labels), expected, rtol=1e-12)


def test_connectivity_scores_refuse_labels_of_wrong_length():
    with pytest.raises(ValueError, match=r"labels must have shape \(2,\), got \(3,\)"):
        connectivity_scores(AffinityGraph.from_csr(np.ones((2, 2))), [0, 0, 0])
    assert connectivity_scores(AffinityGraph.from_csr(np.ones((2, 2))), [-1, -1]).shape == (0,)


@pytest.mark.parametrize(
    ("scores", "kept"),
    [
        ([], []),
        ([3.0], [True]),
        ([1.0, 9.0], [False, True]),
        ([2.0, 2.0], [True, True]),
        ([9.0, 5.0, 1.0], [True, False, False]),  # equal gaps: the higher
        ([1.0, 8.0, 2.0, 9.0, 8.5], [False, True, False, True, True]),
    ],
)
def test_clusters_above_the_largest_gap_are_kept(scores, kept):
    np.testing.assert_array_equal(split_at_largest_gap(scores), np.array(kept, bool))


def test_invalid_scores_are_refused():
    with pytest.raises(ValueError, match="finite, got nan"):
        split_at_largest_gap([1.0, np.nan])
    with pytest.raises(ValueError, match=r"shape \(n_clusters,\), got \(1, 2\)"):
        split_at_largest_gap([[1.0, 2.0]])
