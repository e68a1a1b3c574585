"""Neighbour graphs from given distances: dense, sparse, or from another program."""

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._common.checks import check_integers
from .._common.types import Array, Floats, Ints
from ..graph import KnnGraph
from .exact_search import drop_self, sort_by_distance

BLOCK = 8192  # rows at a time
BLOCK_VALUES = 50_000_000  # distances at a time
ROUNDING = 1e-6  # share of the largest distance: values this little below zero count as zero


def check_n_neighbors(n_neighbors: int, n: int) -> None:
    """Raise ValueError if n samples have fewer neighbours than n_neighbors."""
    if not 1 <= n_neighbors <= n - 1:
        raise ValueError(f"n_neighbors must be in [1, {n - 1}] for {n} samples, got {n_neighbors}")


def clear_rounding(distances: Array, stacklevel: int) -> Array:
    """Replace distances that are a rounding error below 0 by 0, in a copy, with a warning."""
    least = distances.min(initial=0)
    if not -ROUNDING * distances.max(initial=0) <= least < 0:
        return distances
    text = f"distances below zero because of rounding, down to {least:g}, are taken as 0"
    warnings.warn(text, stacklevel=stacklevel + 1)
    return np.maximum(distances, 0)


def read_dense(distances: Array, k: int) -> KnnGraph:
    """Read an (n, n) array of distances, whose diagonal is not used."""
    n = len(distances)
    indices, nearest = np.empty((n, k), np.int32), np.empty((n, k))
    step = max(1, min(BLOCK, BLOCK_VALUES // n))
    for start in range(0, n, step):
        d = distances[start : start + step].astype(np.float64)
        d[np.arange(len(d)), np.arange(start, start + len(d))] = np.inf
        found = np.argpartition(d, min(k, n - 1), axis=1)[:, : k + 1]
        found, value = sort_by_distance(found, np.take_along_axis(d, found, 1))
        for r in np.flatnonzero(value[:, k - 1] == value[:, -1]) if k + 1 < n else ():
            found[r, :k] = np.argsort(d[r], kind="stable")[:k]
            value[r, :k] = d[r, found[r, :k]]
        indices[start : start + step], nearest[start : start + step] = found[:, :k], value[:, :k]
    return KnnGraph(indices, nearest)


def read_sparse(graph: Any, k: int, allow_fewer: bool = False) -> KnnGraph:
    """Read an (n, n) CSR matrix with at least ``k`` distances in each row besides the diagonal, or with fewer
    if ``allow_fewer``.
    """
    n = graph.shape[0]
    if not graph.has_canonical_format:
        graph = graph.copy()
        graph.sum_duplicates()
    rows = np.repeat(np.arange(n, dtype=graph.indices.dtype), np.diff(graph.indptr))
    other = graph.indices != rows
    count = np.bincount(rows[other], minlength=n)
    if count.min() < k and not allow_fewer:
        i = int(count.argmin())
        raise ValueError(
            f"{k} neighbours are required for each sample, but row {i} of the distance graph has only "
            f"{count[i]} entries besides the diagonal: decrease n_neighbors, leave it out, or store more "
            "neighbours"
        )
    indices, data = graph.indices[other], graph.data[other].astype(np.float64)
    if count.min() == count.max():
        found, value = sort_by_distance(indices.reshape(n, -1), data.reshape(n, -1))
        return KnnGraph(found[:, :k], value[:, :k])
    return KnnGraph(*nearest_in_rows(rows[other], indices, data, count, k))


def nearest_in_rows(
    rows: Ints, indices: Ints, distances: Floats, count: Ints, k: int
) -> tuple[Array, Floats]:
    """Indices and distances (m, k), the nearest first, of m rows with ``count`` (m,) entries each.

    The entries are sorted by row, and by index within each; rows are padded with -1 at distance inf.
    """
    order = np.lexsort((distances, rows))  # stable
    rank = np.arange(len(rows)) - (np.cumsum(count) - count)[rows]
    row, rank, order = rows[rank < k], rank[rank < k], order[rank < k]
    found, value = np.full((len(count), k), -1, np.int32), np.full((len(count), k), np.inf)
    found[row, rank], value[row, rank] = indices[order], distances[order]
    return found, value


def read_arrays(indices: ArrayLike, distances: ArrayLike, k: int, allow_fewer: bool = False) -> KnnGraph:
    """Read the neighbours of each sample, nearest first, with or without the sample itself."""
    indices, distances = np.asanyarray(indices), np.asanyarray(distances)  # a memmap stays a memmap
    if indices.ndim != 2 or indices.shape != distances.shape:
        raise ValueError(
            f"indices and distances must have equal shapes (n, m), got {indices.shape}, {distances.shape}"
        )
    n = len(indices)
    check_n_neighbors(k, n)
    found, nearest = np.empty((n, k), np.int32), np.empty((n, k))
    for first in range(0, n, BLOCK):
        rows = np.arange(first, min(first + BLOCK, n))
        block = slice(first, first + len(rows)), slice(0, k + 1)
        f, d = check_integers("indices", indices[block]), np.asarray(distances[block], np.float64)
        d = clear_rounding(d, stacklevel=3)
        drop = _drop_self_and_fill if allow_fewer else _drop_self
        f, d = drop(f, d, rows, k, n)
        found[rows], nearest[rows] = sort_by_distance(f, d)
    return KnnGraph(found, nearest)


def _drop_self_and_fill(indices: Array, distances: Array, rows: Ints, k: int, n: int) -> tuple[Array, Floats]:
    """The first k columns without the samples themselves, padded with -1 at distance inf."""
    _check_rise(np.where(indices < 0, np.inf, distances), rows)
    _check_below(indices, n)
    out = (indices < 0) | (indices == rows[:, None])
    indices, distances = sort_by_distance(np.where(out, -1, indices), np.where(out, np.inf, distances))
    return indices[:, :k], distances[:, :k]


def _drop_self(indices: Array, distances: Array, rows: Ints, k: int, n: int) -> tuple[Array, Floats]:
    """The first k columns without the samples themselves; raises ValueError if there are too few."""
    own = indices == rows[:, None]
    missing = (indices < 0) & (np.cumsum(~own, axis=1) <= k)  # faiss pads rows with -1
    short = missing.any(axis=1) | ((~own).sum(axis=1) < k)
    if short.any():
        i = int(short.argmax())
        count = int((~own[i] & (indices[i] >= 0)).sum())
        raise ValueError(
            f"{k} neighbours are required for each sample, but row {rows[i]} of indices has only {count} "
            "besides itself: decrease n_neighbors, leave it out, or find more neighbours"
        )
    _check_rise(distances, rows)
    if indices.shape[1] > k:
        indices, distances = drop_self(indices, distances, rows)
    _check_below(indices, n)
    return indices, distances


def _check_rise(distances: Array, rows: Ints) -> None:
    """Raise ValueError if distances decrease within a row."""
    falls = (distances[:, 1:] < distances[:, :-1]).any(axis=1)
    if falls.any():
        raise ValueError(f"distances within a row must not decrease; those of row {rows[falls.argmax()]} do")


def _check_below(indices: Array, n: int) -> None:
    """Raise ValueError if an index is out of range."""
    if indices.max() >= n:
        raise ValueError(f"indices must be in [0, {n - 1}], got {indices.max()}")
