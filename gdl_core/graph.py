"""The neighbourhood graph (Sec. 3.1) and the initial clusters (Sec. 3.2).

There are n samples, each with its K nearest others. W[i, j] = w_ij is the weight of the edge from vertex i to
vertex j, or zero if there is none.
"""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike

from ._common.checks import check_bandwidth, check_integer, check_integers, check_square, check_values
from ._common.components import number_components
from ._common.exponential import exp_of_negative
from ._common.transpose import transpose
from ._common.types import Array, Arrays, Bools, Floats, Int32s, Ints
from ._common.views import view_read_only

MAX_WEIGHT = 1e100  # up to it, sums of products of two weights stay finite
WEIGHT_RULE = f"in [0, {MAX_WEIGHT:g}]"
MAX_DISTANCE = 1e150  # up to it, sums of squared distances stay finite


@dataclass(frozen=True, eq=False)
class KnnGraph:
    """The K nearest neighbours of each sample, nearest first.

    Parameters
    ----------
    indices : (n, K) int32
        ``indices[i]`` are the neighbours of sample i, never i itself, sorted by (distance, index). A sample
        with fewer than K neighbours has -1 after the last one.
    distances : (n, K) float64
        Their distances, in the unit of the metric; infinity after the last neighbour.

    Raises
    ------
    ValueError
        If the shapes differ; an index is not an integer, is out of range, is repeated, or is that of the
        sample itself; a distance is negative or not finite; or a row is not sorted.
    """

    indices: Int32s
    distances: Floats

    def __post_init__(self) -> None:
        indices = check_integers("indices", self.indices)
        distances = np.ascontiguousarray(self.distances, dtype=np.float64)
        if indices.ndim != 2 or indices.shape != distances.shape:
            raise ValueError(
                f"indices and distances must have equal shapes (n, K), got {indices.shape}, {distances.shape}"
            )
        _check_range(indices, len(indices), minimum=-1)
        object.__setattr__(self, "indices", np.ascontiguousarray(indices, dtype=np.int32))
        object.__setattr__(self, "distances", distances)
        i, d = self.indices, self.distances
        indptr, neighbours, distances = self.edges()
        check_values("distances", distances, "finite and not negative", 0)
        _check_edges(indptr, neighbours)
        before, after = d[:, :-1], d[:, 1:]
        if (is_misfilled := np.isinf(d) != (i < 0)).any():
            row = is_misfilled.any(axis=1).argmax()
            raise ValueError(f"if an index is -1, the distance must be infinite; in row {row} it is not")
        is_unsorted = (after < before) | ((after == before) & (i[:, 1:] <= i[:, :-1]) & (i[:, 1:] >= 0))
        if is_unsorted.any():
            row = is_unsorted.any(axis=1).argmax()
            raise ValueError(f"each row must be sorted by (distance, index); row {row} is not")

    @property
    def n_samples(self) -> int:
        """The number of samples, n."""
        return len(self.indices)

    @property
    def n_neighbors(self) -> int:
        """The number of neighbours of each sample, K; if some have fewer, the largest number."""
        return int(self.indices.shape[1])

    def edges(self) -> tuple[Ints, Int32s, Floats]:
        """List the edges of all rows.

        Returns
        -------
        indptr : (n + 1,) int64
            Where each row begins and ends.
        indices : (nnz,) int32
        distances : (nnz,) float64
            Views of the arrays of the graph if every sample has K neighbours.
        """
        n, k = self.indices.shape
        if self.indices.min(initial=0) >= 0:
            return np.arange(n + 1, dtype=np.int64) * k, self.indices.ravel(), self.distances.ravel()
        is_neighbour = self.indices >= 0
        indptr = np.append(0, np.cumsum(is_neighbour.sum(axis=1))).astype(np.int64)
        return indptr, self.indices[is_neighbour], self.distances[is_neighbour]

    def without(self, is_dropped: Bools) -> "KnnGraph":
        """Make the graph without the edges from and to some samples.

        Parameters
        ----------
        is_dropped : (n,) bool
            These samples.

        Returns
        -------
        KnnGraph
        """
        is_kept = (self.indices >= 0) & ~(is_dropped[self.indices] | is_dropped[:, None])
        order = np.argsort(~is_kept, axis=1, kind="stable")
        indices, distances = np.where(is_kept, self.indices, -1), np.where(is_kept, self.distances, np.inf)
        return KnnGraph(np.take_along_axis(indices, order, 1), np.take_along_axis(distances, order, 1))


