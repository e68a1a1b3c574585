"""Spectral clustering of a directed graph: Zhou, Huang, Schölkopf, ICML 2005."""

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, diags

from eval.images.baselines.spectral import leading_eigenvectors, unit_rows

TELEPORT = 0.01  # chance to jump to any vertex instead of following an edge


def directed_embedding(
    w: csr_matrix, n_clusters: int, seed: int = 0, teleport: float = TELEPORT
) -> NDArray[np.float64]:
    """Rows of length 1 of the leading eigenvectors of Theta = (Pi^1/2 P Pi^-1/2 + Pi^-1/2 P^T Pi^1/2) / 2.

    P are the transition probabilities of the random walk that follows an edge in proportion to its weight or,
    with probability `teleport`, jumps to any vertex (from a vertex without edges always); Pi holds its
    stationary distribution. The jumps make Theta dense; their part is an outer product, which is kept
    separately.

    Parameters
    ----------
    w : (n, n) sparse
        Weights of the directed edges.

    Returns
    -------
    (n, n_clusters) float64
    """
    step, jump = _random_walk(w, teleport)
    pi = _stationary(step, jump)
    root = np.sqrt(pi)

    half = diags(root) @ step @ diags(1 / root)
    outer = root * jump, 1 / (root * len(root))  # the jumps of Pi^1/2 P Pi^-1/2
    vectors = leading_eigenvectors(((half + half.T) / 2).tocsr(), n_clusters, seed, outer)[1]
    return unit_rows(vectors)


def _random_walk(w, teleport):
    """P = step + jump 1^T / n."""
    degree = np.asarray(w.sum(axis=1)).ravel()
    follows = np.where(degree > 0, (1 - teleport) / np.where(degree > 0, degree, 1), 0)
    return (diags(follows) @ w).tocsr(), np.where(degree > 0, teleport, 1.0)


def _stationary(step, jump, tol=1e-12, max_iter=5000):
    n = len(jump)
    pi, transposed = np.full(n, 1 / n), step.T.tocsr()
    for _ in range(max_iter):
        new = transposed @ pi + jump @ pi / n
        new /= new.sum()
        if np.abs(new - pi).sum() < tol:
            break
        pi = new
    return new
