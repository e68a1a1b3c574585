"""Redraws the boundaries of clusters by random walks on the graph."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import ArrayLike

from ._common.checks import check_integer_at_least, check_sample_labels
from ._common.jobs import effective_jobs
from ._common.types import Array, Floats, Ints
from .graph import AffinityGraph

N_STEPS = 8  # steps of a walk
MAX_ROUNDS = 50  # rounds of walks


def smooth_labels(
    graph: AffinityGraph, labels: ArrayLike, n_steps: int = N_STEPS, *, n_jobs: int | None = None
) -> Ints:
    """Give each sample to the cluster in which random walks from it end, until no label changes.

    A walk takes ``n_steps`` steps along the edges, in either direction, with probabilities in proportion to
    w_ij + w_ji. The sample where it began goes to the cluster C with the largest P(it ends in C) / sqrt(vol
    C), where vol is the sum of the weights of all edges from and to C (ties: the smaller label). This is a
    power iteration towards the smallest normalized cut: P^t is applied to the normalized indicators of the
    clusters, followed by the nearest partition. If a cluster would lose all of its samples, they stay for
    that round. There are at most 50 rounds. For each sample, only the eight likeliest clusters that walks
    reach are followed.

    Parameters
    ----------
    graph : AffinityGraph
        n vertices.
    labels : (n,) array of int
        Clusters 0, 1, ...; samples labelled -1 keep this label.
    n_steps : int
        Steps of a walk; 0 returns the labels.
    n_jobs : int, optional
        Threads: 1 by default, -1 for all. The result is the same for any number.

    Returns
    -------
    (n,) int64
    """
    labels = check_sample_labels(graph.n_samples, labels)
    n_clusters = int(labels.max(initial=-1)) + 1
    if not check_integer_at_least("n_steps", n_steps, 0) or n_clusters < 2:
        return labels
    edges = graph.symmetric()
    degree = np.asarray(edges.sum(axis=1)).ravel()
    is_placed = labels >= 0
    with ThreadPoolExecutor(effective_jobs(n_jobs)) as pool:
        walks = _RandomWalks(
            (edges.indptr, edges.indices, edges.data), n_clusters, pool, effective_jobs(n_jobs)
        )
        for _ in range(MAX_ROUNDS):
            volume: Floats = np.bincount(labels[is_placed], degree[is_placed], n_clusters).astype(np.float64)
            new_labels = np.where(is_placed, walks.find_ends(labels, n_steps, volume), -1)
            new_labels = np.where(new_labels >= 0, new_labels, labels)  # a sample without edges goes nowhere
            new_labels = _keep_all_clusters(new_labels, labels, n_clusters)
            if (new_labels == labels).all():
                break
            labels = new_labels
    return labels


def _keep_all_clusters(new_labels: Ints, labels: Ints, n_clusters: int) -> Ints:
    """Return ``new_labels``, but keep ``labels`` for the samples of clusters that would be left empty."""
    while True:
        empty = np.bincount(new_labels[new_labels >= 0], minlength=n_clusters) == 0
        if not empty.any():
            return new_labels
        new_labels = np.where((labels >= 0) & empty[labels], labels, new_labels)


class _RandomWalks:
    """Random walks on a graph (indptr, indices, weights), computed by threads for ranges of rows."""

    def __init__(
        self, graph: tuple[Array, ...], n_clusters: int, pool: ThreadPoolExecutor, n_threads: int
    ) -> None:
        self.graph, self.n_clusters, self.pool = graph, n_clusters, pool
        indptr = graph[0]
        cuts = np.searchsorted(indptr, indptr[-1] * np.arange(1, n_threads) / n_threads)
        self.rows = list(zip([0, *cuts.tolist()], [*cuts.tolist(), len(indptr) - 1], strict=True))

    def find_ends(self, labels: Ints, n_steps: int, volume: Floats) -> Ints:
        """Find each sample's cluster with the largest share of ends per root of its volume, or -1 -> (n,)."""
        from ._cut.walk import MAX_CLUSTERS, walk_step

        clusters = np.full((len(labels), MAX_CLUSTERS), -1, np.int32)
        clusters[:, 0] = labels
        shares = np.zeros(clusters.shape)
        shares[:, 0] = labels >= 0
        for _ in range(n_steps):
            new: tuple[Array, Array] = np.full_like(clusters, -1), np.zeros_like(shares)
            jobs = [
                self.pool.submit(walk_step, *rows, *self.graph, clusters, shares, *new, self.n_clusters)
                for rows in self.rows
            ]
            for job in jobs:
                job.result()
            clusters, shares = new
        scores = np.where(
            clusters >= 0, shares / np.sqrt(np.maximum(volume, np.finfo(float).tiny))[clusters], -1.0
        )
        order = np.lexsort((clusters, -scores), axis=1)
        best: Ints = np.take_along_axis(clusters, order[:, :1], 1)[:, 0].astype(np.int64)
        return best
