"""Exact neighbours of samples: many ties, other metrics, any number of threads."""

import numpy as np
import pytest
from graphs import KINDS, plain_neighbours, samples
from scipy.spatial.distance import cdist
from sklearn.neighbors import NearestNeighbors
from threadpoolctl import threadpool_limits

from gdl_core import knn_graph
from gdl_core import neighbors as neighbors_module
from gdl_core._search import exact_search

RNG = np.random.default_rng(0)
COUNTS = RNG.poisson(0.3, size=(800, 40)).astype(float)
COUNTS = COUNTS[np.ptp(COUNTS, axis=1) > 0]


@pytest.fixture
def searches(monkeypatch):
    """List (rows, neighbours) of each search by scikit-learn."""
    calls = []

    def record_search(self, x, k, kneighbors=NearestNeighbors.kneighbors):
        calls.append((len(x), k))
        return kneighbors(self, x, k)

    def no_radius(self, *args):
        raise AssertionError("one search for a radius for each row is slow")

    monkeypatch.setattr(NearestNeighbors, "kneighbors", record_search)
    monkeypatch.setattr(NearestNeighbors, "radius_neighbors", no_radius)
    return calls


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("k", [6, 7])
@pytest.mark.parametrize("metric", ["euclidean", "chebyshev"])
def test_tied_rows_are_searched_together(metric, dtype, k, searches):
    x = np.repeat(RNG.normal(size=(300, 20)).astype(dtype), 2, axis=0)  # K = 6 cuts a pair in two
    knn = knn_graph(x, k, metric=metric)
    indices, distances = plain_neighbours(cdist(x, x, metric), k)
    np.testing.assert_array_equal(knn.indices, indices)
    rtol = 1e-6 if (metric, dtype) == ("chebyshev", np.float32) else 1e-12
    np.testing.assert_allclose(knn.distances, distances, rtol=rtol)
    assert len(searches) <= 2


@pytest.mark.parametrize("metric", ["euclidean", "l1", "chebyshev"])
def test_many_equal_distances_are_searched_in_blocks(metric, monkeypatch, searches):
    monkeypatch.setattr(exact_search, "_MAX_CANDIDATES", 1000)
    x = np.eye(200)
    knn = knn_graph(x, 5, metric=metric)
    np.testing.assert_array_equal(knn.indices, plain_neighbours(1 - np.eye(200), 5)[0])
    assert all((rows - 1) * k <= 1000 for rows, k in searches[1:])  # never n x n


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("metric", ["euclidean", "sqeuclidean", "cosine"])
def test_sparse_and_dense_searches_give_the_same_bits(metric, dtype, monkeypatch):
    x = np.where(RNG.random((150, 403)) < 0.01, RNG.integers(-2, 4, (150, 403)) / 3, 0).astype(dtype)
    x[:20] = x[20:40]  # some equal, some nothing but zeros
    x[40:50] = 0
    sparse = knn_graph(x, 6, metric=metric, n_jobs=2)
    assert exact_search.make_search(x, metric, 1).func is exact_search.search_sparse
    monkeypatch.setattr(exact_search, "_SPARSE_RATIO", np.inf)
    dense = knn_graph(x, 6, metric=metric)
    np.testing.assert_array_equal(sparse.indices, dense.indices)
    np.testing.assert_array_equal(sparse.distances, dense.distances)


def test_indicators_are_searched_once(searches):
    """All others are at one distance, so a search by products would have to compare all of them."""
    x = np.eye(300)
    np.testing.assert_array_equal(knn_graph(x, 5).indices, plain_neighbours(1 - x, 5)[0])
    assert searches == []
    knn_graph(x, 5, metric="chebyshev")
    assert len(searches) == 2


@pytest.mark.parametrize("metric", ["euclidean", "chebyshev"])
def test_equal_rows_are_searched_once(metric, searches):
    x = np.repeat(np.array([[0.0, 1.0], [5.0, 5.0]]), 500, axis=0)
    knn = knn_graph(x, 4, metric=metric)
    expected = plain_neighbours(cdist(x, x), 4)[0]
    np.testing.assert_array_equal(knn.indices, expected)
    assert all(rows <= 2 for rows, _ in searches[1:])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("d", "rank"), [(3, 3), (12, 12), (80, 4)])  # rank 4 of 80 features is projected
