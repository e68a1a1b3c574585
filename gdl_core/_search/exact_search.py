"""Exact nearest neighbours among samples: scikit-learn finds them, and the smaller index settles ties.

scikit-learn gets Euclidean, cosine and correlation distances from matrix products, whose rounding depends on
the number of threads. They are computed again from differences in float64: |x - y|, and |u - v|^2 / 2 of rows
u, v of length 1. So they are bitwise equal for any number of threads, symmetric, and exactly 0 between equal
rows. For other metrics, scikit-learn itself adds up the differences of each pair.

Rows that are mostly zeros, such as one-hot codes, have many neighbours at the same distance. For them, all
distances are computed directly from differences, over the features that are not zero.
"""

import itertools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from .._common.jobs import effective_jobs
from .._common.types import Array, Bools, Floats, Ints

EUCLIDEAN = ("euclidean", "l2", "minkowski", "p", "nan_euclidean")  # without parameters, and without nan
ANGULAR = ("cosine", "correlation")
_NEAR_TIE = 1e-9  # relative; the rounding of two sums changes a distance by less than this
_EPS = np.finfo(np.float64).eps
_MOST = 2_000_000  # candidates at a time
_GROWTH = 8  # factor per search, because each costs about as much as the first
_SPARSE = 64  # if fewer than one value in 64 is not zero, differences cost no more than products


