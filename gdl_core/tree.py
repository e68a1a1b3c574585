"""The result of merging: the hierarchy and its partitions."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ._common.checks import check_integer
from ._common.types import Array, Floats, Ints
from .graph import number_by_first


@dataclass(frozen=True, eq=False)
class MergeTree:
    """The merges of one run, in order.

    Node numbers: 0 .. n_initial - 1 are the initial clusters, n_initial + t is the node that merge t made.

    Parameters
    ----------
    initial_labels : (n,) int64
        The initial cluster of each sample.
    children : (m, 2) int64
        The two nodes that each merge joins, the smaller number first.
    affinities : (m,) float64
        Their affinities (Eq. 4), which are not monotone; 0 for a merge of clusters without affinity.
    """

    initial_labels: Ints
    children: Ints
    affinities: Floats

    @cached_property
    def n_initial(self) -> int:
        """The number of initial clusters."""
        return int(self.initial_labels.max()) + 1 if len(self.initial_labels) else 0

    def cut(self, n_clusters: int, *, min_affinity: float = 0.0) -> Ints:
        """Return the partition into ``n_clusters`` clusters, or the nearest number that the merges reach.

        Parameters
        ----------
        n_clusters : int
            At least 1. With more than ``n_initial``, the result is the partition into initial clusters; with
            fewer than ``n_initial - m``, it is the partition after the last merge.
        min_affinity : float
            The first merge with an affinity below this, and all later ones, are left out, even if more than
            ``n_clusters`` clusters are left then.

        Returns
        -------
        (n,) int64
            Labels 0, 1, ... in the order of the clusters' smallest members.
        """
        return self.after(self.count_merges(n_clusters, min_affinity=min_affinity))

    def count_merges(self, n_clusters: int, *, min_affinity: float = 0.0) -> int:
        """Count the merges that make the partition of `cut`.

        Parameters
        ----------
        n_clusters : int
            At least 1.
        min_affinity : float
            As for `cut`.

        Returns
        -------
        int
        """
        check_integer("n_clusters", n_clusters, 1)
        n_merges = min(max(self.n_initial - n_clusters, 0), len(self.children))
        too_small = np.flatnonzero(self.affinities[:n_merges] < min_affinity)
        return int(too_small[0]) if len(too_small) else n_merges

    def after(self, n_merges: int) -> Ints:
        """Return the partition after the first merges.

        Parameters
        ----------
        n_merges : int
            The number of merges.

        Returns
        -------
        (n,) int64
            Labels, as from `cut`.
        """
        return number_by_first(self.nodes_after(n_merges))

    def nodes_after(self, n_merges: int) -> Ints:
        """Find the node of each sample after the first merges.

        Parameters
        ----------
        n_merges : int
            The number of merges.

        Returns
        -------
        (n,) int64
        """
        n = self.n_initial
        root = np.arange(n + n_merges)
        for t in range(n_merges - 1, -1, -1):  # a parent comes after its children
            root[self.children[t]] = root[n + t]
        return root[self.initial_labels]

    def node_sizes(self) -> Ints:
        """Count the samples in each node.

        Returns
        -------
        (n_initial + m,) int64
            Initial clusters first.
        """
        n_nodes = self.n_initial + len(self.children)
        return sum_below(self, np.bincount(self.initial_labels, minlength=n_nodes))

    def roots(self) -> Ints:
        """Find the nodes that no merge has joined to another one.

        Returns
        -------
        (r,) int64
            In ascending order.
        """
        return np.delete(np.arange(self.n_initial + len(self.children)), self.children.ravel())

    def heights(self) -> Floats:
        """Compute an increasing height for each merge, for drawing.

        1 + log10(a_1 / min(a_1, ..., a_t)): affinities rise and fall along the merges, but their running
        minimum never rises. One unit is a factor of ten. Merges without affinity are one unit above all
        others.

        Returns
        -------
        (m,) float64
        """
        lowest = np.minimum.accumulate(self.affinities)
        heights = 1 + np.log10(lowest[:1] / lowest[lowest > 0])
        top = np.full(np.count_nonzero(lowest <= 0), heights.max(initial=0) + 1)
        return np.append(heights, top)

    def linkage(self) -> Floats:
        """Return the hierarchy as SciPy's linkage matrix over the samples.

        Members of an initial cluster are joined first, one after the other at height 0. Then come the merges
        at their `heights`. Clusters that are left after the last merge are joined one unit above it. The
        matrix is meant for ``scipy.cluster.hierarchy.dendrogram``; use `cut` for partitions.

        Returns
        -------
        (n - 1, 4) float64
        """
        n, heights = len(self.initial_labels), self.heights()
        rows: list[tuple[int, int, float, int]] = []
        node: dict[int, int] = {}  # the number in the linkage of each node of the tree
        size = np.ones(max(2 * n - 1, 0), np.int64)

        def join(a: int, b: int, height: float) -> int:
            new = n + len(rows)
            size[new] = size[a] + size[b]
            rows.append((min(a, b), max(a, b), height, size[new]))
            return new

        for i, c in enumerate(self.initial_labels.tolist()):
            node[c] = join(node[c], i, 0.0) if c in node else i
        for t, (a, b) in enumerate(self.children.tolist()):
            node[self.n_initial + t] = join(node[a], node[b], heights[t])
        roots = [node[c] for c in self.roots().tolist()]
        for other in roots[1:]:
            roots[0] = join(roots[0], other, heights.max(initial=0) + 1)
        return np.array(rows, np.float64).reshape(-1, 4)


def sum_below(tree: MergeTree, values: Array) -> Array:
    """Compute, for each node of a tree, the sum of its value and those of all nodes below it.

    Parameters
    ----------
    tree : MergeTree
    values : (n_initial + m, ...) array
        Initial clusters first.

    Returns
    -------
    (n_initial + m, ...) array
    """
    sums = values.copy()
    for t, (a, b) in enumerate(tree.children.tolist()):
        sums[tree.n_initial + t] += sums[a] + sums[b]
    return sums


def spread_below(tree: MergeTree, values: Ints) -> Ints:
    """Give each node without a value that of the smallest node above it that has one.

    Parameters
    ----------
    tree : MergeTree
    values : (n_initial + m,) int64
        Initial clusters first; -1 is no value.

    Returns
    -------
    (n_initial + m,) int64
    """
    values = values.copy()
    for t in range(len(tree.children) - 1, -1, -1):  # a parent comes after its children
        for child in tree.children[t]:
            if values[child] < 0:
                values[child] = values[tree.n_initial + t]
    return values


def place_nodes(tree: MergeTree) -> tuple[Ints, Ints, Ints]:
    """Place the samples on a line, those of each node side by side, the larger of two nodes first.

    Parameters
    ----------
    tree : MergeTree

    Returns
    -------
    first, end : (n_initial + m,) int64
        The places of the samples of node v are ``first[v]`` to ``end[v] - 1``.
    order : (n,) int64
        The sample at each place.
    """
    sizes, roots = tree.node_sizes(), tree.roots()
    places = np.zeros(len(sizes), np.int64)
    places[roots] = np.cumsum(sizes[roots]) - sizes[roots]
    for t in range(len(tree.children) - 1, -1, -1):
        small, large = sorted(tree.children[t].tolist(), key=sizes.__getitem__)
        places[large] = places[tree.n_initial + t]
        places[small] = places[large] + sizes[large]
    return places, places + sizes, np.argsort(places[tree.initial_labels], kind="stable")
