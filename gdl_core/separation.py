"""How many clusters are separate: those that few of their edges join to others."""

import numpy as np
import scipy

from ._common.checks import check_integer_at_least
from ._common.types import Floats, Ints
from .graph import AffinityGraph
from .tree import MergeTree

MAX_CONDUCTANCE = 0.02  # finds the blobs and nine of the ten digits that scikit-learn ships


def count_separate_clusters(
    tree: MergeTree,
    graph: AffinityGraph,
    min_cluster_size: int = 1,
    max_conductance: float = MAX_CONDUCTANCE,
) -> int:
    """The number of clusters, as one more than the number of merges that join separate ones.

    Two clusters are separate where the conductance between them is small: the weight of the edges between
    both over the weight of all edges of the one that has less (those inside it count twice).

    Parameters
    ----------
    tree : MergeTree
    graph : AffinityGraph
        The graph that was merged.
    min_cluster_size : int
        Merges that take in a cluster of fewer samples are not counted.
    max_conductance : float
        In [0, 1]; merges with a smaller conductance are counted.

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
    check_integer_at_least("min_cluster_size", min_cluster_size, 1)
    if not 0 <= max_conductance <= 1:
        raise ValueError(f"max_conductance must be in [0, 1], got {max_conductance!r}")
    sizes = tree.node_sizes()
    n_roots = np.count_nonzero(sizes[tree.roots()] >= min_cluster_size)
    n_separate = np.count_nonzero(merge_conductances(tree, graph, min_cluster_size) < max_conductance)
    return max(1, int(n_roots) + int(n_separate))


def merge_conductances(tree: MergeTree, graph: AffinityGraph, min_cluster_size: int) -> Floats:
    """The conductance between the two clusters of each merge of large ones; 0 where one has no edges.

    Parameters
    ----------
    tree : MergeTree
    graph : AffinityGraph
    min_cluster_size : int
        Clusters of at least so many samples are large.

    Returns
    -------
    (c,) float64
        One value for each merge of two large clusters, in their order.
    """
    large = tree.node_sizes() >= min_cluster_size
    merges = np.flatnonzero(large[tree.children].sum(axis=1) == 2)
    branch, parent = _find_branches(tree, merges)
    n_branches = len(parent)
    of_vertex = branch[tree.initial_labels]
    ones = np.ones(len(of_vertex))
    members = scipy.sparse.csr_matrix(
        (ones, (of_vertex, np.arange(len(of_vertex)))), (n_branches, len(of_vertex))
    )
    weights = graph.to_csr()
    between = (members @ (weights + weights.T) @ members.T).tocoo()
    volume = np.bincount(between.row, between.data, n_branches)
    for b in range(n_branches):  # a branch comes before that which its merge makes
        if parent[b] >= 0:
            volume[parent[b]] += volume[b]
    cut = np.zeros(n_branches)
    for a, b, weight in zip(between.row.tolist(), between.col.tolist(), between.data.tolist(), strict=True):
        if a < b and (joined := _find_joining_branch(a, b, parent)) >= 0:
            cut[joined] += weight
    ends = branch[tree.children[merges]]
    smaller = np.minimum(volume[ends[:, 0]], volume[ends[:, 1]])
    made = branch[tree.n_initial + merges]
    return np.where(smaller > 0, cut[made] / np.where(smaller > 0, smaller, 1.0), 0.0)


def _find_branches(tree: MergeTree, merges: Ints) -> tuple[Ints, list[int]]:
    """The branch of each node of the tree, and of each branch the next one, or -1.

    A merge of large clusters ends their two branches, and the next one begins with the node that it makes.
    All other merges stay within a branch. The number of a branch is smaller than that of the next.
    """
    n = tree.n_initial
    branch = np.full(n + len(tree.children), -1, np.int64)
    parents: list[int] = []
    for root in tree.roots().tolist():
        branch[root] = len(parents)
        parents.append(-1)
    ends_branches = set(merges.tolist())
    for t in range(len(tree.children) - 1, -1, -1):
        of_merge = int(branch[n + t])
        for child in tree.children[t].tolist():
            branch[child] = of_merge
            if t in ends_branches:
                branch[child] = len(parents)
                parents.append(of_merge)
    last = len(parents) - 1
    return last - branch, [last - parent if parent >= 0 else -1 for parent in reversed(parents)]


def _find_joining_branch(a: int, b: int, parent: list[int]) -> int:
    """The branch that begins with the merge of large clusters which joins a and b; -1 where none does."""
    x, y = a, b
    while x != y:
        x, y = min(x, y), max(x, y)
        x = parent[x]
        if x < 0:
            return -1
    return x if x not in (a, b) else -1
