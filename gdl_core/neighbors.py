"""The K nearest neighbours of every sample, exact or approximate, never with an n x n matrix.

Neighbours are sorted by (distance, index). If several samples share the K-th distance, those with the
smallest indices are taken. Distances are bitwise equal for any number of threads (`_search.exact_search`).
"""

from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np
import scipy

from ._common.checks import check_integer, check_one_of, check_square, check_values
from ._common.jobs import effective_jobs
from ._common.types import Array, Floats, Ints, Metric
from ._search.cell_search import find_approximate_neighbours
from ._search.exact_search import (
    ANGULAR,
    EUCLIDEAN,
    SPARSE_METRICS,
    Search,
    make_search,
    make_space,
    sort_by_distance,
)
from ._search.given_graph import check_n_neighbors, read_arrays, read_dense, read_sparse
from .graph import KnnGraph

MAX_TREE_FEATURES = 8  # with at most this many features, search trees are exact and fast at any size
MAX_EXACT_COST = 1e11  # n^2 (d + SELECTION_COST), which takes about three seconds on one processor
SELECTION_COST = 64  # cost of selecting the smallest of n distances, in features
CELL_METRICS = (*EUCLIDEAN, "sqeuclidean", *ANGULAR)  # that can be searched approximately
PARAMETER_METRICS = ("mahalanobis", "seuclidean", "pyfunc")  # of scikit-learn, not supported
_BLOCK_ROWS = 8192  # rows searched at a time


def knn_graph(
    x: Any,
    n_neighbors: int = 20,
    *,
    metric: Metric = "euclidean",
    search: str = "auto",
    n_jobs: int | None = None,
    verbose: int = 0,
    allow_fewer: bool = False,
) -> KnnGraph:
    """Make the K-nearest-neighbour graph from samples, distances, or neighbours found elsewhere.

    Parameters
    ----------
    x : array, sparse matrix or pair of arrays
        (n, d) samples. Sparse samples need the euclidean or the cosine distance, and are searched exactly.
        With ``metric="precomputed"``, one of: an (n, n) array of distances (row i holds those from sample i;
        the array need not be symmetric, and its diagonal is not used); a sparse (n, n) matrix with the
        distances of at least K others in each row, stored zeros included; a pair of arrays (indices,
        distances), each (n, m), with the neighbours of each sample, nearest first, as faiss and cuML return
        them. Only the first K columns of such a pair are read, or K + 1 if rows hold the sample itself. They
        are read one block of rows at a time, so the arrays may be mapped from files that are larger than the
        memory.
    n_neighbors : int
        K, in [1, n - 1]. A sample is never its own neighbour.
    metric : str or callable
        Any metric of scikit-learn without parameters, or "precomputed". With "cosine", parallel rows have
        distance 0, and a row of zeros has distance 1 from all nonzero rows; with "correlation", constant rows
        are an error.
    search : {"auto", "exact", "approximate"}
        "exact" compares each sample with all that can be among its nearest; scikit-learn does this for
        distances that are neither Euclidean nor angles. "approximate" compares each sample with those in the
        nearest cells of a partition and with the neighbours of its neighbours, by Euclidean distances or
        angles. "auto" is exact for other distances, if an exact search takes at most about three seconds on
        one processor, or if there are at most 8 features.
    n_jobs : int, optional
        Threads, as in scikit-learn; the result is the same for any number.
    verbose : int
        1 shows a progress bar.
    allow_fewer : bool
        Accept rows of a given graph (a sparse matrix or a pair of arrays) with fewer than K neighbours or
        none. In a pair the index -1 means no neighbour. If all rows have fewer, the graph's K is the largest
        number.

    Returns
    -------
    KnnGraph
        Neighbours and distances, in float64.

    Raises
    ------
    ValueError
        If K is out of range, the metric is unknown or needs parameters, a distance is negative, nan or
        infinite, or a row of a sparse matrix or of a pair has too few neighbours and ``allow_fewer`` is off.

    Examples
    --------
    >>> knn_graph([[0.0], [1.0], [3.0]], 1).indices.ravel()
    array([1, 0, 1], dtype=int32)
    >>> knn_graph(([[1], [0], [1]], [[1.0], [1.0], [2.0]]), 1, metric="precomputed").distances.ravel()
    array([1., 1., 2.])
    """
    check_one_of("search", search, ("auto", "exact", "approximate"))
    effective_jobs(n_jobs)  # raises ValueError if it is invalid
    n_neighbors = check_integer("n_neighbors", n_neighbors)
    if isinstance(x, tuple):
        if metric != "precomputed":
            raise ValueError('a pair (indices, distances) needs metric="precomputed"')
        if len(x) != 2:
            raise ValueError(f"X must be a pair (indices, distances), got {len(x)} arrays")
        return read_arrays(x[0], x[1], n_neighbors, allow_fewer)
    x = _check_samples(x, metric)
    check_n_neighbors(n_neighbors, x.shape[0])
    if metric == "precomputed":
        if scipy.sparse.issparse(x):
            return read_sparse(x, n_neighbors, allow_fewer)
        return read_dense(x, n_neighbors)
    n, k, search_exactly = x.shape[0], n_neighbors, partial(make_search, x, metric, n_jobs)
    is_approximate = not scipy.sparse.issparse(x) and _is_approximate(search, x, metric)
    find_nearest = _search_approximately(x, k, metric, n_jobs) if is_approximate else search_exactly()
    indices, distances = np.empty((n, k), np.int32), np.empty((n, k))
    for start in _show_progress(range(0, n, _BLOCK_ROWS), verbose):
        rows = np.arange(start, min(start + _BLOCK_ROWS, n))
        indices[rows], distances[rows] = find_nearest(rows, k)
    incomplete = np.flatnonzero(np.isinf(distances[:, -1]))  # rows with fewer than K candidates
    if len(incomplete):
        indices[incomplete], distances[incomplete] = search_exactly()(incomplete, k)
    check_values("distances", distances, "finite", 0)
    return KnnGraph(indices, distances)