def test_no_neighbour_is_missed_across_cells(kind, d, rank, dtype, monkeypatch):
    monkeypatch.setattr(exact_search, "CELL_SIZE", 8)
    x = samples(kind, 250, rank, RNG)
    x = (x @ RNG.normal(size=(x.shape[1], d)) + 5).astype(dtype)
    knn = knn_graph(x, 9)
    every = np.broadcast_to(np.arange(len(x)), (len(x), len(x)))
    every_distance = exact_search.make_space(x, "euclidean", 1).distances(np.arange(len(x)), every)
    indices, distances = plain_neighbours(every_distance, 9)
    np.testing.assert_array_equal(knn.indices, indices)
    np.testing.assert_array_equal(knn.distances, distances)


METRICS = ("euclidean", "sqeuclidean", "minkowski", "nan_euclidean", "cosine", "correlation")


@pytest.mark.parametrize("metric", [*METRICS, "l1", "chebyshev", "canberra", "braycurtis", "hamming"])
def test_neighbours_do_not_depend_on_the_number_of_threads(metric, monkeypatch):
    one = knn_graph(COUNTS, 10, metric=metric)
    monkeypatch.setattr(neighbors_module, "_BLOCK_ROWS", 500)
    with threadpool_limits(1):
        others = [knn_graph(COUNTS, 10, metric=metric)]
    others += [knn_graph(COUNTS, 10, metric=metric, n_jobs=n_jobs) for n_jobs in (2, 3)]
    for other in others:
        np.testing.assert_array_equal(one.indices, other.indices)
        np.testing.assert_array_equal(one.distances, other.distances)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("k", [6, 40])
def test_equal_rows_are_at_distance_zero_in_the_order_of_indices(metric, k):
    value = np.repeat(np.arange(20), 30)[RNG.permutation(600)]
    knn = knn_graph(RNG.normal(size=(20, 37))[value], k, metric=metric)
    equal = value[:, None] == value
    np.fill_diagonal(equal, False)
    expected = np.array([np.flatnonzero(row)[:6] for row in equal])
    np.testing.assert_array_equal(knn.indices[:, :6], expected)
    assert (knn.distances[:, : min(k, 29)] == 0).all() and (knn.distances[:, 29:] > 0).all()


@pytest.mark.parametrize("metric", ["cosine", "correlation"])
def test_angular_distances_equal_those_of_scipy(metric):
    x = RNG.normal(size=(300, 12)) * 10.0 ** RNG.integers(-170, 170, size=(300, 1))  # squares overflow
    x[::3] += 3 * np.abs(x[::3]).max(axis=1, keepdims=True)
    knn = knn_graph(x, 8, metric=metric)
    indices, distances = plain_neighbours(cdist(*[x / np.abs(x).max(axis=1, keepdims=True)] * 2, metric), 8)
    np.testing.assert_array_equal(knn.indices, indices)
    np.testing.assert_allclose(knn.distances, distances, atol=1e-14)


def test_cosine_distance_is_zero_for_parallel_rows_and_one_for_zeros():
    x = np.array([[1.0, 1, 0], [0, 0, 0], [3, 3, 0], [7, 7, 0], [0, 0, 2], [0, 0, 0]])
    knn = knn_graph(x, 5, metric="cosine")
    np.testing.assert_array_equal(knn.indices[0], [2, 3, 1, 4, 5])
    np.testing.assert_array_equal(knn.distances[0], [0, 0, *knn.distances[0, 2:]])
    np.testing.assert_allclose(knn.distances[0, 2:], 1)
    np.testing.assert_array_equal(knn.indices[1, 0], 5)
    np.testing.assert_allclose(knn.distances[1], [0, 1, 1, 1, 1])


def test_correlation_refuses_a_constant_row():
    x = RNG.normal(size=(20, 4))
    x[7] = 0.1
    with pytest.raises(ValueError, match='"correlation" needs rows that are not constant, but row 7 of X is'):
        knn_graph(x, 3, metric="correlation")


def test_sqeuclidean_distances_are_squares():
    x = RNG.normal(size=(80, 5))
    knn = knn_graph(x, 4, metric="sqeuclidean")
    np.testing.assert_array_equal(knn.distances, knn_graph(x, 4).distances ** 2)
