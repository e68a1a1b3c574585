"""Selects large, well separated branches of the hierarchy as clusters."""

from dataclasses import dataclass

import numpy as np

from ._common.checks import check_integer_at_least
from ._common.types import Array, Floats, Ints
from .graph import AffinityGraph, number_by_first
from .selection import Selection
from .separation import weights_of_branches
from .tree import MergeTree

MIN_SHARE = 0.05  # share of the mean size of a cluster; smaller branches are not clusters
LARGE_SHARE = 0.25  # share of the mean size; a merge with a smaller branch only adds a tiny cluster


def select_prominent_clusters(tree: MergeTree, graph: AffinityGraph, n_clusters: int) -> Selection:
    """Choose the ``n_clusters`` branches of the hierarchy that are jointly the most prominent.

    The prominence of a branch is its number of samples divided by its conductance, the share of its edge
    weight that leaves it (`prominences`). Among all choices of ``n_clusters`` branches that do not contain
    each other, dynamic programming finds the one with the largest product of prominences, exactly. Samples
    that are in no chosen branch, such as tiny clusters and noise between clusters, are labelled -1. Branches
    with fewer than a twentieth of n / n_clusters samples are ignored, unless there are too few others. A part
    of the graph that no merge joins to the rest holds a cluster if it has at least that many samples, even if
    this gives more than ``n_clusters``.

    Parameters
    ----------
    tree : MergeTree
    graph : AffinityGraph
        The graph that was merged.
    n_clusters : int

    Returns
    -------
    Selection
        Its ``n_merges`` counts the merges up to the last one, inside a chosen branch, that joins two nodes of
        at least a quarter of n / n_clusters samples each; later merges only add tiny clusters.
    """
    check_integer_at_least("n_clusters", n_clusters, 1)
    sizes, log_prominence = tree.node_sizes(), np.log(prominences(tree, graph))
    n_wanted = min(n_clusters, tree.n_initial)
    min_size = max(1, int(MIN_SHARE * len(tree.initial_labels) / n_clusters))
    while min_size > 1 and _count_leaves(tree, sizes >= min_size) < n_wanted:
        min_size //= 2
    chosen_nodes = _choose_nodes(tree, sizes >= min_size, log_prominence, n_wanted)
    cluster_of_node = np.full(len(sizes), -1, np.int64)
    cluster_of_node[chosen_nodes] = np.arange(len(chosen_nodes))
    for t in range(len(tree.children) - 1, -1, -1):  # a parent comes after its children
        if cluster_of_node[tree.n_initial + t] >= 0:
            cluster_of_node[tree.children[t]] = cluster_of_node[tree.n_initial + t]
    is_inside = cluster_of_node[tree.n_initial :] >= 0
    min_large_size = LARGE_SHARE * len(tree.initial_labels) / n_clusters
    merges_of_large = np.flatnonzero(is_inside & (sizes[tree.children] >= min_large_size).all(axis=1))
    n_merges = int(merges_of_large.max(initial=-1)) + 1
    return Selection(number_by_first(cluster_of_node[tree.initial_labels]), n_merges, min_size)


def prominences(tree: MergeTree, graph: AffinityGraph) -> Floats:
    """Compute the prominence of each node of the hierarchy, its size divided by its conductance.

    Let cut be the weight of the edges that leave or enter a node, and vol the weight of all edges of its
    samples, with those inside counted twice. The conductance is (cut + w) / (vol + w), where w is the largest
    weight in the graph. This counts one extra edge, so that parts without any edge to the rest differ by
    their size.

    Parameters
    ----------
    tree : MergeTree
    graph : AffinityGraph

    Returns
    -------
    (n_initial + m,) float64
        Initial clusters first.
    """
    volume, inside = weights_of_branches(tree, graph)
    extra = graph.weights.max(initial=0.0) or 1.0
    conductance = (np.maximum(volume - inside, 0.0) + extra) / (volume + extra)
    prominence: Floats = tree.node_sizes() / conductance
    return prominence


def _count_leaves(tree: MergeTree, is_large: Array) -> int:
    """Count the large branches that contain no other one: the largest possible number of clusters."""
    has_large_child = is_large[tree.children].any(axis=1)
    return int(is_large[: tree.n_initial].sum() + (is_large[tree.n_initial :] & ~has_large_child).sum())


@dataclass(eq=False)
class _Choices:
    """The best choices of 0, 1, ... nodes within a branch."""

    best: Floats  # (j + 1,) the largest sum of values for each number of nodes
    node: int  # the best choice of one node
    parts: "tuple[_Choices, _Choices] | None" = None  # the branches that were joined, if any
    split: Array | None = None  # (j + 1,) for each number of nodes, the number in the first part


def _choose_nodes(tree: MergeTree, is_large: Array, value: Floats, n_clusters: int) -> Ints:
    """Choose large nodes that do not contain each other, with the largest sum of values -> (k,)."""
    choices: dict[int, _Choices] = {}
    for v in np.flatnonzero(is_large).tolist():  # children come before their parents
        children = []
        if v >= tree.n_initial:
            children = [choices.pop(c) for c in tree.children[v - tree.n_initial].tolist() if c in choices]
        branch = _Choices(np.array([0.0, -np.inf]), v) if not children else children[0]
        if len(children) == 2:
            branch = _join(children[0], children[1], n_clusters)
        if value[v] >= branch.best[1]:  # ties: the larger branch
            branch.best[1], branch.node = value[v], v
        choices[v] = branch
    parts = [choices[v] for v in sorted(choices)]
    if len(parts) >= n_clusters:
        return np.array([part.node for part in parts], np.int64)
    for part in parts:
        part.best[0] = -np.inf  # each part holds a cluster
    while len(parts) > 1:
        parts = [_join(parts[0], parts[1], n_clusters), *parts[2:]]
    nodes: list[int] = []
    pending = [(parts[0], min(n_clusters, len(parts[0].best) - 1))]
    while pending:
        branch, j = pending.pop()
        if j == 1 and branch.node >= 0:
            nodes.append(branch.node)
        elif j:
            assert branch.parts is not None and branch.split is not None
            i = int(branch.split[j])
            pending += [(branch.parts[0], i), (branch.parts[1], j - i)]
    return np.array(sorted(nodes), np.int64)


def _join(a: _Choices, b: _Choices, n_clusters: int) -> _Choices:
    """Combine the choices of two branches; of equal sums, take the one with the fewest nodes in ``a``."""
    if len(a.best) < len(b.best):
        a, b = b, a
    length = min(len(a.best) + len(b.best) - 2, n_clusters) + 1
    best, split = np.full(length, -np.inf), np.zeros(length, np.int32)
    for n_in_b in range(min(len(b.best), length)):
        size = min(len(a.best), length - n_in_b)
        sums, places = a.best[:size] + b.best[n_in_b], slice(n_in_b, n_in_b + size)
        is_better = sums > best[places]
        best[places] = np.where(is_better, sums, best[places])
        split[places] = np.where(is_better, np.arange(size), split[places])
    return _Choices(best, a.node if a.best[1] >= b.best[1] else b.node, (a, b), split)
