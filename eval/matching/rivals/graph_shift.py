"""Graph Shift (Liu and Yan, ICML 2010): modes of a graph by replicator dynamics and neighbourhood expansion.

Notation: W (m, m) is symmetric with a zero diagonal, W_ij = max(beta - d_ij / sigma_s^2, 0). x is a point
of the simplex, g(x) = x^T W x its density. A mode is a local maximum of g: (W x)_i = g(x) on the support
of x and (W x)_i <= g(x) elsewhere. A vertex belongs to the mode at which its shift ends.

Scaling W changes no mode, so only beta sigma_s^2 (px, where the affinity ends) matters; beta stays at 50.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from eval.matching.rivals import Rival
from eval.matching.rivals._labels import drop_small
from gdl_core.jit import inner, njit

_TOLERANCE = 1e-4  # relative gain of density below which a shift has arrived
_MAX_ROUNDS = 50  # of expansion, and _MAX_STEPS of the replicator equation in each
_MAX_STEPS = 500
_VANISHED = 1e-5  # a weight below this share of the greatest leaves the support


@dataclass(frozen=True)
class GraphShiftParams:
    """Parameters of `graph_shift`."""

    beta: float = 50.0
    sigma_s: float = 0.306  # px^(1/2)
    min_density: float = 0.601  # of a kept mode, in units of beta
    min_affinity: float = 0.0998  # (W x)_i of a kept vertex, in units of its mode's density; 1: support only
    min_size: int = 4  # matches


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
    return drop_small(np.where(kept, mode, -1), params.min_size)


def affinity(distances: NDArray, beta: float, sigma_s: float) -> sparse.csr_array:
    """W_ij = max(beta - d_ij / sigma_s^2, 0) with a zero diagonal, (m, m) float64."""
    row, column = np.nonzero(distances < beta * sigma_s**2)
    row, column = row[row != column], column[row != column]
    weight = beta - distances[row, column].astype(np.float64) / sigma_s**2
    return sparse.csr_array((weight, (row, column)), shape=distances.shape)


def shift(w: sparse.csr_array, start: int) -> NDArray[np.float64]:
    """(m,) x: the mode at which the shift from vertex `start` ends; all zero for an isolated vertex."""
    m = w.shape[0]
    none, work = np.full(m, -1), (np.zeros(m), np.full(m, -1))
    places = (part.astype(np.int64, copy=False) for part in (w.indptr, w.indices))  # as those of `affinity`
    support, weight = _one_shift(*places, w.data, start, none, work)
    x = np.zeros(m)
    x[support] = weight if w.indptr[start] < w.indptr[start + 1] else 0
    return x


@njit
def _one_shift(indptr, indices, data, start, in_support, work):
    """Support and weights of `_shift`."""
    return _shift(indptr, indices, data, start, in_support, work)[:2]


@njit
def _all_shifts(indptr, indices, data, order):
    """Mode of every vertex, (W x)_i / g of its mode, and the density of every mode.

    A vertex in the support of an earlier mode needs no shift of its own, and a shift ends at an earlier mode
    as soon as half of its weight lies on that mode's support.
    """
    m = len(indptr) - 1
    mode = np.full(m, -1)
    in_support = np.full(m, -1)
    density = np.zeros(m)
    pulls = [np.zeros(m)]  # (W x) of mode c at place c + 1
    work = np.zeros(m), np.full(m, -1)
    for i in order:
        if mode[i] >= 0 or indptr[i] == indptr[i + 1]:
            continue
        support, x, g = _shift(indptr, indices, data, i, in_support, work)
        mode[i] = _known_mode(support, x, in_support)
        if mode[i] >= 0:
            continue
        mode[i] = c = len(pulls) - 1
        density[c] = g
        pull = np.zeros(m)
        for k in range(len(support)):
            v = support[k]
            in_support[v] = c if in_support[v] < 0 else in_support[v]
            mode[v] = c if mode[v] < 0 else mode[v]
            for e in range(indptr[v], indptr[v + 1]):
                pull[indices[e]] += data[e] * x[k]
        pulls.append(pull)
    share = np.zeros(m)
    for i in range(m):
        if mode[i] >= 0:
            share[i] = min(1.0, pulls[mode[i] + 1][i] / density[mode[i]])
    return mode, share, density


@inner
def _known_mode(support, x, in_support):
    """The mode found earlier whose support carries at least half of x; -1 if there is none."""
    c = in_support[support[np.argmax(x)]]
    if c < 0:
        return -1
    weight = 0.0
    for k in range(len(support)):
        if in_support[support[k]] == c:
            weight += x[k]
    return c if weight >= 0.5 else -1


@inner
def _shift(indptr, indices, data, start, in_support, work):
    """Support, weights and density of the mode at which the shift from `start` ends.

    `work` is two buffers of m entries, all 0 and all -1, that every shift leaves as it found them.
    """
    pull, place = work
    support = np.array([start])
    x = np.ones(1)
    g = 0.0
    for _ in range(_MAX_ROUNDS):
        support, x, g = _replicate(indptr, indices, data, support, x, in_support, place)
        if _known_mode(support, x, in_support) >= 0:
            break
        before = g
        support, x, g = _expand(indptr, indices, data, support, x, g, pull, place)
        if g <= before * (1 + _TOLERANCE):
            break
    return support, x, g


@inner
def _replicate(indptr, indices, data, support, x, in_support, place):
    """Replicator equation x_i <- x_i (W x)_i / g(x) on the support until g no longer changes.

    Adding a constant to all of W moves no maximum, and subtracting one makes longer steps: 0.95 of the least
    (W x)_i is subtracted. If a step overshoots, the plain one, which never lowers g, is taken instead.
    """
    w = _dense(indptr, indices, data, support, place)
    wx = _times(w, x)
    g = _dot(x, wx)
    for step in range(_MAX_STEPS):
        if g <= 0 or (step % 5 == 4 and _known_mode(support, x, in_support) >= 0):
            break
        away = 0.95 * wx.min()
        y = x * (wx - away) / (g - away)
        wy = _times(w, y)
        if _dot(y, wy) < g:
            y = x * wx / g
            wy = _times(w, y)
        gained = _dot(y, wy) - g
        x, wx, g = y, wy, _dot(y, wy)
        if gained <= 1e-2 * _TOLERANCE * g:
            break
        if step % 20 == 19:
            keep = np.flatnonzero(x > _VANISHED * x.max())
            if len(keep) < 0.7 * len(x):
                support, x = support[keep], x[keep] / x[keep].sum()
                w = _dense(indptr, indices, data, support, place)
                wx = _times(w, x)
                g = _dot(x, wx)
    keep = np.flatnonzero(x > _VANISHED * x.max())
    return support[keep], x[keep] / x[keep].sum(), g


@inner(fastmath={"reassoc", "contract"})
def _dot(x, y):
    # the order of the sum is fixed at compile time; a BLAS would choose another order, and start threads
    total = 0.0
    for k in range(len(x)):
        total += x[k] * y[k]
    return total


@inner
def _times(w, x):
    y = np.empty(len(x))
    for k in range(len(x)):
        y[k] = _dot(w[k], x)
    return y


@inner
def _dense(indptr, indices, data, support, place):
    """W on the support, (n, n)."""
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
    return w


@inner
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


RIVAL = Rival(
    graph_shift,
    GraphShiftParams(),
    GraphShiftParams(sigma_s=0.333, min_density=0.475, min_affinity=0.899, min_size=9),
)
