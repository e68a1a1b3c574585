"""Average linkage on the distances of correspondences.

It comes from SciPy. Only what a user would need to leave out outliers is added: a minimum size.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform

from eval.matching.rivals import Rival
from eval.matching.rivals._labels import drop_small


@dataclass(frozen=True)
class LinkageParams:
    """Parameters of `average_linkage`."""

    threshold: float = 8.83  # px, the dendrogram is cut there
    min_size: int = 13  # matches


def average_linkage(
    distances: NDArray, candidates, params: LinkageParams = LinkageParams()
) -> NDArray[np.int64]:
    """(m,) int64 clusters of (m, m) symmetric distances in pixels, -1 for outliers."""
    if len(distances) < 2:
        return np.full(len(distances), -1, np.int64)
    condensed = squareform(np.asarray(distances, np.float64), checks=False)
    labels = fcluster(linkage(condensed, "average"), params.threshold, criterion="distance")
    return drop_small(labels.astype(np.int64), params.min_size)


RIVAL = Rival(average_linkage, LinkageParams(), LinkageParams(threshold=118.0, min_size=76))
