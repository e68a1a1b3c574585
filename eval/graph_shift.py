"""Graph Shift (Liu and Yan, ICML 2010): modes of a graph by replicator dynamics and neighbourhood expansion.

Notation: W (m, m) is symmetric with a zero diagonal, W_ij = max(beta - d_ij / sigma_s^2, 0). x is a point
of the simplex, g(x) = x^T W x its density. A mode is a local maximum of g: (W x)_i = g(x) on the support
of x and (W x)_i <= g(x) elsewhere. A vertex belongs to the mode that the shift from it arrives at.

Scaling W changes no mode, so only beta sigma_s^2 (px, where the affinity ends) matters; beta stays at 50.
"""

from dataclasses import dataclass

import numba
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from eval._labels import without_small

_TOLERANCE = 1e-4  # relative gain of density below which a shift has arrived
_MAX_ROUNDS = 50  # of expansion, and _MAX_STEPS of the replicator equation in each
_MAX_STEPS = 500
_VANISHED = 1e-6  # a weight below this share of the greatest leaves the support


@dataclass(frozen=True)
class GraphShiftParams:
    """Parameters of `graph_shift`."""

    beta: float = 50.0
    sigma_s: float = 0.7  # px^(1/2)
    min_density: float = 0.5  # of a kept mode, in units of beta
    min_affinity: float = 0.5  # (W x)_i of a kept vertex, in units of its mode's density; 1: support only
    min_size: int = 10  # matches


def graph_shift(
    distances: NDArray, candidates, params: GraphShiftParams = GraphShiftParams()
) -> NDArray[np.int64]:
    """(m,) int64 clusters of (m, m) symmetric distances in pixels, -1 for outliers."""
    w = affinity(distances, params.beta, params.sigma_s)
    if w.nnz == 0:
        return np.full(len(distances), -1, np.int64)
    order = np.argsort(-np.asarray(w.sum(axis=1)).ravel(), kind="stable")
    mode, share, density = _all_shifts(w.indptr, w.indices, w.data, order)
    kept = (mode >= 0) & (share >= params.min_affinity)
    kept &= density[mode] >= params.min_density * params.beta
    return without_small(np.where(kept, mode, -1), params.min_size)


def affinity(distances: NDArray, beta: float, sigma_s: float) -> sparse.csr_array:
    """W_ij = max(beta - d_ij / sigma_s^2, 0) with a zero diagonal, (m, m) float64."""
    row, column = np.nonzero(distances < beta * sigma_s**2)
    row, column = row[row != column], column[row != column]
    weight = beta - distances[row, column].astype(np.float64) / sigma_s**2
    return sparse.csr_array((weight, (row, column)), shape=distances.shape)


def shift(w: sparse.csr_array, start: int) -> NDArray[np.float64]:
    """(m,) x: the mode that the shift from vertex `start` arrives at; all zero for an isolated vertex."""
    m = w.shape[0]
    support, weight, _ = _shift(w.indptr, w.indices, w.data, start, (np.zeros(m), np.full(m, -1)))
    x = np.zeros(m)
    x[support] = weight if w.indptr[start] < w.indptr[start + 1] else 0
    return x


@numba.njit(cache=True)
def _all_shifts(indptr, indices, data, order):
    """Mode of every vertex, (W x)_i / g of its mode, and the density of every mode.

    A vertex in the support of a mode found before needs no shift of its own. Two shifts arrive at the
    same mode where the heaviest vertex of the second lies in the support of the first.
    """
    m = len(indptr) - 1
    mode = np.full(m, -1)
    in_support = np.full(m, -1)
    share = np.zeros(m)
    density = np.zeros(m)
    n_modes = 0
    work = np.zeros(m), np.full(m, -1)
    pull = np.zeros(m)
    for i in order:
        if mode[i] >= 0 or indptr[i] == indptr[i + 1]:
            continue
        support, x, g = _shift(indptr, indices, data, i, work)
        c = in_support[support[np.argmax(x)]]
        if c < 0:
            c = n_modes
            density[c] = g
            n_modes += 1
        pull[:] = 0.0
        for k in range(len(support)):
            v = support[k]
            if in_support[v] < 0:
                in_support[v] = c
            if mode[v] < 0:
                mode[v], share[v] = c, 1.0
            for e in range(indptr[v], indptr[v + 1]):
                pull[indices[e]] += data[e] * x[k]
        mode[i] = c
        share[i] = min(1.0, pull[i] / g)
    return mode, share, density