def _check_samples(x: Any, metric: Metric) -> Any:
    """Return samples or distances as an array or CSR matrix of floats, or raise ValueError."""
    from sklearn.utils.validation import check_array

    _check_metric(metric)
    is_precomputed = metric == "precomputed"
    x = check_array(x, accept_sparse="csr", dtype=(np.float64, np.float32), input_name="X")
    if scipy.sparse.issparse(x) and not is_precomputed and metric not in SPARSE_METRICS:
        names = ", ".join(map(repr, SPARSE_METRICS))
        raise ValueError(f'a sparse matrix needs metric {names} or "precomputed", got {metric!r}')
    if is_precomputed:
        check_square("precomputed distances", x)
    return x


def _check_metric(metric: Metric) -> None:
    """Raise ValueError unless a metric is a function, or one of scikit-learn's without parameters."""
    from sklearn.neighbors import VALID_METRICS

    names = sorted({name for group in VALID_METRICS.values() for name in group} - {*PARAMETER_METRICS})
    if not callable(metric) and metric not in names:
        raise ValueError(f"metric must be a function or one of {', '.join(names)}, got {metric!r}")


def _is_approximate(search: str, x: Array, metric: Metric) -> bool:
    """Decide whether to search approximately, as `knn_graph` documents."""
    n, d = x.shape
    is_large = d > MAX_TREE_FEATURES and float(n) * n * (d + SELECTION_COST) > MAX_EXACT_COST
    if search == "approximate" and metric not in CELL_METRICS:
        raise ValueError(f'search="approximate" takes the metrics {", ".join(CELL_METRICS)}, got {metric!r}')
    return search == "approximate" or (search == "auto" and is_large and metric in CELL_METRICS)


def _search_approximately(x: Any, k: int, metric: Metric, n_jobs: int | None) -> Search:
    """Find candidates by the approximate search; the search returned computes their distances in float64."""
    space = make_space(x, metric, n_jobs)
    assert space is not None  # of all `CELL_METRICS`
    candidates = find_approximate_neighbours(space.points, k, n_jobs)

    def search(rows: Ints, k: int) -> tuple[Array, Floats]:
        near = candidates[rows]
        lengths = space.distances(rows, near)
        lengths[(near < 0) | (near == rows[:, None])] = np.inf
        near, lengths = sort_by_distance(near, lengths)
        return near[:, :k], lengths[:, :k]

    return search


def _show_progress(blocks: Iterable[int], verbose: int) -> Iterable[int]:
    """Show a progress bar over blocks, if `verbose` is set."""
    if not verbose:
        return blocks
    from tqdm import tqdm

    return tqdm(blocks, desc="neighbours", unit="block")  # type: ignore[no-any-return]
