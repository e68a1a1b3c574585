"""Redraws boundaries by random walks on the graph."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import ArrayLike

from ._common.checks import check_integer_at_least, check_sample_labels
from ._common.jobs import effective_jobs
from ._common.types import Array, Floats, Ints
from .graph import AffinityGraph

N_STEPS = 8
MOST_ROUNDS = 50


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
    placed = labels >= 0
    with ThreadPoolExecutor(effective_jobs(n_jobs)) as pool:
        walk = _Walk(edges.indptr, edges.indices, edges.data, n_clusters, pool, effective_jobs(n_jobs))
        for _ in range(MOST_ROUNDS):
            volume: Floats = np.bincount(labels[placed], degree[placed], n_clusters).astype(np.float64)
            found = np.where(placed, walk.ends(labels, n_steps, volume), -1)
            found = np.where(found >= 0, found, labels)  # a sample without edges goes nowhere
            found = _keep_all(found, labels, n_clusters)
            if (found == labels).all():
                break
            labels = found
    return labels


def _keep_all(found: Ints, labels: Ints, n_clusters: int) -> Ints:
    """Return ``found``, but samples of clusters that it leaves empty stay as in ``labels``."""
    while True:
        empty = np.bincount(found[found >= 0], minlength=n_clusters) == 0
        if not empty.any():
            return found
        found = np.where((labels >= 0) & empty[labels], labels, found)


class _Walk:
    """The ends of random walks on a graph."""

    def __init__(
        self,
        indptr: Ints,
        indices: Ints,
        weights: Floats,
        n_clusters: int,
        pool: ThreadPoolExecutor,
        jobs: int,
    ) -> None:
        self.graph = indptr, indices, weights
        self.n_clusters, self.pool = n_clusters, pool
        cuts = np.searchsorted(indptr, indptr[-1] * np.arange(1, jobs) / jobs)
        self.rows = list(zip([0, *cuts.tolist()], [*cuts.tolist(), len(indptr) - 1], strict=True))

    def ends(self, labels: Ints, n_steps: int, volume: Floats) -> Ints:
        """(n,) labels of the clusters with the largest share divided by the root of the volume; -1: none."""
        from ._cut.walk import MOST_CLUSTERS, walk_step

        clusters = np.full((len(labels), MOST_CLUSTERS), -1, np.int32)
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
        worth = np.where(
            clusters >= 0, shares / np.sqrt(np.maximum(volume, np.finfo(float).tiny))[clusters], -1.0
        )
        order = np.lexsort((clusters, -worth), axis=1)
        best: Ints = np.take_along_axis(clusters, order[:, :1], 1)[:, 0].astype(np.int64)
        return best
