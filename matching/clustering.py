"""Clusters of candidate correspondences: AGDL on the graph of their ACC distances, and the scores of the
clusters.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import gdl_core
from matching.errors import InputError, check_at_least
from matching.geometry import gap_of_pairs

METHODS = ("agdl", "gdl-u", "gdl")


@dataclass(frozen=True)
class ClusteringConfig:
    """The paper's parameters (Sec. 4.2), and two settings that differ from its text.

    mutual_links : initial clusters join correspondences only where each is among the other's K0 nearest.
        The weak components of the text's K0 = 2 graph run together: 3,000 candidates fall into fewer than
        n_T clusters.
    score_scale, score_slope : pixels, and pixels a pixel of gap; connectivity scores are computed with
        w = exp(-d^2 / (score_scale^2 + (score_slope gap)^2)) on the same neighbours, since neighbours on a
        bent object differ by more the farther they are apart. Without a score_scale, by the text's a = 10
        weights, nearly all weights are close to 1 and outlier clusters score like objects.
    gap_slope : pixels of distance a pixel of gap, on top of the ACC distance: where an object moves rigidly,
        all of its distances are 0, and without it the nearest would be those with the smallest numbers.
    min_score : connectivity score below which a cluster is no object: a largest gap always leaves something
        above it. It holds for K of at least 35; a score is at most 2 K, so for a smaller K it falls with K.
    min_agreement, min_small_score : n matches have a score of at most 2 (n - 1), and few can't reach
        min_score even where all agree: that share of the most is enough, if it is min_small_score.
    """

    method: str = "agdl"
    n_clusters: int = 50  # n_T
    n_neighbors: int = 35  # K
    n_initial_neighbors: int = 2  # K0
    bandwidth: float = 10.0  # a
    n_neighbor_clusters: int = 10  # Kc
    mutual_links: bool = True
    score_scale: float | None = 12.0  # pixels
    score_slope: float = 0.3
    score_offset: float = 4.0
    min_score: float = 20.0
    min_agreement: float = 0.85
    min_small_score: float = 15.0
    gap_slope: float = 1 / 128

    def __post_init__(self):
        check_at_least(self, n_clusters=1, n_neighbors=1, n_initial_neighbors=1, n_neighbor_clusters=1)
        check_at_least(self, bandwidth=1e-300, score_slope=0, score_offset=0, min_score=0, gap_slope=0)
        check_at_least(self, min_agreement=0, min_small_score=0)
        if self.score_scale is not None:
            check_at_least(self, score_scale=1e-3)

    def least_score(self, score):
        """A score that is asked for, as much smaller as K is than 35."""
        return score * min(self.n_neighbors / ClusteringConfig.n_neighbors, 1.0)


def cluster_correspondences(knn, config):
    """Cluster labels (m,) int64 of m correspondences from the graph of their nearest ones."""
    if config.method not in METHODS:
        raise InputError(f"method must be one of {METHODS}, got {config.method!r}")
    graph = gdl_core.affinity_graph(knn, config.bandwidth)
    k0 = min(config.n_initial_neighbors, knn.n_neighbors)
    initial = gdl_core.initial_clusters(knn, k0, mutual=config.mutual_links)
    if config.method == "agdl":
        tree = gdl_core.agdl(
            graph, initial, config.n_clusters, n_neighbor_clusters=config.n_neighbor_clusters
        )
    else:
        tree = {"gdl-u": gdl_core.gdl_u, "gdl": gdl_core.gdl}[config.method](
            graph, initial, config.n_clusters
        )
    return tree.cut(config.n_clusters)


def scoring_graph(candidates, knn, config):
    """The graph that connectivity scores are computed on, knn the correspondences' nearest ones."""
    if config.score_scale is None:
        return gdl_core.affinity_graph(knn, config.bandwidth)
    m, k = knn.indices.shape
    j = knn.indices.ravel()
    gap = gap_of_pairs(candidates, np.repeat(np.arange(m), k), j)
    sigma2 = config.score_scale**2 + (config.score_slope * gap) ** 2
    weights = np.exp(-(knn.distances.ravel() ** 2) / sigma2)
    return gdl_core.AffinityGraph(np.arange(m + 1, dtype=np.int64) * k, j, weights)


def select_objects(scores, sizes, config):
    """(n_clusters,) bool: the clusters above the largest gap of the scores and not below the least score,
    which is less for small ones; sizes (n_clusters,) are their numbers of matches.
    """
    if len(scores) == 0:
        return np.zeros(0, bool)
    most = 2 * np.minimum(np.maximum(sizes, 1) - 1, config.n_neighbors)
    small = np.maximum(config.least_score(config.min_small_score), config.min_agreement * most)
    enough = scores >= np.minimum(config.least_score(config.min_score), small)
    if config.score_scale is None:
        return gdl_core.split_at_largest_gap(scores) & enough
    # Scores of objects differ by factors, and what is no object has next to none: gaps of the logarithm,
    # down to nothing.
    height = np.log(np.append(scores, 0.0) + config.score_offset)
    return gdl_core.split_at_largest_gap(height)[:-1] & enough


def by_falling_score(labels, scores, kept):
    """The kept clusters renumbered 0, 1, ... by falling score (ties: the smaller old label first), all
    others -1.
    """
    order = np.argsort(-scores, kind="stable")
    order = order[kept[order]]
    rank = np.full(len(scores) + 1, -1, np.int64)  # the last entry answers label -1
    rank[order] = np.arange(len(order))
    return rank[labels], scores[order]