@dataclass(frozen=True, eq=False)
class AffinityGraph:
    """The weighted directed graph, W in compressed rows.

    Parameters
    ----------
    indptr : (n + 1,) int64
        The edges of vertex i are ``indptr[i]:indptr[i + 1]``.
    indices : (nnz,) int32
        The vertex that each edge points to: not the vertex itself, and no vertex twice.
    weights : (nnz,) float64
        w_ij, in [0, 1e100]; those of Eq. 1 are at most 1.
    sigma2 : float
        sigma^2 of Eq. 1, in squared units of distance; nan if the weights have no common scale.

    Raises
    ------
    ValueError
        If the lengths don't fit together; an index is not an integer, is out of range, is repeated in a row,
        or is that of the vertex itself; or a weight is not in [0, 1e100]. `from_csr` takes matrices with
        repeated entries and a diagonal.
    """

    indptr: Ints
    indices: Int32s
    weights: Floats
    sigma2: float = float("nan")

    def __post_init__(self) -> None:
        # as int64, because differences of unsigned integers are never negative
        indptr = check_integers("indptr", self.indptr).astype(np.int64, copy=False)
        indices = check_integers("indices", self.indices)
        weights = np.ascontiguousarray(self.weights, dtype=np.float64)
        if any(a.ndim != 1 for a in (indptr, indices, weights)) or len(indices) != len(weights):
            raise ValueError(
                "indices and weights must have equal shapes (nnz,), indptr (n + 1,),"
                f" got {indices.shape}, {weights.shape}, {indptr.shape}"
            )
        if len(indptr) == 0 or indptr[0] != 0 or indptr[-1] != len(indices) or (np.diff(indptr) < 0).any():
            raise ValueError(
                f"indptr must go from 0 to the number of edges, {len(indices)}, without decreasing"
            )
        _check_range(indices, len(indptr) - 1)
        check_values("weights", weights, WEIGHT_RULE, 0, MAX_WEIGHT)
        object.__setattr__(self, "indptr", np.ascontiguousarray(indptr))
        object.__setattr__(self, "indices", np.ascontiguousarray(indices, dtype=np.int32))
        object.__setattr__(self, "weights", weights)
        remedy = "; AffinityGraph.from_csr drops the diagonal and sums repeated entries"
        _check_edges(self.indptr, self.indices, remedy)

    @classmethod
    def from_csr(cls, matrix: Any) -> "AffinityGraph":
        """Make a graph from a matrix of weights.

        Parameters
        ----------
        matrix : array or sparse matrix
            (n, n) weights from 0 to 1e100. Entries that are stored twice are summed; the diagonal is dropped.

        Returns
        -------
        AffinityGraph
        """
        matrix = scipy.sparse.csr_matrix(matrix, dtype=np.float64, copy=True)
        check_square("matrix", matrix)
        matrix.sum_duplicates()
        check_values("weights", matrix.data, WEIGHT_RULE, 0, MAX_WEIGHT)
        matrix.setdiag(0)
        matrix.eliminate_zeros()
        return cls(matrix.indptr, matrix.indices, matrix.data)

    @property
    def n_samples(self) -> int:
        """The number of samples, n."""
        return len(self.indptr) - 1

    @property
    def sources(self) -> Ints:
        """The vertex from which each edge leads, (nnz,)."""
        return np.repeat(np.arange(self.n_samples), np.diff(self.indptr))

    def edge_lists(self) -> tuple[Arrays, Arrays]:
        """List the edges from each vertex and those to each vertex.

        Returns
        -------
        tuple
            Two tuples of read-only arrays: where each vertex begins (n + 1,), the other ends (nnz,), and the
            weights (nnz,).
        """
        start, source, edge = transpose(self.indptr, self.indices)
        starts, ends = (self.indptr, start), (self.indices, source)
        views = (map(view_read_only, arrays) for arrays in (starts, ends, (self.weights, self.weights[edge])))
        from_each, to_each = zip(*views, strict=True)
        return from_each, to_each

    def to_csr(self) -> Any:
        """Return W as a SciPy matrix.

        Returns
        -------
        (n, n) csr_matrix of float64
        """
        n = self.n_samples
        return scipy.sparse.csr_matrix((self.weights, self.indices, self.indptr), shape=(n, n))

    def symmetric(self) -> Any:
        """Return W + W^T, the sums of the weights in both directions.

        Returns
        -------
        (n, n) csr_matrix of float64
        """
        w = self.to_csr()
        return w + w.T.tocsr()


def _check_range(indices: Array, n: int, minimum: int = 0) -> None:
    """Raise ValueError if an index is out of range."""
    if indices.size and (indices.min() < minimum or indices.max() >= n):
        raise ValueError(f"indices must be in [0, {n - 1}], got {indices.min()} to {indices.max()}")


def _check_edges(indptr: Ints, indices: Int32s, remedy: str = "") -> None:
    """Check that no edge leads from a vertex to itself or occurs twice, because merging and scores would
    count these edges differently.
    """
    start, source, _ = transpose(indptr, indices)  # the sources of each target ascend
    target = np.repeat(np.arange(len(indptr) - 1, dtype=np.int32), np.diff(start))
    is_wrong = source == target
    is_wrong[1:] |= (source[1:] == source[:-1]) & (target[1:] == target[:-1])
    if is_wrong.any():
        i, j = source[is_wrong][0], target[is_wrong][0]
        raise ValueError(f"indices of row {i} must not hold {j} {'itself' if i == j else 'twice'}{remedy}")


