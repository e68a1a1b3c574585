"""Neighbour search, edge weights, initial clusters."""

import numpy as np
import pytest
from graphs import KINDS, plain_neighbours, same_partition, samples
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import coo_matrix, csr_matrix
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import cdist
from sklearn.neighbors import KNeighborsTransformer, kneighbors_graph

from gdl_core import AffinityGraph, KnnGraph, affinity_graph, initial_clusters, knn_graph
from gdl_core import neighbors as neighbors_module


@given(st.sampled_from(KINDS), st.integers(3, 80), st.integers(1, 20), st.integers(0, 2**32 - 1))
@settings(max_examples=80, deadline=None)
def test_exact_search_equals_sorting_all_distances(kind, n, d, seed):
    rng = np.random.default_rng(seed)
    x = samples(kind, n, d, rng)
    if kind in ("line", "grid"):
        x = np.round(x * 1000)  # distances that tie in real numbers tie in float64
    n, k = len(x), min(len(x) - 1, 7)
    knn = knn_graph(x, k)
    indices, distances = plain_neighbours(cdist(x, x), k)
    np.testing.assert_allclose(knn.distances, distances, rtol=1e-12)
    np.testing.assert_array_equal(knn.indices, indices)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_search_far_from_the_origin_keeps_its_digits(dtype):
    x = np.random.default_rng(0).integers(0, 50, size=(200, 20)).astype(dtype)
    far = knn_graph(x + dtype(2**17), 5)
    near = knn_graph(x, 5)
    np.testing.assert_array_equal(far.indices, near.indices)
    np.testing.assert_array_equal(far.distances, near.distances)


@pytest.mark.parametrize("separation", [1e6, 3e7, 1e10])
def test_search_is_exact_in_tight_clusters_far_apart(separation):
    x = np.random.default_rng(0).normal(size=(300, 10))
    x[::2] += separation
    knn = knn_graph(x, 7)
    indices, distances = plain_neighbours(cdist(x, x), 7)
    np.testing.assert_array_equal(knn.indices, indices)
    np.testing.assert_allclose(knn.distances, distances, rtol=1e-12)


@pytest.mark.parametrize("metric", ["manhattan", "cosine", "chebyshev"])
def test_search_by_other_metrics_equals_scipy(metric):
    x = np.random.default_rng(1).normal(size=(120, 4))
    knn = knn_graph(x, 6, metric=metric)
    scipy_name = {"manhattan": "cityblock"}.get(metric, metric)
    indices, distances = plain_neighbours(cdist(x, x, scipy_name), 6)
    np.testing.assert_array_equal(knn.indices, indices)
    np.testing.assert_allclose(knn.distances, distances, rtol=1e-9)


def test_blocks_threads_and_progress_change_nothing(monkeypatch, capsys):
    x = np.random.default_rng(2).integers(0, 6, size=(1500, 3)).astype(float)
    whole = knn_graph(x, 9)
    monkeypatch.setattr(neighbors_module, "_BLOCK_ROWS", 400)
    for options in ({"n_jobs": 1}, {"n_jobs": 2}, {"n_jobs": -1, "verbose": 1}):
        blocks = knn_graph(x, 9, **options)
        np.testing.assert_array_equal(whole.indices, blocks.indices)
        np.testing.assert_array_equal(whole.distances, blocks.distances)
    assert "neighbours" in capsys.readouterr().err


@given(st.integers(2, 60), st.booleans(), st.integers(0, 2**32 - 1))
@settings(max_examples=40, deadline=None)
def test_dense_distances_give_the_nearest_with_ties(n, symmetric, seed):
    rng = np.random.default_rng(seed)
    d = rng.integers(0, 5, size=(n, n)).astype(float)
    d = (d + d.T) / 2 if symmetric else d
    k = int(rng.integers(1, n))
    knn = knn_graph(d, k, metric="precomputed")
    indices, distances = plain_neighbours(d, k)
    np.testing.assert_array_equal(knn.indices, indices)
    np.testing.assert_array_equal(knn.distances, distances)


@pytest.mark.parametrize("include_self", [True, False])
def test_diagonal_of_sparse_distances_is_ignored(include_self):
    x = np.random.default_rng(3).normal(size=(90, 3))
    graph = kneighbors_graph(x, 12 + include_self, mode="distance", include_self=include_self)
    direct, sparse = knn_graph(x, 10), knn_graph(graph, 10, metric="precomputed")
    np.testing.assert_array_equal(direct.indices, sparse.indices)
    np.testing.assert_allclose(direct.distances, sparse.distances)


