"""Chooses clusters: the branches of the hierarchy that are linked to themselves and not to the rest."""

import numpy as np

from ._common.checks import check_integer
from ._common.types import Bools, Floats, Ints
from .graph import AffinityGraph, number_by_first
from .selection import Selection
from .tree import MergeTree, place_nodes, spread_below, sum_below

ROUNDING = 1e-12  # share of the products of degrees; less is left over from differences of equal sums
MAX_COUNT = 500  # clusters that `count_isolated_branches` finds at most: its table has a column for each
# Times n^(-1/4), as the leakage of a piece of a flat cluster falls with n: of n samples, about n^(1/2) are
# near its boundary. With 0.06 three clusters of ten samples are missed, with 0.1 a uniform square is divided.
NEGLIGIBLE_COST = 0.08
MAX_INCREASE = 0.7  # with 0.98, samples without structure have clusters, and sparse curves fall into pieces
# samples that are not linked only to each other by chance; with 8, sparse lines fall into pieces
MIN_ISOLATED_SIZE = 12


def leakages(tree: MergeTree, graph: AffinityGraph) -> Floats:
    """Compute the leakage of each node of the hierarchy: how strongly it is linked to the rest.

    This is sqrt(sum_i deg^-_i(rest) deg^+_i(rest) / sum_i deg^-_i(all) deg^+_i(all)) over the samples i of
    the node, where deg^-_i and deg^+_i are sums of the weights of the edges from and to other samples: those
    outside the node, or all. The product of indegree and outdegree is that of the affinity (Eq. 3).

    Parameters
    ----------
    tree : MergeTree
        Of m merges.
    graph : AffinityGraph
        The graph that was merged.

    Returns
    -------
    (n_initial + m,) float64
        In [0, 1], initial clusters first; 1 for a node none of whose samples has edges in both directions.
    """
    from ._cut.leakage_kernel import sum_degree_products

    *spans, order = place_nodes(tree)
    leaving, total = sum_degree_products(graph.edge_lists(), tree.children, np.stack(spans, axis=1), order).T
    share = leaving / np.where(total > 0, total, 1.0)
    share[share < ROUNDING] = 0.0
    return np.where(total > 0, np.sqrt(share), 1.0)


def branch_costs(tree: MergeTree, graph: AffinityGraph) -> Floats:
    """Compute the cost of choosing each node as a cluster, (leakage + 1 / n) / (1 + 1 / n) for n samples.

    A few samples may be linked only to each other by chance: the cost is as if one more sample leaked
    all its links. A node of at least 12 samples that leaks nothing costs nothing.

    Parameters
    ----------
    tree : MergeTree
    graph : AffinityGraph

    Returns
    -------
    (n_initial + m,) float64
        In [0, 1], initial clusters first.
    """
    leakage, sizes = leakages(tree, graph), tree.node_sizes()
    is_isolated = (leakage == 0) & (sizes >= MIN_ISOLATED_SIZE)
    return np.where(is_isolated, 0.0, (leakage + 1 / sizes) / (1 + 1 / sizes))


def select_isolated_branches(
    tree: MergeTree, graph: AffinityGraph, n_clusters: int, *, costs: Floats | None = None
) -> Selection:
    """Choose the ``n_clusters`` branches, none inside another, with the least sum of `branch_costs`, exactly.

    Parameters
    ----------
    tree : MergeTree
    graph : AffinityGraph
        The graph that was merged.
    n_clusters : int
        If it exceeds the number of initial clusters, these are chosen. A part of the graph that no merge
        joins to the rest holds a cluster if it has more than ln(n) samples, even if this gives more clusters.
    costs : (n_initial + m,) float64, optional
        The result of `branch_costs`, if it is known.

    Returns
    -------
    Selection
        Samples in no chosen branch are labelled -1. ``n_merges`` counts the merges up to the last one, inside
        a chosen branch, that joins two nodes of more than ln(n) samples each.
    """
    check_integer("n_clusters", n_clusters, 1)
    costs = branch_costs(tree, graph) if costs is None else costs
    nodes = _Choices(tree, costs, n_clusters).nodes(n_clusters)
    cluster_of_node = np.full(tree.n_initial + len(tree.children), -1, np.int64)
    cluster_of_node[nodes] = np.arange(len(nodes))
    cluster_of_node = spread_below(tree, cluster_of_node)
    is_inside = cluster_of_node[tree.n_initial :] >= 0
    joins_large = _is_large(tree)[tree.children].all(axis=1)
    n_merges = int(np.flatnonzero(is_inside & joins_large).max(initial=-1)) + 1
    return Selection(number_by_first(cluster_of_node[tree.initial_labels]), n_merges, 1)


