"""The K nearest neighbours of every sample, exact or approximate, never with an n x n matrix.

Neighbours are sorted by (distance, index). Where several samples share the K-th distance, those of the
smallest index are taken. Euclidean distances are computed again from differences in float64 once the
neighbours are known, so that they are the same bits for any number of threads, symmetric, and exactly 0
between equal rows.
"""

import itertools
import warnings
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec

import numpy as np
from scipy.sparse import issparse

from ._jobs import effective_jobs
from .graph import KnnGraph

APPROXIMATE_ABOVE = 100_000  # samples; below, the exact search is faster or nearly as fast
TREE_FEATURES = 8  # with so few, search trees are exact and fast at any size
APPROXIMATE_METRICS = (  # those that scikit-learn and pynndescent name alike
    *("euclidean", "l2", "manhattan", "l1", "chebyshev", "cosine", "correlation"),
    *("canberra", "braycurtis", "hamming"),
)
_BLOCK = 8192  # query rows at a time
_NEAR_TIE = 1e-9  # relative; two matrix products may round one distance differently by less
_EPS = np.finfo(np.float64).eps


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
        Any of scikit-learn's that needs no parameters, or "precomputed".
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
        Where K is out of range, a distance is negative, nan or infinite, or a row of a sparse matrix has
        too few entries.

    Examples
    --------
    >>> knn_graph([[0.0], [1.0], [3.0]], 1).indices.ravel()
    array([1, 0, 1], dtype=int32)
    """
    if search not in ("auto", "exact", "approximate"):
        raise ValueError(f'search must be "auto", "exact" or "approximate", got {search!r}')
    x = _checked(x, metric)
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
        found, value = _sorted(found, np.take_along_axis(d, found, 1))
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
        found, value = _sorted(indices.reshape(n, -1), data.reshape(n, -1))
        return KnnGraph(found[:, :k], value[:, :k])
    order = np.lexsort((data, rows[other]))  # stable, and indices rise within a row
    first = np.concatenate([[0], np.cumsum(count)[:-1]])
    take = order[first[:, None] + np.arange(k)]
    return KnnGraph(indices[take], data[take])


def _sorted(indices, distances):
    """Each row by (distance, index)."""
    order = np.lexsort((indices, distances), axis=-1)
    return np.take_along_axis(indices, order, 1), np.take_along_axis(distances, order, 1)


# --- samples --------------------------------------------------------------------------------------


def _exact(x, k, metric, n_jobs, verbose):
    from sklearn.neighbors import NearestNeighbors

    n = len(x)
    euclidean = metric in ("euclidean", "l2")
    searched = _centred(x) if euclidean else x
    searcher = NearestNeighbors(metric=metric, n_jobs=n_jobs).fit(searched)
    rounding = _rounding(searched) if euclidean else 0.0
    indices, distances = np.empty((n, k), np.int32), np.empty((n, k))
    for start in _progress(range(0, n, _BLOCK), verbose):
        rows = np.arange(start, min(start + _BLOCK, n))
        value, found = searcher.kneighbors(searched[rows], min(k + 2, n))
        if not np.isfinite(value).all():
            raise ValueError(f"distances must be finite, got {value[~np.isfinite(value)][0]}")
        found, value = _without_self(found, value, rows)
        if euclidean:
            value = _euclidean(x, rows, found, n_jobs)
        found, value = _sorted(found, value)
        if k + 1 < n:
            last, following = value[:, k - 1], value[:, k]
            near = (following <= last * (1 + _NEAR_TIE)) | (following**2 - last**2 <= 2 * rounding)
            tied = np.flatnonzero(near)
            _settle(searcher, searched, x if euclidean else None, rows, tied, found, value, k, rounding)
        indices[rows], distances[rows] = found[:, :k], value[:, :k]
    return KnnGraph(indices, distances)


def _centred(x):
    """|x|^2 - 2 x.y + |y|^2 has no digits left far from the origin: move the mean there where it matters."""
    mean = x.mean(axis=0, dtype=np.float64)
    spread = x.var(axis=0, dtype=np.float64).sum()
    return x - mean if (mean**2).sum() > 1e4 * spread else x


def _rounding(x):
    """How far |x|^2 - 2 x.y + |y|^2, summed over the features, may be off: it counts for clusters that are
    tight and far apart.
    """
    largest = float(np.einsum("ij,ij->i", x, x, dtype=np.float64).max(initial=0))
    return _EPS * (4 + np.sqrt(x.shape[1])) * largest


def _without_self(indices, distances, rows):
    """One column fewer: without the row's own sample, or the last where equal ones pushed it out."""
    own = indices == rows[:, None]
    own[~own.any(axis=1), -1] = True
    shape = (len(rows), indices.shape[1] - 1)
    return indices[~own].reshape(shape), distances[~own].reshape(shape)


