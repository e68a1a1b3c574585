"""Neighbour graphs from given distances: dense, sparse, or from another program."""

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._common.checks import check_integers
from .._common.types import Array, Floats, Ints
from ..graph import KnnGraph
from .exact_search import sort_by_distance

BLOCK_ROWS = 8192  # rows read at a time
BLOCK_VALUES = 50_000_000  # distances read at a time
ROUNDING_SHARE = 1e-6  # share of the largest distance; values so little below zero count as zero


def check_n_neighbors(n_neighbors: int, n: int) -> None:
    """Raise ValueError if n samples have fewer neighbours than n_neighbors."""
    if not 1 <= n_neighbors <= n - 1:
        raise ValueError(f"n_neighbors must be in [1, {n - 1}] for {n} samples, got {n_neighbors}")


def clear_rounding(distances: Array) -> Array:
    """Return the distances, with those that are negative only because of rounding set to 0 in a copy.

    Raises ValueError if others are negative. The warning points at the caller of `neighbors.knn_graph`, which
    calls the caller of this function.
    """
    lowest = distances.min(initial=0)
    if lowest < -ROUNDING_SHARE * distances.max(initial=0):
        raise ValueError(f"Negative values in data: distances must be >= 0, got {lowest}")
    if not lowest < 0:
        return distances
    text = f"distances below zero because of rounding, down to {lowest:g}, are taken as 0"
    warnings.warn(text, stacklevel=4)
    return np.maximum(distances, 0)


def read_dense(distances: Array, k: int) -> KnnGraph:
    """Read an (n, n) array of distances, whose diagonal is not used."""
    n, distances = len(distances), clear_rounding(distances)
    knn_indices, knn_distances = np.empty((n, k), np.int32), np.empty((n, k))
    step = max(1, min(BLOCK_ROWS, BLOCK_VALUES // n))
    for start in range(0, n, step):
        d = distances[start : start + step].astype(np.float64)
        d[np.arange(len(d)), np.arange(start, start + len(d))] = np.inf
        near = np.argpartition(d, min(k, n - 1), axis=1)[:, : k + 1]
        near, lengths = sort_by_distance(near, np.take_along_axis(d, near, 1))
        for r in np.flatnonzero(lengths[:, k - 1] == lengths[:, -1]) if k + 1 < n else ():
            near[r, :k] = np.argsort(d[r], kind="stable")[:k]
            lengths[r, :k] = d[r, near[r, :k]]
        block = slice(start, start + step)
        knn_indices[block], knn_distances[block] = near[:, :k], lengths[:, :k]
    return KnnGraph(knn_indices, knn_distances)


def read_sparse(graph: Any, k: int, allow_fewer: bool = False) -> KnnGraph:
    """Read an (n, n) CSR matrix. Each row must hold ``k`` distances besides the diagonal, unless
    ``allow_fewer`` is set.
    """
    n = graph.shape[0]
    if not graph.has_canonical_format:
        graph = graph.copy()
        graph.sum_duplicates()
    rows = np.repeat(np.arange(n, dtype=graph.indices.dtype), np.diff(graph.indptr))
    is_other = graph.indices != rows
    count = np.bincount(rows[is_other], minlength=n)
    if count.min() < k and not allow_fewer:
        i = int(count.argmin())
        raise ValueError(
            f"{k} neighbours are required for each sample, but row {i} of the distance graph has only "
            f"{count[i]} entries besides the diagonal: decrease n_neighbors, leave it out, or store more "
            "neighbours"
        )
    indices, data = graph.indices[is_other], clear_rounding(graph.data)[is_other].astype(np.float64)
    return _trim(*nearest_in_rows(rows[is_other], indices, data, count, k))


def nearest_in_rows(
    rows: Ints, indices: Ints, distances: Floats, count: Ints, k: int
) -> tuple[Array, Floats]:
    """Find the k nearest in each of m rows: indices and distances (m, k), the nearest first.

    Row i has ``count[i]`` entries. The entries are sorted by row, and by index within each row. Results are
    padded with -1 at distance inf.
    """
    order = np.lexsort((distances, rows))  # stable
    rank = np.arange(len(rows)) - (np.cumsum(count) - count)[rows]
    row, rank, order = rows[rank < k], rank[rank < k], order[rank < k]
    near, lengths = np.full((len(count), k), -1, np.int32), np.full((len(count), k), np.inf)
    near[row, rank], lengths[row, rank] = indices[order], distances[order]
    return near, lengths


def read_arrays(indices: ArrayLike, distances: ArrayLike, k: int, allow_fewer: bool = False) -> KnnGraph:
    """Read the neighbours of each sample, nearest first, with or without the sample itself."""
    indices, distances = np.asanyarray(indices), np.asanyarray(distances)  # a memmap stays a memmap
    if indices.ndim != 2 or indices.shape != distances.shape:
        raise ValueError(
            f"indices and distances must have equal shapes (n, m), got {indices.shape}, {distances.shape}"
        )
    n = len(indices)
    check_n_neighbors(k, n)
    k = min(k, indices.shape[1]) if allow_fewer else k
    knn_indices, knn_distances = np.empty((n, k), np.int32), np.empty((n, k))
    for first in range(0, n, BLOCK_ROWS):
        rows = np.arange(first, min(first + BLOCK_ROWS, n))
        block = slice(first, first + len(rows)), slice(0, k + 1)
        near = check_integers("indices", indices[block])
        lengths = clear_rounding(np.where(near < 0, 0.0, distances[block]))
        if not allow_fewer:
            _check_count(near, rows, k)
        rising = np.where(near < 0, np.inf, lengths)
        if len(falling := np.flatnonzero((rising[:, 1:] < rising[:, :-1]).any(axis=1))):
            raise ValueError(f"distances within a row must not decrease; those of row {rows[falling[0]]} do")
        if near.max() >= n:
            raise ValueError(f"indices must be in [0, {n - 1}], got {near.max()}")
        is_excluded = (near < 0) | (near == rows[:, None])
        near, lengths = np.where(is_excluded, -1, near), np.where(is_excluded, np.inf, lengths)
        near, lengths = sort_by_distance(near, lengths)
        knn_indices[rows], knn_distances[rows] = near[:, :k], lengths[:, :k]
    return _trim(knn_indices, knn_distances)


def _trim(indices: Array, distances: Array) -> KnnGraph:
    """Make a graph without the last columns if they hold no neighbours."""
    width = max(1, np.count_nonzero((indices >= 0).any(axis=0)))
    return KnnGraph(indices[:, :width], distances[:, :width])


def _check_count(indices: Array, rows: Ints, k: int) -> None:
    """Raise ValueError if a row has fewer than k neighbours besides the sample itself."""
    is_self = indices == rows[:, None]
    is_missing = (indices < 0) & (np.cumsum(~is_self, axis=1) <= k)  # faiss pads rows with -1
    is_short = is_missing.any(axis=1) | ((~is_self).sum(axis=1) < k)
    if is_short.any():
        i = int(is_short.argmax())
        count = int((~is_self[i] & (indices[i] >= 0)).sum())
        raise ValueError(
            f"{k} neighbours are required for each sample, but row {rows[i]} of indices has only {count} "
            "besides itself: decrease n_neighbors, leave it out, or find more neighbours"
        )
