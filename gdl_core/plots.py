"""Figures of a fit, drawn with matplotlib: the dendrogram, its large branches, and the clusters' scores."""

from typing import Any

import numpy as np

from ._common.types import Ints
from .outliers import connectivity_scores, split_at_largest_gap
from .separation import smallest_judged
from .tree import MergeTree

HEIGHT = "1 + log10(first affinity / smallest so far)"
PURE = 0.9  # a branch with this share in one cluster has the cluster's colour


def plot_dendrogram(model: Any, ax: Any = None, *, n_leaves: int = 30) -> Any:
    """Draw the last merges of a fit.

    Parameters
    ----------
    model : GraphDegreeLinkage
        After ``fit``.
    ax : matplotlib Axes, optional
        A new one by default, in a figure with room for its labels.
    n_leaves : int
        Number of branches at the bottom; each is labelled with its number of samples.

    Returns
    -------
    matplotlib Axes
        The height is that of `MergeTree.heights`: one unit is a factor of ten in the affinity.
    """
    from scipy.cluster.hierarchy import dendrogram

    ax = _axes(ax)
    linkage = model.linkage()
    if len(linkage):
        look = {"color_threshold": 0, "above_threshold_color": "C0", "leaf_rotation": 90}
        dendrogram(linkage, n_leaves, "lastp", ax=ax, **look)
    ax.set_xlabel("samples in each branch")
    ax.set_ylabel(HEIGHT)
    return ax


def plot_condensed(model: Any, ax: Any = None, *, min_size: int | None = None) -> Any:
    """Draw the large branches of the hierarchy, each as wide as its number of samples.

    A branch extends from the merge that joins it to another large one down to the merge of its two large
    parts. It becomes narrower where smaller branches leave it.

    Parameters
    ----------
    model : GraphDegreeLinkage
        After ``fit``.
    ax : matplotlib Axes, optional
        A new one by default.
    min_size : int, optional
        The smallest number of samples of a large branch; by default as in `count_separate_clusters`.

    Returns
    -------
    matplotlib Axes
        Branches with at least nine tenths of their samples in one cluster have the colour of this cluster;
        others are grey. The height is that of `plot_dendrogram`.
    """
    ax = _axes(ax)
    tree, sizes = model.tree_, model.tree_.node_sizes()
    least = smallest_judged(model.graph_) if min_size is None else min_size
    height = np.concatenate([np.zeros(tree.n_initial), tree.heights()])
    first = _places(tree, sizes)
    labels = model.labels_[np.argsort(first[tree.initial_labels], kind="stable")]
    left = [(int(root), height.max(initial=0) + 1) for root in tree.roots() if sizes[root] >= least]
    while left:
        node, top = left.pop()
        edge, own = [(top, sizes[node])], labels[first[node] : first[node] + sizes[node]]
        start = first[node]
        while node >= tree.n_initial:
            small, large = sorted(tree.children[node - tree.n_initial].tolist(), key=sizes.__getitem__)
            if sizes[small] >= least:
                left += [(small, height[node]), (large, height[node])]
                break
            edge += [(height[node], sizes[node]), (height[node], sizes[large])]
            node = large
        edge.append((height[node], edge[-1][1]))
        at, width = np.array(edge).T
        counts = np.bincount(own[own >= 0], minlength=1)
        color = f"C{counts.argmax() % 10}" if counts.max() >= PURE * len(own) else "0.8"
        ax.fill_betweenx(at, start, start + width, color=color, linewidth=0)
    ax.set_xlabel("samples")
    ax.set_ylabel(HEIGHT)
    return ax


def _places(tree: MergeTree, sizes: Ints) -> Ints:
    """(n_initial + m,) the first place on the axis of each node's samples; the larger of two nodes comes
    first.
    """
    first = np.zeros(len(sizes), np.int64)
    roots = tree.roots()
    first[roots] = np.cumsum(sizes[roots]) - sizes[roots]
    for t in range(len(tree.children) - 1, -1, -1):  # a parent comes after its children
        small, large = sorted(tree.children[t].tolist(), key=sizes.__getitem__)
        first[large] = first[tree.n_initial + t]
        first[small] = first[large] + sizes[large]
    return first


def plot_scores(model: Any, ax: Any = None) -> Any:
    """Draw the connectivity scores of the clusters, the largest first, and the largest gap between them.

    Parameters
    ----------
    model : GraphDegreeLinkage
        After ``fit``, without ``drop_outliers``, because otherwise nothing is left below the gap.
    ax : matplotlib Axes, optional
        A new one by default.

    Returns
    -------
    matplotlib Axes
    """
    ax = _axes(ax)
    scores = connectivity_scores(model.graph_, model.labels_)
    order = np.argsort(-scores, kind="stable")
    kept = split_at_largest_gap(scores)[order]
    place = np.arange(len(scores))
    ax.bar(place[kept], scores[order][kept], color="C0", label="above the largest gap")
    if not kept.all():
        ax.bar(place[~kept], scores[order][~kept], color="0.7", label="below")
        ax.axvline(np.count_nonzero(kept) - 0.5, color="k", linestyle=":")
        ax.legend()
    ax.set_xticks(place, [str(c) for c in order])
    ax.set_xlabel("cluster")
    ax.set_ylabel("connectivity score")
    return ax


def _axes(ax: Any) -> Any:
    if ax is not None:
        return ax
    from matplotlib import pyplot as plt

    return plt.subplots(layout="constrained")[1]  # leaves room for long labels
