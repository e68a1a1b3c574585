"""Exact nearest neighbours among samples; the smaller index settles ties.

Euclidean, cosine and correlation distances are computed from differences in float64: |x - y|, and
|u - v|^2 / 2 of rows u, v of length 1. So they are bitwise equal for any number of threads, symmetric, and
exactly 0 between equal rows. Differences in float32 tell which pairs need that, and cells of points tell
which pairs need no difference at all. By other metrics, scikit-learn searches.

Rows that are mostly zeros, such as one-hot codes and word counts, are compared over the features that are not
zero.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import scipy

from .._common.checks import check_values
from .._common.jobs import run_in_parts
from .._common.types import Array, Floats, Ints
from .cell_search import CELL_SIZE, Cells, divide, project, rank_cells, scale_points

Search = Callable[[Ints, int], tuple[Array, Floats]]

EUCLIDEAN = ("euclidean", "l2", "minkowski", "p", "nan_euclidean")  # without parameters, and without nan
ANGULAR = ("cosine", "correlation")
SPARSE_METRICS = ("euclidean", "l2", "cosine")  # of samples in a sparse matrix
MAX_CELLS = 1024  # cells of the exact search; they grow with n, because all are ranked by all
ROUNDING = 2.0**-22  # four times that of one operation in float32
_TIE_TOLERANCE = 1e-9  # relative; rounding changes a sum by less than this
_EPS = np.finfo(np.float64).eps
_MAX_CANDIDATES = 2_000_000  # candidates searched at a time, over all rows
_GROWTH_FACTOR = 8  # of the candidates per search; each search costs about as much as the first
_SPARSE_RATIO = 64  # if fewer than one value in 64 is not zero, zeros are left out


@dataclass(frozen=True, eq=False)
class Space:
    """Points whose differences give the distances of the metric."""

    points: Any  # (n, d) array or csr_matrix
    metric: str
    n_jobs: int | None

    def distances(self, rows: Ints, candidates: Array) -> Floats:
        """Compute the distances from each of ``rows`` to its candidates -> (r, m) float64."""
        from .knn_kernel import candidate_distances

        length = np.empty(candidates.shape)
        fill = partial(candidate_distances, self.points, rows, candidates.astype(np.int64), length)
        run_in_parts(fill, len(rows), self.n_jobs)
        length[length <= self.zero_length] = 0.0
        return self.from_powers(length**2 if self.is_squared else length)

    @property
    def is_squared(self) -> bool:
        """Whether distances grow with the squares of lengths."""
        return self.metric not in EUCLIDEAN

    @property
    def zero_length(self) -> float:
        """The length up to which differences count as 0; parallel rows differ in their last digits."""
        return float(_EPS * (4 + np.sqrt(self.points.shape[1]))) if self.metric in ANGULAR else 0.0

    def from_powers(self, powers: Floats) -> Floats:
        """Convert lengths of differences, or their squares if `is_squared`, to distances."""
        return powers / 2 if self.metric in ANGULAR else powers


def make_space(x: Any, metric: Any, n_jobs: int | None) -> Space | None:
    """Make the Space in which differences give the distances of the metric, or return None."""
    if metric in ANGULAR:
        directions = _sparse_directions(x) if scipy.sparse.issparse(x) else _directions(x, metric)
        return Space(directions, metric, n_jobs)
    return Space(x, metric, n_jobs) if metric in (*EUCLIDEAN, "sqeuclidean") else None


def make_search(x: Any, metric: Any, n_jobs: int | None) -> Search:
    """Make the search among samples (n, d): called with rows (r,) and K, it finds their neighbours (r, K)."""
    space = make_space(x, metric, n_jobs)
    if space is None:
        from sklearn.neighbors import NearestNeighbors

        return partial(_search_by_metric, NearestNeighbors(metric=metric, n_jobs=n_jobs).fit(x), x)
    points = space.points
    if scipy.sparse.issparse(points) or np.count_nonzero(points) * _SPARSE_RATIO < points.size:
        # the bound on products holds for sums in float64 of exact products
        by_row = scipy.sparse.csr_matrix(points, dtype=np.float64, copy=True)
        by_row.sum_duplicates()
        return partial(search_sparse, space, by_row, by_row.tocsc())
    scaled, scale = scale_points(points)
    projected = project(scaled)
    d = scaled.shape[1]
    absolute = ROUNDING * np.sqrt(d)  # no value exceeds 1
    if projected is not scaled:  # each value is a sum of d products
        longest = np.sqrt(np.einsum("ij,ij->i", scaled, scaled).max())
        absolute += ROUNDING * d * np.sqrt(projected.shape[1]) * longest
    cells = divide(projected, max(CELL_SIZE, len(scaled) // MAX_CELLS), n_jobs)
    cells = replace(cells, near=rank_cells(cells.centroids))
    rounding = scale, ROUNDING * (d + 8), float(absolute)
    return partial(_search_cells, space, projected[cells.order], cells, rounding)


def _search_by_metric(searcher: Any, points: Array, rows: Ints, k: int) -> tuple[Array, Floats]:
    """Find neighbours by scikit-learn."""
    # the sample itself, and one more to see whether others are as near as the K-th
    indices, distances = _search_with_self(searcher, points, rows, k, min(k + 2, len(points)))
    is_self = indices == rows[:, None]
    is_self[~is_self.any(axis=1), -1] = True  # equal samples displaced the sample
    return indices[~is_self].reshape(-1, k), distances[~is_self].reshape(-1, k)


def _search_with_self(searcher: Any, points: Array, rows: Ints, k: int, m: int) -> tuple[Array, Floats]:
    """Find the K + 1 nearest by (distance, index), the sample included -> (r, k + 1) each.

    They are among m that the searcher finds, or more if others may be as near as the last of these.
    """
    n = len(points)
    distances, indices = searcher.kneighbors(points[rows], m)
    check_values("distances", distances, "finite", -np.inf)
    indices, distances = sort_by_distance(indices, distances)
    is_settled = (distances[:, -1] > distances[:, k] * (1 + _TIE_TOLERANCE)) | (m == n)
    indices, distances = indices[:, : k + 1], distances[:, : k + 1]
    unsettled = np.flatnonzero(~is_settled)
    if len(unsettled):
        # equal rows have equal distances to all others, so one of them is searched
        unique = np.unique(points[rows[unsettled]], axis=0, return_index=True, return_inverse=True)
        distinct, group = unique[1], unique[2].ravel()  # NumPy 2.0 gives the inverse another shape
        m = _GROWTH_FACTOR * m if _GROWTH_FACTOR * m < n / 8 else n
        n_parts = min(len(distinct), 1 + len(distinct) * m // _MAX_CANDIDATES)
        parts = np.array_split(rows[unsettled[distinct]], n_parts)
        found = zip(*(_search_with_self(searcher, points, part, k, m) for part in parts), strict=True)
        indices[unsettled], distances[unsettled] = (np.concatenate(part)[group] for part in found)
    return indices, distances


def _search_cells(
    space: Space, projected: Array, cells: Cells, rounding: tuple[float, float, float], rows: Ints, k: int
) -> tuple[Array, Floats]:
    """Find neighbours among points in cells.

    projected (n, p) float32: the points in the order of the cells, moved, scaled and projected; rounding:
    scale, relative and absolute bound of projected distances, see `cell_kernels.scan_all_cells`.
    """
    from .cell_kernels import scan_all_cells

    places = np.argsort(cells.order)[rows]
    by_cell = np.argsort(places)
    queries = np.searchsorted(places[by_cell], cells.start), places[by_cell]
    offsets = projected - np.repeat(cells.centroids, np.diff(cells.start), axis=0)
    radius = np.sqrt(np.maximum.reduceat(np.einsum("ij,ij->i", offsets, offsets), cells.start[:-1]))
    divided = projected, cells.start, int(np.diff(cells.start).max()), cells.centroids, cells.near
    exact = space.points, cells.order, *rounding, space.zero_length, space.is_squared
    nearest = np.empty((len(rows), k), np.int32), np.empty((len(rows), k))
    search = partial(scan_all_cells, *divided, radius, exact, queries, *nearest)
    run_in_parts(search, len(cells.near), space.n_jobs, min_rows=1)
    order = np.argsort(by_cell)
    return nearest[0][order], space.from_powers(nearest[1][order])


def search_sparse(
    space: Space, by_row: "scipy.sparse.csr_matrix", by_feature: "scipy.sparse.csc_matrix", rows: Ints, k: int
) -> tuple[Array, Floats]:
    """Find neighbours among points that are mostly zeros, given without zeros."""
    from .knn_kernel import nearest_of_sparse

    arrays = [(m.indptr, m.indices, m.data) for m in (by_row, by_feature)]
    squares = np.asarray(by_row.multiply(by_row).sum(axis=1)).ravel()
    rounding = _EPS * (8 + int(np.diff(by_row.indptr).max()))
    indices, distances = np.empty((len(rows), k), np.int32), np.empty((len(rows), k))
    constants = rounding, space.zero_length, space.is_squared
    nearest = indices, distances
    search = partial(nearest_of_sparse, *arrays, squares, by_row.shape[1], rows, *constants, *nearest)
    run_in_parts(search, len(rows), space.n_jobs)
    return indices, space.from_powers(distances)


def _directions(x: Array, metric: str) -> Floats:
    """Scale rows to length 1; for the correlation, subtract their means first. A row of zeros becomes a
    direction at right angles to all others, so that its distance to them is 1.
    """
    exponent = np.frexp(np.abs(x).max(axis=1, keepdims=True))[1]
    x = np.ldexp(x.astype(np.float64), -exponent)  # no square overflows, and no digit is lost
    if metric == "correlation":
        constant = np.flatnonzero(x.max(axis=1) == x.min(axis=1))
        if len(constant):
            raise ValueError(
                'metric="correlation" needs rows that are not constant, '
                f"but row {constant[0]} of X is constant"
            )
        x -= x.mean(axis=1, keepdims=True)
    length = np.sqrt((x * x).sum(axis=1, keepdims=True))
    is_zero = length == 0
    x /= np.where(is_zero, 1, length)
    return np.hstack([x, is_zero]) if is_zero.any() else x


def _sparse_directions(x: "scipy.sparse.csr_matrix") -> "scipy.sparse.csr_matrix":
    """Do the same as `_directions` for sparse rows (n, d) and the cosine distance -> (n, d + 1)."""
    x = x.astype(np.float64)
    length = np.sqrt(np.asarray(x.multiply(x).sum(axis=1)).ravel())
    scaled = scipy.sparse.diags(1 / np.where(length == 0, 1.0, length)) @ x
    return scipy.sparse.hstack([scaled, scipy.sparse.csr_matrix(length == 0).T.astype(np.float64)], "csr")


def sort_by_distance(indices: Array, distances: Array) -> tuple[Array, Array]:
    """Sort each row by (distance, index)."""
    order = np.lexsort((indices, distances), axis=-1)
    return np.take_along_axis(indices, order, 1), np.take_along_axis(distances, order, 1)
