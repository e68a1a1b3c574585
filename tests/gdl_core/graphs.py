"""Random inputs for the property tests: samples of several kinds, weighted graphs of several shapes."""

import numpy as np
from hypothesis import strategies as st

from gdl_core import AffinityGraph, affinity_graph, initial_clusters, knn_graph
from gdl_core.graph import number_by_first

KINDS = ("normal", "integers", "duplicates", "line", "grid", "clumps")


def samples(kind, n, d, rng):
    if kind == "normal":
        return rng.normal(size=(n, d))
    if kind == "integers":
        return rng.integers(0, 4, size=(n, d)).astype(float)
    if kind == "duplicates":
        return np.repeat(rng.normal(size=(-(-n // 3), d)), 3, axis=0)[:n]
    if kind == "line":
        return np.linspace(0, 1, n)[:, None]
    if kind == "grid":
        side = np.linspace(0, 0.7, int(np.ceil(np.sqrt(n))))
        return np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)[:n]
    return rng.normal(size=(n, d)) + 30 * rng.integers(0, 3, size=(n, 1))


@st.composite
def knn_problems(draw, max_samples=60):
    """Draw (AffinityGraph, initial labels) of a K-NN graph, some with ties and separate parts."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(3, max_samples))
    x = samples(draw(st.sampled_from(KINDS)), n, draw(st.integers(1, 5)), rng)
    k = draw(st.integers(1, min(n - 1, 15)))
    knn = knn_graph(x, k)
    labels = initial_clusters(knn, draw(st.integers(0, min(k, 2))), mutual=draw(st.booleans()))
    return affinity_graph(knn, 10.0 ** draw(st.floats(-1, 1))), labels


@st.composite
def any_problems(draw, max_vertices=30):
    """Draw (AffinityGraph, initial labels) of any directed graph: any degrees, equal weights, isolated
    clusters, stored edges of weight 0."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(1, max_vertices))
    edges = rng.random((n, n)) < draw(st.floats(0, 1))
    weights = rng.choice([0.0, 0.1, 1 / 3, 1.0], size=(n, n)) if draw(st.booleans()) else rng.random((n, n))
    labels = number_by_first(rng.integers(0, draw(st.integers(1, n)), size=n))
    source, target = np.nonzero(edges & ~np.eye(n, dtype=bool))
    indptr = np.concatenate([[0], np.cumsum(np.bincount(source, minlength=n))])
    return AffinityGraph(indptr, target.astype(np.int32), weights[source, target]), labels


def same_partition(p, q):
    pairs = set(zip(p.tolist(), q.tolist(), strict=True))
    return len(pairs) == len(set(p.tolist())) == len(set(q.tolist()))


def plain_neighbours(distances, k):
    """Find the k nearest by sorting all distances by (distance, index), without the sample itself."""
    d = distances.copy()
    np.fill_diagonal(d, np.inf)
    order = np.argsort(d, axis=1, kind="stable")[:, :k]
    return order, np.take_along_axis(d, order, 1)
