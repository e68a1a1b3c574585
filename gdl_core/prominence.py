"""Selects the branches of the hierarchy that are clusters: those that are large and well separated."""

import numpy as np

from ._common.checks import check_integer_at_least
from ._common.types import Array, Floats, Ints
from .graph import AffinityGraph, number_by_first
from .selection import Selection
from .separation import weights_of_branches
from .tree import MergeTree

SMALLEST_SHARE = 0.05  # share of an average cluster: smaller branches are not clusters
LARGE_SHARE = 0.25  # share of an average cluster: a merge with a smaller branch only adds a tiny cluster


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
    sizes, worth = tree.node_sizes(), np.log(prominences(tree, graph))
    wanted = min(n_clusters, tree.n_initial)
    smallest = max(1, int(SMALLEST_SHARE * len(tree.initial_labels) / n_clusters))
    while smallest > 1 and _count_leaves(tree, sizes >= smallest) < wanted:
        smallest //= 2
    chosen = _choose(tree, sizes >= smallest, worth, wanted)
    of_node = np.full(len(sizes), -1, np.int64)
    of_node[chosen] = np.arange(len(chosen))
    for t in range(len(tree.children) - 1, -1, -1):  # a parent comes after its children
        if of_node[tree.n_initial + t] >= 0:
            of_node[tree.children[t]] = of_node[tree.n_initial + t]
    inside = of_node[tree.n_initial :] >= 0
    least = LARGE_SHARE * len(tree.initial_labels) / n_clusters
    of_large = np.flatnonzero(inside & (sizes[tree.children] >= least).all(axis=1))
    n_merges = int(of_large.max(initial=-1)) + 1
    return Selection(number_by_first(of_node[tree.initial_labels]), n_merges, smallest)


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
    one = graph.weights.max(initial=0.0) or 1.0
    conductance = (np.maximum(volume - inside, 0.0) + one) / (volume + one)
    prominence: Floats = tree.node_sizes() / conductance
    return prominence


def _count_leaves(tree: MergeTree, large: Array) -> int:
    """Count the large branches that contain no other one: the largest possible number of clusters."""
    inner = large[tree.children].any(axis=1)
    return int(large[: tree.n_initial].sum() + (large[tree.n_initial :] & ~inner).sum())


class _Row:
    """The best choices within a branch: ``best[j]`` is the largest sum for j nodes; ``node`` is the choice
    for one.
    """

    def __init__(self, best: Floats, node: int, parts: "tuple[_Row, _Row] | None" = None) -> None:
        self.best, self.node, self.parts = best, node, parts
        self.split: Array = np.empty(0, np.int32)  # for j nodes, the number in the first part


def _choose(tree: MergeTree, large: Array, worth: Floats, n_clusters: int) -> Ints:
    """(k,) nodes that do not contain each other, with the largest sum of worth."""
    rows: dict[int, _Row] = {}
    for v in np.flatnonzero(large).tolist():  # children come first
        below = []
        if v >= tree.n_initial:
            below = [rows.pop(c) for c in tree.children[v - tree.n_initial].tolist() if c in rows]
        row = _Row(np.array([0.0, -np.inf]), v) if not below else below[0]
        if len(below) == 2:
            row = _join(below[0], below[1], n_clusters)
        if worth[v] >= row.best[1]:  # ties: the larger branch
            row.best[1], row.node = worth[v], v
        rows[v] = row
    parts = [rows[v] for v in sorted(rows)]
    if len(parts) >= n_clusters:
        return np.array([p.node for p in parts], np.int64)
    for p in parts:
        p.best[0] = -np.inf  # each part holds a cluster
    while len(parts) > 1:
        parts = [_join(parts[0], parts[1], n_clusters), *parts[2:]]
    chosen: list[int] = []
    left = [(parts[0], min(n_clusters, len(parts[0].best) - 1))]
    while left:
        row, j = left.pop()
        if j == 1 and row.node >= 0:
            chosen.append(row.node)
        elif j:
            assert row.parts is not None
            i = int(row.split[j])
            left += [(row.parts[0], i), (row.parts[1], j - i)]
    return np.array(sorted(chosen), np.int64)


def _join(a: _Row, b: _Row, n_clusters: int) -> _Row:
    """The row of two branches together; of equally good choices, the one with the fewest nodes in ``a``."""
    if len(a.best) < len(b.best):
        a, b = b, a
    length = min(len(a.best) + len(b.best) - 2, n_clusters) + 1
    best, split = np.full(length, -np.inf), np.zeros(length, np.int32)
    for y in range(min(len(b.best), length)):
        room = min(len(a.best), length - y)
        together = a.best[:room] + b.best[y]
        here = slice(y, y + room)
        better = together > best[here]
        best[here] = np.where(better, together, best[here])
        split[here] = np.where(better, np.arange(room), split[here])
    row = _Row(best, a.node if a.best[1] >= b.best[1] else b.node, (a, b))
    row.split = split
    return row