def affinity_graph(knn: KnnGraph, bandwidth: float = 1.0) -> AffinityGraph:
    """Compute edge weights from distances, w_ij = exp(-dist(i, j)^2 / sigma^2) (Eq. 1).

    Parameters
    ----------
    knn : KnnGraph
    bandwidth : float
        The factor a: sigma^2 is the mean of the squared distances in ``knn``, multiplied by a.

    Returns
    -------
    AffinityGraph
        If sigma^2 is zero (all neighbours are at distance 0), every weight is 1.
    """
    indptr, indices, distances = knn.edges()
    check_values("distances", distances, f"at most {MAX_DISTANCE:g}", 0, MAX_DISTANCE)
    squared = distances**2
    check_bandwidth(bandwidth)
    sigma2 = bandwidth * float(squared.mean()) if squared.size else 0.0
    return AffinityGraph(indptr, indices, weigh(squared, sigma2), sigma2)


def weigh(squared: Floats, sigma2: float) -> Floats:
    """Compute the weights of squared distances by Eq. 1.

    Parameters
    ----------
    squared : (m,) float64
    sigma2 : float
        sigma^2; if it is 0, only a distance of 0 has a weight, 1.

    Returns
    -------
    (m,) float64
    """
    return exp_of_negative(-squared / sigma2) if sigma2 > 0 else (squared == 0).astype(np.float64)


def initial_clusters(knn: KnnGraph, n_initial_neighbors: int = 1, *, mutual: bool = False) -> Ints:
    """Find the weakly connected components of the K0-nearest-neighbour graph (Definition 1).

    Parameters
    ----------
    knn : KnnGraph
    n_initial_neighbors : int
        K0, at most K.
    mutual : bool
        Use only links i - j between samples each of which is among the K0 nearest of the other.

    Returns
    -------
    (n,) int64
        Labels 0, 1, ... in the order of the clusters' smallest members.

    Examples
    --------
    >>> from gdl_core import knn_graph
    >>> initial_clusters(knn_graph([[0.0], [1.0], [5.0], [6.0]], 1))
    array([0, 0, 1, 1])
    """
    if not 0 <= check_integer("n_initial_neighbors", n_initial_neighbors) <= knn.n_neighbors:
        raise ValueError(f"n_initial_neighbors must be in [0, {knn.n_neighbors}], got {n_initial_neighbors}")
    n, k = knn.n_samples, n_initial_neighbors
    near = knn.indices[:, :k]
    is_linked = near >= 0
    if mutual:
        for rank in range(k):
            is_linked[:, rank] &= (near[near[:, rank]] == np.arange(n)[:, None]).any(axis=1)
    return number_components(n, np.nonzero(is_linked)[0], near[is_linked])


def enough_initial_clusters(
    knn: KnnGraph,
    n_initial_neighbors: int,
    n_clusters: int,
    *,
    stacklevel: int = 1,
) -> Ints:
    """Find the `initial_clusters` of the largest K0 up to ``n_initial_neighbors`` that leaves enough of them.

    If K0 is smaller than requested, a warning is given; with K0 = 0 every sample is a separate cluster.

    Parameters
    ----------
    knn : KnnGraph
    n_initial_neighbors : int
        K0; values above K count as K.
    n_clusters : int
        n_T, the number of clusters to leave; values above the number of samples count as that number.
    stacklevel : int
        The level of the warning: 1 is the caller.

    Returns
    -------
    (n,) int64
    """
    n_requested = min(n_initial_neighbors, knn.n_neighbors)
    n_wanted = min(n_clusters, knn.n_samples)
    for k0 in range(n_requested, -1, -1):
        labels = initial_clusters(knn, k0)
        if labels.max() + 1 >= n_wanted:
            break
    if k0 < n_requested:
        warnings.warn(
            f"n_initial_neighbors={n_requested} gives fewer initial clusters than n_clusters={n_clusters}:"
            f" using {k0}",
            stacklevel=stacklevel + 1,
        )
    return labels


def number_by_first(labels: ArrayLike) -> Ints:
    """Number the clusters 0, 1, ... in order of first appearance; -1 stays -1.

    Parameters
    ----------
    labels : array_like of int
        The cluster of each sample.

    Returns
    -------
    (n,) int64
        The same partition.
    """
    labels = np.asarray(labels)
    values, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    order = np.argsort(np.where(values < 0, -1, first), kind="stable")
    rank = np.empty(len(values), np.int64)
    rank[order] = np.arange(len(values)) - int((values < 0).any())
    return rank[inverse].reshape(labels.shape)