def test_sparse_rows_may_be_unsorted_and_of_different_length():
    x = np.random.default_rng(4).normal(size=(60, 2))
    d = cdist(x, x)
    rows, columns = np.nonzero((d < 1.5) | (d <= np.sort(d, axis=1)[:, 5:6]))
    order = np.random.default_rng(5).permutation(len(rows))
    graph = csr_matrix((d[rows, columns][order], (rows[order], columns[order])), d.shape)
    indices, distances = plain_neighbours(d, 5)
    knn = knn_graph(graph, 5, metric="precomputed")
    np.testing.assert_array_equal(knn.indices, indices)
    np.testing.assert_array_equal(knn.distances, distances)


def test_sparse_rows_with_unsorted_columns_break_ties_by_index():
    indices, distances = [2, 1, 3, 3, 0, 2, 0, 1, 3, 2, 0, 1], [1.0, 1, 1] * 4  # ties go to the smaller index
    graph = csr_matrix((distances, indices, [0, 3, 6, 9, 12]), (4, 4))
    knn = knn_graph(graph, 2, metric="precomputed")
    np.testing.assert_array_equal(knn.indices, [[1, 2], [0, 2], [0, 1], [0, 1]])
    assert not graph.has_sorted_indices  # the caller's matrix is left as it was
    rows = csr_matrix((distances[:11], [3, 1, 2, *indices[3:11]], [0, 3, 6, 9, 11]), (4, 4))  # unlike lengths
    np.testing.assert_array_equal(knn_graph(rows, 2, metric="precomputed").indices[:3], knn.indices[:3])


def test_stored_zeros_between_duplicates_are_neighbours():
    x = np.repeat(np.arange(10.0), 4)[:, None]
    graph = KNeighborsTransformer(n_neighbors=5).fit_transform(x)
    knn = knn_graph(graph, 3, metric="precomputed")
    assert (knn.distances == 0).all()
    assert same_partition(np.repeat(np.arange(10), 4), initial_clusters(knn))


@pytest.mark.parametrize(
    ("x", "options", "message"),
    [
        (np.zeros((10, 2)), {"n_neighbors": 12}, r"n_neighbors must be in \[1, 9\] for 10 samples, got 12"),
        (np.zeros((10, 2)), {"n_neighbors": 0}, r"n_neighbors must be in \[1, 9\]"),
        (np.full((4, 4), -1.0), {"n_neighbors": 1, "metric": "precomputed"}, ">= 0, got -1.0"),
        (np.zeros((4, 3)), {"n_neighbors": 1, "metric": "precomputed"}, r"square, got shape \(4, 3\)"),
        (np.full((4, 4), np.inf), {"n_neighbors": 1, "metric": "precomputed"}, "infinity"),
        (np.full((4, 4), np.nan), {"n_neighbors": 1}, "NaN"),
        (csr_matrix(np.eye(4)), {"n_neighbors": 1, "metric": "precomputed"}, "row 0 .* only 0 entries"),
        (
            csr_matrix(np.eye(4)),
            {"n_neighbors": 1, "metric": "l1"},
            """a sparse matrix needs metric 'euclidean', 'l2', 'cosine' or "precomputed", got 'l1'""",
        ),
        (np.zeros((4, 2)), {"n_neighbors": 1, "search": "best"}, "search must be"),
        (np.zeros((9, 2)), {"n_neighbors": 5.5}, "n_neighbors must be an integer, got 5.5"),
        (np.zeros((9, 2)), {"n_neighbors": 5, "metric": "seuclidean"}, "metric must be .*, got 'seuclidean'"),
        (np.zeros((9, 2)), {"n_neighbors": 5, "metric": "foo"}, "metric must be .*, got 'foo'"),
        (np.zeros((9, 2)), {"n_neighbors": 5, "n_jobs": 0}, "n_jobs must not be 0"),
    ],
)
def test_invalid_input_is_refused(x, options, message):
    with pytest.raises(ValueError, match=message):
        knn_graph(x, **options)


@pytest.mark.parametrize(
    ("indices", "distances", "message"),
    [
        ([[1], [0]], [[1.0]], "equal shapes"),
        ([[1], [2]], [[1.0], [1.0]], r"indices must be in \[0, 1\]"),
        ([[0], [0]], [[1.0], [1.0]], "row 0 must not hold 0 itself$"),
        ([[1], [0]], [[-1.0], [1.0]], "not negative, got -1"),
        ([[1, 2], [0, 2], [1, 0]], [[2.0, 1.0]] * 3, "sorted .*; row 0 is not"),
        ([[1, 1], [0, 2], [0, 1]], [[1.0, 1.0]] * 3, "row 0 must not hold 1 twice$"),
        ([[1, 1], [0, 2], [0, 1]], [[1.0, 2.0]] * 3, "row 0 must not hold 1 twice$"),
        ([[2, 1], [0, 2], [0, 1]], [[1.0, 1.0]] * 3, "sorted"),
        ([[1.7], [0.2]], [[1.0], [1.0]], "indices must be integers, got 1.7"),
        ([[2**32 + 1], [0]], [[1.0], [1.0]], r"indices must be in \[0, 1\], got 0 to 4294967297"),
    ],
)
def test_knn_graph_record_checks_itself(indices, distances, message):
    with pytest.raises(ValueError, match=message):
        KnnGraph(indices, distances)


