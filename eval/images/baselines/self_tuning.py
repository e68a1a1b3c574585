"""Self-tuning spectral clustering: Zelnik-Manor and Perona, NIPS 2004, for a given number of clusters."""

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import expm
from scipy.sparse import csr_matrix

from eval.images.baselines.spectral import ncuts
from gdl_core import KnnGraph

SCALE_NEIGHBOR = 7


def locally_scaled_graph(knn: KnnGraph, scale_neighbor: int = SCALE_NEIGHBOR) -> csr_matrix:
    """w_ij = exp(-d_ij^2 / (s_i s_j)) on the K-NN graph, made undirected by (W + W^T) / 2.

    s_i is the distance to neighbour 7; (n, n). The authors use the full matrix; here all graph-based methods
    are compared on the same graph.
    """
    scale = knn.distances[:, min(scale_neighbor, knn.n_neighbors) - 1]  # (n,)
    product = scale[:, None] * scale[knn.indices]
    squared = knn.distances**2
    weights = np.where(product > 0, np.exp(-squared / np.where(product > 0, product, 1)), squared == 0)
    n, k = knn.indices.shape
    w = csr_matrix((weights.ravel(), knn.indices.ravel(), np.arange(n + 1) * k), shape=(n, n))
    return ((w + w.T) / 2).tocsr()


def alignment_cost(z: NDArray) -> float:
    """J = sum_ij Z_ij^2 / M_i^2, M_i = max_j |Z_ij| (their Eq. 3); n if each row has one nonzero entry."""
    return float((z**2 / (z**2).max(axis=1, keepdims=True)).sum())


def alignment_gradient(x: NDArray, rotation: NDArray) -> NDArray:
    """dJ / dR of Z = X R; (k, k). The place of each row's maximum is kept fixed."""
    z = x @ rotation
    rows, peak = np.arange(len(z)), np.abs(z).argmax(axis=1)
    m = z[rows, peak]  # (n,) with its sign
    d = 2 * z / m[:, None] ** 2  # dJ / dZ through the numerators
    d[rows, peak] -= 2 * (z**2).sum(axis=1) / m**3  # and through M
    return x.T @ d


def self_tuning(embedding: NDArray, seed: int, max_iter: int = 200, tol: float = 1e-6) -> NDArray[np.int64]:
    """The column of the largest entry of each row of Z = X R, R the rotation with the least `alignment_cost`.

    Descends along the gradient over the rotations, R exp(t A) with A antisymmetric; t is found by halving.
    The authors optimise the Givens angles of the same rotations. Starts from the rotation of normalised cuts.

    Parameters
    ----------
    embedding : (n, k)
        Unit rows of the k leading eigenvectors.

    Returns
    -------
    (n,) int64
    """
    x = embedding[np.linalg.norm(embedding, axis=1) > 0.5]  # vertices without edges have nothing to align
    rotation = _start(x, ncuts(x, seed), embedding.shape[1])
    cost, step = alignment_cost(x @ rotation), 0.1
    for _ in range(max_iter):
        gradient = rotation.T @ alignment_gradient(x, rotation)
        direction = (gradient.T - gradient) / 2
        largest = np.abs(direction).max()
        if largest < 1e-12:
            break
        while step > 1e-9:
            turned = rotation @ expm(step / largest * direction)
            new = alignment_cost(x @ turned)
            if new < cost:
                break
            step /= 2
        if step <= 1e-9:
            break
        gain, rotation, cost, step = cost - new, turned, new, min(step * 2, 0.5)
        if gain < tol * cost:
            break
    return np.abs(embedding @ rotation).argmax(axis=1).astype(np.int64)


def _start(x, labels, k):
    sums = np.zeros((k, x.shape[1]))
    np.add.at(sums, labels, x)
    u, _, v = np.linalg.svd(sums)
    return (u @ v).T
