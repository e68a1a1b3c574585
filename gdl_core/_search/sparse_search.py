"""Exact nearest neighbours among sparse rows, such as word counts, without making them dense."""

from typing import Any

import numpy as np
import scipy

from .._common.types import Array, Floats, Ints
from ..graph import KnnGraph
from .exact_search import sort_by_distance

METRICS = ("euclidean", "l2", "cosine")
BLOCK_VALUES = 20_000_000  # products at a time
MORE = 8  # extra candidates, because products are inexact and only differences decide the order


def search_sparse(x: Any, k: int, metric: str) -> KnnGraph:
    """Find the K nearest of each row of a CSR matrix (n, d), by "euclidean" or "cosine" distance.

    Candidates come from products of rows; their distances are computed again from differences in float64, so
    that equal rows are at distance 0.
    """
    points = scipy.sparse.csr_matrix(x, dtype=np.float64)
    n = points.shape[0]
    empty = np.diff(points.indptr) == 0
    if metric == "cosine":
        length = np.sqrt(np.asarray(points.multiply(points).sum(axis=1)).ravel())
        empty = length == 0
        points = scipy.sparse.diags(1 / np.where(empty, 1.0, length)) @ points
    squares = np.asarray(points.multiply(points).sum(axis=1)).ravel()
    indices, distances = np.empty((n, k), np.int32), np.empty((n, k))
    step = max(1, BLOCK_VALUES // n)
    for first in range(0, n, step):
        rows = np.arange(first, min(first + step, n))
        near = squares[rows, None] + squares - 2 * (points[rows] @ points.T).toarray()
        if metric == "cosine":  # a row of zeros is at right angles to all others
            near[(empty[rows, None] | empty) & ~(empty[rows, None] & empty)] = 2.0
        near[np.arange(len(rows)), rows] = np.inf
        m = min(k + MORE, n - 1)
        found = np.argpartition(near, m - 1, axis=1)[:, :m] if m < n else np.argsort(near, axis=1)
        value = _distances(points, rows, found)
        if metric == "cosine":
            value = value**2 / 2
            value[empty[rows, None] & ~empty[found] | ~empty[rows, None] & empty[found]] = 1.0
        found, value = sort_by_distance(found, value)
        indices[rows], distances[rows] = found[:, :k], value[:, :k]
    return KnnGraph(indices, distances)


def _distances(points: Any, rows: Ints, found: Array) -> Floats:
    """(r, m) float64: |x_i - x_j| of rows i and the rows j found for them."""
    difference = points[np.repeat(rows, found.shape[1])] - points[found.ravel()]
    squared = np.asarray(difference.multiply(difference).sum(axis=1)).reshape(found.shape)
    root: Floats = np.sqrt(squared)
    return root
