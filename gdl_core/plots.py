"""Figures of a fit, drawn with matplotlib: the dendrogram, its large branches, and the clusters' scores."""

from typing import Any

import numpy as np

from .outliers import connectivity_scores, split_at_largest_gap
from .tree import place_nodes

HEIGHT = "1 + log10(first affinity / smallest so far)"
PURE_SHARE = 0.9  # a branch with at least this share of samples in one cluster has the cluster's colour


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
        The smallest number of samples of a large branch; by default a hundredth of all samples.

    Returns
    -------
    matplotlib Axes
        Branches with at least nine tenths of their samples in one cluster have the colour of this cluster;
        others are grey. The height is that of `plot_dendrogram`.
    """
    ax = _axes(ax)
    tree, sizes = model.tree_, model.tree_.node_sizes()
    if min_size is None:
        min_size = max(1, len(model.labels_) // 100)
    height = np.concatenate([np.zeros(tree.n_initial), tree.heights()])
    places, ends, order = place_nodes(tree)
    labels = model.labels_[order]
    pending = [(int(root), height.max(initial=0) + 1) for root in tree.roots() if sizes[root] >= min_size]
    while pending:
        node, top = pending.pop()
        outline, branch_labels = [(top, sizes[node])], labels[places[node] : ends[node]]
        start = places[node]
        while node >= tree.n_initial:
            small, large = sorted(tree.children[node - tree.n_initial].tolist(), key=sizes.__getitem__)
            if sizes[small] >= min_size:
                pending += [(small, height[node]), (large, height[node])]
                break
            outline += [(height[node], sizes[node]), (height[node], sizes[large])]
            node = large
        outline.append((height[node], outline[-1][1]))
        y, width = np.array(outline).T
        counts = np.bincount(branch_labels[branch_labels >= 0], minlength=1)
        color = f"C{counts.argmax() % 10}" if counts.max() >= PURE_SHARE * len(branch_labels) else "0.8"
        ax.fill_betweenx(y, start, start + width, color=color, linewidth=0)
    ax.set_xlabel("samples")
    ax.set_ylabel(HEIGHT)
    return ax


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
    is_kept = split_at_largest_gap(scores)[order]
    place = np.arange(len(scores))
    ax.bar(place[is_kept], scores[order][is_kept], color="C0", label="above the largest gap")
    if not is_kept.all():
        ax.bar(place[~is_kept], scores[order][~is_kept], color="0.7", label="below")
        ax.axvline(np.count_nonzero(is_kept) - 0.5, color="k", linestyle=":")
        ax.legend()
    ax.set_xticks(place, [str(c) for c in order])
    ax.set_xlabel("cluster")
    ax.set_ylabel("connectivity score")
    return ax


def _axes(ax: Any) -> Any:
    """Return the axes, or make new ones if there are none."""
    if ax is not None:
        return ax
    from matplotlib import pyplot as plt

    return plt.subplots(layout="constrained")[1]  # leaves room for long labels
