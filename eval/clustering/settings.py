"""NMI on the image sets for several settings of the clusterer: K, min_cluster_size and bandwidth."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from eval.clustering.measuring import images, nmi
from gdl_core import (
    AffinityGraph,
    KnnGraph,
    affinity_graph,
    gdl_u,
    give_to_neighbours,
    initial_clusters,
    knn_graph,
    select_clusters,
)

SETS = {"coil20": 20, "coil100": 100, "usps9298": 10, "mnist_test": 10, "yaleb": 38}
NEIGHBOURS = (8, 10, 15, 20, 30, 40)  # K
SMALLEST = (1, 2, 3, 5, 8, 10, 20)  # min_cluster_size
QUALITY_HEAD = ("set", "K", *(f"size {size}" for size in SMALLEST))
BANDWIDTH_HEAD = ("set", "size", "a=0.1", "a=1", "a=10", "a=100", "a=0.1, nearest >= 1e-5", "own scale")


def score_sizes(data: Path, jobs: int) -> NDArray[np.float64]:
    """NMI for each of `SETS`, `NEIGHBOURS` and `SMALLEST`."""
    scores = np.empty((len(SETS), len(NEIGHBOURS), len(SMALLEST)))
    for i, (name, n_clusters) in enumerate(SETS.items()):
        x, y = images(data, name)
        full = knn_graph(x, max(NEIGHBOURS), n_jobs=jobs)
        for j, k in enumerate(NEIGHBOURS):
            knn = full.first(k)
            graph = affinity_graph(knn)
            tree = gdl_u(graph, initial_clusters(knn))
            for s, size in enumerate(SMALLEST):
                labels = select_clusters(tree, n_clusters, size).labels
                scores[i, j, s] = nmi(y, give_to_neighbours(graph, labels))
    return scores


def quality_rows(scores: NDArray[np.float64]) -> list[list[str]]:
    """A row with the columns of `QUALITY_HEAD` for each set and K."""
    return [
        [name, str(k), *(f"{score:.3f}" for score in scores[i, j])]
        for i, name in enumerate(SETS)
        for j, k in enumerate(NEIGHBOURS)
    ]


def bandwidth_rows(data: Path, jobs: int) -> list[list[str]]:
    """A row with the columns of `BANDWIDTH_HEAD` for each set and min_cluster_size of 1 and 5."""
    rows = []
    for name, n_clusters in SETS.items():
        x, y = images(data, name)
        knn = knn_graph(x, 20, n_jobs=jobs)
        graphs = [affinity_graph(knn, a) for a in (0.1, 1.0, 10.0, 100.0)]
        graphs += [affinity_graph(knn, 0.1, min_nearest_weight=1e-5), _scale_each_sample(knn)]
        trees = [gdl_u(graph, initial_clusters(knn)) for graph in graphs]
        for size in (1, 5):
            labels = [select_clusters(tree, n_clusters, size).labels for tree in trees]
            scores = [nmi(y, give_to_neighbours(g, c)) for g, c in zip(graphs, labels, strict=True)]
            rows.append([name, str(size), *(f"{s:.3f}" for s in scores)])
    return rows


def _scale_each_sample(knn: KnnGraph) -> AffinityGraph:
    scale = knn.distances[:, 6]
    weights = np.exp(-(knn.distances**2) / (scale[:, None] * scale[knn.indices]))
    plain = affinity_graph(knn)
    return AffinityGraph(plain.indptr, plain.indices, weights.ravel())