@numba.njit(cache=True)
def _shift(indptr, indices, data, start, work):
    """Support, weights and density of the mode that the shift from `start` arrives at.

    `work` is two buffers of m entries, all 0 and all -1, that every shift leaves as it found them.
    """
    pull, place = work
    support = np.array([start])
    x = np.ones(1)
    g = 0.0
    for _ in range(_MAX_ROUNDS):
        support, x, g = _replicate(indptr, indices, data, support, x, place)
        before = g
        support, x, g = _expand(indptr, indices, data, support, x, g, pull, place)
        if g <= before * (1 + _TOLERANCE):
            break
    return support, x, g


@numba.njit(cache=True)
def _replicate(indptr, indices, data, support, x, place):
    """Replicator equation x_i <- x_i (W x)_i / g(x) on the support until g stands still."""
    n = len(support)
    w = np.zeros((n, n))
    for k in range(n):
        place[support[k]] = k
    for k in range(n):
        for e in range(indptr[support[k]], indptr[support[k] + 1]):
            if place[indices[e]] >= 0:
                w[k, place[indices[e]]] = data[e]
    for k in range(n):
        place[support[k]] = -1
    wx = w @ x
    g = x @ wx
    for _ in range(_MAX_STEPS):
        if g <= 0:
            break
        x = x * wx / g
        x /= x.sum()
        wx = w @ x
        now = x @ wx
        if now - g <= 1e-2 * _TOLERANCE * g:
            g = now
            break
        g = now
    keep = x > _VANISHED * x.max()
    return support[keep], x[keep] / x[keep].sum(), g


@numba.njit(cache=True)
def _expand(indptr, indices, data, support, x, g, pull, place):
    """One step towards the vertices with (W x)_i > g, as far as g rises along it (Liu and Yan, Sec. 3.2).

    With gain_i = (W x)_i - g on these, s = sum gain, zeta = sum gain^2 and omega = gain^T W gain, the
    density along x + t (gain - s x) is g + 2 t zeta - t^2 (s^2 g + 2 s zeta - omega), t <= 1 / s.
    """
    n_touched = 0
    for k in range(len(support)):
        n_touched += indptr[support[k] + 1] - indptr[support[k]]
    touched = np.empty(n_touched, np.int64)
    n_touched = 0
    for k in range(len(support)):
        for e in range(indptr[support[k]], indptr[support[k] + 1]):
            j = indices[e]
            if pull[j] == 0.0:
                touched[n_touched] = j
                n_touched += 1
            pull[j] += data[e] * x[k]
    for k in range(len(support)):
        place[support[k]] = k
    outside = np.array([j for j in touched[:n_touched] if place[j] < 0 and pull[j] > g * (1 + _TOLERANCE)])
    gain = np.array([pull[j] - g for j in outside])
    for j in touched[:n_touched]:
        pull[j] = 0.0
    for k in range(len(support)):
        place[support[k]] = -1
    if len(outside) == 0:
        return support, x, g
    for k in range(len(outside)):
        place[outside[k]] = k
    omega = 0.0
    for k in range(len(outside)):
        for e in range(indptr[outside[k]], indptr[outside[k] + 1]):
            other = place[indices[e]]
            if other >= 0:
                omega += gain[k] * gain[other] * data[e]
    for k in range(len(outside)):
        place[outside[k]] = -1
    s, zeta = gain.sum(), (gain**2).sum()
    bend = s * s * g + 2 * s * zeta - omega
    t = 1 / s if bend <= 0 else min(1 / s, zeta / bend)
    x = np.concatenate((x * (1 - t * s), t * gain))
    return np.concatenate((support, outside)), x, g + 2 * t * zeta - t * t * bend
