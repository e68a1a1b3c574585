"""Algorithms 1 to 3 against each other and against the definition."""

from types import SimpleNamespace

import numpy as np
import pytest
from definitions import affinity
from graphs import any_problems, knn_problems, same_partition
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from plain_agdl import plain_agdl
from scipy.sparse.csgraph import connected_components
from sklearn.datasets import make_blobs

from gdl_core import AffinityGraph, affinity_graph, agdl, gdl, gdl_u, initial_clusters, knn_graph, merging
from gdl_core._merge.components import split

problems = st.one_of(knn_problems(), any_problems())


# Units in the last place. The fast path rounds affinities from 106 bits, so an exact value very near the
# middle between two numbers may become the other one.
ROUNDING_ULP = 1


def assert_equal_trees(p, q, ulp=0):
    np.testing.assert_array_equal(p.children, q.children)
    np.testing.assert_array_max_ulp(p.affinities, q.affinities, ulp)


@given(problems)
@settings(max_examples=150, deadline=None)
def test_gdl_u_equals_gdl(problem):
    assert_equal_trees(gdl(*problem), gdl_u(*problem), ROUNDING_ULP)


@given(problems, st.floats(0, 1), st.integers(1, 4))
@settings(max_examples=100, deadline=None)
def test_merging_that_stops_early_has_the_same_cut(problem, share, n_clusters):
    whole = gdl_u(*problem)
    min_affinity = share * whole.affinities.max(initial=0.0)
    tree = gdl_u(*problem, n_clusters, min_affinity=min_affinity)
    assert (tree.affinities >= min_affinity).all()
    np.testing.assert_array_equal(
        tree.cut(n_clusters, min_affinity=min_affinity), whole.cut(n_clusters, min_affinity=min_affinity)
    )


@given(any_problems(max_vertices=12), st.floats(0.01, 1), st.integers(1, 3))
@settings(max_examples=100, deadline=None)
def test_agdl_ends_where_no_affinity_is_large_enough(problem, share, k_nearest):
    w, min_affinity = problem[0].to_csr().toarray(), share * gdl_u(*problem).affinities.max(initial=0.0)
    tree = agdl(*problem, n_neighbor_clusters=k_nearest, min_affinity=min_affinity)
    assert (tree.affinities >= min_affinity).all()
    found = tree.cut(1, min_affinity=min_affinity)
    clusters = [np.flatnonzero(found == c) for c in range(found.max() + 1)]
    assert not any(
        affinity(w, p, q) > min_affinity * (1 + 1e-12) for i, p in enumerate(clusters) for q in clusters[:i]
    )


@given(any_problems(max_vertices=12))
@settings(max_examples=50, deadline=None)
def test_gdl_u_merges_the_pair_of_largest_affinity(problem):
    graph, labels = problem
    w, tree = graph.to_csr().toarray(), gdl_u(graph, labels)
    clusters = {c: np.flatnonzero(labels == c) for c in range(tree.n_initial)}
    for t, (a, b) in enumerate(tree.children.tolist()):
        best = max(affinity(w, clusters[i], clusters[j]) for i in clusters for j in clusters if i < j)
        assert tree.affinities[t] == pytest.approx(best, rel=1e-12)
        assert affinity(w, clusters[a], clusters[b]) == pytest.approx(best, rel=1e-12)
        clusters[tree.n_initial + t] = np.concatenate([clusters.pop(a), clusters.pop(b)])
    assert all(affinity(w, clusters[i], clusters[j]) == 0 for i in clusters for j in clusters if i < j)


@given(problems, st.integers(1, 12), st.integers(0, 2**32 - 1), st.floats(0, 0.5))
@settings(max_examples=150, deadline=None)
def test_agdl_equals_algorithm_3(problem, k_nearest, seed, share):
    graph, labels = problem
    assume(connected_components(graph.to_csr(), connection="weak")[0] == 1)
    weights = np.random.default_rng(seed).random(len(graph.weights))  # no two affinities tie
    graph = AffinityGraph(graph.indptr, graph.indices, weights)
    min_affinity = share * gdl_u(graph, labels).affinities.max(initial=0.0)
    children, affinities = plain_agdl(graph.to_csr().toarray(), labels, k_nearest, min_affinity)
    tree = agdl(graph, labels, n_neighbor_clusters=k_nearest, min_affinity=min_affinity)
    np.testing.assert_array_equal(children, tree.children)
    np.testing.assert_allclose(affinities, tree.affinities, rtol=1e-12)