@pytest.mark.parametrize(
    ("indptr", "indices", "weights", "message"),
    [
        ([0, 1, 2], [1, 500], [1.0, 1.0], r"indices must be in \[0, 1\], got 1 to 500"),
        ([0, 1, 2], [1, -1], [1.0, 1.0], r"indices must be in \[0, 1\], got -1 to 1"),
        ([0, 1, 2], [1, 0], [1.0], r"equal shapes \(nnz,\)"),
        ([0, 3, 2], [1, 0], [1.0, 1.0], "indptr must go from 0 to the number of edges, 2, without"),
        ([0, 1, 1], [1, 0], [1.0, 1.0], "indptr must go from 0 to the number of edges, 2, without"),
        ([], [], [], "indptr must go from 0"),
        (np.array([0, 3, 2], np.uint64), [1, 0], [1.0, 1.0], "indptr must go from 0"),
        ([0, 1.5, 2], [1, 0], [1.0, 1.0], "indptr must be integers, got 1.5"),
        ([0, 1, 2], [1, 0.5], [1.0, 1.0], "indices must be integers, got 0.5"),
        (
            [0, 2, 3],
            [1, 1, 0],
            [1.0] * 3,
            "row 0 must not hold 1 twice; AffinityGraph.from_csr drops .* and sums",
        ),
        ([0, 0, 0, 3], [1, 0, 1], [1.0] * 3, "row 2 must not hold 1 twice"),
        ([0, 1, 2], [1, 1], [1.0, 1.0], "row 1 must not hold 1 itself; AffinityGraph.from_csr drops"),
        ([0, 1, 2], [1, 0], [1.0, np.nan], r"weights must be in \[0, 1e\+100\], got nan"),
        ([0, 1, 2], [1, 0], [1.0, -0.5], r"weights must be in \[0, 1e\+100\], got -0.5"),
    ],
)
def test_affinity_graph_record_checks_itself(indptr, indices, weights, message):
    with pytest.raises(ValueError, match=message):
        AffinityGraph(np.array(indptr), np.array(indices), np.array(weights))


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=60, deadline=None)
def test_repeated_edges_are_refused_anywhere(seed):
    rng = np.random.default_rng(seed)
    n, nnz = int(rng.integers(2, 12)), int(rng.integers(0, 40))
    rows, columns = np.sort(rng.integers(0, n, nnz)), rng.integers(0, n, nnz)
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n))])
    edges = list(zip(rows.tolist(), columns.tolist(), strict=True))
    if len(set(edges)) == nnz and (rows != columns).all():
        AffinityGraph(indptr, columns, np.ones(nnz))
    else:
        with pytest.raises(ValueError, match="must not hold"):
            AffinityGraph(indptr, columns, np.ones(nnz))


def test_distances_with_infinite_squares_are_refused():
    with pytest.raises(ValueError, match="distances must be finite, got inf"):
        knn_graph(np.arange(30.0)[:, None], 3, metric=lambda a, b: np.inf if a[0] != b[0] else 0.0)
    with pytest.raises(ValueError, match=r"distances must be at most 1e\+150, got 1e\+155"):
        affinity_graph(KnnGraph(np.array([[1], [0]]), np.full((2, 1), 1e155)))


def test_weights_equal_equation_1():
    knn = knn_graph(np.array([[0.0], [1.0], [3.0], [7.0]]), 2)
    graph = affinity_graph(knn, 2.0)
    sigma2 = 2.0 / (4 * 2) * (1 + 9 + 1 + 4 + 4 + 9 + 16 + 36)
    assert graph.sigma2 == pytest.approx(sigma2)
    w = graph.to_csr().toarray()
    assert w[0, 1] == pytest.approx(np.exp(-1 / sigma2))
    assert w[3, 1] == pytest.approx(np.exp(-36 / sigma2))
    assert w[1, 3] == 0


def test_zero_sigma_gives_weight_one():
    graph = affinity_graph(knn_graph(np.ones((6, 2)), 3))
    assert graph.sigma2 == 0
    assert (graph.weights == 1).all()


@pytest.mark.parametrize(
    "options",
    [
        {"bandwidth": 0},
        {"bandwidth": np.nan},
        {"bandwidth": "x"},
    ],
)
def test_invalid_weighting_is_refused(options):
    with pytest.raises(ValueError, match=f"{next(iter(options))} must be"):
        affinity_graph(KnnGraph([[1], [0]], [[1.0], [1.0]]), **options)


