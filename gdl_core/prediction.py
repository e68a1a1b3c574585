"""Measures how strongly samples belong to each cluster, new samples included, and how good clusters are."""

from typing import Any

import numpy as np
import scipy

from ._common.types import Array, Floats, Ints, Metric
from ._search.given_graph import nearest_in_rows
from .graph import AffinityGraph, weigh
from .outliers import sum_inside_weights
from .tree import MergeTree, place_nodes


def graph_memberships(graph: AffinityGraph, labels: Ints) -> Floats:
    """Compute how each sample's edge weight, in both directions, is divided among the clusters.

    Parameters
    ----------
    graph : AffinityGraph
        n vertices.
    labels : (n,) int64
        Clusters 0, 1, ...; -1 for samples in no cluster.

    Returns
    -------
    (n, n_clusters) float64
        Rows add up to 1. A row without weight to any cluster is 1 at the cluster of the sample, or 0 if it
        has none.
    """
    indicators = np.equal.outer(labels, np.arange(int(labels.max(initial=-1)) + 1))
    shares = np.asarray(graph.symmetric() @ indicators.astype(np.float64))
    return _to_shares(shares, labels)


def nearest_of_new(
    X: Any, fitted: Any, n_neighbors: int, metric: Metric, n_jobs: int | None
) -> tuple[Ints, Floats]:
    """Find the nearest of the clustered samples for each new sample.

    Parameters
    ----------
    X : array or sparse matrix
        (m, d) new samples, or an (m, n) array or CSR matrix of their distances if ``fitted`` is None.
    fitted : array, sparse matrix or None
        (n, d) samples that were clustered.
    n_neighbors : int
        K.
    metric : str or callable
        A metric of scikit-learn.
    n_jobs : int or None
        Threads.

    Returns
    -------
    indices (m, K) int, distances (m, K) float64
        Nearest first; rows of a sparse matrix are padded with -1 at distance inf.
    """
    if fitted is None:
        if scipy.sparse.issparse(X):
            X = X.copy()
            X.sum_duplicates()
            count = np.diff(X.indptr)
            rows = np.repeat(np.arange(len(count)), count)
            return nearest_in_rows(rows, X.indices, X.data.astype(np.float64), count, n_neighbors)
        indices = np.argsort(X, axis=1, kind="stable")[:, :n_neighbors]
        return indices, np.take_along_axis(X, indices, 1).astype(np.float64)
    from sklearn.neighbors import NearestNeighbors

    search = NearestNeighbors(n_neighbors=n_neighbors, metric=metric, n_jobs=n_jobs).fit(fitted)
    distances, indices = search.kneighbors(X)
    return indices, distances.astype(np.float64)


def weigh_neighbours(
    indices: Array, distances: Floats, labels: Ints, sigma2: float, factors: Floats | None = None
) -> Floats:
    """Compute how the weights to each new sample's neighbours are divided among the clusters.

    Parameters
    ----------
    indices : (m, K) int
        Neighbours of the new samples among those that were clustered, nearest first.
    distances : (m, K) float64
        Their distances; inf is no neighbour.
    labels : (n,) int64
        Clusters 0, 1, ...; -1 for samples in no cluster.
    sigma2 : float
        Of Eq. 1.
    factors : (m, K) float64, optional
        By which the weights of Eq. 1 are multiplied, see `Paths.weights_of_new`.

    Returns
    -------
    (m, n_clusters) float64
        Rows add up to 1; those of samples without neighbours in any cluster are 0.
    """
    squared = distances**2
    # weights relative to that of the nearest neighbour, so that far samples have weights, too
    nearest = np.where(np.isfinite(squared[:, :1]), squared[:, :1], 0.0)
    weights = weigh((squared - nearest).ravel(), sigma2).reshape(squared.shape)
    if factors is not None:
        weights *= factors
    shares = np.zeros((len(indices), int(labels.max(initial=-1)) + 1))
    for column in range(indices.shape[1]):
        cluster = labels[indices[:, column]]
        rows = np.flatnonzero(cluster >= 0)
        shares[rows, cluster[rows]] += weights[rows, column]
    return _to_shares(shares, np.full(len(shares), -1))


def conductances(graph: AffinityGraph, labels: Ints) -> Floats:
    """Compute the share of each cluster's edge weight that leads to other clusters.

    Parameters
    ----------
    graph : AffinityGraph
        n vertices.
    labels : (n,) int64
        Clusters 0, 1, ...; -1 for samples in no cluster.

    Returns
    -------
    (n_clusters,) float64
        In [0, 1]: 0 for a cluster that is well separated or has no edges.
    """
    inside = sum_inside_weights(graph, labels)
    volume = np.zeros(len(inside))
    for end in (labels[graph.sources], labels[graph.indices]):
        volume += np.bincount(end[end >= 0], graph.weights[end >= 0], len(inside))
    return np.where(volume > 0, 1 - 2 * inside / np.where(volume > 0, volume, 1.0), 0.0)


def persistences(tree: MergeTree, labels: Ints) -> Floats:
    """Compute how long each cluster lasts in the hierarchy, from 0 (not at all) to 1 (to the end).

    The branch of a cluster is the node of the hierarchy that agrees with it best: the node with the largest
    number of common samples divided by the number of samples in either (ties: the first one). It lasts from
    the merge that completes it to the one that joins it to others. The value is 1 - b / a, where a and b are
    the smallest affinities up to these merges.

    Parameters
    ----------
    tree : MergeTree
        Of m merges.
    labels : (n,) int64
        Clusters 0, 1, ...; -1 for samples in no cluster.

    Returns
    -------
    (n_clusters,) float64
        In [0, 1]; 1 if no affinity joins the branch to others, and 0 if none completes it. Branches that
        exist from the beginning count as completed by the largest affinity.
    """
    first, end, order = place_nodes(tree)
    lowest = np.minimum.accumulate(tree.affinities)
    completed = np.concatenate([np.full(tree.n_initial, lowest.max(initial=0.0)), lowest])
    joined = np.zeros(len(completed))
    joined[tree.children] = lowest[:, None]
    branches = np.empty(int(labels.max(initial=-1)) + 1, np.int64)
    for c in range(len(branches)):
        count = np.append(0, np.cumsum(labels[order] == c))  # samples of c before each place
        common = count[end] - count[first]
        branches[c] = (common / (end - first + count[-1] - common)).argmax()
    completion, joining = completed[branches], joined[branches]
    shares: Floats = np.divide(joining, completion, out=np.ones(len(branches)), where=completion > 0)
    return 1 - shares


def _to_shares(sums: Floats, cluster: Ints) -> Floats:
    """Divide rows by their sums; a row with sum 0 becomes 1 at ``cluster`` (m,), or stays 0 if that is -1."""
    total = sums.sum(axis=1, keepdims=True)
    shares = np.where(total > 0, sums / np.where(total > 0, total, 1.0), 0.0)
    isolated = np.flatnonzero((total[:, 0] == 0) & (cluster >= 0))
    shares[isolated, cluster[isolated]] = 1.0
    return shares
