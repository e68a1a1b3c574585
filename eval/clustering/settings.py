"""NMI on the image sets for several K and min_cluster_size."""

from collections.abc import Iterator
from pathlib import Path

from eval.clustering.measuring import images, nmi
from gdl_core import (
    KnnGraph,
    affinity_graph,
    gdl_u,
    initial_clusters,
    knn_graph,
    place_by_tree,
    select_clusters,
)

SETS = {"coil20": 20, "coil100": 100, "usps9298": 10, "mnist_test": 10, "yaleb": 38}
NEIGHBOURS = (8, 10, 15, 20, 30, 40)  # K
SMALLEST = (1, 2, 3, 5, 8, 10, 20)  # min_cluster_size
HEAD = ("set", "K", *(f"size {size}" for size in SMALLEST))


def quality_rows(data: Path, jobs: int) -> Iterator[list[str]]:
    """A row with the columns of `HEAD` for each of `SETS` and `NEIGHBOURS`."""
    for name, n_clusters in SETS.items():
        x, y = images(data, name)
        full = knn_graph(x, max(NEIGHBOURS), n_jobs=jobs)
        for k in NEIGHBOURS:
            knn = KnnGraph(full.indices[:, :k], full.distances[:, :k])
            graph = affinity_graph(knn)
            tree = gdl_u(graph, initial_clusters(knn))
            labels = [select_clusters(tree, n_clusters, size).labels for size in SMALLEST]
            yield [name, str(k), *(f"{nmi(y, place_by_tree(tree, found)):.3f}" for found in labels)]
