"""The approximate search: recall, equal bits for any number of threads, awkward points."""

import numpy as np
import pytest
from graphs import same_partition
from sklearn.datasets import make_blobs

from gdl_core import GraphDegreeLinkage, knn_graph
from gdl_core import neighbors as neighbors_module
from gdl_core._search import cell_search
from gdl_core._search.cell_search import find_approximate_neighbours


@pytest.fixture
def small_cells(monkeypatch):
    """Make many cells, and cells of cells, of few points."""
    monkeypatch.setattr(cell_search, "CELL_SIZE", 40)
    monkeypatch.setattr(cell_search, "MAX_BRUTE_FORCE", 64)


def recall(near, exact):
    both = [len(set(a) & set(b)) for a, b in zip(near.indices.tolist(), exact.indices.tolist(), strict=True)]
    return np.mean(both) / exact.n_neighbors


def search_both_ways(x, k, metric="euclidean"):
    return (knn_graph(x, k, metric=metric, search=search) for search in ("approximate", "exact"))


@pytest.mark.parametrize(
    ("n_features", "metric"), [(9, "euclidean"), (16, "sqeuclidean"), (16, "cosine"), (12, "correlation")]
)
def test_recall_is_high_with_few_features(n_features, metric, small_cells):
    x, _ = make_blobs(4000, n_features=n_features, centers=8, random_state=0)
    near, exact = search_both_ways(x, 15, metric)
    assert recall(near, exact) > 0.99
    same = near.indices == exact.indices
    np.testing.assert_array_equal(near.distances[same], exact.distances[same])


def test_recall_is_high_along_few_of_many_directions(small_cells):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(3000, 6)) @ rng.normal(size=(6, 90)) + 0.3 * rng.normal(size=(3000, 90))
    assert cell_search.project(cell_search.scale_points(x)[0]).shape[1] <= 10
    near, exact = search_both_ways(x.astype(np.float32), 10)
    assert recall(near, exact) > 0.97


def test_points_are_not_projected_if_all_directions_count_alike():
    x = np.random.default_rng(0).normal(size=(2000, 40)).astype(np.float32)
    assert cell_search.project(x) is x


@pytest.mark.parametrize("n_features", [10, 60])
def test_neighbours_do_not_depend_on_the_number_of_threads(n_features, small_cells):
    x, _ = make_blobs(3000, n_features=n_features, centers=5, random_state=1)
    one = find_approximate_neighbours(x, 8, 1)
    for n_jobs in (2, 3, 7):
        np.testing.assert_array_equal(one, find_approximate_neighbours(x, 8, n_jobs))


def test_search_is_exact_in_one_cell():
    x = np.random.default_rng(0).normal(size=(150, 9))
    near, exact = search_both_ways(x, 10)
    np.testing.assert_array_equal(near.indices, exact.indices)
    np.testing.assert_array_equal(near.distances, exact.distances)


@pytest.mark.parametrize("k", [1, 98, 99])
def test_all_other_points_can_be_neighbours(k):
    near, exact = search_both_ways(np.random.default_rng(0).normal(size=(100, 9)), k)
    np.testing.assert_array_equal(near.indices, exact.indices)


@pytest.mark.parametrize("kind", ["equal", "two values", "line", "far", "huge", "mostly equal"])
def test_equal_and_extreme_points_are_found(kind, small_cells):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(1000, 10))
    if kind == "equal":
        x[:] = 3.0
    elif kind == "two values":
        x = np.repeat(np.array([[0.0] * 10, [1.0] * 10]), 500, axis=0)
    elif kind == "line":
        x = np.repeat(np.arange(1000.0)[:, None], 10, axis=1)
    elif kind == "far":
        x += 1e6
    elif kind == "huge":
        x *= 1e60
    else:
        x[:900] = 0
    near, exact = search_both_ways(x, 6)
    assert np.isclose(near.distances, exact.distances, rtol=1e-9, atol=0).mean() > 0.97


def test_no_cell_outgrows_the_others(small_cells, monkeypatch):
    sizes = []
    monkeypatch.setattr(cell_search, "MAX_GROWTH", 1.1)
    divide = cell_search.divide
    monkeypatch.setattr(
        cell_search, "divide", lambda *a: sizes.append(np.diff((cells := divide(*a)).start)) or cells
    )
    find_approximate_neighbours(np.random.default_rng(0).exponential(size=(1000, 9)) ** 3, 5)
    assert sizes[-1].max() <= 40


def test_refinement_finds_neighbours_that_cells_miss(small_cells, monkeypatch):
    monkeypatch.setattr(cell_search, "N_PROBES", 2)
    x = np.random.default_rng(0).normal(size=(3000, 9))
    exact = knn_graph(x, 10)
    refined = recall(knn_graph(x, 10, search="approximate"), exact)
    monkeypatch.setattr(cell_search, "MAX_ROUNDS", 0)
    assert recall(knn_graph(x, 10, search="approximate"), exact) < 0.8 < 0.95 < refined


@pytest.mark.filterwarnings("ignore:n_clusters=5. no positive affinity:UserWarning")
def test_large_sets_are_searched_approximately(monkeypatch, small_cells):
    x, y = make_blobs(1000, n_features=10, centers=5, random_state=0)  # that no edge joins
    calls = []
    monkeypatch.setattr(
        neighbors_module,
        "find_approximate_neighbours",
        lambda *a: calls.append(a) or find_approximate_neighbours(*a),
    )
    model = GraphDegreeLinkage(5, "gdl-u", n_neighbors=10)
    model.fit(x)
    assert not calls
    monkeypatch.setattr(neighbors_module, "MAX_EXACT_COST", 1e7)
    assert same_partition(model.fit(x).labels_, y)
    assert calls
    calls.clear()
    knn_graph(x[:, :8], 10)
    assert not calls  # trees are exact and fast
