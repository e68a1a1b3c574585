"""The K nearest neighbours of every sample, exact or approximate, never with an n x n matrix.

Neighbours are sorted by (distance, index). Where several samples share the K-th distance, those of the
smallest index are taken. Distances are the same bits for any number of threads (`_exact_search`).
"""

import warnings
from importlib.util import find_spec

import numpy as np
from scipy.sparse import issparse

from ._checks import integer, one_of
from ._exact_search import by_distance, exact_search, space_of, without_self
from ._jobs import effective_jobs
from .graph import KnnGraph

APPROXIMATE_ABOVE = 100_000  # samples; below, the exact search is faster or nearly as fast
TREE_FEATURES = 8  # with so few, search trees are exact and fast at any size
APPROXIMATE_METRICS = (  # those that scikit-learn and pynndescent name alike
    *("euclidean", "l2", "manhattan", "l1", "chebyshev", "cosine", "correlation"),
    *("canberra", "braycurtis", "hamming"),
)
WITH_PARAMETERS = ("mahalanobis", "seuclidean", "pyfunc")  # metrics of scikit-learn that can't be had by name
_BLOCK = 8192  # query rows at a time


def knn_graph(
    x, n_neighbors=20, *, metric="euclidean", search="auto", n_jobs=None, random_state=0, verbose=0
):
    """The K-nearest-neighbour graph of samples or distances.

    Parameters
    ----------
    x : array or sparse matrix
        (n, d) samples; with ``metric="precomputed"`` an (n, n) array of distances (row i: from i; it need
        not be symmetric, its diagonal is not used), or a sparse (n, n) matrix with the distances of at
        least K others in each row, stored zeros included.
    n_neighbors : int
        K, in [1, n - 1]. A sample is never its own neighbour.
    metric : str or callable
        Any of scikit-learn's that needs no parameters, or "precomputed". By "cosine" parallel rows are at
        distance 0, a row of zeros is at distance 1 from all others that are not; "correlation" takes no
        constant rows.
    search : {"auto", "exact", "approximate"}
        "exact" uses scikit-learn, "approximate" pynndescent (``pip install gdl-match[ann]``). "auto" is
        approximate above 100,000 samples of more than 8 features where pynndescent is installed and knows the
        metric (``APPROXIMATE_METRICS``), else exact.
    n_jobs : int, optional
        Threads, as in scikit-learn; the result is the same for any number. The approximate search uses one.
    random_state : int
        Seed of the approximate search.
    verbose : int
        1 shows a progress bar.

    Returns
    -------
    KnnGraph

    Raises
    ------
    ValueError
        Where K is out of range, the metric is unknown or needs parameters, a distance is negative, nan or
        infinite, or a row of a sparse matrix has too few entries.

    Examples
    --------
    >>> knn_graph([[0.0], [1.0], [3.0]], 1).indices.ravel()
    array([1, 0, 1], dtype=int32)
    """
    one_of("search", search, ("auto", "exact", "approximate"))
    effective_jobs(n_jobs)  # raises
    x, n_neighbors = _checked(x, metric), integer("n_neighbors", n_neighbors)
    n = x.shape[0]
    if not 1 <= n_neighbors <= n - 1:
        raise ValueError(f"n_neighbors must be in [1, {n - 1}] for {n} samples, got {n_neighbors}")
    if metric == "precomputed":
        return _from_sparse(x, n_neighbors) if issparse(x) else _from_dense(x, n_neighbors)
    if _is_approximate(search, x, metric):
        return _approximate(x, n_neighbors, metric, n_jobs, random_state, verbose)
    return _exact(x, n_neighbors, metric, n_jobs, verbose)


def _checked(x, metric):
    from sklearn.utils.validation import check_array

    _check_metric(metric)
    precomputed = metric == "precomputed"
    x = check_array(x, accept_sparse="csr", dtype=(np.float64, np.float32), input_name="X")
    if issparse(x) and not precomputed:
        raise ValueError('a sparse matrix needs metric="precomputed"')
    if precomputed:
        if x.shape[0] != x.shape[1]:
            raise ValueError(f"precomputed distances must be square, got shape {x.shape}")
        values = x.data if issparse(x) else x
        if values.size and values.min() < 0:
            raise ValueError(
                f"Negative values in data: precomputed distances must be >= 0, got {values.min()}"
            )
    return x


def _check_metric(metric):
    from sklearn.neighbors import VALID_METRICS

    known = sorted({name for names in VALID_METRICS.values() for name in names} - {*WITH_PARAMETERS})
    if not callable(metric) and metric not in known:
        raise ValueError(f"metric must be a function or one of {', '.join(known)}, got {metric!r}")


