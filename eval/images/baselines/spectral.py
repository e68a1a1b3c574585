"""Spectral clustering of an undirected graph: NJW and multiclass normalised cuts, from the same eigenvectors.

S is (n, n) symmetric, D the diagonal matrix of its row sums. Both methods start from the n_clusters
eigenvectors of D^-1/2 S D^-1/2 with the largest eigenvalues, rows scaled to length 1 (normalised cuts
multiply them by D^-1/2, which makes no difference once rows have length 1).
"""

import warnings
from contextlib import suppress

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.sparse import csr_matrix, diags, identity
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh, splu
from sklearn.cluster import KMeans

DENSE = 3000  # samples; the matrix of up to this many is decomposed as a dense matrix
FEW = 20  # eigenvectors; up to this many are searched for without a factorisation first
SHIFT = 1.0001  # above all eigenvalues

Outer = tuple[NDArray[np.float64], NDArray[np.float64]]


class NoConvergence(RuntimeError):
    """The eigenvectors of a graph could not be found."""


def spectral_embedding(s: csr_matrix, n_clusters: int, seed: int = 0) -> NDArray[np.float64]:
    """Rows of length 1 of the leading eigenvectors. (n, n_clusters); a row may be zero.

    The connected parts of the graph are decomposed one by one: each has an eigenvalue 1, and a Lanczos
    method may miss some of several equal eigenvalues.
    """
    degree = np.asarray(s.sum(axis=1)).ravel()
    scale = diags(np.where(degree > 0, 1 / np.sqrt(np.where(degree > 0, degree, 1)), 0))
    matrix = (scale @ s @ scale).tocsr()
    part = connected_components(matrix, directed=False)[1]
    parts = np.split(np.argsort(part, kind="stable"), np.cumsum(np.bincount(part))[:-1])
    parts.sort(key=len, reverse=True)
    values, vectors = [], []
    for members in parts[:n_clusters]:  # among equal eigenvalues, those of the largest parts count
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
    matrix: csr_matrix, k: int, seed: int, outer: Outer | None = None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The k largest eigenvalues of a symmetric (n, n) matrix and their eigenvectors.

    `outer` = (p, q), (n,) each, stands for (p q^T + q p^T) / 2 added to the matrix. Up to 3,000 samples the
    dense matrix is decomposed. Above that, Lanczos runs on the matrix or, if that does not converge or many
    eigenvalues are close to 1, on (SHIFT I - matrix)^-1, whose largest eigenvalues are well separated.

    Returns (k,) and (n, k), largest first; all n if n < k. Raises NoConvergence.
    """
    n = matrix.shape[0]
    if n <= max(DENSE, k + 1):
        values, vectors = _dense(matrix, min(k, n), outer)
    else:
        start = np.random.default_rng(seed).uniform(-1, 1, n)
        values, vectors = _iterated(matrix, k, outer, start)
    order = np.argsort(-values, kind="stable")
    return values[order], vectors[:, order]


def _dense(matrix, k, outer):
    full = matrix.toarray()
    if outer is not None:
        p, q = outer
        full += (np.outer(p, q) + np.outer(q, p)) / 2
    n = len(full)
    return eigh(full, subset_by_index=(n - k, n - 1), overwrite_a=True, check_finite=False)


def _iterated(matrix, k, outer, start):
    basis = min(len(start), max(2 * k + 1, 40))
    options = {"k": k, "v0": start, "ncv": basis, "tol": 1e-8}
    try:
        if k <= FEW:
            with suppress(ArpackError):
                return eigsh(_operator(matrix, outer), which="LA", maxiter=200, **options)
        return eigsh(matrix, sigma=SHIFT, OPinv=_shifted_inverse(matrix, outer), maxiter=50, **options)
    except (ArpackError, RuntimeError) as error:
        raise NoConvergence(f"no convergence: {error}") from None


def _operator(matrix, outer):
    if outer is None:
        return matrix
    p, q = outer
    return LinearOperator(
        matrix.shape, matvec=lambda x: matrix @ x.ravel() + (p * (q @ x) + q * (p @ x)) / 2, dtype=float
    )


def _shifted_inverse(matrix, outer):
    """(matrix + outer - SHIFT I)^-1 as an operator; the outer product by Woodbury's identity."""
    factors = splu(
        (SHIFT * identity(matrix.shape[0]) - matrix).tocsc(),
        permc_spec="MMD_AT_PLUS_A",
        diag_pivot_thresh=0.01,
        options={"SymmetricMode": True},
    )
    if outer is None:
        return LinearOperator(matrix.shape, matvec=lambda x: -factors.solve(x.ravel()), dtype=float)
    left, right = np.stack(outer, axis=1), np.stack(outer[::-1], axis=1) / 2  # (n, 2)
    solved = factors.solve(left)
    core = np.linalg.inv(np.eye(2) - right.T @ solved)

    def solve(x):
        y = factors.solve(x.ravel())
        return -(y + solved @ (core @ (right.T @ y)))

    return LinearOperator(matrix.shape, matvec=solve, dtype=float)


def unit_rows(x: NDArray) -> NDArray:
    """Rows scaled to length 1; zero rows stay."""
    length = np.linalg.norm(x, axis=1, keepdims=True)
    return x / np.where(length > 0, length, 1)


def njw(embedding: NDArray, seed: int) -> NDArray[np.int64]:
    """Ng, Jordan, Weiss 2001: k-means of the rows, the best of ten starts. (n,) int64."""
    k = embedding.shape[1]
    with warnings.catch_warnings():  # fewer distinct rows than clusters, which the labels show
        warnings.filterwarnings("ignore", "Number of distinct clusters")
        return KMeans(k, n_init=10, random_state=seed).fit(embedding).labels_.astype(np.int64)


def ncuts(embedding: NDArray, seed: int, max_iter: int = 200, n_starts: int = 10) -> NDArray[np.int64]:
    """Yu and Shi 2003, multiclass normalised cuts: the rotation that brings the rows nearest to indicator
    vectors.

    Starts from rows of the embedding that are as orthogonal to each other as possible, and alternates between
    the best discrete solution (row maxima) and the best rotation (SVD). Of the solutions for `n_starts`
    choices of the first row, the nearest one is kept.
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
