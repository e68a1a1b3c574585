"""Clusters of very different sizes, 12 deviations apart: found with their number given, and without."""

import numpy as np
import pytest

from gdl_core import GraphDegreeLinkage

APART = 12.0  # deviations between the centres of the nearest clusters
MAX_SIZE, MIN_SIZE, MAX_RATIO = 10_000, 15, 300
FEATURES = (2, 3, 5, 10, 20, 50)


def draw_sizes(rng, n_clusters):
    """Sizes with any ratio up to `MAX_RATIO`; the first two have nearly the largest possible one."""
    largest = np.exp(rng.uniform(np.log(60), np.log(MAX_SIZE)))
    smallest = max(MIN_SIZE, largest / MAX_RATIO)
    sizes = np.exp(rng.uniform(np.log(smallest), np.log(largest), n_clusters))
    sizes[:2] = largest, smallest * rng.uniform(1, 1.5)
    return np.ceil(sizes).astype(int)


def draw_clusters(rng, sizes, n_features):
    """Samples of normal distributions, each with its centre 12 deviations from that of another one."""
    centres = [np.zeros(n_features)]
    while len(centres) < len(sizes):
        direction = rng.normal(size=n_features)
        centre = centres[rng.integers(len(centres))] + APART * direction / np.linalg.norm(direction)
        if min(np.linalg.norm(centre - other) for other in centres) >= APART - 1e-9:
            centres.append(centre)
    y = np.repeat(np.arange(len(sizes)), sizes)
    return np.array(centres)[y] + rng.normal(size=(len(y), n_features)), y


def lost_clusters(y, labels):
    """The clusters of ``y`` of which no cluster of ``labels`` holds nine tenths, and not much else."""
    lost = []
    for c in range(y.max() + 1):
        found = np.bincount(labels[y == c]).argmax()
        common = np.count_nonzero((y == c) & (labels == found))
        if common < 0.9 * max(np.count_nonzero(y == c), np.count_nonzero(labels == found)):
            lost.append(c)
    return lost


@pytest.mark.parametrize("n_features", FEATURES)
@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(s, marks=pytest.mark.slow) for s in range(2, 20))])
def test_clusters_of_any_sizes_are_found(n_features, seed):
    rng = np.random.default_rng([seed, n_features])
    sizes = draw_sizes(rng, int(rng.integers(2, 9)))
    x, y = draw_clusters(rng, sizes, n_features)
    model = GraphDegreeLinkage().fit(x)
    assert lost_clusters(y, model.cut(len(sizes))) == []
    assert lost_clusters(y, model.labels_) == []


@pytest.mark.parametrize("n_features", [2, 10])
@pytest.mark.parametrize("sizes", [(500, 15), (4500, 15), (10_000, 34), (4500, 15, 15, 15)])
def test_tiny_clusters_beside_a_large_one_are_found(sizes, n_features):
    x, y = draw_clusters(np.random.default_rng(0), sizes, n_features)
    model = GraphDegreeLinkage().fit(x)
    assert lost_clusters(y, model.cut(len(sizes))) == []
    assert lost_clusters(y, model.labels_) == []