def _is_approximate(search, x, metric):
    large = x.shape[0] > APPROXIMATE_ABOVE and x.shape[1] > TREE_FEATURES
    known = metric in APPROXIMATE_METRICS
    if search == "exact" or (search == "auto" and not (large and known)):
        return False
    if not known:
        raise ValueError(
            f'search="approximate" takes metric {", ".join(APPROXIMATE_METRICS)}, got {metric!r}'
        )
    if find_spec("pynndescent") is not None:
        return True
    if search == "approximate":
        raise ValueError('search="approximate" needs pynndescent: pip install gdl-match[ann]')
    warnings.warn(
        f"exact neighbour search among {x.shape[0]} samples; "
        "pip install gdl-match[ann] for a faster, approximate one",
        stacklevel=4,
    )
    return False


# --- precomputed distances ------------------------------------------------------------------------


def _from_dense(distances, k):
    n = len(distances)
    indices, nearest = np.empty((n, k), np.int32), np.empty((n, k))
    step = max(1, min(_BLOCK, 50_000_000 // n))
    for start in range(0, n, step):
        d = distances[start : start + step].astype(np.float64)
        d[np.arange(len(d)), np.arange(start, start + len(d))] = np.inf
        found = np.argpartition(d, min(k, n - 1), axis=1)[:, : k + 1]
        found, value = by_distance(found, np.take_along_axis(d, found, 1))
        for r in np.flatnonzero(value[:, k - 1] == value[:, -1]) if k + 1 < n else ():
            found[r, :k] = np.argsort(d[r], kind="stable")[:k]
            value[r, :k] = d[r, found[r, :k]]
        indices[start : start + step], nearest[start : start + step] = found[:, :k], value[:, :k]
    return KnnGraph(indices, nearest)


def _from_sparse(graph, k):
    n = graph.shape[0]
    if not graph.has_canonical_format:
        graph = graph.copy()
        graph.sum_duplicates()
    rows = np.repeat(np.arange(n, dtype=graph.indices.dtype), np.diff(graph.indptr))
    other = graph.indices != rows
    count = np.bincount(rows[other], minlength=n)
    if count.min() < k:
        i = int(count.argmin())
        raise ValueError(
            f"{k} neighbors are required for each sample, but row {i} of the distance graph has only "
            f"{count[i]} entries besides the diagonal: decrease n_neighbors or store more neighbours"
        )
    indices, data = graph.indices[other], graph.data[other].astype(np.float64)
    if count.min() == count.max():
        found, value = by_distance(indices.reshape(n, -1), data.reshape(n, -1))
        return KnnGraph(found[:, :k], value[:, :k])
    order = np.lexsort((data, rows[other]))  # stable, and indices rise within a row
    first = np.concatenate([[0], np.cumsum(count)[:-1]])
    take = order[first[:, None] + np.arange(k)]
    return KnnGraph(indices[take], data[take])


# --- samples --------------------------------------------------------------------------------------


def _exact(x, k, metric, n_jobs, verbose):
    n, search = len(x), exact_search(x, metric, n_jobs)
    indices, distances = np.empty((n, k), np.int32), np.empty((n, k))
    for start in _progress(range(0, n, _BLOCK), verbose):
        rows = np.arange(start, min(start + _BLOCK, n))
        indices[rows], distances[rows] = search.k_nearest(rows, k)
    return KnnGraph(indices, distances)


def _progress(blocks, verbose):
    if not verbose:
        return blocks
    from tqdm import tqdm

    return tqdm(blocks, desc="neighbours", unit="block")


# --- approximate ----------------------------------------------------------------------------------


def _approximate(x, k, metric, n_jobs, random_state, verbose):
    """pynndescent's graph, with distances computed again; rows short of K are an error.

    It runs on one thread, because its graph depends on the number of threads.
    """
    from pynndescent import NNDescent

    n, space = len(x), space_of(x, metric, n_jobs)
    options = {"n_jobs": 1, "random_state": random_state, "verbose": bool(verbose)}
    search = NNDescent(x, metric=metric, n_neighbors=k + 2, **options)
    found, value = search.neighbor_graph
    del search
    indices, distances = np.empty((n, k), np.int32), np.empty((n, k))
    for start in range(0, n, _BLOCK):
        rows = np.arange(start, min(start + _BLOCK, n))
        f, v = without_self(found[rows], value[rows].astype(np.float64), rows)
        if (f < 0).any():
            raise ValueError(
                f'the approximate search found fewer than {k} neighbours for some samples; use search="exact"'
            )
        if space is not None:
            v = space.distances(rows, f)
        f, v = by_distance(f, v)
        indices[rows], distances[rows] = f[:, :k], v[:, :k]
    return KnnGraph(indices, distances)
