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

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from .._common.jobs import run_in_parts

CELL_SIZE = 200  # maximum number of points per cell before k-means
N_NEAR = 32  # cells near each cell: its points may move to them, and are compared with their points
N_PROBES = 12  # cells that each point is compared with
SPLIT_SAMPLE_SIZE = 128  # points for computing the direction of a split
POWER_STEPS = 4  # steps of power iteration, enough to separate the leading direction from most others
KMEANS_STEPS = 3  # iterations of k-means
MAX_GROWTH = 6  # a step of k-means is rejected if a cell exceeds this multiple of the mean size
N_SPARE = 4  # additional neighbours, because float32 ranks some wrongly
VARIANCE_SHARE = 0.9  # share of the variance that the principal components keep
MIN_FEATURES = 32  # with at most this many features, a projection saves nothing
PCA_SAMPLE_SIZE = 512  # points from which principal components are computed; 1024 take four times as long
BLOCK_VALUES = 2**20  # values converted at a time
N_REVERSE = 10  # reverse neighbours of each point that are offered
MAX_ROUNDS = 6  # rounds of refinement
MIN_CHANGES = 0.01  # refinement ends if it changes at most this share of the neighbours of a sample
SAMPLE_STEP = 50  # every 50th point is in the sample
MIN_EXPONENT = -1000  # of the largest value; the inverse of a smaller power of two is not finite
MAX_BRUTE_FORCE = 2048  # centroids; among more, this search itself finds the cells near each cell

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
    """Find roughly the ``k`` nearest other points of each point, and a few more.

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
    from .cell_kernels import rank, scan_cells

    x = scale_points(x)[0]
    n, m = len(x), min(k + N_SPARE, len(x) - 1)
    with threadpool_limits(1, user_api="blas"):
        projected = project(x)
        cells = divide(projected, max(CELL_SIZE, 2 * m), n_jobs)
    is_exact = projected is x
    nearest = _make_empty_lists(n, m if is_exact else min(2 * m, n - 1))
    n_cells, n_near = cells.near.shape
    members = projected[cells.order], cells.start, int(np.diff(cells.start).max())
    probes = cells.centroids, cells.near, min(N_PROBES, n_near)
    run_in_parts(partial(scan_cells, *members, *probes, *nearest), n_cells, n_jobs, min_rows=1)
    if not is_exact:
        candidates, nearest = nearest[0], _make_empty_lists(n, m)
        run_in_parts(partial(rank, x[cells.order], x[cells.order], candidates, *nearest), n, n_jobs)
    near = _refine(x[cells.order], *nearest, n_jobs)
    result = np.empty_like(near)
    result[cells.order] = np.where(near >= 0, cells.order[near], -1)
    return result


def _make_empty_lists(n: int, m: int) -> tuple[Indices, Floats]:
    """Allocate the neighbours (n, m) of the kernels and their squared distances."""
    return np.empty((n, m), np.int32), np.empty((n, m), np.float32)


def scale_points(x: NDArray[np.floating]) -> tuple[Floats, float]:
    """Centre x and divide it by a power of two, so that no square overflows in float32.

    Returns the points (n, d), none of whose values exceeds 1 in magnitude, and the factor.
    """
    mean = x.mean(axis=0, dtype=np.float64).astype(x.dtype)
    step = max(1, BLOCK_VALUES // x.shape[1])
    blocks = [slice(first, first + step) for first in range(0, len(x), step)]
    largest = max(float(np.abs(x[block] - mean).max()) for block in blocks)
    exponent = max(int(np.frexp(largest)[1]), MIN_EXPONENT)
    scaled = np.empty(x.shape, np.float32)
    for block in blocks:
        scaled[block] = np.ldexp(x[block] - mean, -exponent)
    return scaled, float(np.ldexp(1.0, -exponent))


def project(x: Floats) -> Floats:
    """Project x on the principal components with most of its variance, or return x if that saves nothing."""
    d = x.shape[1]
    if d <= MIN_FEATURES:
        return x
    sample = x[np.linspace(0, len(x) - 1, min(PCA_SAMPLE_SIZE, len(x))).astype(int)]
    _, singular, components = np.linalg.svd(sample - sample.mean(axis=0), full_matrices=False)
    share = np.cumsum(singular**2)
    n_components = 1 + int(np.searchsorted(share, VARIANCE_SHARE * share[-1]))
    if n_components > d / 2:
        return x
    return np.ascontiguousarray(x @ components[:n_components].T)


def divide(x: Floats, cell_size: int, n_jobs: int | None) -> Cells:
    """Divide x into cells of at most ``cell_size`` points by a tree, then improve them by k-means."""
    from .cell_kernels import rank

    n = len(x)
    depth = max(0, int(np.ceil(np.log2(n / cell_size))))
    n_cells = 1 << depth
    start = n * np.arange(n_cells + 1) // n_cells
    order = np.arange(n, dtype=np.int32)
    for level in range(depth):
        step = n_cells >> level
        for c in range(0, n_cells, step):
            first, middle, end = start[[c, c + step // 2, c + step]]
            _split(x, order[first:end], middle - first)
    cells = _make_cells(x[order], order, start, n_jobs)
    for _ in range(KMEANS_STEPS if n_cells > 1 else 0):
        near = np.repeat(cells.near, np.diff(cells.start), axis=0)
        nearest = _make_empty_lists(n, 1)
        run_in_parts(partial(rank, x[cells.order], cells.centroids, near, *nearest), n, n_jobs)
        label = nearest[0][:, 0]
        sizes = np.bincount(label)
        if sizes.max() > MAX_GROWTH * n / n_cells:
            break
        order = cells.order[np.argsort(label, kind="stable")]
        start = np.concatenate([[0], np.cumsum(sizes[sizes > 0])])
        cells = _make_cells(x[order], order, start, n_jobs)
    return cells


def _split(x: Floats, order: Indices, middle: int) -> None:
    """Sort the points ``order`` so that a plane separates those before ``middle`` from the others.

    The plane is perpendicular to the leading principal direction of a sample of the points.
    """
    sample = x[order[np.linspace(0, len(order) - 1, min(SPLIT_SAMPLE_SIZE, len(order))).astype(int)]]
    sample = sample - sample.mean(axis=0)
    direction = sample[np.einsum("ij,ij->i", sample, sample).argmax()]
    for _ in range(POWER_STEPS):
        direction = (sample @ direction) @ sample
        direction /= max(np.sqrt(direction @ direction), np.finfo(np.float32).tiny)
    order[:] = order[np.argpartition(x[order] @ direction, middle)]


def _make_cells(points: Floats, order: Indices, start: NDArray[np.int64], n_jobs: int | None) -> Cells:
    """Make cells of points (n, d) that are sorted by cell."""
    sums = np.add.reduceat(points, start[:-1], axis=0)
    centroids = (sums / np.diff(start)[:, None]).astype(np.float32)
    return Cells(order, start, centroids, _find_near_cells(centroids, n_jobs))


def _find_near_cells(centroids: Floats, n_jobs: int | None) -> Indices:
    """Find the cells near each cell, with the cell itself first -> (n_cells, w)."""
    n = len(centroids)
    n_near = min(N_NEAR, n)
    if n > MAX_BRUTE_FORCE:
        itself = np.arange(n, dtype=np.int32)[:, None]
        near = find_approximate_neighbours(centroids, n_near - 1, n_jobs)[:, : n_near - 1]
        return np.hstack([itself, np.where(near >= 0, near, itself)])
    return rank_cells(centroids)[:, :n_near]


def rank_cells(centroids: Floats) -> Indices:
    """Sort all cells by their distance to each cell, with the cell itself first -> (n_cells, n_cells)."""
    length = (centroids**2).sum(axis=1)
    squared = length - 2 * (centroids @ centroids.T)
    np.fill_diagonal(squared, -np.inf)
    return np.argsort(squared, axis=1, kind="stable").astype(np.int32)


def _refine(x: Floats, near: Indices, squared: Floats, n_jobs: int | None) -> Indices:
    """Refine in rounds until few neighbours change in a sample of the points."""
    from .cell_kernels import refine, reverse_neighbours

    n = len(x)
    is_fresh = np.ones(near.shape, bool)
    for _ in range(MAX_ROUNDS):
        links = near, is_fresh, reverse_neighbours(near, N_REVERSE)
        near, squared, is_fresh = near.copy(), squared.copy(), np.zeros_like(is_fresh)
        n_sampled = len(range(0, n, SAMPLE_STEP))
        n_accepted = refine(x, *links, near.copy(), squared.copy(), is_fresh, SAMPLE_STEP, 0, n)
        if n_accepted <= MIN_CHANGES * n_sampled * near.shape[1]:
            return near
        nearest = near, squared, is_fresh
        run_in_parts(partial(refine, x, *links, *nearest, 1), n, n_jobs)
    return near