@given(knn_problems())
@settings(max_examples=50, deadline=None)
def test_agdl_with_all_neighbours_finds_the_best_first_merge(problem):
    exact, fast = gdl_u(*problem), agdl(*problem, n_neighbor_clusters=1000)
    assert len(exact.children) == len(fast.children)
    np.testing.assert_array_equal(exact.children[:1], fast.children[:1])


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=25, deadline=None)
def test_permuting_the_samples_permutes_the_partition(seed):
    rng = np.random.default_rng(seed)
    x, order = rng.normal(size=(80, 3)), rng.permutation(80)
    labels = []
    for points in (x, x[order]):
        knn = knn_graph(points, 8)
        labels.append(gdl_u(affinity_graph(knn), initial_clusters(knn)).cut(6))
    assert same_partition(labels[0][order], labels[1])


@given(knn_problems(), st.integers(0, 2**32 - 1))
@settings(max_examples=40, deadline=None)
def test_numbering_of_initial_clusters_changes_no_partition_without_ties(problem, seed):
    graph, labels = problem
    rng = np.random.default_rng(seed)
    weights = rng.random(len(graph.weights))  # no two affinities tie
    graph = AffinityGraph(graph.indptr, graph.indices, weights)
    renamed = rng.permutation(labels.max() + 1)[labels]
    assert same_partition(gdl_u(graph, labels).cut(3), gdl_u(graph, renamed).cut(3))


def test_ties_go_to_the_pair_with_the_smaller_numbers():
    ring = np.zeros((6, 6))
    for i in range(6):
        ring[i, (i + 1) % 6] = ring[i, (i - 1) % 6] = 0.1  # sums of 0.1 depend on their order in float64
    tree = gdl_u(AffinityGraph.from_csr(ring), np.arange(6))
    # 0-1 first; then 2-3, because {0, 1} has become number 6; then 4-5
    np.testing.assert_array_equal(tree.children[:3], [[0, 1], [2, 3], [4, 5]])
    np.testing.assert_array_equal(tree.children, gdl(AffinityGraph.from_csr(ring), np.arange(6)).children)


def test_merging_stops_at_n_clusters():
    x = np.random.default_rng(3).normal(size=(300, 3))
    knn = knn_graph(x, 10)
    graph, labels = affinity_graph(knn), initial_clusters(knn)
    whole = gdl_u(graph, labels)
    for algorithm in (gdl, gdl_u):
        part = algorithm(graph, labels, 20)
        np.testing.assert_array_equal(part.children, whole.children[: labels.max() + 1 - 20])
    assert len(set(agdl(graph, labels, 20).cut(20).tolist())) == 20


def separate_blobs(n):
    x, _ = make_blobs(n, n_features=8, centers=12, cluster_std=0.5, random_state=0)
    knn = knn_graph(x, 12)
    return affinity_graph(knn), initial_clusters(knn)


def test_separate_parts_are_interleaved_as_in_one_run():
    graph, labels = separate_blobs(400)
    assert connected_components(graph.to_csr())[0] >= 12
    assert_equal_trees(gdl(graph, labels), gdl_u(graph, labels), ROUNDING_ULP)


@pytest.mark.parametrize("algorithm", [gdl, gdl_u, agdl])
def test_outlier_with_zero_weights_stays_separate(algorithm):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(331, 2)) + np.repeat([[-40, 0], [40, 0], [0, 1e6]], [30, 300, 1], axis=0)
    knn = knn_graph(x, 20)
    graph, alone = affinity_graph(knn, 0.1), np.arange(331)
    assert graph.weights.min() == 0
    tree = algorithm(graph, alone)
    bare = algorithm(AffinityGraph.from_csr(graph.to_csr()), alone)
    assert_equal_trees(tree, bare)
    assert sorted(np.bincount(tree.cut(1))) == [1, 30, 300]


@pytest.mark.parametrize("algorithm", [gdl_u, agdl])
def test_merges_do_not_depend_on_the_number_of_threads(algorithm):
    graph, labels = separate_blobs(3000)
    one = algorithm(graph, labels, n_jobs=1)
    for n_jobs in (2, 3, 7, -1):
        assert_equal_trees(one, algorithm(graph, labels, n_jobs=n_jobs))


def test_hub_with_edges_from_all_vertices_is_merged_exactly():
    n = 400
    w = np.zeros((n, n))
    w[1:, 0] = w[0, 1:] = np.random.default_rng(0).random(n - 1)
    graph = AffinityGraph.from_csr(w)
    assert_equal_trees(gdl(graph, np.arange(n)), gdl_u(graph, np.arange(n)), ROUNDING_ULP)


def test_merging_does_not_change_the_graph():
    graph, labels = separate_blobs(300)
    before = graph.weights.copy(), graph.indices.copy(), labels.copy()
    gdl_u(graph, labels)
    for array, copy in zip((graph.weights, graph.indices, labels), before, strict=True):
        np.testing.assert_array_equal(array, copy)


