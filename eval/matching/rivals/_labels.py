"""Small helpers on cluster labels: (m,) int64, -1 for an outlier."""

import numpy as np
from numpy.typing import NDArray


def renumber(labels: NDArray[np.integer]) -> NDArray[np.int64]:
    """Clusters as 0, 1, ... by descending size, ties by their first member; negative labels become -1.

    >>> renumber(np.array([7, 3, 3, -1, 5]))
    array([ 1,  0,  0, -1,  2])
    """
    labels = np.asarray(labels)
    values, first, counts = np.unique(labels[labels >= 0], return_index=True, return_counts=True)
    order = np.lexsort((first, -counts))
    result = np.full(len(labels), -1, np.int64)
    for new, k in enumerate(order):
        result[labels == values[k]] = new
    return result


def drop_small(labels: NDArray[np.integer], min_size: int) -> NDArray[np.int64]:
    """Clusters with fewer than `min_size` members become outliers; the rest are numbered as by `renumber`."""
    labels = np.asarray(labels)
    counts = np.bincount(labels[labels >= 0], minlength=1)
    small = (labels >= 0) & (counts[np.maximum(labels, 0)] < min_size)
    return renumber(np.where(small, -1, labels))
