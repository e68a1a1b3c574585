"""A rival in place of graph degree linkage, with all the stages that this has before and behind it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eval.matching.baselines.distances import distance_matrix
from eval.matching.baselines.registry import METHODS
from matching.grouping import Correspondences

SUFFIX = "+stages"


@dataclass(frozen=True, eq=False)
class RankedPoints:
    """What a rival sees of correspondences: `xy0`, `xy1` (m, 2) pixels, and their rank as `score` (m,)."""

    xy0: NDArray[np.float64]
    xy1: NDArray[np.float64]
    score: NDArray[np.float64]


def rival_clustering(name: str, params) -> Callable:
    """A rival as `matching.grouping.group` takes it: cluster(correspondences, knn, graph, initial, config).

    Linkages merge the objects that are given in the last step; the other rivals can't, and leave them.
    """
    linkage = get_linkage(name, params)

    def cluster(correspondences: Correspondences, knn, graph, initial, config) -> NDArray[np.int64]:
        if initial is not None:
            if linkage is None:
                return initial
            return merge_given(distance_matrix(correspondences), initial, linkage, params.threshold)
        rank = np.arange(len(correspondences), dtype=np.float64)
        points = RankedPoints(correspondences.xy0, correspondences.xy1, rank)
        return METHODS[name](distance_matrix(correspondences), points, params)

    return cluster


def get_linkage(name: str, params) -> Callable[[NDArray], float] | None:
    """The linkage of two clusters, a function of their (a, b) distances; None where a rival is no linkage."""
    if name == "average-linkage":
        return lambda between: float(between.mean())
    if name == "acc":
        return lambda between: _mean_of_smallest(between, min(*between.shape, params.cap))
    return None


def _mean_of_smallest(between: NDArray, k: int) -> float:
    return float(np.partition(between, k - 1, axis=None)[:k].mean())


def merge_given(
    distances: NDArray, labels: NDArray[np.integer], linkage: Callable[[NDArray], float], threshold: float
) -> NDArray[np.int64]:
    """Clusters (m,) 0, 1, ... merged two by two, the closest first, while their linkage is small enough.

    >>> x = np.array([0.0, 1, 5, 6, 50])
    >>> merge_given(abs(x[:, None] - x), np.array([0, 0, 1, 1, 2]), np.mean, 10.0)
    array([0, 0, 0, 0, 1])
    """
    clusters = [np.flatnonzero(labels == k) for k in range(labels.max(initial=-1) + 1)]

    def between(a: NDArray, b: NDArray) -> float:
        return linkage(distances[np.ix_(a, b)])

    while len(clusters) > 1:
        pairs = [(i, j) for j in range(len(clusters)) for i in range(j)]
        links = [between(clusters[i], clusters[j]) for i, j in pairs]
        best = int(np.argmin(links))
        if links[best] > threshold:
            break
        i, j = pairs[best]
        clusters[i] = np.concatenate([clusters[i], clusters.pop(j)])
    merged = np.empty(len(labels), np.int64)
    for k, members in enumerate(clusters):
        merged[members] = k
    return merged
