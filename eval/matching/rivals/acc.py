"""Agglomerative correspondence clustering (ACC: Cho, Lee and Lee, ICCV 2009).

Notation: D(a, b), the adaptive partial linkage of two clusters, is the mean of the k smallest of their
|a| |b| distances, k = min(|a|, |b|, cap): single linkage for a single correspondence, near average linkage
for two large clusters with a large cap. The two clusters with the smallest D are merged until D exceeds the
threshold; small clusters, and those that cover little of either image, are then removed as outliers.

The original program is not available. The distance, the linkage and the two rules of removal are the paper's;
the cap and the units of the rules (a count; the area of the convex hull in square pixels, in both images)
were chosen here, and the values below were tuned on other pairs than those reported.
"""

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from eval.matching.rivals import Rival
from eval.matching.rivals._labels import drop_small
from gdl_core.jit import inner, njit


@dataclass(frozen=True)
class AccParams:
    """Parameters of `acc`."""

    threshold: float = 2.66  # px, merging stops above it
    cap: int = 6  # most distances that a linkage averages
    min_size: int = 16  # matches
    min_area: float = 1180.0  # px^2 of the convex hull, in either image


def acc(distances: NDArray, candidates, params: AccParams = AccParams()) -> NDArray[np.int64]:
    """(m,) int64 clusters of (m, m) symmetric distances in pixels, -1 for outliers."""
    labels = partial_linkage(distances, params.threshold, params.cap)
    labels = drop_small(labels, params.min_size)
    for c in range(labels.max(initial=-1) + 1):
        members = labels == c
        area = min(hull_area(candidates.xy0[members]), hull_area(candidates.xy1[members]))
        if area < params.min_area:
            labels[members] = -1
    return drop_small(labels, 1)


def hull_area(xy: NDArray) -> float:
    """Area of the convex hull of (n, 2) points; 0 for points on a line.

    >>> hull_area(np.array([[0, 0], [4, 0], [4, 3], [0, 3], [1, 1]]))
    12.0
    """
    return float(cv2.contourArea(cv2.convexHull(np.asarray(xy, np.float32))))


def partial_linkage(distances: NDArray, threshold: float, cap: int) -> NDArray[np.int64]:
    """Cluster of each of m samples: the closest two by adaptive partial linkage merge while D <= threshold.

    Ties go to the pair with the smallest indices; a cluster's index is that of its first member.
    """
    if cap < 1:
        raise ValueError(f"cap must be at least 1, got {cap}")
    if len(distances) == 0:
        return np.empty(0, np.int64)
    return _agglomerate(np.ascontiguousarray(distances, np.float32), np.float32(threshold), cap)


@njit
def _agglomerate(d, threshold, cap):  # noqa: C901
    """Keeps D and the single linkage of every pair of clusters.

    D is never below the single linkage, so a pair whose single linkage exceeds the threshold needs no D.
    """
    m = len(d)
    single = d.copy()
    linkage = np.full((m, m), np.float32(np.inf))
    for i in range(m):
        for j in range(m):
            if i != j and d[i, j] <= threshold:
                linkage[i, j] = d[i, j]
    alive = np.ones(m, np.bool_)
    members = np.arange(m)  # the members of a cluster form a chain: head -> following[head] -> ...
    following = np.full(m, -1)
    last = np.arange(m)
    size = np.ones(m, np.int64)
    nearest = np.empty(m, np.int64)
    for i in range(m):
        nearest[i] = np.argmin(linkage[i])
    while True:
        a = -1
        best = np.inf
        for i in range(m):
            if alive[i] and linkage[i, nearest[i]] < best:
                best = linkage[i, nearest[i]]
                a = i
        if a < 0:
            break
        b = nearest[a]
        if b < a:
            a, b = b, a
        alive[b] = False
        following[last[a]] = b
        last[a] = last[b]
        size[a] += size[b]
        for c in range(m):
            members[c] = a if members[c] == b else members[c]
            if not alive[c] or c == a:
                continue
            single[a, c] = single[c, a] = min(single[a, c], single[b, c])
            linkage[b, c] = linkage[c, b] = np.inf
            value = np.float32(np.inf)
            if single[a, c] <= threshold:
                value = _mean_of_smallest(d, a, c, following, min(size[a], size[c], cap))
                if value > threshold:
                    value = np.float32(np.inf)
            linkage[a, c] = linkage[c, a] = value
        linkage[a, b] = linkage[b, a] = np.inf
        nearest[a] = np.argmin(linkage[a])
        for c in range(m):
            if alive[c] and c != a:
                if nearest[c] == a or nearest[c] == b:
                    nearest[c] = np.argmin(linkage[c])
                elif linkage[c, a] < linkage[c, nearest[c]] or (
                    linkage[c, a] == linkage[c, nearest[c]] and a < nearest[c]
                ):
                    nearest[c] = a
    return members


@inner
def _mean_of_smallest(d, a, b, following, k):
    """Mean of the k smallest distances between two chains of members."""
    smallest = np.full(k, np.inf, np.float32)  # ascending
    i = a
    while i >= 0:
        j = b
        while j >= 0:
            value = d[i, j]
            if value < smallest[k - 1]:
                place = k - 1
                while place > 0 and smallest[place - 1] > value:
                    smallest[place] = smallest[place - 1]
                    place -= 1
                smallest[place] = value
            j = following[j]
        i = following[i]
    return np.float32(smallest.mean())


RIVAL = Rival(acc, AccParams(), AccParams(threshold=7.13, cap=11, min_size=22, min_area=329.0))