def _euclidean(x, rows, candidates, n_jobs=1):
    from ._knn_kernel import candidate_distances

    out = np.empty(candidates.shape)
    candidates = candidates.astype(np.int64)
    n_parts = min(effective_jobs(n_jobs), 1 + len(rows) // 256)
    if n_parts == 1:
        candidate_distances(x, rows, candidates, out)
        return out
    cuts = np.linspace(0, len(rows), n_parts + 1).astype(int)
    spans = [slice(a, b) for a, b in itertools.pairwise(cuts)]
    with ThreadPoolExecutor(n_parts) as pool:
        list(pool.map(lambda s: candidate_distances(x, rows[s], candidates[s], out[s]), spans))
    return out


def _settle(searcher, searched, x, rows, tied, found, value, k, rounding):
    """Rows whose K-th distance is shared: choose by index among all samples at that distance, in place."""
    radius = np.sqrt(value[tied, k - 1] ** 2 + 4 * rounding) * (1 + _NEAR_TIE)
    if x is not None:
        radius += 1e-7 * np.sqrt(searched.shape[1]) * float(np.abs(searched).max(initial=0))
    most = max(1, 20_000_000 // len(searched))  # rows at a time, should all samples be that near
    for r in np.unique(radius):
        same = tied[radius == r]
        for part in np.array_split(same, -(-len(same) // most)):
            near_value, near = searcher.radius_neighbors(searched[rows[part]], r)
            for row, candidates, distance in zip(part, near, near_value, strict=True):
                other = candidates != rows[row]
                candidates, distance = candidates[other][None], distance[other][None]
                if x is not None:
                    distance = _euclidean(x, rows[row : row + 1], candidates)
                if candidates.shape[1] >= k:
                    candidates, distance = _sorted(candidates, distance)
                    found[row, :k], value[row, :k] = candidates[0, :k], distance[0, :k]


def _progress(blocks, verbose):
    if not verbose:
        return blocks
    from tqdm import tqdm

    return tqdm(blocks, desc="neighbours", unit="block")


# --- approximate ----------------------------------------------------------------------------------


def _approximate(x, k, metric, n_jobs, random_state, verbose):
    """pynndescent's graph, with Euclidean distances computed again; rows short of K are an error.

    It runs on one thread, because its graph depends on the number of threads.
    """
    from pynndescent import NNDescent

    n = len(x)
    options = {"n_jobs": 1, "random_state": random_state, "verbose": bool(verbose)}
    search = NNDescent(x, metric=metric, n_neighbors=k + 2, **options)
    found, value = search.neighbor_graph
    del search
    indices, distances = np.empty((n, k), np.int32), np.empty((n, k))
    for start in range(0, n, _BLOCK):
        rows = np.arange(start, min(start + _BLOCK, n))
        f, v = _without_self(found[rows], value[rows].astype(np.float64), rows)
        if (f < 0).any():
            raise ValueError(
                f'the approximate search found fewer than {k} neighbours for some samples; use search="exact"'
            )
        if metric in ("euclidean", "l2"):
            v = _euclidean(x, rows, f, n_jobs)
        f, v = _sorted(f, v)
        indices[rows], distances[rows] = f[:, :k], v[:, :k]
    return KnnGraph(indices, distances)
