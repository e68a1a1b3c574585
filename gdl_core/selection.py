"""Cuts the hierarchy where only clusters of a smallest size count."""

from bisect import bisect_left
from dataclasses import dataclass

import numpy as np

from ._common.checks import check_integer
from ._common.types import Ints
from .graph import number_by_first
from .tree import MergeTree, spread_below


@dataclass(frozen=True, eq=False)
class Selection:
    """A partition with the clusters that count.

    Parameters
    ----------
    labels : (n,) int64
        0, 1, ... in the order of the clusters' smallest members; -1 for samples of clusters that do not
        count.
    n_merges : int
        Merges before the cut.
    min_cluster_size : int
        The size that was used. It is smaller than the requested one if no cut has enough clusters of the
        requested size.
    """

    labels: Ints
    n_merges: int
    min_cluster_size: int

    @property
    def n_clusters(self) -> int:
        """The number of clusters that count."""
        return int(self.labels.max(initial=-1)) + 1


def select_clusters(tree: MergeTree, n_clusters: int, min_cluster_size: int = 1) -> Selection:
    """Cut where exactly ``n_clusters`` clusters have at least ``min_cluster_size`` members.

    A merge changes the number of such clusters by -1, 0 or +1, so the number rises and falls. Of all cuts
    with the right number, the last one before the final merges without affinity is used; if there is none,
    the first one among these merges. If the number is never reached, the size is reduced to the largest one
    that reaches it. If the merges end before the number falls that low, the cut is after the last merge.

    Parameters
    ----------
    tree : MergeTree
    n_clusters : int
    min_cluster_size : int
        1 is the paper's rule: every cluster counts, even a single sample.

    Returns
    -------
    Selection
    """
    check_integer("n_clusters", n_clusters, 1)
    check_integer("min_cluster_size", min_cluster_size, 1)
    sizes = tree.node_sizes()
    n_wanted = min(n_clusters, tree.n_initial)

    def gives_too_few(size: int) -> bool:
        return bool(count_large_clusters(tree, sizes, size).max() < n_wanted)

    size = 1 + bisect_left(range(2, int(min_cluster_size) + 1), True, key=gives_too_few)
    cuts = np.flatnonzero(count_large_clusters(tree, sizes, size) == n_wanted)
    by_affinity = cuts[cuts <= np.count_nonzero(tree.affinities)][-1:]
    n_merges = int([*by_affinity, *cuts, len(tree.children)][0])
    labels = tree.after(n_merges)
    is_small = np.bincount(labels) < size
    return Selection(number_by_first(np.where(is_small[labels], -1, labels)), n_merges, size)


def count_large_clusters(tree: MergeTree, sizes: Ints, min_cluster_size: int) -> Ints:
    """Count the large clusters before the first merge and after each.

    Parameters
    ----------
    tree : MergeTree
        Of m merges.
    sizes : (n_initial + m,) int64
        Samples of each node.
    min_cluster_size : int
        The fewest samples of a large cluster.

    Returns
    -------
    (m + 1,) int64
        The counts.
    """
    is_large = sizes >= min_cluster_size
    start = is_large[: tree.n_initial].sum()
    steps = is_large[tree.n_initial :].astype(np.int64) - is_large[tree.children].sum(axis=1)
    counts: Ints = start + np.concatenate([[0], np.cumsum(steps)])
    return counts


def explain_selection(
    tree: MergeTree, selection: Selection, n_clusters: int, requested_size: int | None
) -> str:
    """Explain to a user who requested ``n_clusters`` why the selection has another number of clusters.

    Parameters
    ----------
    tree : MergeTree
    selection : Selection
    n_clusters : int
    requested_size : int or None
        The min_cluster_size that the user requested, if any.

    Returns
    -------
    str
        The message; empty if the selection is as requested.
    """
    if selection.n_clusters < n_clusters:
        message = f"the number of initial clusters is only {selection.n_clusters}"
        if tree.n_initial == len(tree.initial_labels):
            return message
        return f"{message}; fit with this n_clusters or a smaller n_initial_neighbors"
    if selection.n_clusters > n_clusters:
        return f"{selection.n_clusters} clusters are left: parts of the graph that no edge joins"
    if (tree.affinities[: selection.n_merges] == 0).any():
        return (
            "no positive affinity was left before this number was reached: the remaining clusters were joined"
            " by edges and by distance"
        )
    if requested_size is not None and selection.min_cluster_size < requested_size:
        size = selection.min_cluster_size
        return f"no cut has that many clusters of at least min_cluster_size samples; size {size} is used"
    return ""


def place_by_tree(tree: MergeTree, labels: Ints) -> Ints:
    """Give samples labelled -1 to the cluster with which the hierarchy joins them first.

    Parameters
    ----------
    tree : MergeTree
    labels : (n,) int64
        Clusters 0, 1, ...; -1 for samples in no cluster.

    Returns
    -------
    (n,) int64
        Of several clusters in a branch, that of the larger part is taken; -1 only for samples that no merge
        joins to a cluster.
    """
    is_placed, sizes = labels >= 0, tree.node_sizes()
    if is_placed.all():
        return labels
    cluster = np.full(len(sizes), -1, np.int64)
    cluster[tree.initial_labels[is_placed]] = labels[is_placed]
    for t, (a, b) in enumerate(tree.children.tolist()):
        larger, smaller = (a, b) if sizes[a] >= sizes[b] else (b, a)
        cluster[tree.n_initial + t] = cluster[larger] if cluster[larger] >= 0 else cluster[smaller]
    return np.where(is_placed, labels, spread_below(tree, cluster)[tree.initial_labels])
