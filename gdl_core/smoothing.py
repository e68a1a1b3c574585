"""Redraws the boundaries of clusters by random walks on the graph."""

import itertools
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import ArrayLike

from ._common.checks import check_integer, check_sample_labels
from ._common.jobs import effective_jobs
from ._common.types import Array, Floats, Ints
from .graph import AffinityGraph

N_STEPS = 8  # steps of a walk
MAX_ROUNDS = 50  # rounds of walks


def smooth_labels(
    graph: AffinityGraph,
    labels: ArrayLike,
    n_steps: int = N_STEPS,
    *,
    places_noise: bool = False,
    n_jobs: int | None = None,
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
        Clusters 0, 1, ...; -1 for samples in no cluster.
    n_steps : int
        Steps of a walk; 0 returns the labels.
    places_noise : bool
        Whether samples labelled -1 join the clusters that walks from them reach. If not, they keep this
        label.
    n_jobs : int, optional
        Threads: 1 by default, -1 for all. The result is the same for any number.

    Returns
    -------
    (n,) int64
    """
    labels = check_sample_labels(graph.n_samples, labels)
    n_clusters = int(labels.max(initial=-1)) + 1
    if not check_integer("n_steps", n_steps, 0) or n_clusters < (1 if places_noise else 2):
        return labels
    edges = graph.symmetric()
    degree = np.asarray(edges.sum(axis=1)).ravel()
    is_noise = (labels < 0) & (not places_noise)
    n_threads, indptr = effective_jobs(n_jobs), edges.indptr
    cuts = [0, *np.searchsorted(indptr, indptr[-1] * np.arange(1, n_threads) / n_threads), len(degree)]
    spans = list(itertools.pairwise(map(int, cuts)))
    with ThreadPoolExecutor(n_threads) as pool:
        for _ in range(MAX_ROUNDS):
            is_placed = labels >= 0
            volume: Floats = np.bincount(labels[is_placed], degree[is_placed], n_clusters).astype(np.float64)
            ends = _find_ends((indptr, edges.indices, edges.data), spans, pool, labels, n_steps, volume)
            new_labels = np.where(is_noise, -1, ends)
            new_labels = np.where(new_labels >= 0, new_labels, labels)  # a sample without edges goes nowhere
            new_labels = _keep_all_clusters(new_labels, labels, n_clusters)
            if (new_labels == labels).all():
                break
            labels = new_labels
    return labels


def _keep_all_clusters(new_labels: Ints, labels: Ints, n_clusters: int) -> Ints:
    """Return ``new_labels``, but keep ``labels`` for the samples of clusters that would be left empty."""
    while True:
        is_empty = np.bincount(new_labels[new_labels >= 0], minlength=n_clusters) == 0
        if not is_empty.any():
            return new_labels
        new_labels = np.where((labels >= 0) & is_empty[labels], labels, new_labels)


def _find_ends(
    graph: tuple[Array, ...], spans: list[tuple[int, int]], pool: ThreadPoolExecutor, labels: Ints,
    n_steps: int, volume: Floats,
) -> Ints:  # fmt: skip
    """Find each sample's cluster with the largest share of ends per root of its volume, or -1 -> (n,).

    graph: indptr, indices, weights; spans: the rows that each thread computes.
    """
    from ._cut.walk import MAX_CLUSTERS, walk_step

    clusters = np.full((len(labels), MAX_CLUSTERS), -1, np.int32)
    clusters[:, 0] = labels
    shares = np.zeros(clusters.shape)
    shares[:, 0] = labels >= 0
    for _ in range(n_steps):
        new = np.full_like(clusters, -1), np.zeros_like(shares)
        arrays = *graph, clusters, shares, *new
        jobs = [pool.submit(walk_step, *span, *arrays, len(volume)) for span in spans]
        for job in jobs:
            job.result()
        clusters, shares = new
    root = np.sqrt(np.maximum(volume, np.finfo(float).tiny))
    scores = np.where(clusters >= 0, shares / root[clusters], -1.0)
    order = np.lexsort((clusters, -scores), axis=1)
    best: Ints = np.take_along_axis(clusters, order[:, :1], 1)[:, 0].astype(np.int64)
    return best
