"""Memberships and new samples: the definitions, blobs, awkward input."""

import numpy as np
import pytest
from graphs import any_problems
from hypothesis import given, settings
from scipy.sparse import csr_matrix
from scipy.spatial.distance import cdist
from sklearn.datasets import make_blobs
from sklearn.exceptions import NotFittedError

from gdl_core import GraphDegreeLinkage
from gdl_core.prediction import conductances, graph_memberships, weigh_neighbours

X, Y = make_blobs(400, centers=[[0, 0], [7, 0], [3, 8]], random_state=0)
NEW, NEW_Y = make_blobs(200, centers=[[0, 0], [7, 0], [3, 8]], random_state=1)


@given(any_problems(20))
@settings(max_examples=50, deadline=None)
def test_memberships_and_conductances_are_the_definition(problem):
    graph, labels = problem
    w = graph.to_csr().toarray()
    w = w + w.T
    shares, cut = graph_memberships(graph, labels), conductances(graph, labels)
    for i, own in enumerate(labels.tolist()):
        sums = np.array([w[i, labels == c].sum() for c in range(labels.max() + 1)])
        expected = sums / sums.sum() if sums.sum() else np.arange(len(sums)) == own
        np.testing.assert_allclose(shares[i], expected, atol=1e-12)
    for c in range(labels.max() + 1):
        volume, leaving = w[labels == c].sum(), w[np.ix_(labels == c, labels != c)].sum()
        np.testing.assert_allclose(cut[c], leaving / volume if volume else 0, atol=1e-12)


def test_weights_of_neighbours_by_hand():
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


def test_new_samples_of_blobs():
    model = GraphDegreeLinkage().fit(X)
    first = [int(model.labels_[c == Y][0]) for c in range(3)]
    assert (model.predict(NEW) == np.array(first)[NEW_Y]).mean() > 0.99
    shares = model.predict_memberships(NEW)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    np.testing.assert_array_equal(shares.argmax(axis=1), model.predict(NEW))
    assert model.memberships().shape == (400, 3)
    assert (model.memberships().argmax(axis=1) == model.labels_).mean() > 0.99
    assert (model.conductances_ < 0.05).all()


def test_new_samples_by_distances_and_sparse_ones_are_the_same():
    direct = GraphDegreeLinkage(3).fit(X).predict(NEW)
    given_distances = GraphDegreeLinkage(3, metric="precomputed").fit(cdist(X, X))
    np.testing.assert_array_equal(given_distances.predict(cdist(NEW, X)), direct)
    np.testing.assert_array_equal(GraphDegreeLinkage(3).fit(csr_matrix(X)).predict(csr_matrix(NEW)), direct)
    with pytest.raises(ValueError, match=r"must be a dense .* got a sparse matrix"):
        given_distances.predict(csr_matrix(cdist(NEW, X)))


def test_outliers_have_no_members():
    model = GraphDegreeLinkage(3).fit(X)
    model.labels_ = np.full(400, -1)
    np.testing.assert_array_equal(model.predict(NEW), np.full(200, -1))


def test_before_a_fit():
    for call in (lambda m: m.predict(NEW), lambda m: m.memberships()):
        with pytest.raises(NotFittedError):
            call(GraphDegreeLinkage())
