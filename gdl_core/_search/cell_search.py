"""Approximate nearest neighbours by Euclidean distance: an inverted file, then neighbours of neighbours.

The points are divided into cells, by a balanced tree and a few steps of k-means. Each point is compared with
the points of the cells with the nearest centroids (an inverted file, as in faiss' IVFFlat), then with the
neighbours of its neighbours (as in NN-descent), until few lists change. Points of many features are compared
along their leading principal components in the cells, and along all features afterwards.

There are no random numbers, and every list is computed separately, so the result does not depend on the
number of threads. Products of matrices are computed on one thread, because their rounding may depend on that
number.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from .exact_search import run_in_parts

CELL_SIZE = 200  # most points per cell before k-means
N_NEAR = 32  # cells near each cell to which its points may move, or which they probe
N_PROBES = 12  # cells that each point is compared with
KMEANS_STEPS = 3
MAX_GROWTH = 6  # a step of k-means is rejected if a cell exceeds this multiple of the mean size
SPARE = 4  # extra neighbours, because float32 ranks some wrongly
VARIANCE_KEPT = 0.9  # share kept by the principal components
MIN_FEATURES = 32  # with this many or fewer, a projection saves nothing
PCA_SAMPLE = 1024  # points
BLOCK = 2**20  # values converted at a time
N_REVERSE = 10
MAX_ROUNDS = 6
FEW_CHANGES = 0.01  # share of the neighbours of a sample below which refinement ends
SAMPLE_STEP = 50  # every 50th point is in the sample
BRUTE_FORCE = 2048  # centroids; if there are more, this search also finds the cells near each cell

Floats = NDArray[np.float32]
Indices = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Cells:
    """Points in the order of their cells.

    Attributes
    ----------
    order : (n,) int32
        The points of cell c are ``order[start[c] : start[c + 1]]``.
    start : (n_cells + 1,) int64
    centroids : (n_cells, d) float32
    near : (n_cells, w) int32
        The cells whose centroids are nearest to that of each cell, with the cell itself first.
    """

    order: Indices
    start: NDArray[np.int64]
    centroids: Floats
    near: Indices


def find_approximate_neighbours(x: NDArray[np.floating], k: int, n_jobs: int | None = None) -> Indices:
    """Find about the ``k`` nearest other points of each point, and a few more.

    Parameters
    ----------
    x : (n, d) array of float
    k : int
    n_jobs : int, optional
        Threads; the result is the same for any number.

    Returns
    -------
    (n, m) int32
        m >= k candidates in no particular order; -1 where fewer were found.
    """
    from .cell_kernels import rank_again

    x = _scale(x)
    n, m = len(x), min(k + SPARE, len(x) - 1)
    with threadpool_limits(1, user_api="blas"):
        projected = _project(x)
        cells = _divide(projected, max(CELL_SIZE, 2 * m), n_jobs)
    exact = projected is x
    lists = _make_lists(n, m if exact else min(2 * m, n - 1))
    run_in_parts(partial(_scan, projected[cells.order], cells, lists), len(cells.near), n_jobs, least=1)
    if not exact:
        points, candidates, lists = x[cells.order], lists[0], _make_lists(n, m)
        run_in_parts(lambda part: rank_again(points, candidates, part.start, part.stop, *lists), n, n_jobs)
    found = _refine(x[cells.order], *lists, n_jobs)
    result = np.empty_like(found)
    result[cells.order] = np.where(found >= 0, cells.order[found], -1)
    return result


def _scan(points: Floats, cells: Cells, lists: tuple[Indices, Floats], part: slice) -> None:
    from .cell_kernels import scan_cells

    n_probes, widest = min(N_PROBES, cells.near.shape[1]), int(np.diff(cells.start).max())
    near = cells.centroids, cells.near, n_probes
    scan_cells(points, cells.start, widest, *near, part.start, part.stop, *lists)


def _make_lists(n: int, m: int) -> tuple[Indices, Floats]:
    return np.empty((n, m), np.int32), np.empty((n, m), np.float32)


def _scale(x: NDArray[np.floating]) -> Floats:
    """Centre x and divide it by a power of two, so that no square overflows in float32."""
    mean = x.mean(axis=0, dtype=np.float64).astype(x.dtype)
    step = max(1, BLOCK // x.shape[1])
    blocks = [slice(first, first + step) for first in range(0, len(x), step)]
    largest = max(float(np.abs(x[block] - mean).max()) for block in blocks)
    scale = x.dtype.type(np.ldexp(1.0, -int(np.frexp(largest)[1])))
    out = np.empty(x.shape, np.float32)
    for block in blocks:
        out[block] = (x[block] - mean) * scale
    return out


def _project(x: Floats) -> Floats:
    """Project x on the principal components with most of its variance, or return x if that saves nothing."""
    d = x.shape[1]
    if d <= MIN_FEATURES:
        return x
    sample = x[np.linspace(0, len(x) - 1, min(PCA_SAMPLE, len(x))).astype(int)]
    _, singular, components = np.linalg.svd(sample - sample.mean(axis=0), full_matrices=False)
    share = np.cumsum(singular**2)
    n_components = 1 + int(np.searchsorted(share, VARIANCE_KEPT * share[-1]))
    if n_components > d / 2:
        return x
    return np.ascontiguousarray(x @ components[:n_components].T)


def _divide(x: Floats, cell_size: int, n_jobs: int | None) -> Cells:
    """Divide x into cells of at most ``cell_size`` points by a tree, then improve them by k-means."""
    from .cell_kernels import split_in_halves

    n = len(x)
    depth = max(0, int(np.ceil(np.log2(n / cell_size))))
    order = np.arange(n, dtype=np.int32)
    split_in_halves(x, order, depth)
    n_cells = 1 << depth
    start = n * np.arange(n_cells + 1) // n_cells
    cells = _make_cells(x[order], order, start, n_jobs)
    for _ in range(KMEANS_STEPS if n_cells > 1 else 0):
        label = np.empty(n, np.int32)
        data = x[cells.order], cells.start, cells.centroids, cells.near
        run_in_parts(partial(_assign, data, label), len(cells.near), n_jobs, least=1)
        sizes = np.bincount(label)
        if sizes.max() > MAX_GROWTH * n / n_cells:
            break
        order = cells.order[np.argsort(label, kind="stable")]
        start = np.concatenate([[0], np.cumsum(sizes[sizes > 0])])
        cells = _make_cells(x[order], order, start, n_jobs)
    return cells


def _assign(data: tuple[Any, ...], label: Indices, part: slice) -> None:
    from .cell_kernels import nearest_centroids

    nearest_centroids(*data, part.start, part.stop, label)


def _make_cells(points: Floats, order: Indices, start: NDArray[np.int64], n_jobs: int | None) -> Cells:
    sums = np.add.reduceat(points, start[:-1], axis=0)
    centroids = (sums / np.diff(start)[:, None]).astype(np.float32)
    return Cells(order, start, centroids, _find_near_cells(centroids, n_jobs))


def _find_near_cells(centroids: Floats, n_jobs: int | None) -> Indices:
    n = len(centroids)
    itself = np.arange(n, dtype=np.int32)[:, None]
    n_near = min(N_NEAR, n)
    if n > BRUTE_FORCE:
        near = find_approximate_neighbours(centroids, n_near - 1, n_jobs)[:, : n_near - 1]
        return np.hstack([itself, np.where(near >= 0, near, itself)])
    length = (centroids**2).sum(axis=1)
    squared = length - 2 * (centroids @ centroids.T)
    np.fill_diagonal(squared, -np.inf)
    return np.argsort(squared, axis=1, kind="stable")[:, :n_near].astype(np.int32)


def _refine(x: Floats, found: Indices, value: Floats, n_jobs: int | None) -> Indices:
    """Refine in rounds until few neighbours change in a sample of the points."""
    from .cell_kernels import refine, reverse_neighbours

    n = len(x)
    fresh = np.ones(found.shape, bool)
    for _ in range(MAX_ROUNDS):
        links = found, fresh, reverse_neighbours(found, N_REVERSE)
        found, value, fresh = found.copy(), value.copy(), np.zeros_like(fresh)
        tried = len(range(0, n, SAMPLE_STEP))
        taken = refine(x, *links, 0, n, SAMPLE_STEP, found.copy(), value.copy(), fresh)
        if taken <= FEW_CHANGES * tried * found.shape[1]:
            return found
        lists = found, value, fresh
        run_in_parts(partial(_refine_part, x, links, lists), n, n_jobs)
    return found


def _refine_part(x: Floats, links: tuple[Any, ...], lists: tuple[Any, ...], part: slice) -> None:
    from .cell_kernels import refine

    refine(x, *links, part.start, part.stop, 1, *lists)
