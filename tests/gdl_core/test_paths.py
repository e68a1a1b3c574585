"""Weights by the best paths: the definition, new samples, scales, duplicates, separate parts."""

import numpy as np
import pytest
from graphs import KINDS, samples
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from gdl_core import KnnGraph, affinity_graph, knn_graph, path_graph
from gdl_core.paths import find_paths, spacing_rank


def plain_bottlenecks(step):
    """The smallest longest step between all vertices, by trying each vertex on the way (n, n)."""
    longest = step.copy()
    np.fill_diagonal(longest, 0.0)
    for v in range(len(step)):
        longest = np.minimum(longest, np.maximum(longest[:, v, None], longest[v]))
    return longest


def plain_steps(knn):
    """(n,) spacing and (n, n) lengths of the steps, infinite where neither is a neighbour of the other."""
    n = knn.n_samples
    spacing = knn.distances[:, min(spacing_rank(n), knn.n_neighbors) - 1].copy()
    spacing[spacing == 0] = min(spacing[spacing > 0], default=1.0)
    step = np.full((n, n), np.inf)
    for i in range(n):
        for j, d in zip(knn.indices[i], knn.distances[i], strict=True):
            step[i, j] = step[j, i] = max(d, spacing[i], spacing[j])
    return spacing, step


@given(st.sampled_from(KINDS), st.integers(4, 40), st.integers(1, 8), st.integers(0, 2**32 - 1))
@settings(max_examples=60, deadline=None)
def test_weights_equal_the_definition(kind, n, k, seed):
    x = samples(kind, n, 2, np.random.default_rng(seed))
    knn = knn_graph(x, min(k, n - 1))
    spacing, step = plain_steps(knn)
    longest = plain_bottlenecks(step)
    i, j = np.repeat(np.arange(n), knn.n_neighbors), knn.indices.ravel()
    eq1 = affinity_graph(knn, 0.5).weights
    np.testing.assert_allclose(
        path_graph(knn).weights, eq1 * spacing[i] * spacing[j] / longest[i, j] ** 2, rtol=1e-12
    )
    every = np.divmod(np.arange(n * n), n)
    np.testing.assert_array_equal(find_paths(knn).bottlenecks(*every), longest.ravel())


def test_weights_of_new_samples_equal_those_of_paths_through_any_neighbour():
    rng = np.random.default_rng(0)
    x, new = samples("clumps", 60, 2, rng), rng.normal(size=(9, 2)) * 20
    knn = knn_graph(x, 6)
    paths = find_paths(knn)
    distances = np.sort(cdist(new, x), axis=1)[:, :6]
    indices = np.argsort(cdist(new, x), axis=1)[:, :6]
    longest = plain_bottlenecks(plain_steps(knn)[1])
    found = paths.weights_of_new(indices, distances)
    for row in range(9):
        spacing = distances[row, spacing_rank(60) - 1]
        step = np.maximum(np.maximum(distances[row], spacing), paths.spacing[indices[row]])
        for column, j in enumerate(indices[row]):
            m = min(max(s, longest[u, j]) for s, u in zip(step, indices[row], strict=True))
            np.testing.assert_allclose(found[row, column], spacing * paths.spacing[j] / m**2)


@pytest.mark.parametrize("scale", [1e-100, 1.0, 1e100])
def test_weights_do_not_depend_on_the_unit(scale):
    x = np.random.default_rng(0).normal(size=(50, 3))
    one, other = path_graph(knn_graph(x, 7)), path_graph(knn_graph(x * scale, 7))
    np.testing.assert_allclose(one.weights, other.weights, rtol=1e-9)


def test_gap_between_clusters_lowers_weights_and_thin_clusters_keep_theirs():
    x = np.concatenate([np.arange(40.0) / 10, 10 + np.arange(40.0)])[:, None]  # one is ten times as thin
    graph = path_graph(knn_graph(x, 8), bandwidth=1e9).to_csr().toarray()
    assert graph[:40, :40].max() == pytest.approx(graph[40:, 40:].max())
    assert graph[40:, :40].max() < 0.1 * graph[40:, 40:].max()


def test_rows_of_any_length_and_separate_parts_have_weights():
    indices = np.array([[1, 2], [0, -1], [0, 1], [4, -1], [3, -1], [-1, -1]])
    distances = np.array([[1, 2], [1, np.inf], [2, 3], [5, np.inf], [5, np.inf], [np.inf, np.inf]])
    knn = KnnGraph(indices, distances)
    paths = find_paths(knn)
    np.testing.assert_array_equal(paths.spacing, [2, 1, 3, 5, 5, 1])
    np.testing.assert_array_equal(paths.bottlenecks([0, 0, 0, 5], [1, 2, 3, 5]), [2, 3, np.inf, 0])
    eq1 = affinity_graph(knn, 0.5).weights
    expected = eq1 * [2 * 1 / 4, 2 * 3 / 9, 2 * 1 / 4, 2 * 3 / 9, 3 * 1 / 9, 1, 1]
    np.testing.assert_allclose(path_graph(knn).weights, expected)


def test_equal_samples_have_weight_one():
    np.testing.assert_array_equal(path_graph(knn_graph(np.zeros((9, 2)), 3)).weights, np.ones(27))
