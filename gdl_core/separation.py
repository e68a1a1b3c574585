"""Counts separate clusters: those that are divided by valleys of the graph."""

import numpy as np

from ._common.checks import check_integer_at_least
from ._common.types import Floats
from .graph import AffinityGraph
from .tree import MergeTree, sum_below

# Crossing weights. Up to CLEAR_VALLEY, a merge joins separate clusters; from NO_VALLEY on, it does not.
# Between them the largest gap decides, but a smallest weight below FIRST_VALLEY always is a valley.
CLEAR_VALLEY, FIRST_VALLEY, NO_VALLEY = 0.015, 0.05, 0.15


def count_separate_clusters(
    tree: MergeTree, graph: AffinityGraph, min_cluster_size: int | None = None
) -> int:
    """Count the clusters, as one more than the number of merges that join separate ones.

    Two clusters are separate if little weight crosses from one to the other, compared with the weights of the
    samples within them (`crossing_weights`). If the boundary runs through a valley, few edges cross it, and
    these are light. If it runs through a cluster, it cuts the neighbourhoods of samples, however short it is.
    How deep the shallowest valley is depends on the data. So the merges are sorted by these weights, and
    those below the largest gap between two successive weights join separate clusters. Merges with a weight of
    up to 0.015 always do, and merges with 0.15 or more never do. The gap below the first merge counts only if
    the weight of that merge is at least 0.05.

    A merge counts only if both of its clusters are communities in the weak sense (Radicchi et al., PNAS
    2004): the edges that lead out of each have at most as much weight as those that stay inside. In many
    dimensions the pieces of one cluster are not communities: little of their weight leads to each of the
    other pieces, but most of it leads to all of them together.

    Parameters
    ----------
    tree : MergeTree
    graph : AffinityGraph
        The graph that was merged.
    min_cluster_size : int, optional
        Merges with a cluster of fewer samples are not counted. The default is the number of neighbours of a
        sample, because a smaller cluster can't hold the neighbourhood of a sample, but at least a
        two-hundredth and at most a tenth of all samples.

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
        min_cluster_size = default_min_cluster_size(graph)
    check_integer_at_least("min_cluster_size", min_cluster_size, 1)
    is_large = tree.node_sizes() >= min_cluster_size
    volume, inside = weights_of_branches(tree, graph)
    is_counted = (is_large & (volume - inside <= inside))[tree.children].all(axis=1)
    crossing = np.sort(crossing_weights(tree, graph)[is_counted])
    n_separate = np.count_nonzero(crossing <= CLEAR_VALLEY)
    between = crossing[n_separate : np.searchsorted(crossing, NO_VALLEY)]
    gaps = np.diff([CLEAR_VALLEY, *between, NO_VALLEY])
    if len(between) and between[0] < FIRST_VALLEY and n_separate == 0:
        gaps[0] = 0.0
    return max(1, int(np.count_nonzero(is_large[tree.roots()]) + n_separate + gaps.argmax()))


def default_min_cluster_size(graph: AffinityGraph) -> int:
    """Compute the smallest size of a cluster whose merges count, unless the caller sets it.

    Parameters
    ----------
    graph : AffinityGraph
        The graph.

    Returns
    -------
    int
        The mean number of neighbours, but at least n / 200 and at most n / 10.
    """
    n = graph.n_samples
    return max(1, min(max(round(len(graph.indices) / max(n, 1)), n // 200), n // 10))


def crossing_weights(tree: MergeTree, graph: AffinityGraph) -> Floats:
    """Estimate an upper bound, for each merge, of the weight that crosses from a sample beside the boundary.

    Samples beside the boundary are those with an edge to the other side. The mean weight of these edges per
    such sample is divided by the weight of a sample within the clusters: the mean of the samples' degrees,
    weighted by the degrees themselves, in the cluster where this mean is smaller. With b samples the result
    is multiplied by 1 + 2 / sqrt(b), which adds two standard errors if the weights of single samples are
    distributed exponentially.

    Parameters
    ----------
    tree : MergeTree
    graph : AffinityGraph

    Returns
    -------
    (m,) float64
        The estimates; 0 if nothing crosses.
    """
    from ._cut.between import sum_weights_between

    edges, labels, n = graph.symmetric(), tree.initial_labels, tree.n_initial
    degree = np.asarray(edges.sum(axis=1)).ravel()
    sums = np.zeros((n + len(tree.children), 2))  # sums of degrees and of their squares
    sums[:n] = np.stack([np.bincount(labels, degree**power, n) for power in (1, 2)], axis=1)
    sums = sum_below(tree, sums)
    mean_degree = sums[:, 1] / np.where(sums[:, 0] > 0, sums[:, 0], 1.0)
    crossing, n_beside = sum_weights_between(edges.indptr, edges.indices, edges.data, labels, tree.children).T
    scale = np.maximum(n_beside, 1) * mean_degree[tree.children].min(axis=1)
    upper_bound: Floats = (
        2 * crossing / np.where(n_beside > 0, scale, 1.0) * (1 + 2 / np.sqrt(np.maximum(n_beside, 1)))
    )
    return upper_bound


def weights_of_branches(tree: MergeTree, graph: AffinityGraph) -> tuple[Floats, Floats]:
    """Compute the weight of all edges of each node of the hierarchy, and of the edges inside it.

    Parameters
    ----------
    tree : MergeTree
    graph : AffinityGraph

    Returns
    -------
    volume : (n_initial + m,) float64
        The weight of all edges, initial clusters first.
    inside : (n_initial + m,) float64
        The weight of the edges inside; both arrays count these edges twice.
    """
    from ._cut.between import sum_weights_between

    edges = graph.symmetric()
    labels, n = tree.initial_labels, tree.n_initial
    source = np.repeat(labels, np.diff(edges.indptr))
    volume = np.concatenate([np.bincount(source, edges.data, n), np.zeros(len(tree.children))])
    inside = np.zeros(len(volume))
    is_inside = source == labels[edges.indices]
    inside[:n] = np.bincount(source[is_inside], edges.data[is_inside], n)
    between = sum_weights_between(edges.indptr, edges.indices, edges.data, labels, tree.children)
    inside[n:] = 2 * between[:, 0]
    return sum_below(tree, volume), sum_below(tree, inside)
