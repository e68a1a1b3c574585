"""Spectral matching (Leordeanu and Hebert, ICCV 2005) for several objects.

Notation: W_ij = max(beta - d_ij, 0) with a zero diagonal, x its principal eigenvector, lambda its
eigenvalue. The match with the greatest x is kept and those in conflict with it (another match of the same
point) are dropped, until x is small. The published method gives one set of matches; here it is repeated on
the remaining matches, for one cluster in each round, until lambda / beta, which is about the number of
matches that agree with each other, falls below a bound.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import eigsh

from eval.matching.rivals import Rival
from eval.matching.rivals._labels import drop_small

_MAX_ROUNDS = 30


@dataclass(frozen=True)
class SpectralParams:
    """Parameters of `spectral_matching`."""

    beta: float = 20.8  # px, the distance where the affinity ends
    min_confidence: float = 0.0257  # x of a kept match, in units of the greatest
    min_eigenvalue: float = 39.2  # lambda / beta of a round, in matches
    same_point: float = 0.166  # px, within which two ends are the same point
    min_size: int = 10  # matches


def spectral_matching(
    distances: NDArray, candidates, params: SpectralParams = SpectralParams()
) -> NDArray[np.int64]:
    """(m,) int64 clusters of (m, m) symmetric distances and the candidates' points, -1 for outliers."""
    labels = np.full(len(distances), -1, np.int64)
    rest = np.arange(len(distances))
    for c in range(_MAX_ROUNDS):
        if len(rest) < 3:
            break
        x, eigenvalue = principal_eigenvector(affinity(distances[np.ix_(rest, rest)], params.beta))
        if eigenvalue < params.min_eigenvalue * params.beta:
            break
        kept = one_to_one(x, candidates.xy0[rest], candidates.xy1[rest], params)
        labels[rest[kept]] = c
        rest = rest[~kept]
    return drop_small(labels, params.min_size)


def affinity(distances: NDArray, beta: float) -> sparse.csr_array:
    """W_ij = max(beta - d_ij, 0) with a zero diagonal, (m, m) float64."""
    row, column = np.nonzero(distances < beta)
    row, column = row[row != column], column[row != column]
    weight = beta - distances[row, column].astype(np.float64)
    return sparse.csr_array((weight, (row, column)), shape=distances.shape)


def principal_eigenvector(w: sparse.csr_array) -> tuple[NDArray[np.float64], float]:
    """x >= 0 of unit length and its eigenvalue."""
    if w.nnz == 0:
        return np.zeros(w.shape[0]), 0.0
    value, vector = eigsh(w, k=1, which="LA", v0=np.ones(w.shape[0]))
    return np.abs(vector[:, 0]), float(value[0])


def one_to_one(x: NDArray, xy0: NDArray, xy1: NDArray, params: SpectralParams) -> NDArray[np.bool_]:
    """(m,) mask of the matches kept, largest x first, ties by index, no point of either image used twice."""
    kept = np.zeros(len(x), bool)
    free = x >= params.min_confidence * x.max()
    for i in np.argsort(-x, kind="stable"):
        if not free[i]:
            continue
        kept[i] = True
        conflict = _near(xy0, xy0[i], params.same_point) | _near(xy1, xy1[i], params.same_point)
        free &= ~conflict
    return kept


def _near(xy: NDArray, point: NDArray, radius: float) -> NDArray[np.bool_]:
    return np.square(xy - point).sum(axis=1) < radius**2


RIVAL = Rival(
    spectral_matching,
    SpectralParams(),
    SpectralParams(beta=58.3, min_confidence=0.001, min_eigenvalue=36.6, same_point=0.237),
)
