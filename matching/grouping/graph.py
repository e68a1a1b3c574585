"""The graph whose clusters are objects: correspondences as vertices, edges to those that move alike.

An edge i -> j leads to one of the K correspondences nearest to i by the ACC distance d_ij. Its weight is the
likelihood of d_ij for two matches of one object: a normal density, relative to its peak for matches with no
gap between them:

    w_ij = (s / sigma_ij) exp(-d_ij^2 / sigma_ij^2),    sigma_ij^2 = s^2 + (slope gap_ij)^2,

where gap_ij is how far apart the two are: on a bent object, the farther apart two neighbours are, the more
their motions differ, and agreement over a wide gap is weaker evidence. A mirrored match and one that is not
mirrored never belong to one object: w_ij = 0. All lengths count pixels of the image in which the object is
smaller.

The affine maps that single features predict are coarse. They give a first graph. A map fitted to the
neighbours of a correspondence in this graph is far better; such maps give the second graph, which is
clustered. A correspondence with hardly any weight in the first graph is an outlier and is left out of the
second.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gdl_core import AffinityGraph, KnnGraph
from matching._common.arrays import determinants
from matching._common.threads import run_in_ranges
from matching._common.types import Array, Floats, Ints
from matching.correspondences.correspondences import Correspondences
from matching.correspondences.distances import acc_neighbors, find_nearest_in_both
from matching.grouping import _kernels
from matching.settings import LARGEST, check_settings, setting


@dataclass(frozen=True)
class GraphConfig:
    """How correspondences are compared.

    Parameters
    ----------
    scale : float
        s, in pixels: the typical distance of a match from where the map of another match of its object takes
        it.
    slope : float
        Pixels added to the scale for each pixel of separation.
    coarseness : float
        How many times less accurate the maps of single features are than fitted ones. Fitted maps are drawn
        towards those of the features by a ridge of (scale / (slope coarseness))^2, the ratio of the variance
        of points to that of the features' maps.
    nearness : float
        Pixels added to d_ij per pixel of separation when neighbours are chosen: on a rigid object all d_ij
        are about 0, and the nearest matches are the most informative.
    rounds : int
        Rounds of the robust fit (iteratively reweighted least squares with Cauchy weights); 0: the maps of
        the features are used as they are.
    n_candidates : int or None
        Neighbours are chosen among this many correspondences that are nearest in both images; None: among all
        correspondences, which takes time proportional to the square of their number.
    """

    scale: float = setting(6.0, 1e-3, 10_000)
    slope: float = setting(0.15, 1e-3, 1000)
    coarseness: float = setting(2.0, 1e-3, 1000)
    nearness: float = setting(1 / 128, 0, 1000)
    rounds: int = setting(4, 0, 100)
    n_candidates: int | None = setting(None, 1, LARGEST, kind=int)

    def __post_init__(self) -> None:
        check_settings(self)

    @property
    def coarse_accuracy(self) -> tuple[float, float]:
        """Scale and slope for the maps of single features."""
        return self.scale * self.coarseness, self.slope * self.coarseness


@dataclass(frozen=True, eq=False)
class MatchGraph:
    """The graph of n correspondences, its vertices."""

    rows: Ints  # (n,), ascending: the correspondence of each vertex
    knn: KnnGraph  # the nearest neighbours of each vertex
    affinities: AffinityGraph  # the weights w_ij of the edges to them
    initial: Ints | None = None  # (n,), initial clusters, if they are given

    @property
    def n_neighbors(self) -> int:
        """K."""
        return self.knn.n_neighbors


def build_graph(
    correspondences: Correspondences, n_neighbors: int, config: GraphConfig, reach: float = np.inf
) -> MatchGraph:
    """Build the graph of all correspondences, with maps that are fitted in a first graph."""
    rows, fitted = fit_maps(correspondences, n_neighbors, config)
    return build_second_graph(rows, fitted, n_neighbors, config, reach)


def fit_maps(
    correspondences: Correspondences, n_neighbors: int, config: GraphConfig, min_degree: float = 0.0
) -> tuple[Ints, Correspondences]:
    """Fit maps of supported correspondences in the first graph -> rows (n,), fitted (n,) Correspondences."""
    knn = _find_neighbors(correspondences, n_neighbors, config)
    weights = edge_weights(correspondences, knn, *config.coarse_accuracy)
    rows = np.flatnonzero(weights.mean(axis=1) >= min_degree)
    if config.rounds == 0:
        return rows, correspondences[rows]
    return rows, fit_local_maps(correspondences, knn, weights, config, rows)


def build_second_graph(
    rows: Ints, fitted: Correspondences, n_neighbors: int, config: GraphConfig, reach: float
) -> MatchGraph:
    """Build the graph of correspondences, rows (n,), whose maps are fitted."""
    knn = _find_neighbors(fitted, n_neighbors, config)
    # with 0 rounds, the maps are not fitted, but those of single features
    accuracy = (config.scale, config.slope) if config.rounds else config.coarse_accuracy
    weights = edge_weights(fitted, knn, *accuracy, reach)
    n, k = knn.indices.shape
    starts = np.arange(n + 1, dtype=np.int64) * k
    return MatchGraph(rows, knn, AffinityGraph(starts, knn.indices.ravel(), weights.ravel()))


def _find_neighbors(correspondences: Correspondences, k: int, config: GraphConfig) -> KnnGraph:
    """The k nearest neighbours of each correspondence, or all others if there are fewer."""
    k, candidates = min(k, len(correspondences) - 1), None
    if config.n_candidates is not None:
        candidates = find_nearest_in_both(correspondences, max(config.n_candidates, k))
    return acc_neighbors(correspondences, k, config.nearness, candidates)


def edge_weights(
    correspondences: Correspondences,
    knn: KnnGraph,
    scale: float,
    slope: float,
    reach: float = np.inf,
) -> Floats:
    """The weights w_ij of the edges of a graph -> (m, K)."""
    c, weights = correspondences, np.empty(knn.indices.shape)
    shared = c.xy0, c.xy1, c.growth, knn.indices, knn.distances, scale, slope, reach
    run_in_ranges(lambda start, stop: _kernels.edge_weights(*shared, start, stop, weights), len(c), 512)
    if c.mirrored.any():
        weights[c.mirrored[:, None] != c.mirrored[knn.indices]] = 0.0
    return weights


def fit_local_maps(
    correspondences: Correspondences,
    knn: KnnGraph,
    weights: Array,
    config: GraphConfig,
    rows: Array,
) -> Correspondences:
    """Fit affine maps to the displacements of the K neighbours of rows (n,), with weights (m, K).

    The map and an offset for the accuracy of the point are fitted by weighted least squares, drawn towards
    the map of the correspondence itself, which stays if the neighbours have no weight or the fit is singular
    or mirrored.
    """
    c, maps = correspondences, np.ascontiguousarray(correspondences.maps)
    fitted, ridge = np.empty((len(rows), 2, 2)), (config.scale / (config.slope * config.coarseness)) ** 2
    shared = c.xy0, c.xy1, maps, c.growth, knn.indices, weights, ridge, config.scale, config.rounds, rows
    run_in_ranges(lambda start, stop: _kernels.local_maps(*shared, start, stop, fitted), len(rows), 512)
    change = determinants(fitted) / determinants(maps[rows])
    is_sound = np.isfinite(change) & (change > np.finfo(np.float32).eps)
    chosen = np.where(is_sound[:, None, None], fitted, maps[rows])
    return Correspondences(c.xy0[rows], c.xy1[rows], chosen)
