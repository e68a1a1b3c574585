"""HDBSCAN on the distances of correspondences.

It comes from scikit-learn. Only what a user would need to leave out outliers is added: a maximum distance.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import HDBSCAN

from eval.matching.rivals import Rival
from eval.matching.rivals._labels import drop_small


@dataclass(frozen=True)
class HdbscanParams:
    """Parameters of `hdbscan`; the first four are scikit-learn's."""

    min_cluster_size: int = 14
    min_samples: int = 9
    cluster_selection_method: str = "eom"  # or "leaf"
    cluster_selection_epsilon: float = 0.0  # px
    max_core_distance: float = 5.16  # px; a match whose min_samples-th neighbour is farther is an outlier


def hdbscan(distances: NDArray, candidates, params: HdbscanParams = HdbscanParams()) -> NDArray[np.int64]:
    """(m,) int64 clusters of (m, m) symmetric distances in pixels, -1 for outliers."""
    labels = np.full(len(distances), -1, np.int64)
    core = core_distances(distances, params.min_samples)
    dense = np.flatnonzero(core <= params.max_core_distance)
    if len(dense) < max(params.min_cluster_size, params.min_samples + 1):
        return labels
    model = HDBSCAN(
        min_cluster_size=params.min_cluster_size,
        min_samples=params.min_samples,
        cluster_selection_method=params.cluster_selection_method,
        cluster_selection_epsilon=params.cluster_selection_epsilon,
        metric="precomputed",
        allow_single_cluster=True,
        copy=False,
    )
    labels[dense] = model.fit(distances[np.ix_(dense, dense)].astype(np.float64)).labels_
    return drop_small(labels, params.min_cluster_size)


def core_distances(distances: NDArray, min_samples: int) -> NDArray:
    """(m,) distance to the min_samples-th neighbour, counting the sample itself, as in scikit-learn."""
    if len(distances) < min_samples:
        return np.full(len(distances), np.inf)
    return np.partition(distances, min_samples - 1, axis=1)[:, min_samples - 1]


RIVAL = Rival(
    hdbscan,
    HdbscanParams(),
    HdbscanParams(min_cluster_size=42, min_samples=14, max_core_distance=15.3),
)
