"""Exact nearest neighbours among sparse rows, such as word counts, which stay sparse."""

from typing import Any

import numpy as np
import scipy

from .._common.types import Array, Floats, Ints
from ..graph import KnnGraph
from .exact_search import sort_by_distance

METRICS = ("euclidean", "l2", "cosine")
BLOCK_VALUES = 20_000_000  # products computed at a time
N_SPARE = 8  # additional candidates, because products are inexact and only differences decide the order


def search_sparse(x: Any, k: int, metric: str) -> KnnGraph:
    """Find the K nearest of each row of a CSR matrix (n, d), by "euclidean" or "cosine" distance.

    Candidates come from products of rows; their distances are computed again from differences in float64, so
    that equal rows are at distance 0.
    """
    points = scipy.sparse.csr_matrix(x, dtype=np.float64)
    n = points.shape[0]
    is_empty = np.diff(points.indptr) == 0
    if metric == "cosine":
        length = np.sqrt(np.asarray(points.multiply(points).sum(axis=1)).ravel())
        is_empty = length == 0
        points = scipy.sparse.diags(1 / np.where(is_empty, 1.0, length)) @ points
    squares = np.asarray(points.multiply(points).sum(axis=1)).ravel()
    indices, distances = np.empty((n, k), np.int32), np.empty((n, k))
    step = max(1, BLOCK_VALUES // n)
    for first in range(0, n, step):
        rows = np.arange(first, min(first + step, n))
        squared = squares[rows, None] + squares - 2 * (points[rows] @ points.T).toarray()
        if metric == "cosine":  # a row of zeros is at right angles to all others
            squared[is_empty[rows, None] ^ is_empty] = 2.0
        squared[np.arange(len(rows)), rows] = np.inf
        m = min(k + N_SPARE, n - 1)
        candidates = np.argpartition(squared, m - 1, axis=1)[:, :m] if m < n else np.argsort(squared, axis=1)
        lengths = _distances(points, rows, candidates)
        if metric == "cosine":
            lengths = lengths**2 / 2
            lengths[is_empty[rows, None] ^ is_empty[candidates]] = 1.0
        candidates, lengths = sort_by_distance(candidates, lengths)
        indices[rows], distances[rows] = candidates[:, :k], lengths[:, :k]
    return KnnGraph(indices, distances)


def _distances(points: Any, rows: Ints, candidates: Array) -> Floats:
    """Compute |x_i - x_j| of rows i (r,) and their candidates j (r, m) -> (r, m) float64."""
    difference = points[np.repeat(rows, candidates.shape[1])] - points[candidates.ravel()]
    squared = np.asarray(difference.multiply(difference).sum(axis=1)).reshape(candidates.shape)
    root: Floats = np.sqrt(squared)
    return root
