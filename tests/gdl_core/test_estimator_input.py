"""Input of `fit`: distances, graphs with rows of any length, sparse samples, samples of any magnitude."""

import warnings

import numpy as np
import pytest
from graphs import same_partition
from scipy.sparse import csr_matrix
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.neighbors import kneighbors_graph, radius_neighbors_graph

from gdl_core import GraphDegreeLinkage

RNG = np.random.default_rng(0)
SAMPLES = RNG.normal(size=(120, 3))
BLOBS = np.concatenate([RNG.normal(size=(40, 2)) + 100 * c for c in range(6)])


def fit(x, **parameters):
    return GraphDegreeLinkage(**parameters).fit(x)


@pytest.mark.parametrize("value", [np.nan, np.inf, -1.0])
def test_invalid_distances_are_refused(value):
    d = cdist(SAMPLES, SAMPLES)
    d[3, 4] = value
    with pytest.raises(ValueError, match=r"NaN|infinity|>= 0, got -1.0"):
        fit(d, metric="precomputed")


@pytest.mark.parametrize("make", [np.asarray, csr_matrix])
def test_distances_slightly_below_zero_count_as_zero(make):
    d = cdist(SAMPLES, SAMPLES)
    d[3, 4] = d[4, 3] = 0.0
    expected = fit(d, n_clusters=3, metric="precomputed").labels_
    d[3, 4] = d[4, 3] = -4e-16
    with pytest.warns(UserWarning, match="below zero because of rounding, down to -4e-16, are taken as 0"):
        np.testing.assert_array_equal(fit(make(d), n_clusters=3, metric="precomputed").labels_, expected)
    assert d[3, 4] == -4e-16
    indices = np.argsort(d, axis=1, kind="stable")
    pair = indices, np.take_along_axis(d, indices, 1)
    with pytest.warns(UserWarning, match="below zero because of rounding, down to -4e-16, are taken as 0"):
        np.testing.assert_array_equal(fit(pair, n_clusters=3, metric="precomputed").labels_, expected)


@pytest.mark.parametrize("scale", [1e-200, 1e-100, 1e-30, 1e100, 1e160, 1e300])
@pytest.mark.parametrize("metric", ["euclidean", "cosine", "manhattan", "precomputed"])
def test_scale_does_not_matter(scale, metric):
    x = cdist(SAMPLES, SAMPLES) if metric == "precomputed" else SAMPLES
    expected, found = (fit(y, n_clusters=3, metric=metric) for y in (x, x * scale))
    np.testing.assert_array_equal(found.labels_, expected.labels_)
    np.testing.assert_array_equal(found.predict(x[:9] * scale), expected.predict(x[:9]))


@pytest.mark.parametrize("scale", [1e-30, 1e30])
def test_scale_does_not_matter_in_float32(scale):
    expected = fit(SAMPLES.astype(np.float32), n_clusters=3).labels_
    np.testing.assert_array_equal(fit((SAMPLES * scale).astype(np.float32), n_clusters=3).labels_, expected)


def test_sample_weights_are_refused():
    with pytest.raises(TypeError, match="sample_weight"):
        GraphDegreeLinkage().fit(SAMPLES, sample_weight=np.ones(120))


def test_sparse_graph_with_too_few_entries_is_refused():
    graph = kneighbors_graph(SAMPLES, 20, mode="distance", include_self=True)
    with pytest.raises(ValueError, match=r"20 neighbours are required .* row 0 .* only 19 entries"):
        fit(graph, n_neighbors=20, metric="precomputed")


def ragged_blobs():
    """Make three blobs -> the graph of all pairs nearer than 1.2, with rows of any length, and blobs (n,)."""
    x, y = make_blobs(300, centers=[[0, 0], [9, 0], [4, 8]], random_state=1)
    graph = radius_neighbors_graph(x, 1.2, mode="distance")
    counts = np.diff(graph.indptr)
    assert counts.min() < 10 < 40 < counts.max()
    return graph, y


def test_rows_of_a_sparse_graph_may_have_any_length():
    graph, y = ragged_blobs()
    model = fit(graph, metric="precomputed")
    held = np.minimum(np.diff(graph.indptr), 30)
    np.testing.assert_array_equal(np.diff(model.graph_.indptr), held)
    joined = model.labels_ >= 0
    assert joined.mean() > 0.95
    assert same_partition(model.labels_[joined], y[joined])
    with pytest.raises(ValueError, match=r"20 neighbours are required .*leave it out"):
        fit(graph, n_neighbors=20, metric="precomputed")


