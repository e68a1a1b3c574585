"""Samples that belong to no cluster: the definition, crowds of strangers, what is not strange."""

import numpy as np
import pytest
from graphs import KINDS, samples
from hypothesis import given, settings
from hypothesis import strategies as st

from gdl_core import GraphDegreeLinkage, KnnGraph, knn_graph
from gdl_core.paths import find_paths
from gdl_core.strangers import DOUBTFUL, RANK, ROUNDING, STRANGE, find_strangers


def plain_strangers(knn):
    """The definition with sets of samples: single linkage along the best paths."""
    n, rank = knn.n_samples, min(RANK, knn.n_neighbors)
    paths = find_paths(knn, rank)
    c, (parent, length) = paths.spacing, paths.forest
    chance = np.zeros(n)
    for i in range(n):
        logs = [min(np.log(c[i] / d), 1) if d else 1 for d in knn.distances[i, :rank] if d < c[i]]
        chance[i] = max(sum(logs) / max(rank - 1, 1), ROUNDING)
    steps = sorted((length[i], i, parent[i]) for i in range(n) if length[i] < np.inf)
    part = {i: ({i}, {i}) for i in range(n)}  # the samples of each part, and those that count
    strangers = set()
    for step, i, j in steps:
        small, large = sorted((part[i], part[j]), key=lambda p: len(p[1]))
        counted = list(large[1])
        contrast = np.log(step / c[counted]).sum() / chance[counted].sum()
        is_apart = len(small[1]) <= RANK < len(counted) and contrast > DOUBTFUL
        if is_apart and contrast > STRANGE:
            strangers |= small[0]
        joined = small[0] | large[0], large[1] if is_apart else small[1] | large[1]
        part.update(dict.fromkeys(joined[0], joined))
    return np.isin(np.arange(n), list(strangers))


def draw_people(rng, n_people, d, n_strangers, width):
    y = np.repeat(np.arange(n_people), rng.integers(8, 41, n_people))
    x = rng.normal(size=(n_people, d))[y] + 0.3 * rng.normal(size=(len(y), d))
    return np.vstack([x, width * rng.normal(size=(n_strangers, d))]), np.append(y, np.full(n_strangers, -1))


@given(st.integers(7, 60), st.integers(1, 4), st.integers(2, 8), st.integers(0, 2**32 - 1))
@settings(max_examples=60, deadline=None)
def test_strangers_equal_the_definition(n, d, k, seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d)) * rng.choice([0.1, 1, 10], size=(n, 1))
    knn = knn_graph(x, min(k, n - 1))
    np.testing.assert_array_equal(find_strangers(knn), plain_strangers(knn))


@pytest.mark.parametrize("d", [2, 8, 32, 64])
def test_far_samples_are_noise_and_those_of_normal_clusters_are_not(d):
    rng = np.random.default_rng(d)
    y = np.repeat(np.arange(6), 150)
    centers = rng.normal(size=(6, d))
    x = 20 * (centers / np.linalg.norm(centers, axis=1)[:, None])[y] + rng.normal(size=(900, d))
    far = rng.normal(size=(30, d))
    far *= 20 * np.sqrt(d) * rng.uniform(1, 3, (30, 1)) / np.linalg.norm(far, axis=1)[:, None]
    labels = GraphDegreeLinkage(small_clusters="noise").fit_predict(np.vstack([x, far]))
    assert (labels[900:] == -1).mean() > 0.85
    assert (labels[:900] == -1).mean() <= 0.015


@pytest.mark.parametrize("d", [16, 128])
@pytest.mark.parametrize("width", [1.0, 2.0])
def test_a_crowd_of_strangers_does_not_hide_the_people(d, width):
    x, y = draw_people(np.random.default_rng(0), 40, d, 900, width)
    model = GraphDegreeLinkage(small_clusters="noise").fit(x)
    assert (model.labels_[y < 0] == -1).mean() > 0.98
    assert (model.labels_[y >= 0] == -1).mean() < 0.01
    assert abs(model.n_clusters_ - 40) <= 1
    np.testing.assert_array_equal(model.memberships()[y < 0][model.labels_[y < 0] < 0], 0)


def test_nothing_is_strange_without_being_asked():
    x, _ = draw_people(np.random.default_rng(1), 20, 16, 100, 2.0)
    assert GraphDegreeLinkage(20).fit_predict(x).min() == 0


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "duplicates"])
def test_samples_of_even_density_are_not_strange(kind):
    x = samples(kind, 60, 2, np.random.default_rng(2))
    assert find_strangers(knn_graph(x, 8)).mean() <= 0.05


def test_strangers_do_not_depend_on_unit_and_order():
    x, _ = draw_people(np.random.default_rng(3), 10, 8, 40, 2.0)
    order = np.random.default_rng(4).permutation(len(x))
    found = find_strangers(knn_graph(x, 20))
    np.testing.assert_array_equal(find_strangers(knn_graph(1024 * x[order], 20)), found[order])


def test_samples_without_neighbours_are_allowed():
    indices = np.array([[1, 2], [0, 2], [0, 1], [-1, -1]])
    distances = np.where(indices >= 0, 1.0, np.inf)
    assert not find_strangers(KnnGraph(indices, distances)).any()