def test_progress_bar_is_shown(capsys):
    graph, labels = separate_blobs(300)
    assert_equal_trees(gdl_u(graph, labels), gdl_u(graph, labels, verbose=1))
    shown = capsys.readouterr().err
    assert "merging" in shown and "merge/s" in shown


def test_progress_bar_follows_the_merges_of_all_threads(monkeypatch):
    class Bar:
        n, shown = 0, ()

        def __enter__(self):
            return self

        def __exit__(self, *exception):
            pass

        def update(self, more):
            self.n += more
            self.shown += (self.n,)

    bar, rounds = Bar(), iter([(3, 1), (5, 4), (9, 9), None])

    def wait(futures, timeout):
        now = next(rounds)
        if now is not None:
            progress[:, 0] = now
        return SimpleNamespace(not_done=now)

    monkeypatch.setattr("tqdm.tqdm", lambda **_: bar)
    monkeypatch.setattr(merging, "wait", wait)
    progress = np.zeros((2, 2), np.int64)
    merging._show_progress([], progress, 12)
    assert bar.shown == (4, 9, 12, 12)  # never more than all


def test_too_many_edges_are_refused():
    graph = SimpleNamespace(n_samples=2, indices=np.broadcast_to(0, 2**30))
    with pytest.raises(ValueError, match=r"fewer than 2\*\*30 edges, got 1073741824"):
        gdl_u(graph, [0, 1])


@pytest.mark.parametrize("algorithm", [gdl, gdl_u, agdl])
@pytest.mark.parametrize(
    ("labels", "n_clusters", "message"),
    [
        ([0, 1], 1, r"initial_labels must have shape \(3,\), got \(2,\)"),
        ([0, 0, 2], 1, "without gaps, but 1 is missing"),
        ([-1, 0, 1], 1, "without gaps, got -1"),
        ([0, 1, 2], 0, "n_clusters must be an integer of at least 1, got 0"),
        ([0, 1, 2], 2.5, "n_clusters must be an integer of at least 1, got 2.5"),
        ([0.5, 1.5, 2.5], 1, "initial_labels must be integers, got 0.5"),
        ([0.0, 1.0, np.nan], 1, "initial_labels must be integers, got nan"),
        (["a", "b", "c"], 1, "initial_labels must be integers, got an array of <U1"),
    ],
)
def test_invalid_labels_and_numbers_are_refused(algorithm, labels, n_clusters, message):
    graph = AffinityGraph.from_csr(np.ones((3, 3)))
    with pytest.raises(ValueError, match=message):
        algorithm(graph, labels, n_clusters)


def test_invalid_options_are_refused():
    graph = AffinityGraph.from_csr(np.ones((3, 3)))
    with pytest.raises(ValueError, match=r"n_neighbor_clusters must be an integer of at least 1, got 2\.7"):
        agdl(graph, [0, 1, 2], n_neighbor_clusters=2.7)
    with pytest.raises(ValueError, match="n_jobs must be an integer, got '2'"):
        gdl_u(graph, [0, 1, 2], n_jobs="2")


def test_labels_may_be_whole_numbers_of_any_type():
    graph = AffinityGraph.from_csr(np.ones((3, 3)))
    for kind in (np.float32, np.uint8, np.int32):
        assert_equal_trees(gdl_u(graph, np.arange(3).astype(kind)), gdl_u(graph, [0, 1, 2]))


def test_edges_of_weight_zero_join_no_components():
    blocks, labels = np.kron(np.eye(3), np.ones((4, 4))), np.arange(12)
    without = AffinityGraph.from_csr(blocks)
    assert split(without, labels, 12)[0][:, 4].tolist() == [12, 12, 12]
    source, target = np.nonzero(1 - np.eye(12))
    graph = AffinityGraph(11 * np.arange(13), target, blocks[source, target])
    assert np.diff(split(graph, labels, 12)[0][:, :2]).ravel().tolist() == [4, 4, 4]
    assert_equal_trees(gdl_u(graph, labels), gdl_u(without, labels))
    assert_equal_trees(gdl_u(graph, labels), gdl(graph, labels))


def test_vertices_keep_their_order_within_each_component():
    part = np.random.default_rng(0).integers(0, 3, 40)
    graph = AffinityGraph.from_csr(np.equal.outer(part, part))
    parts, vertices, _ = split(graph, np.arange(40), 40)
    found = [vertices[first:end].tolist() for first, end in parts[:, :2]]
    assert found == [np.flatnonzero(part == p).tolist() for p in dict.fromkeys(part)]


def test_hash_table_holds_pairs_that_appear_while_merging():
    knn = knn_graph(np.random.default_rng(1).normal(size=(60, 10)), 4)  # 52 pairs at first, a table of 128
    graph, labels = affinity_graph(knn), initial_clusters(knn, 0)
    assert_equal_trees(gdl(graph, labels), gdl_u(graph, labels))
