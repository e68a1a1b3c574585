"""Simpler clusterings in place of graph degree linkage, for the ablation.

Each labels the vertices of a graph, (m,), -1 for outliers. Distances are ACC distances by maps that are
fitted like those of the graph, to neighbours among the clustered candidates.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import squareform
from sklearn.cluster import HDBSCAN, KMeans

from eval.matching.distances import distance_matrix
from gdl_core import AffinityGraph
from matching.correspondences.correspondences import Correspondences
from matching.grouping.clusters import Clustering
from matching.grouping.graph import GraphConfig, MatchGraph, fit_maps
from matching.grouping.methods import Cluster

LEAST_WEIGHTS = (0.5, 0.25, 0.1)  # of the links of `components_above`
THRESHOLD = 6.0  # pixels, of `average_linkage`: the scale of the graph
N_CLUSTERS = 50  # of `k_means`: the paper's n_T

Labels = NDArray[np.int64]


def as_step(label: Callable[..., Labels]) -> Cluster:
    """Make a step `cluster` of `matching.grouping.methods.Method` of a function that labels vertices."""
    return lambda correspondences, graph, config: Clustering(label(correspondences, graph, config))


def one_cluster(correspondences, graph, config) -> Labels:
    """Put all correspondences into one cluster."""
    return np.zeros(len(correspondences), np.int64)


def components(correspondences, graph: MatchGraph, config) -> Labels:
    """Single linkage with the minimum affinity of graph degree linkage: connected components of the links
    whose affinity, 2 w_ij w_ji of two single vertices (Eq. 4), is not below it.
    """
    least = config.min_affinity * graph.n_neighbors**2
    return _components(graph.affinities, np.sqrt(least / 2))


def components_above(least_weight: float) -> Callable:
    """Connected components of the mutual links with a weight of more than `least_weight`."""

    def cluster(correspondences, graph: MatchGraph, config) -> Labels:
        return _components(graph.affinities, least_weight)

    return cluster


def _components(graph: AffinityGraph, least: float) -> Labels:
    """Connected components of the mutual links for which the root of w_ij w_ji is more than `least`."""
    m = graph.n_samples
    weights = csr_array((graph.weights, graph.indices, graph.indptr), shape=(m, m))
    links = weights.multiply(weights.T) > least**2
    return connected_components(links, directed=False)[1].astype(np.int64)


def hdbscan(correspondences, graph: MatchGraph, config) -> Labels:
    """scikit-learn's HDBSCAN of clusters of 8 or more."""
    distances = distance_matrix(_fit_maps(correspondences, graph)).astype(np.float64)
    model = HDBSCAN(min_cluster_size=8, metric="precomputed", allow_single_cluster=True, copy=False)
    return model.fit(distances).labels_.astype(np.int64)


def k_means(correspondences: Correspondences, graph, config) -> Labels:
    """scikit-learn's k-means on the positions in both images, 50 clusters."""
    positions = np.hstack([correspondences.xy0, correspondences.xy1])
    k = min(N_CLUSTERS, len(positions))
    return KMeans(k, n_init=1, random_state=0).fit(positions).labels_.astype(np.int64)


def average_linkage(correspondences, graph: MatchGraph, config) -> Labels:
    """SciPy's average linkage, cut at a distance."""
    distances = distance_matrix(_fit_maps(correspondences, graph))
    condensed = squareform(distances.astype(np.float64), checks=False)
    return fcluster(linkage(condensed, "average"), THRESHOLD, criterion="distance").astype(np.int64) - 1


CLUSTERINGS = {
    "one-cluster": one_cluster,
    "components": components,
    **{f"components of links > {least}": components_above(least) for least in LEAST_WEIGHTS},
    "hdbscan": hdbscan,
    "k-means": k_means,
    "average-linkage": average_linkage,
}


def _fit_maps(correspondences: Correspondences, graph: MatchGraph) -> Correspondences:
    """The correspondences, with maps fitted like those of the graph's distances."""
    return fit_maps(correspondences, graph.n_neighbors, GraphConfig())[1]
