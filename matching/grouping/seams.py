"""Cutting of clusters in which graph degree linkage joined two things along a weak seam.

A few wrong matches between two things that moved apart can join the two, because these matches agree with
both, as the matches of one bent thing would. If two branches of the tree of merges were joined with little
affinity, their landmarks decide whether both moved as one thing (`matching.grouping.merging`).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gdl_core.tree import sum_below
from matching._common.types import Bools, Ints
from matching.grouping.clusters import Clustering

AreTwo = Callable[[Ints, Ints], bool]  # whether two branches, their vertices (n,) and (k,), are two things


def cut_seams(
    clustering: Clustering, labels: Ints, min_affinity: float, min_matches: int, are_two: AreTwo
) -> Ints:
    """Cut the clusters that consist of two things: labels (n,), without outliers -> (n,).

    Branches of the tree that were joined with an affinity below `min_affinity`, of `min_matches` members or
    more each, are compared by `are_two`. Without a tree, the clusters stay as they are.
    """
    tree, n_merges = clustering.tree, clustering.n_merges
    if tree is None:
        return labels
    kept = np.flatnonzero(labels >= 0)
    initial = tree.initial_labels[kept]
    counts = sum_below(tree, np.bincount(initial, minlength=tree.n_initial + len(tree.children)))
    is_tested = tree.affinities < min_affinity
    is_tested &= counts[tree.children].min(axis=1) >= min_matches
    is_cut: Bools = np.zeros(len(counts), bool)
    for t, children in enumerate(tree.children[:n_merges].tolist()):
        node = tree.n_initial + t
        is_cut[node] = is_cut[children].any()
        if is_tested[t] and not is_cut[node]:
            nodes = tree.nodes_after(t)[kept]
            branch, other = (kept[nodes == child] for child in children)
            is_cut[node] = are_two(branch, other)
    if not is_cut.any():
        return labels
    top = np.arange(tree.n_initial + n_merges)
    for t in np.flatnonzero(~is_cut[tree.n_initial : tree.n_initial + n_merges])[::-1]:
        top[tree.children[t]] = top[tree.n_initial + t]
    found = np.full(len(labels), -1)
    found[kept] = top[initial]
    return found