def test_rows_of_a_pair_may_end_in_minus_one():
    graph, _ = ragged_blobs()
    counts = np.diff(graph.indptr)
    indices, distances = np.full((300, 30), -1), np.full((300, 30), 3.4e38)  # as faiss fills them
    for i, row in enumerate(np.split(np.arange(len(graph.data)), graph.indptr[1:-1])):
        order = row[np.argsort(graph.data[row], kind="stable")][:30]
        indices[i, : len(order)], distances[i, : len(order)] = graph.indices[order], graph.data[order]
    pair = fit((indices, distances), metric="precomputed")
    sparse = fit(graph, metric="precomputed")
    np.testing.assert_array_equal(np.diff(pair.graph_.indptr), np.minimum(counts, 30))
    np.testing.assert_array_equal(pair.graph_.weights, sparse.graph_.weights)
    np.testing.assert_array_equal(pair.labels_, sparse.labels_)


@pytest.mark.parametrize("n_clusters", [None, 2, 5])
def test_samples_without_neighbours_get_no_label(n_clusters):
    graph, y = ragged_blobs()
    graph = graph.tolil()
    graph[7] = 0  # it has no neighbours, and is nobody's neighbour
    graph[:, 7] = 0
    graph = csr_matrix(graph)
    graph.eliminate_zeros()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = fit(graph, n_clusters=n_clusters, metric="precomputed")
    assert model.labels_[7] == -1
    assert model.n_clusters_ == max(3, n_clusters or 3)
    joined = model.labels_ >= 0
    blobs_of = {(c, b) for c, b in zip(model.labels_[joined].tolist(), y[joined].tolist(), strict=True)}
    assert len(blobs_of) == model.n_clusters_  # no cluster holds samples of two blobs


@pytest.mark.filterwarnings("ignore:n_clusters=2")
def test_stored_zeros_are_distances_and_missing_entries_are_not():
    x = np.repeat(make_blobs(60, centers=[[0, 0], [30, 0]], random_state=0)[0], 4, axis=0)
    y = np.repeat(make_blobs(60, centers=[[0, 0], [30, 0]], random_state=0)[1], 4)
    graph = kneighbors_graph(x, 12, mode="distance")
    assert (graph.data == 0).sum() == 240 * 3
    stored = fit(graph, n_clusters=2, metric="precomputed")
    assert len(stored.graph_.indices) == 240 * 12
    graph.eliminate_zeros()
    dropped = fit(graph, n_clusters=2, metric="precomputed")
    assert len(dropped.graph_.indices) == 240 * 9
    assert same_partition(stored.labels_, y)
    assert same_partition(dropped.labels_, y)


def test_graph_without_edges_leaves_each_sample_alone():
    with pytest.warns(UserWarning, match="n_clusters=1"):
        labels = fit(csr_matrix((5, 5)), n_clusters=1, metric="precomputed").labels_
    assert len(set(labels.tolist())) == 5


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_sparse_samples_are_clustered_without_settings(metric):
    rng = np.random.default_rng(0)
    words = rng.poisson(np.repeat(2.0 * (np.arange(90) // 30 == np.arange(3)[:, None]) + 0.05, 50, axis=0))
    model = fit(csr_matrix(words.astype(float)), metric=metric)
    assert same_partition(model.labels_, np.repeat([0, 1, 2], 50))
    np.testing.assert_array_equal(model.labels_, fit(words.astype(float), metric=metric).labels_)


def test_transform_makes_a_table_of_memberships():
    pandas = pytest.importorskip("pandas")
    model = fit(BLOBS, n_clusters=6).set_output(transform="pandas")
    table = model.transform(pandas.DataFrame(BLOBS[:5], index=list("abcde")).to_numpy())
    assert list(table.columns) == [f"graphdegreelinkage{c}" for c in range(6)]
    np.testing.assert_array_equal(table.to_numpy(), model.predict_memberships(BLOBS[:5]))
    assert model.get_feature_names_out().tolist() == list(table.columns)


def test_parameters_survive_a_round_trip():
    changed = {"n_clusters": 3, "bandwidth": 2.0, "min_cluster_size": 5, "weights": "paths", "n_jobs": 2}
    model = GraphDegreeLinkage(**changed)
    assert {name: model.get_params()[name] for name in changed} == changed
    again = GraphDegreeLinkage().set_params(**model.get_params())
    assert again.get_params() == model.get_params() == clone(model).get_params()
    assert model.fit(SAMPLES).get_params() == again.get_params()  # fit changes none