def count_isolated_branches(
    tree: MergeTree, graph: AffinityGraph, min_cluster_size: int = 1, *, costs: Floats | None = None
) -> int:
    """Count the clusters: the number after which one more cluster costs many times as much as the last.

    The least sum of `branch_costs` grows with the number of clusters. As long as these are isolated, one more
    adds next to nothing; the first that is not adds much. An increase x has the odds x / (1 - x), because 1
    is that of a branch that leaks everything. The number is that before the largest quotient of two
    successive odds. Increases count as at least 0.08 n^(-1/4) and at most 0.7.

    Parameters
    ----------
    tree : MergeTree
    graph : AffinityGraph
        The graph that was merged.
    min_cluster_size : int
        Smaller branches are no clusters.
    costs : (n_initial + m,) float64, optional
        The result of `branch_costs`, if it is known.

    Returns
    -------
    int
        In [1, 500], or more if more parts of the graph are joined by no merge.

    Examples
    --------
    >>> from gdl_core import gdl_u, initial_clusters, knn_graph, path_graph
    >>> knn = knn_graph([[0], [1], [2], [3], [4], [25], [26], [27], [28], [29]], 3)
    >>> graph = path_graph(knn)
    >>> count_isolated_branches(gdl_u(graph, initial_clusters(knn)), graph)
    2
    """
    check_integer("min_cluster_size", min_cluster_size, 1)
    costs = branch_costs(tree, graph) if costs is None else costs
    costs = np.where(tree.node_sizes() < min_cluster_size, np.inf, costs)
    sums = _Choices(tree, costs, MAX_COUNT).sums
    possible = np.flatnonzero(np.isfinite(sums))
    if len(possible) == 0:
        return 1
    negligible = NEGLIGIBLE_COST * len(tree.initial_labels) ** (-1 / 4)
    increases = np.clip(np.diff(sums[possible], prepend=sums[possible[0]]), negligible, MAX_INCREASE)
    odds = increases / (1 - increases)
    quotients = np.append(odds[1:] / odds[:-1], 0.0)
    return int(possible[quotients.argmax()])


class _Choices:
    """The best choices of 1, 2, ... up to ``max_clusters`` nodes of a tree, and their sums of costs.

    Parts of the graph that no merge joins are joined by further nodes, which can't be chosen.
    """

    def __init__(self, tree: MergeTree, cost: Floats, max_clusters: int) -> None:
        from ._cut.choice_kernel import fill_choices

        roots = tree.roots()
        large = roots[_is_large(tree)[roots]]
        parts = large if len(large) else roots
        joins = np.arange(len(cost), len(cost) + len(parts) - 1)
        pairs = np.stack([np.append(parts[:1], joins)[: len(joins)], parts[1:]], axis=1)
        joined = MergeTree(tree.initial_labels, np.concatenate([tree.children, pairs]), tree.affinities)
        nodes = np.arange(len(cost) + len(joins))
        n_leaves = sum_below(joined, (nodes < tree.n_initial).astype(np.int64))
        self.children, self.root = joined.children, int(joins[-1] if len(joins) else parts[0])
        self.start = np.append(0, np.cumsum(np.minimum(n_leaves, max(max_clusters, len(parts))) + 1))
        best, self.n_in_first = np.empty(self.start[-1]), np.empty(self.start[-1], np.int32)
        costs = np.append(cost, np.full(len(joins), np.inf))
        fill_choices(self.children, costs, np.isin(nodes, parts), self.start, best, self.n_in_first)
        self.sums = best[self.start[self.root] : self.start[self.root + 1]]  # for 0, 1, ... nodes
        self.n_parts = len(parts)

    def nodes(self, n_clusters: int) -> Ints:
        """Find the best choice of n_clusters nodes, or of the nearest possible number -> (k,)."""
        from ._cut.choice_kernel import trace_choice

        n_chosen = min(max(n_clusters, self.n_parts), len(self.sums) - 1)
        nodes: Ints = np.sort(trace_choice(self.children, self.start, self.n_in_first, self.root, n_chosen))
        return nodes


def _is_large(tree: MergeTree) -> Bools:
    """Find the nodes of more than ln(n) samples, the number that the spacing of a sample needs."""
    is_large: Bools = tree.node_sizes() > np.log(len(tree.initial_labels))
    return is_large