@dataclass(frozen=True, eq=False)
class ExactSearch:
    """Samples among which neighbours are searched, by scikit-learn.

    Attributes
    ----------
    searcher : NearestNeighbors
    searched : (n, d) array
        The samples given to it.
    space : Space or None
        Computes distances again; if None, the searcher's distances are used.
    rounding : float
        The largest error of the searcher's squared distances, if they are computed again.
    """

    searcher: Any
    searched: Array
    space: "Space | None"
    rounding: float

    def k_nearest(self, rows: Ints, k: int) -> tuple[Ints, Floats]:
        """Indices and distances (r, k) of the neighbours of the samples ``rows``."""
        # the sample itself, and one more to see whether others are as near as the K-th
        found, value, settled = self._among(rows, k, min(k + 2, len(self.searched)))
        tied = np.flatnonzero(~settled)
        if len(tied):
            one, group = _find_distinct(self.searched[rows[tied]])  # equal rows have equal distances to all
            more_found, more_value = self._among_more(rows[tied[one]], k)
            found[tied], value[tied] = more_found[group], more_value[group]
        return drop_self(found, value, rows)

    def _among(self, rows: Ints, k: int, m: int) -> tuple[Ints, Floats, Bools]:
        """The K + 1 nearest by (distance, index), including the sample itself, of the m that the searcher
        finds: indices and distances (r, k + 1), and for each row whether no further sample is as near.
        """
        value, found = self.searcher.kneighbors(self.searched[rows], m)
        if not np.isfinite(value).all():
            raise ValueError(f"distances must be finite, got {value[~np.isfinite(value)][0]}")
        if self.space is not None:
            value = self.space.distances(rows, found)
        found, value = sort_by_distance(found, value)
        last, following = value[:, k], value[:, -1]
        settled = following > last * (1 + _NEAR_TIE)
        if self.space is not None:
            settled &= self.space.squared(following) - self.space.squared(last) > 2 * self.rounding
        return found[:, : k + 1], value[:, : k + 1], settled | (m == len(self.searched))

    def _among_more(self, rows: Ints, k: int) -> tuple[Ints, Floats]:
        """Like `_among`, with as many candidates as needed: indices and distances (r, k + 1)."""
        found, value = np.empty((len(rows), k + 1), np.int64), np.empty((len(rows), k + 1))
        left, m = np.arange(len(rows)), k + 2
        while len(left):
            m = _GROWTH * m if _GROWTH * m < len(self.searched) / 8 else len(self.searched)
            unsettled = []
            for part in np.array_split(left, min(len(left), 1 + len(left) * m // _MOST)):
                found[part], value[part], settled = self._among(rows[part], k, m)
                unsettled.append(part[~settled])
            left = np.concatenate(unsettled)
        return found, value


@dataclass(frozen=True, eq=False)
class SparseSearch:
    """Samples that are mostly zeros, among which neighbours are searched.

    Attributes
    ----------
    points : (n, d) csr_matrix
        The values of ``space.points`` that are not zero.
    space : Space
    """

    points: "scipy.sparse.csr_matrix"
    space: "Space"

    def k_nearest(self, rows: Ints, k: int) -> tuple[Ints, Floats]:
        """Indices and distances (r, k) of the neighbours of the samples ``rows``."""
        from .knn_kernel import nearest_of_sparse

        x = self.points
        found, length = np.empty((len(rows), k + 1), np.int64), np.empty((len(rows), k + 1))

        def search(part: slice) -> None:
            nearest_of_sparse(
                *(x.indptr, x.indices, x.data, x.shape[1]),
                *(rows[part], self.space.smallest, found[part], length[part]),
            )

        run_in_parts(search, len(rows), self.space.n_jobs)
        return drop_self(found, self.space.from_lengths(length), rows)


@dataclass(frozen=True, eq=False)
class Space:
    """Points (n, d) whose differences give the distances of the metric."""

    points: Array
    metric: str
    n_jobs: int | None

    def distances(self, rows: Ints, candidates: Array) -> Floats:
        """(r, m) float64 from each of ``rows`` to its candidates."""
        length = candidate_lengths(self.points, rows, candidates, self.n_jobs)
        length[length <= self.smallest] = 0.0
        return self.from_lengths(length)

    @property
    def smallest(self) -> float:
        """Differences up to this length count as 0, because parallel rows differ in their last digits."""
        return _relative_rounding(self.points) if self.metric in ANGULAR else 0.0

    def from_lengths(self, length: Floats) -> Floats:
        """Distances from the lengths of differences."""
        if self.metric == "sqeuclidean":
            return length**2
        return length**2 / 2 if self.metric in ANGULAR else length

    def squared(self, distances: Floats) -> Floats:
        """Squared differences from distances."""
        if self.metric == "sqeuclidean":
            return distances
        return 2 * distances if self.metric in ANGULAR else distances**2


def make_space(x: Array, metric: Any, n_jobs: int | None) -> Space | None:
    """Make the Space in which differences give the distances of the metric, or return None."""
    if metric in ANGULAR:
        return Space(_directions(x, metric), metric, n_jobs)
    return Space(x, metric, n_jobs) if metric in (*EUCLIDEAN, "sqeuclidean") else None


def make_search(x: Array, metric: Any, n_jobs: int | None) -> ExactSearch | SparseSearch:
    """Make the search for neighbours among samples (n, d); it has ``k_nearest(rows, k)``."""
    from sklearn.neighbors import NearestNeighbors

    space = make_space(x, metric, n_jobs)
    if space is not None and np.count_nonzero(space.points) * _SPARSE < space.points.size:
        return SparseSearch(scipy.sparse.csr_matrix(space.points), space)
    searched = x if space is None else _centre(space.points)
    searcher = NearestNeighbors(metric=metric if space is None else "euclidean", n_jobs=n_jobs).fit(searched)
    return ExactSearch(searcher, searched, space, 0.0 if space is None else _rounding(searched))


def _directions(x: Array, metric: str) -> Floats:
    """Rows scaled to length 1; for the correlation, their means are subtracted first. A row of zeros becomes
    a direction at right angles to all others, so that its distance to them is 1.
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
    zero = length == 0
    x /= np.where(zero, 1, length)
    return np.hstack([x, zero]) if zero.any() else x


def _centre(x: Array) -> Array:
    """Move the mean to the origin if necessary, because |x|^2 - 2 x.y + |y|^2 loses digits far from the
    origin.
    """
    mean = x.mean(axis=0, dtype=np.float64)
    spread = x.var(axis=0, dtype=np.float64).sum()
    return x - mean if (mean**2).sum() > 1e4 * spread else x


def _rounding(x: Array) -> float:
    """The largest rounding error of |x|^2 - 2 x.y + |y|^2, summed over the features. It matters for clusters
    that are tight and far apart.
    """
    largest = float(np.einsum("ij,ij->i", x, x, dtype=np.float64).max(initial=0))
    return _relative_rounding(x) * largest


def _relative_rounding(x: Array) -> float:
    return float(_EPS * (4 + np.sqrt(x.shape[1])))


def candidate_lengths(x: Array, rows: Ints, candidates: Array, n_jobs: int | None = 1) -> Floats:
    """Compute |x[rows[r]] - x[candidates[r, k]]| from differences in float64 -> (r, m)."""
    from .knn_kernel import candidate_distances

    out = np.empty(candidates.shape)
    candidates = candidates.astype(np.int64)
    run_in_parts(lambda s: candidate_distances(x, rows[s], candidates[s], out[s]), len(rows), n_jobs)
    return out


def run_in_parts(
    work: Callable[[slice], object],
    n_rows: int,
    n_jobs: int | None,
    least: int = 256,
) -> None:
    """Call ``work(span)`` in threads for spans that cover all rows, each of about ``least`` rows or more."""
    n_parts = min(effective_jobs(n_jobs), 1 + n_rows // least)
    if n_parts == 1:
        work(slice(0, n_rows))
        return
    spans = [slice(a, b) for a, b in itertools.pairwise(np.linspace(0, n_rows, n_parts + 1).astype(int))]
    with ThreadPoolExecutor(n_parts) as pool:
        list(pool.map(work, spans))


def _find_distinct(x: Array) -> tuple[Ints, Ints]:
    """Rows that hold each distinct value once, and for each row the position of the equal one among these."""
    x = np.ascontiguousarray(x)
    whole = x.view(np.dtype((np.void, x.shape[1] * x.itemsize))).ravel()
    return np.unique(whole, return_index=True, return_inverse=True)[1:]


def sort_by_distance(indices: Array, distances: Array) -> tuple[Array, Array]:
    """Sort each row by (distance, index)."""
    order = np.lexsort((indices, distances), axis=-1)
    return np.take_along_axis(indices, order, 1), np.take_along_axis(distances, order, 1)


def drop_self(indices: Array, distances: Array, rows: Ints) -> tuple[Array, Array]:
    """Remove one entry of each row: the sample itself, or the last entry if equal samples displaced the
    sample.
    """
    own = indices == rows[:, None]
    own[~own.any(axis=1), -1] = True
    shape = (len(rows), indices.shape[1] - 1)
    return indices[~own].reshape(shape), distances[~own].reshape(shape)
