"""Merging clusters: ``gdl`` (Algorithm 1), ``gdl_u`` (Algorithm 2) and ``agdl`` (Algorithm 3).

All three record what they merge as a `MergeTree`. Ties are the same in all: among pairs of equal affinity the one with the
smaller node numbers comes first (compare the smaller numbers, then the larger), where initial clusters are numbered as
labelled and merged ones after them in order of creation.
"""

import threading

import numpy as np

from .reference import gdl
from .tree import MergeTree

__all__ = ["agdl", "gdl", "gdl_u"]


def gdl_u(graph, initial_labels, n_clusters=1, *, verbose=0):
    """Exact graph degree linkage with the update formula (GDL-U, Algorithm 2), in about O(n K log n).

    The result is that of Algorithm 1: the same merges with the same affinities.

    Parameters
    ----------
    graph : AffinityGraph
        n vertices.
    initial_labels : (n,) array of int
        Clusters to start from, 0, 1, ... without gaps.
    n_clusters : int
        n_T; merging stops at this number, or earlier where no pair of clusters has a positive affinity.
    verbose : int
        1 shows a progress bar.

    Returns
    -------
    MergeTree
        Ask it for ``cut(n_clusters)``.
    """
    return _merge(graph, initial_labels, n_clusters, 0, verbose)


def agdl(graph, initial_labels, n_clusters=1, *, n_neighbor_clusters=10, verbose=0):
    """Accelerated graph degree linkage (AGDL, Algorithm 3): only pairs in the neighbour sets may merge.

    Each cluster starts with the K^c clusters of the largest affinity to it (fewer where fewer are positive). When the neighbour
    sets hold no pair any more and n_clusters is not reached, they are built anew in the same way.

    Parameters
    ----------
    graph, initial_labels, n_clusters, verbose
        As in `gdl_u`.
    n_neighbor_clusters : int
        K^c.

    Returns
    -------
    MergeTree
    """
    if n_neighbor_clusters < 1:
        raise ValueError(f"n_neighbor_clusters must be at least 1, got {n_neighbor_clusters}")
    return _merge(graph, initial_labels, n_clusters, int(n_neighbor_clusters), verbose)


def _merge(graph, initial_labels, n_clusters, k_nearest, verbose):
    from ._merge_kernel import merge

    labels, n_initial = checked_labels(graph, initial_labels, n_clusters)
    k_nearest = min(k_nearest, max(n_initial - 1, 1)) if k_nearest else 0
    children = np.empty((max(n_initial - 1, 0), 2), np.int64)
    affinities = np.empty(len(children), np.float64)
    progress = np.zeros(2, np.int64)
    arguments = (
        n_initial,
        n_clusters,
        k_nearest,
        labels.astype(np.int32),
        np.ascontiguousarray(graph.indptr, np.int64),
        np.ascontiguousarray(graph.indices, np.int32),
        np.ascontiguousarray(graph.weights, np.float64),
        children,
        affinities,
        progress,
    )
    if verbose:
        n_merges = _watched(merge, arguments, progress, max(n_initial - n_clusters, 0))
    else:
        n_merges = merge(*arguments)
    return MergeTree(labels, children[:n_merges].copy(), affinities[:n_merges].copy())


def checked_labels(graph, initial_labels, n_clusters):
    """The labels as (n,) int64 and their number, or one clear error."""
    labels = np.asarray(initial_labels)
    if labels.shape != (graph.n_samples,):
        raise ValueError(f"initial_labels must have shape ({graph.n_samples},), got {labels.shape}")
    if n_clusters < 1:
        raise ValueError(f"n_clusters must be at least 1, got {n_clusters}")
    labels = labels.astype(np.int64)
    n_initial = int(labels.max()) + 1 if len(labels) else 0
    if len(labels) and (labels.min() < 0 or np.bincount(labels, minlength=n_initial).min() == 0):
        raise ValueError("initial_labels must be 0, 1, ... without gaps")
    return labels, n_initial


def _watched(kernel, arguments, progress, total):
    """Run the kernel in a thread of its own and show how far it is; stops it when interrupted."""
    from tqdm import tqdm

    result = []
    worker = threading.Thread(target=lambda: result.append(kernel(*arguments)), daemon=True)
    with tqdm(total=total, desc="merging", unit="merge") as bar:
        worker.start()
        try:
            while worker.is_alive():
                worker.join(0.1)
                bar.update(int(progress[0]) - bar.n)
        except BaseException:
            progress[1] = 1
            raise
        finally:
            worker.join()
        bar.update(int(progress[0]) - bar.n)
    return result[0]
