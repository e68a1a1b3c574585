"""Graph degree linkage itself on a problem's shared neighbours, in the same steps as
`gdl_core.GraphDegreeLinkage`.
"""

import numpy as np
from numpy.typing import NDArray

from eval.images.baselines.problem import Problem
from gdl_core import (
    agdl,
    complete_by_distance,
    gdl_u,
    initial_clusters,
    place_by_tree,
    select_clusters,
)
from gdl_core.completion import make_distances_among

N_INITIAL_NEIGHBORS = 1  # K0
N_NEIGHBOR_CLUSTERS = 10  # Kc


def degree_linkage(
    problem: Problem,
    bandwidth: float,
    algorithm: str = "gdl-u",
    min_cluster_size: int = 1,
    n_neighbors: int | None = None,
) -> NDArray[np.int64]:
    """(n,) int64 labels; `algorithm` "gdl-u" or "agdl", `min_cluster_size` 1 for the paper's rule.

    `n_neighbors` is a K smaller than the problem's.
    """
    knn = problem.knn(n_neighbors)
    graph = problem.graph(bandwidth, n_neighbors)
    start = initial_clusters(knn, N_INITIAL_NEIGHBORS)
    if algorithm == "agdl":
        tree = agdl(graph, start, n_neighbor_clusters=N_NEIGHBOR_CLUSTERS)
    else:
        tree = gdl_u(graph, start)
    tree = complete_by_distance(tree, knn.n_neighbors, graph, make_distances_among(*problem.metric_space()))
    chosen = select_clusters(tree, problem.n_clusters, min_cluster_size)
    return place_by_tree(tree, chosen.labels)
