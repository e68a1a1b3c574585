"""Spectral clustering of an undirected graph: NJW and multiclass normalised cuts, from the same eigenvectors.

S is (n, n) symmetric, D the diagonal matrix of its row sums. Both methods start from the n_clusters
eigenvectors of D^-1/2 S D^-1/2 with the largest eigenvalues, rows scaled to length 1 (for normalised cuts
D^-1/2 times them, which rows of length 1 don't show).
"""

import warnings

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, diags
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh
from sklearn.cluster import KMeans

DENSE = 300  # samples; smaller matrices are decomposed whole


class NoConvergence(RuntimeError):
    """The eigenvectors of a graph could not be found."""


def spectral_embedding(s: csr_matrix, n_clusters: int, seed: int = 0) -> NDArray[np.float64]:
    """Rows of length 1 of the leading eigenvectors. (n, n_clusters); a row may be zero.

    The connected parts of the graph are decomposed one by one: each has an eigenvalue 1, and a Lanczos
    method is not sure to find an eigenvalue as often as it occurs.
    """
    degree = np.asarray(s.sum(axis=1)).ravel()
    scale = diags(np.where(degree > 0, 1 / np.sqrt(np.where(degree > 0, degree, 1)), 0))
    matrix = (scale @ s @ scale).tocsr()
    part = connected_components(matrix, directed=False)[1]
    parts = np.split(np.argsort(part, kind="stable"), np.cumsum(np.bincount(part))[:-1])
    parts.sort(key=len, reverse=True)
    values, vectors = [], []
    for members in parts[:n_clusters]:  # of equal eigenvalues those of the largest parts count
        value, vector = leading_eigenvectors(matrix[members][:, members], n_clusters, seed)
        values.append(value)
        vectors.append((members, vector))
    which = np.repeat(np.arange(len(values)), [len(v) for v in values])
    column = np.concatenate([np.arange(len(v)) for v in values])
    order = np.argsort(-np.round(np.concatenate(values), 10), kind="stable")[:n_clusters]
    embedding = np.zeros((s.shape[0], n_clusters))
    for place, i in enumerate(order):
        members, vector = vectors[which[i]]
        embedding[members, place] = vector[:, column[i]]
    return unit_rows(embedding)


def leading_eigenvectors(
    matrix: csr_matrix | LinearOperator, k: int, seed: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The k largest eigenvalues of a symmetric (n, n) matrix (all n of a smaller one), and their eigenvectors.

    (k,) and (n, k), largest first. Small matrices are decomposed as dense ones. Raises NoConvergence.
    """
    n = matrix.shape[0]
    if n <= max(DENSE, k + 1) and not isinstance(matrix, LinearOperator):
        values, vectors = np.linalg.eigh(matrix.toarray())
    else:
        start = np.random.default_rng(seed).uniform(-1, 1, n)
        basis, patience = min(n, max(2 * k + 1, 40)), max(100, 20_000 // k)
        try:
            values, vectors = eigsh(matrix, k, which="LA", v0=start, ncv=basis, maxiter=patience, tol=1e-8)
        except ArpackError as error:
            raise NoConvergence(f"no convergence: {error}") from None
    order = np.argsort(-values, kind="stable")[:k]
    return values[order], vectors[:, order]


def unit_rows(x: NDArray) -> NDArray:
    """Rows scaled to length 1; zero rows stay."""
    length = np.linalg.norm(x, axis=1, keepdims=True)
    return x / np.where(length > 0, length, 1)


def njw(embedding: NDArray, seed: int) -> NDArray[np.int64]:
    """Ng, Jordan, Weiss 2001: k-means of the rows, the best of ten starts. (n,) int64."""
    k = embedding.shape[1]
    with warnings.catch_warnings():  # fewer distinct rows than clusters: the labels say so
        warnings.filterwarnings("ignore", "Number of distinct clusters")
        return KMeans(k, n_init=10, random_state=seed).fit(embedding).labels_.astype(np.int64)


def ncuts(embedding: NDArray, seed: int, max_iter: int = 200, n_starts: int = 10) -> NDArray[np.int64]:
    """Yu and Shi 2003, multiclass normalised cuts: the rotation that brings the rows nearest to indicator
    vectors.

    Starts from rows of the embedding as orthogonal to each other as can be, alternates between the best
    discrete solution (row maxima) and the best rotation (SVD); of `n_starts` first rows the nearest
    solution is kept.
    """
    rng = np.random.default_rng(seed)
    n, k = embedding.shape
    best, labels = -np.inf, np.zeros(n, np.int64)
    for first in rng.integers(n, size=n_starts):
        rotation, value = _orthogonal_rows(embedding, int(first)), 0.0
        for _ in range(max_iter):
            found = (embedding @ rotation).argmax(axis=1)
            sums = np.zeros((k, k))
            np.add.at(sums, found, embedding)  # discrete^T embedding
            u, singular, v = np.linalg.svd(sums)
            if singular.sum() - value < 1e-10 * n:
                break
            value, rotation = singular.sum(), (u @ v).T
        if value > best:
            best, labels = value, found
    return labels.astype(np.int64)


def _orthogonal_rows(embedding, first):
    k = embedding.shape[1]
    rotation, used = np.empty((k, k)), np.zeros(len(embedding))
    rotation[:, 0] = embedding[first]
    for j in range(1, k):
        used += np.abs(embedding @ rotation[:, j - 1])
        rotation[:, j] = embedding[used.argmin()]
    return rotation
