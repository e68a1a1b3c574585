"""Memberships and new samples: the definitions, blobs, awkward input."""

import numpy as np
import pytest
from graphs import any_problems
from hypothesis import given, settings
from scipy.sparse import csr_matrix
from scipy.spatial.distance import cdist
from sklearn.datasets import make_blobs
from sklearn.exceptions import NotFittedError
from sklearn.neighbors import kneighbors_graph

from gdl_core import GraphDegreeLinkage, MergeTree
from gdl_core.prediction import conductances, graph_memberships, persistences, weigh_neighbours

X, Y = make_blobs(400, centers=[[0, 0], [7, 0], [3, 8]], random_state=0)
NEW, NEW_Y = make_blobs(200, centers=[[0, 0], [7, 0], [3, 8]], random_state=1)


@given(any_problems(20))
@settings(max_examples=50, deadline=None)
def test_memberships_and_conductances_equal_the_definition(problem):
    graph, labels = problem
    w = graph.to_csr().toarray()
    w = w + w.T
    shares, cut = graph_memberships(graph, labels), conductances(graph, labels)
    for i, cluster in enumerate(labels.tolist()):
        sums = np.array([w[i, labels == c].sum() for c in range(labels.max() + 1)])
        expected = sums / sums.sum() if sums.sum() else np.arange(len(sums)) == cluster
        np.testing.assert_allclose(shares[i], expected, atol=1e-12)
    for c in range(labels.max() + 1):
        volume, leaving = w[labels == c].sum(), w[np.ix_(labels == c, labels != c)].sum()
        np.testing.assert_allclose(cut[c], leaving / volume if volume else 0, atol=1e-12)


def test_shares_of_neighbours_equal_hand_computed_values():
    labels = np.array([0, 1, -1])
    found = weigh_neighbours(
        np.array([[0, 1], [1, 2], [2, 2]]), np.array([[1.0, 2.0], [0, 9], [1, 1]]), labels, 3.0
    )
    e = np.exp(-1.0)  # (4 - 1) / 3 more
    np.testing.assert_allclose(found, [[1 / (1 + e), e / (1 + e)], [0, 1], [0, 0]])
    far = weigh_neighbours(np.array([[0, 1]]), np.array([[1e9, 1e9 + 100]]), labels, 1.0)
    np.testing.assert_allclose(far, [[1.0, 0.0]])
    same = weigh_neighbours(np.array([[0, 1]]), np.zeros((1, 2)), labels, 0.0)
    np.testing.assert_allclose(same, [[0.5, 0.5]])


def test_new_samples_get_the_label_of_their_blob():
    model = GraphDegreeLinkage().fit(X)
    first = [int(model.labels_[c == Y][0]) for c in range(3)]
    assert (model.predict(NEW) == np.array(first)[NEW_Y]).mean() > 0.99
    shares = model.predict_memberships(NEW)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    np.testing.assert_array_equal(shares.argmax(axis=1), model.predict(NEW))
    assert model.memberships().shape == (400, 3)
    assert (model.memberships().argmax(axis=1) == model.labels_).mean() > 0.99
    assert (model.conductances_ < 0.05).all()


def test_prediction_accepts_distances_and_sparse_samples():
    direct = GraphDegreeLinkage(3).fit(X).predict(NEW)
    given_distances = GraphDegreeLinkage(3, metric="precomputed").fit(cdist(X, X))
    np.testing.assert_array_equal(given_distances.predict(cdist(NEW, X)), direct)
    np.testing.assert_array_equal(GraphDegreeLinkage(3).fit(csr_matrix(X)).predict(csr_matrix(NEW)), direct)
    np.testing.assert_array_equal(given_distances.predict(csr_matrix(cdist(NEW, X))), direct)


def test_prediction_accepts_a_sparse_graph_of_neighbours():
    model = GraphDegreeLinkage(3, metric="precomputed").fit(kneighbors_graph(X, 30, mode="distance"))
    d = cdist(NEW, X)
    near = np.argsort(d, axis=1)[:, :40]  # more than K
    rows = np.repeat(np.arange(len(NEW)), 40)
    graph = csr_matrix((np.take_along_axis(d, near, 1).ravel(), (rows, near.ravel())), d.shape)
    np.testing.assert_array_equal(model.predict_memberships(graph), model.predict_memberships(d))
    graph = csr_matrix(([0.0, 3.0, 1.0], ([1, 1, 2], [7, 8, 9])), (3, 400))  # a stored zero, an empty row
    assert model.predict(graph).tolist() == [-1, model.labels_[7], model.labels_[9]]


def test_persistences_equal_hand_computed_values():
    # samples 0 1 | 2 3 | 4
    tree = MergeTree(np.arange(5), np.array([[0, 1], [2, 3], [5, 6], [4, 7]]), np.array([1, 0.1, 0.02, 0]))
    np.testing.assert_allclose(persistences(tree, np.array([0, 0, 1, 1, 2])), [1 - 0.02, 1 - 0.2, 1])
    np.testing.assert_allclose(persistences(tree, np.array([0, 0, 0, 1, -1])), [1, 1 - 0.1])  # 0 1 2 3
    assert persistences(tree, np.zeros(5, np.int64)).tolist() == [0]  # completed without affinity
    assert len(persistences(tree, np.full(5, -1))) == 0


def test_separate_clusters_last_longer():
    def shortest(apart):
        centres = apart * np.array([[0, 0], [1, 0], [0, 1]])
        x = make_blobs(300, centers=centres, random_state=0)[0]
        return GraphDegreeLinkage(3).fit(x).persistences().min()

    assert shortest(4) < shortest(6) < shortest(20) == 1


def test_outliers_have_no_members():
    model = GraphDegreeLinkage(3).fit(X)
    model.labels_ = np.full(400, -1)
    np.testing.assert_array_equal(model.predict(NEW), np.full(200, -1))


def test_prediction_needs_a_fit():
    for call in (lambda m: m.predict(NEW), lambda m: m.memberships(), lambda m: m.persistences()):
        with pytest.raises(NotFittedError):
            call(GraphDegreeLinkage())
