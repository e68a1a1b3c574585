import numpy as np
import pytest
from graphs import plain_neighbours
from scipy.sparse import csr_matrix, random_array
from scipy.spatial.distance import cdist

from gdl_core import GraphDegreeLinkage, knn_graph

COUNTS = random_array((150, 40), density=0.2, rng=np.random.default_rng(0), format="csr")


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_neighbours_equal_those_of_all_distances(metric):
    dense = COUNTS.toarray()
    dense = dense[dense.any(axis=1)]
    found = knn_graph(csr_matrix(dense), 7, metric=metric)
    indices, distances = plain_neighbours(cdist(dense, dense, metric), 7)
    np.testing.assert_array_equal(found.indices, indices)
    np.testing.assert_allclose(found.distances, distances, rtol=1e-7)


def test_equal_rows_and_rows_of_zeros_are_at_distance_zero():
    x = csr_matrix(np.array([[1.0, 2, 0], [2, 4, 0], [0, 0, 0], [0, 0, 0], [0, 0, 5.0]]))
    near = knn_graph(x, 4, metric="cosine")
    np.testing.assert_allclose(near.distances[[0, 2]], [[0, 1, 1, 1]] * 2, rtol=1e-15)
    assert (near.distances[[0, 2], 0] == 0).all()
    assert near.indices[2, 0] == 3
    assert knn_graph(x, 4, metric="euclidean").distances[3, 0] == 0


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_sparse_samples_in_single_precision_have_the_neighbours_of_double_precision(metric):
    for seed in range(40):
        rng = np.random.default_rng(seed)
        x = random_array((300, 400), density=0.03, rng=rng, format="csr", dtype=np.float32)
        x.data[:] = 100 + 0.01 * rng.random(x.nnz)  # distances that differ in their last digits
        x = csr_matrix(x)
        single, double = (knn_graph(a, 10, metric=metric) for a in (x, x.astype(np.float64)))
        np.testing.assert_array_equal(single.indices, double.indices)
        np.testing.assert_array_equal(single.distances, double.distances)


def test_ties_of_sparse_samples_are_settled_by_the_index():
    x = np.eye(30)[np.random.default_rng(0).integers(0, 30, 90)]
    found, dense = knn_graph(csr_matrix(x), 8), knn_graph(x, 8)
    np.testing.assert_array_equal(found.indices, dense.indices)
    np.testing.assert_array_equal(found.distances, dense.distances)


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_sparse_and_dense_samples_have_the_same_clusters(metric):
    rng = np.random.default_rng(1)
    topics = rng.dirichlet(np.full(60, 0.05), 4)
    x = np.stack([rng.multinomial(80, topics[i % 4]) for i in range(200)]).astype(float)
    x += rng.random(x.shape) * (x > 0)  # no ties
    p, q = (GraphDegreeLinkage(4, metric=metric).fit(a) for a in (x, csr_matrix(x)))
    np.testing.assert_array_equal(p.labels_, q.labels_)
    np.testing.assert_array_equal(p.labels_, np.arange(200) % 4)
