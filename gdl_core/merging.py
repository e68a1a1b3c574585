"""Merging clusters: ``gdl`` (Algorithm 1), ``gdl_u`` (Algorithm 2) and ``agdl`` (Algorithm 3).

All three record their merges as a `MergeTree`. All break ties in the same way: among pairs of equal
affinity the one with the smaller node numbers comes first (compare the smaller numbers, then the larger).
Initial clusters have their labels as numbers, and merged ones follow in the order of creation.
"""

from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ._common.checks import check_integer
from ._common.jobs import effective_jobs
from ._common.types import Array, Floats, Ints
from ._merge.components import interleave, split
from .graph import AffinityGraph
from .reference import check_labels, gdl
from .tree import MergeTree

__all__ = ["agdl", "gdl", "gdl_u"]


def gdl_u(
    graph: AffinityGraph,
    initial_labels: ArrayLike,
    n_clusters: int = 1,
    *,
    min_affinity: float = 0.0,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> MergeTree:
    """Exact graph degree linkage with the update formula (GDL-U, Algorithm 2), in about O(n K log n).

    The result is that of Algorithm 1: the same merges with the same affinities.

    Parameters
    ----------
    graph : AffinityGraph
        n vertices.
    initial_labels : (n,) array of int
        Clusters to start from, 0, 1, ... without gaps.
    n_clusters : int
        n_T; merging stops at this number, or earlier if no pair of clusters has a positive affinity.
    min_affinity : float
        Merging also stops before the first merge with a smaller affinity. This gives all the merges that
        ``cut`` needs with the same ``min_affinity``, in less time.
    n_jobs : int, optional
        Threads, useful only if the graph has unconnected parts: 1 by default, -1 for one on each processor.
        The result is the same for any number.
    verbose : int
        1 shows a progress bar.

    Returns
    -------
    MergeTree
        The hierarchy; call ``cut(n_clusters)`` to get labels.
    """
    return _merge(graph, initial_labels, n_clusters, min_affinity, 0, n_jobs, verbose)


def agdl(
    graph: AffinityGraph,
    initial_labels: ArrayLike,
    n_clusters: int = 1,
    *,
    n_neighbor_clusters: int = 10,
    min_affinity: float = 0.0,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> MergeTree:
    """Accelerated graph degree linkage (AGDL, Algorithm 3): only pairs in the neighbour sets may merge.

    Each cluster starts with the K^c clusters that have the largest affinity to it (fewer if fewer are
    positive). When the neighbour sets of a connected part of the graph no longer hold a pair with a positive
    affinity of at least ``min_affinity``, those of this part are built again in the same way, so that merging
    ends only when no such affinity is left.

    Parameters
    ----------
    graph : AffinityGraph
        n vertices.
    initial_labels : (n,) array of int
        Clusters to start from, 0, 1, ... without gaps.
    n_clusters : int
        n_T, as in `gdl_u`.
    n_neighbor_clusters : int
        K^c.
    min_affinity : float
        Merging ends when no two clusters have an affinity of at least this. It may continue beyond the point
        at which a ``cut`` of the whole tree with this ``min_affinity`` would end, if neighbour sets that were
        built again hold larger affinities.
    n_jobs : int, optional
        Threads, as in `gdl_u`.
    verbose : int
        1 shows a progress bar.

    Returns
    -------
    MergeTree
    """
    k_nearest = check_integer("n_neighbor_clusters", n_neighbor_clusters, 1)
    return _merge(graph, initial_labels, n_clusters, min_affinity, k_nearest, n_jobs, verbose)


def _merge(
    graph: AffinityGraph,
    initial_labels: ArrayLike,
    n_clusters: int,
    min_affinity: float,
    k_nearest: int,
    n_jobs: int | None,
    verbose: int,
) -> MergeTree:
    """Merge by the compiled loop; with k_nearest 0, all pairs may merge (GDL-U), not only neighbour sets."""
    labels, n_initial = check_labels(graph, initial_labels, n_clusters)
    if n_initial <= n_clusters:
        return MergeTree(labels, np.empty((0, 2), np.int64), np.empty(0))
    if len(graph.indices) >= 2**30:
        raise ValueError(f"a graph must have fewer than 2**30 edges, got {len(graph.indices)}")
    parts, *order = split(graph, labels, n_initial)
    children, affinities = np.empty((n_initial, 2), np.int64), np.empty(n_initial)
    n_target = n_clusters if len(parts) == 1 else 1
    state = _state(labels, n_initial, min(k_nearest, n_initial - 1))
    arguments = n_target, float(min_affinity), tuple(order), graph.edge_lists(), state
    # runs of components with about the same number of edges
    edge_end, n_threads = np.cumsum(parts[:, 4]), min(effective_jobs(n_jobs), len(parts))
    cuts = np.searchsorted(edge_end, edge_end[-1] * np.arange(1, n_threads) / n_threads)
    shares = [share for share in np.split(parts, cuts) if len(share)]
    progress = np.zeros((len(shares), 2), np.int64)
    with ThreadPoolExecutor(len(shares)) as pool:
        try:
            jobs = zip(shares, progress, strict=True)
            futures = [pool.submit(_merge_share, *job, arguments, children, affinities) for job in jobs]
            if verbose:
                _show_progress(futures, progress, n_initial - n_clusters)
            for future in futures:
                future.result()
        finally:
            progress[:, 1] = 1  # an interrupt stops the threads
    return MergeTree(labels, *interleave(parts, children, affinities, n_initial, n_clusters))


def _state(labels: Ints, n_initial: int, k_nearest: int) -> tuple[Array, ...]:
    """Make the argument ``state`` of the kernel, as it is before the first merge."""
    from ._merge.pairs import FIRST, LAST, NEAR, NODE, SIZE, WORK

    size = np.bincount(labels, minlength=n_initial)
    end = np.cumsum(size)
    order = np.argsort(labels, kind="stable")
    next_member = np.full(len(labels), -1)
    next_member[order[:-1]] = order[1:]
    next_member[order[end - 1]] = -1
    clusters = np.full((n_initial, 10), -1)
    clusters[:, SIZE] = clusters[:, WORK] = size
    clusters[:, NODE], clusters[:, NEAR] = np.arange(n_initial), 0
    clusters[:, FIRST], clusters[:, LAST] = order[end - size], order[end - 1]
    vertex = np.zeros((len(labels), 3), np.int64)
    vertex[:, 2] = labels
    return clusters, vertex, next_member, np.empty((n_initial, k_nearest), np.int32)


def _merge_share(
    parts: Ints,
    progress: Ints,
    arguments: tuple[Any, ...],
    children: Ints,
    affinities: Floats,
) -> None:
    """Merge the components ``parts``, rows of `split`, in buffers for the largest of them."""
    from ._merge.merge_kernel import merge_components

    n_edges, n_clusters = int(parts[:, 4].max()), int((parts[:, 3] - parts[:, 2]).max())
    n_slots = max(16, 1 << (2 * n_edges - 1).bit_length())
    buffers = (
        np.empty(2 * n_edges, np.int32),  # at most two entries for each edge
        np.empty((2 * n_edges, 4)),
        np.empty((2 * n_edges, 2), np.int32),
        # A pair needs an edge in each direction. A new pair uses up two entries with one direction only.
        np.empty((n_edges, 8), np.int32),
        np.empty((n_edges, 5)),
        np.empty(n_edges, np.int32),
        np.empty(n_slots, np.int32),
        np.empty(n_clusters, np.int32),
        np.empty(n_clusters, np.int64),
    )
    merge_components(parts, *arguments, buffers, children, affinities, progress)


def _show_progress(futures: list[Future[None]], progress: Ints, total: int) -> None:
    """Show a progress bar that follows ``progress`` (threads, 2), until the threads have finished."""
    from tqdm import tqdm

    with tqdm(total=total, desc="merging", unit="merge") as bar:
        while wait(futures, timeout=0.1).not_done:
            bar.update(min(int(progress[:, 0].sum()), total) - bar.n)
        bar.update(total - bar.n)
