"""Separates outlier clusters from others by the largest gap between connectivity scores (supplement, "Outlier
Elimination").
"""

import numpy as np
from numpy.typing import ArrayLike

from ._common.checks import LARGEST, check_sample_labels, check_values
from ._common.types import Bools, Floats, Ints
from .graph import AffinityGraph


def connectivity_scores(graph: AffinityGraph, labels: ArrayLike) -> Floats:
    """Compute the connectivity score of each cluster, sum_{i in C} [deg^-_i(C) + deg^+_i(C)].

    Parameters
    ----------
    graph : AffinityGraph
        n vertices.
    labels : (n,) array of int
        Clusters 0, 1, ...; -1 for samples in no cluster.

    Returns
    -------
    (n_clusters,) float64
        The scores; by Definition 2, each is 2 / |C| times the sum of all edge weights inside C.
    """
    labels = check_sample_labels(graph.n_samples, labels)
    size = np.bincount(labels[labels >= 0])
    return 2 * sum_inside_weights(graph, labels) / np.maximum(size, 1)


def sum_inside_weights(graph: AffinityGraph, labels: Ints) -> Floats:
    """Sum the weights of the edges between samples of the same cluster, labels (n,) -> (n_clusters,)."""
    source = labels[graph.sources]
    is_inside = (source == labels[graph.indices]) & (source >= 0)
    n_clusters = int(labels.max(initial=-1)) + 1
    sums: Floats = np.bincount(source[is_inside], graph.weights[is_inside], n_clusters).astype(np.float64)
    return sums


def split_at_largest_gap(scores: ArrayLike) -> Bools:
    """Find the clusters above the largest gap between consecutive scores.

    Parameters
    ----------
    scores : (n_clusters,) array of float

    Returns
    -------
    (n_clusters,) bool
        True for the clusters to keep. If several gaps are equal, the one between the highest scores counts.
        If there is no gap (no cluster, one cluster, or equal scores), every cluster is kept; of two clusters
        with different scores, the higher one is kept.

    Examples
    --------
    >>> split_at_largest_gap([3.0, 41.0, 5.0, 38.0])
    array([False,  True, False,  True])
    """
    scores = np.asarray(scores, dtype=np.float64)
    if scores.ndim != 1:
        raise ValueError(f"scores must have shape (n_clusters,), got {scores.shape}")
    check_values("scores", scores, "finite", -LARGEST)
    falling = np.sort(scores)[::-1]
    gaps = falling[:-1] - falling[1:]
    if gaps.size == 0 or gaps.max() == 0:
        return np.ones(len(scores), bool)
    is_kept: Bools = scores >= falling[gaps.argmax()]
    return is_kept