@given(st.integers(2, 80), st.integers(0, 3), st.integers(0, 2**32 - 1))
@settings(max_examples=40, deadline=None)
def test_initial_clusters_equal_weak_components_of_scipy(n, k0, seed):
    knn = knn_graph(np.random.default_rng(seed).normal(size=(n, 2)), min(n - 1, 4))
    k0 = min(k0, knn.n_neighbors)
    rows = np.repeat(np.arange(n), k0)
    links = coo_matrix((np.ones(n * k0), (rows, knn.indices[:, :k0].ravel())), (n, n)).tocsr()
    labels = initial_clusters(knn, k0)
    assert same_partition(connected_components(links, connection="weak")[1], labels)
    first = [np.flatnonzero(labels == c)[0] for c in range(labels.max() + 1)]
    assert first == sorted(first)
    both = links.multiply(links.T)
    assert same_partition(connected_components(both)[1], initial_clusters(knn, k0, mutual=True))


def test_invalid_k0_is_refused():
    with pytest.raises(ValueError, match=r"n_initial_neighbors must be an integer, got 0\.5"):
        initial_clusters(KnnGraph([[1], [0]], [[1.0], [1.0]]), 0.5)
    with pytest.raises(ValueError, match=r"n_initial_neighbors must be in \[0, 1\], got 2"):
        initial_clusters(KnnGraph([[1], [0]], [[1.0], [1.0]]), 2)


def test_matrix_makes_an_affinity_graph():
    w = np.array([[5.0, 1, 0], [0, 0, 2], [0.5, 0, 0]])
    graph = AffinityGraph.from_csr(w)
    np.testing.assert_array_equal(graph.to_csr().toarray(), w - np.diag(np.diag(w)))
    twice = coo_matrix(([1.0, 0.5, 2.0], ([0, 0, 1], [1, 1, 0])), (2, 2))
    np.testing.assert_array_equal(AffinityGraph.from_csr(twice).weights, [1.5, 2])
    for bad in (np.ones((2, 3)), -np.ones((2, 2)), np.full((2, 2), np.nan), np.full((2, 2), 1e160)):
        with pytest.raises(ValueError, match="must be"):
            AffinityGraph.from_csr(bad)


def test_unknown_metrics_cannot_be_searched_approximately():
    x = np.random.default_rng(0).normal(size=(60, 12))
    for metric in ("l1", lambda a, b: np.abs(a - b).sum()):
        with pytest.raises(ValueError, match='search="approximate" takes the metrics euclidean, l2'):
            knn_graph(x, 5, metric=metric, search="approximate")
    assert knn_graph(x, 5, metric=lambda a, b: np.abs(a - b).sum()).n_neighbors == 5


def test_incomplete_rows_are_searched_exactly(monkeypatch):
    few = np.full((60, 6), -1, np.int32)
    monkeypatch.setattr(neighbors_module, "find_approximate_neighbours", lambda *a: few)
    x = np.random.default_rng(0).normal(size=(60, 12))
    near, exact = (knn_graph(x, 5, search=s) for s in ("approximate", "exact"))
    np.testing.assert_array_equal(near.indices, exact.indices)
    np.testing.assert_array_equal(near.distances, exact.distances)


def test_rows_may_have_fewer_than_k_neighbours():
    inf = np.inf
    knn = KnnGraph([[1, 2], [0, -1], [-1, -1]], [[1.0, 2.0], [1.0, inf], [inf, inf]])
    indptr, indices, distances = knn.edges()
    np.testing.assert_array_equal(indptr, [0, 2, 3, 3])
    np.testing.assert_array_equal(indices, [1, 2, 0])
    np.testing.assert_array_equal(distances, [1, 2, 1])
    graph = affinity_graph(knn)
    assert graph.sigma2 == 2.0  # the mean of 1, 4, 1
    np.testing.assert_allclose(graph.weights, np.exp([-0.5, -2, -0.5]))
    np.testing.assert_array_equal(initial_clusters(knn, 2), [0, 0, 0])
    np.testing.assert_array_equal(initial_clusters(knn, 2, mutual=True), [0, 0, 1])


@pytest.mark.parametrize(
    ("indices", "distances", "message"),
    [
        ([[1], [-1]], [[1.0], [5.0]], "if an index is -1, the distance must be infinite; in row 1"),
        ([[1], [0]], [[1.0], [np.inf]], "finite and not negative, got inf"),
        ([[-1, 1], [0, -1]], [[np.inf, 1.0], [1.0, np.inf]], "sorted"),
        ([[1], [-2]], [[1.0], [np.inf]], "indices must be in"),
    ],
)
def test_invalid_short_rows_are_refused(indices, distances, message):
    with pytest.raises(ValueError, match=message):
        KnnGraph(indices, distances)
