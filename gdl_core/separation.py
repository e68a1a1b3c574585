"""How many clusters are separate: those between which the graph has a valley."""

import numpy as np

from ._common.checks import check_integer_at_least
from ._common.types import Floats
from .graph import AffinityGraph
from .tree import MergeTree

MAX_CROSSING = 0.066  # finds moons, rings, the digits of scikit-learn; 1 where there is no structure


def count_separate_clusters(
    tree: MergeTree,
    graph: AffinityGraph,
    min_cluster_size: int | None = None,
    max_crossing: float = MAX_CROSSING,
) -> int:
    """The number of clusters, as one more than the number of merges that join separate ones.

    Two clusters are separate where few edges cross from one to the other even at the samples beside the
    boundary: those with an edge to the other side. Of the weight of their edges within both clusters, the
    share that crosses is small where the boundary runs through a valley. Where it runs through a cluster it
    cuts their neighbourhoods, wherever it runs and however short it is. A share of few samples is uncertain:
    it is taken two standard errors higher (`crossing_shares`).

    Parameters
    ----------
    tree : MergeTree
    graph : AffinityGraph
        The graph that was merged.
    min_cluster_size : int, optional
        Merges that take in a cluster of fewer samples are not counted. By default as many as a sample has
        neighbours, as a smaller cluster can't hold the neighbourhood of a sample, or a tenth of all samples
        if that is less.
    max_crossing : float
        In [0, 1]; merges with a smaller share are counted.

    Returns
    -------
    int
        At least 1. Clusters that no merge joins are counted too.

    Examples
    --------
    >>> from gdl_core import affinity_graph, gdl_u, initial_clusters, knn_graph
    >>> knn = knn_graph([[0.0], [1.0], [2.1], [7.0], [8.0], [9.1]], 3)
    >>> graph = affinity_graph(knn, 0.1)
    >>> count_separate_clusters(gdl_u(graph, initial_clusters(knn)), graph, 2)
    2
    """
    if min_cluster_size is None:
        min_cluster_size = smallest_judged(graph)
    check_integer_at_least("min_cluster_size", min_cluster_size, 1)
    if not 0 <= max_crossing <= 1:
        raise ValueError(f"max_crossing must be in [0, 1], got {max_crossing!r}")
    large = tree.node_sizes() >= min_cluster_size
    n_roots = np.count_nonzero(large[tree.roots()])
    n_separate = np.count_nonzero(
        large[tree.children].all(axis=1) & (crossing_shares(tree, graph) < max_crossing)
    )
    return max(1, int(n_roots) + int(n_separate))


def smallest_judged(graph: AffinityGraph) -> int:
    """Tell how small a cluster may be to be counted by default.

    Parameters
    ----------
    graph : AffinityGraph
        The graph.

    Returns
    -------
    int
        The mean number of neighbours, or n / 10 where that is less.
    """
    n = graph.n_samples
    return max(1, min(round(len(graph.indices) / max(n, 1)), n // 10))


def crossing_shares(tree: MergeTree, graph: AffinityGraph) -> Floats:
    """Of each merge, the share of the weight beside the boundary that crosses it, at the most.

    With b samples beside the boundary, those with an edge to the other side, it is 1 + 2 / sqrt(b) times the
    share found: two standard errors more, as if the shares of single samples were spread exponentially.

    Parameters
    ----------
    tree : MergeTree
    graph : AffinityGraph

    Returns
    -------
    (m,) float64
        0 where nothing crosses.
    """
    from ._cut.between import sum_weights_between

    edges = graph.symmetric()
    sums = sum_weights_between(edges.indptr, edges.indices, edges.data, tree.initial_labels, tree.children)
    between, around, beside = sums.T
    share = np.where(around > 0, 2 * between / np.where(around > 0, around, 1.0), 0.0)
    at_most: Floats = share * (1 + 2 / np.sqrt(np.maximum(beside, 1)))
    return at_most
