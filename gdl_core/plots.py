"""Figures of a fit, by matplotlib: the dendrogram, and the scores of the clusters with their largest gap."""

from typing import Any

import numpy as np

from .outliers import connectivity_scores, split_at_largest_gap


def plot_dendrogram(model: Any, ax: Any = None, *, n_leaves: int = 30) -> Any:
    """Draw the last merges of a fit.

    Parameters
    ----------
    model : GraphDegreeLinkage
        After ``fit``.
    ax : matplotlib Axes, optional
        A new one by default.
    n_leaves : int
        Branches at the bottom; each is labelled with its number of samples.

    Returns
    -------
    matplotlib Axes
        The height is that of `MergeTree.heights`: one unit is a factor of ten of the affinity.
    """
    from scipy.cluster.hierarchy import dendrogram

    ax = _axes(ax)
    linkage = model.linkage()
    if len(linkage):
        dendrogram(linkage, n_leaves, "lastp", ax=ax, color_threshold=0, above_threshold_color="C0")
    ax.set_xlabel("samples in each branch")
    ax.set_ylabel("1 + log10(first affinity / smallest so far)")
    return ax


def plot_scores(model: Any, ax: Any = None) -> Any:
    """Draw the connectivity scores of the clusters, the largest first, and the largest gap between them.

    Parameters
    ----------
    model : GraphDegreeLinkage
        After ``fit``; without ``drop_outliers``, which leaves nothing below the gap.
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

    return plt.subplots()[1]
