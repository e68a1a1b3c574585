"""Compiled loops that grow an object from two matches and weigh it against chance.

Notation: x0, x1 (n, 2) are the points of all matches; `seed` and `second` are the two matches; S is the
similarity that takes their points in one picture to those in the other. At displacements u and w from the
seed, the deviation of an object from S has the covariance noise^2 + (strain |S|)^2 u.w + (bend |S|)^2 (|u| +
|w| - |u - w|) / 2. Its terms stand for the noise of the seed, an affine map and a Brownian bend.
"""

import math

import numpy as np

from gdl_core.jit import inner, njit
from matching._common.types import Array, Scalar

# Squared deviations beyond which a normal density counts as 0. The spacing of given matches depends on it:
# 36, 40 and 44 pass its test, 31.9 and 72 fail.
MAX_SQUARED_DEVIATION = 36.04365338911715
# Weight of the earlier matches in the mean share of agreeing ones, so that about the last 35 count. With 1,
# so that all count, 2 of 49 products in given matches are lost.
MEMORY_WEIGHT = 34 / 35


@njit
def grow_from(
    x0: Array,
    x1: Array,
    by_first: Array,
    scale: Array,
    angle: Array,
    most: Scalar,
    seeds: Array,
    mirrored: Array,
    noises: Array,
    bends: Array,
    strain: Scalar,
    apart: Scalar,
    around: Scalar,
    nearest: Scalar,
    enough: Scalar,
    start: Scalar,
    stop: Scalar,
    ratio: Array,
    chosen: Array,
    accepted: Array,
) -> None:
    """Fill rows start..stop of ratio (s,): the largest log likelihood ratio of growth from seeds (s, 2).

    It is the largest over all noises and bends, and at most `enough`. Also fills chosen (s,) with the index
    of the noise that gives it, and accepted (s, limit) with the matches that agree up to that point, the
    seed's own first, padded with -1.

    by_first (n,) lists the rows by their first coordinate in x1. scale (n,) and angle (2, n) are the log
    scales of the matches' maps and their directions, for a plain and for a mirrored S; matches whose maps
    differ from S by more than `most`, in log scale or in angle, do not count. mirrored (s,) bool says whether
    S is mirrored.
    """
    way = np.empty(accepted.shape[1], np.int64)
    for k in range(start, stop):
        ratio[k], chosen[k] = 0.0, 0
        accepted[k] = -1
        a, b = _similarity(x0, x1, seeds[k, 0], seeds[k, 1], mirrored[k])
        growth = math.sqrt(a * a + b * b)
        if growth == 0.0:
            continue
        agreeing = _agree(scale, angle[int(mirrored[k])], most, math.log(growth), math.atan2(b, a), by_first)
        ends = np.empty((2, len(agreeing)))
        gap = np.empty(len(agreeing))
        for t in range(len(agreeing)):
            ends[0, t], ends[1, t] = x1[agreeing[t], 0], x1[agreeing[t], 1]
            gap[t] = _apart(x0, agreeing[t], seeds[k, 0])
        rows = agreeing[_find_around(gap, around, math.sqrt(around / math.pi) * apart)]
        for m in range(len(noises)):
            for h in range(len(bends)):
                model = noises[m], bends[h], strain
                found = _grow(
                    x0, x1, ends, rows, seeds[k], a, b, mirrored[k], model, apart, nearest, enough, way
                )
                if found > ratio[k]:
                    ratio[k], chosen[k] = found, m
                    accepted[k] = way


@inner
def _agree(scale: Array, angle: Array, most: Scalar, own: Scalar, turn: Scalar, order: Array) -> Array:
    """The rows of `order` whose maps are close to a similarity with this scale and turn."""
    kept, size = np.empty(len(order), np.int64), 0
    for i in order:
        difference = abs(angle[i] - turn)
        # no maximum of both: it would hide the NaN of maps of the other handedness
        if abs(scale[i] - own) <= most and min(difference, 2 * math.pi - difference) <= most:
            kept[size] = i
            size += 1
    return kept[:size]


@inner
def _grow(
    x0: Array,
    x1: Array,
    ends: Array,
    rows: Array,
    pair: Array,
    a: Scalar,
    b: Scalar,
    mirrored: Scalar,
    model: Array,
    apart: Scalar,
    nearest: Scalar,
    enough: Scalar,
    accepted: Array,
) -> Scalar:
    """The largest log likelihood ratio of growth through rows (q,); ends (2, n), by first coordinate."""
    seed, second = pair
    growth = math.sqrt(a * a + b * b)
    accepted[:] = -1
    accepted[0], accepted[1], size = seed, second, 2
    within = apart * max(growth, 1.0)
    taken = np.zeros(ends.shape[1], np.bool_)  # further ends at the places of agreeing matches
    n_free = ends.shape[1] - _take(ends, x1[seed, 0], x1[seed, 1], within, taken)
    n_free -= _take(ends, x1[second, 0], x1[second, 1], within, taken)
    gap, done = np.empty(len(rows)), np.zeros(len(rows), np.bool_)
    for t in range(len(rows)):
        gap[t] = min(_apart(x0, rows[t], seed), _apart(x0, rows[t], second))
        done[t] = gap[t] < apart
    near, distance = np.empty(nearest, np.int64), np.empty(nearest)
    cov, weights = np.empty((nearest, nearest)), np.empty(nearest)
    predicted = np.empty(2)
    total, largest, n_largest = 0.0, 0.0, 2
    agreeing, seen = 0.2, 2.0
    while size < len(accepted):
        t = _find_next(gap, done)
        if t < 0:
            break
        done[t] = True
        i = rows[t]
        k = _find_near(x0, x1, i, accepted, size, within, near, distance)
        if k == 0:  # adds nothing new
            continue
        spread = model[0] * max(growth, 1.0), model[1] * growth, model[2] * growth
        variance = _krige(x0, x1, seed, i, near[:k], a, b, mirrored, spread, cov, weights, predicted)
        ratio = _over_chance(ends, taken, n_free, x1[i], predicted, variance)
        share = agreeing / seen
        factor = 1.0 - share + share * ratio
        total += math.log(factor)
        belief = share * ratio / factor
        agreeing = MEMORY_WEIGHT * agreeing + belief + 0.5 * (1.0 - MEMORY_WEIGHT)
        seen = MEMORY_WEIGHT * seen + 2.0 - MEMORY_WEIGHT
        if belief > 0.5:
            accepted[size] = i
            size += 1
            n_free -= _take(ends, x1[i, 0], x1[i, 1], within, taken)
            for s in range(len(rows)):
                away = _apart(x0, rows[s], i)
                gap[s] = min(gap[s], away)
                done[s] = done[s] or away < apart  # would add nothing new
            if total > largest:
                largest, n_largest = total, size
        if largest >= enough:
            break
    accepted[n_largest:] = -1
    return min(largest, enough)


@inner
def _similarity(x0: Array, x1: Array, i: Scalar, j: Scalar, mirrored: Scalar) -> tuple[Scalar, Scalar]:
    """(a, b) of S = [[a, -b], [b, a]], or of [[a, b], [b, -a]], a mirrored one."""
    ux, uy = x0[j, 0] - x0[i, 0], x0[j, 1] - x0[i, 1]
    vx, vy = x1[j, 0] - x1[i, 0], x1[j, 1] - x1[i, 1]
    square, sign = ux * ux + uy * uy, -1.0 if mirrored else 1.0
    return (ux * vx + sign * uy * vy) / square, (ux * vy - sign * uy * vx) / square


@inner
def _find_next(gap: Array, done: Array) -> Scalar:
    """Index of the smallest gap that is not done, the first of equal ones; -1 if all are done."""
    t, least = -1, np.inf
    for s in range(len(gap)):
        if not done[s] and gap[s] < least:
            t, least = s, gap[s]
    return t


@inner
def _find_near(
    x0: Array,
    x1: Array,
    i: Scalar,
    accepted: Array,
    size: Scalar,
    apart: Scalar,
    near: Array,
    distance: Array,
) -> Scalar:
    """Find the accepted matches nearest to i in picture 0, by ascending distance, and count them.

    The count is 0 if i coincides with one of them in picture 1.
    """
    k = 0
    for s in range(size):
        j = accepted[s]
        d = _apart(x0, i, j)
        if _apart(x1, i, j) < apart:
            return 0
        if k < len(near):
            place = k
            k += 1
        elif d < distance[k - 1]:
            place = k - 1
        else:
            continue
        while place > 0 and distance[place - 1] > d:
            distance[place], near[place] = distance[place - 1], near[place - 1]
            place -= 1
        distance[place], near[place] = d, j
    return k


@inner
def _krige(
    x0: Array,
    x1: Array,
    seed: Scalar,
    i: Scalar,
    near: Array,
    a: Scalar,
    b: Scalar,
    mirrored: Scalar,
    spread: Array,
    cov: Array,
    weights: Array,
    predicted: Array,
) -> Scalar:
    """The variance of the end of match i, given matches near it; predicted (2,) gets the expected end."""
    k, own, sign = len(near), spread[0] * spread[0], -1.0 if mirrored else 1.0
    px, py = x0[i, 0] - x0[seed, 0], x0[i, 1] - x0[seed, 1]
    variance = _covariance(px, py, px, py, spread) + own
    for r in range(k):  # Cholesky of the covariance, and L weights = cross on the way
        rx, ry = x0[near[r], 0] - x0[seed, 0], x0[near[r], 1] - x0[seed, 1]
        for s in range(r + 1):
            sx, sy = x0[near[s], 0] - x0[seed, 0], x0[near[s], 1] - x0[seed, 1]
            value = _covariance(rx, ry, sx, sy, spread) + (own if r == s else 0.0)
            for h in range(s):
                value -= cov[r, h] * cov[s, h]
            cov[r, s] = math.sqrt(max(value, 1e-3 * own)) if r == s else value / cov[s, s]
        value = _covariance(rx, ry, px, py, spread)
        for h in range(r):
            value -= cov[r, h] * weights[h]
        weights[r] = value / cov[r, r]
        variance -= weights[r] * weights[r]
    predicted[0] = x1[seed, 0] + a * px - sign * b * py
    predicted[1] = x1[seed, 1] + b * px + sign * a * py
    for r in range(k - 1, -1, -1):
        for h in range(r + 1, k):
            weights[r] -= cov[h, r] * weights[h]
        weights[r] /= cov[r, r]
        rx, ry = x0[near[r], 0] - x0[seed, 0], x0[near[r], 1] - x0[seed, 1]
        predicted[0] += weights[r] * (x1[near[r], 0] - x1[seed, 0] - a * rx + sign * b * ry)
        predicted[1] += weights[r] * (x1[near[r], 1] - x1[seed, 1] - b * rx - sign * a * ry)
    return max(variance, own)


@inner
def _covariance(ux: Scalar, uy: Scalar, wx: Scalar, wy: Scalar, spread: Array) -> Scalar:
    noise, bend, strain = spread
    along = math.sqrt(ux * ux + uy * uy) + math.sqrt(wx * wx + wy * wy)
    along -= math.sqrt((ux - wx) * (ux - wx) + (uy - wy) * (uy - wy))
    return noise * noise + strain * strain * (ux * wx + uy * wy) + 0.5 * bend * bend * along


@inner
def _take(ends: Array, x: Scalar, y: Scalar, within: Scalar, taken: Array) -> Scalar:
    """Mark all but one of the ends nearer to (x, y) than `within` as taken, and count those that were not."""
    n, is_own = 0, True
    for j in range(np.searchsorted(ends[0], x - within), ends.shape[1]):
        dx, dy = ends[0, j] - x, ends[1, j] - y
        if dx > within:
            break
        if is_own and dx == 0.0 and dy == 0.0:
            is_own = False
        elif not taken[j] and math.sqrt(dx * dx + dy * dy) < within:
            taken[j] = True
            n += 1
    return n


@inner
def _over_chance(
    ends: Array, taken: Array, n_free: Scalar, end: Array, predicted: Array, variance: Scalar
) -> Scalar:
    """The normal density around a prediction (2,) at an end (2,), over its mean at the n_free free ends."""
    (qx, qy), (x, y) = predicted, end
    own = ((x - qx) * (x - qx) + (y - qy) * (y - qy)) / variance
    if own >= MAX_SQUARED_DEVIATION:
        return 0.0
    total, reach = 0.0, math.sqrt(MAX_SQUARED_DEVIATION * variance)
    for j in range(np.searchsorted(ends[0], qx - reach), ends.shape[1]):
        dx, dy = ends[0, j] - qx, ends[1, j] - qy
        if dx > reach:
            break
        square = (dx * dx + dy * dy) / variance
        if square < MAX_SQUARED_DEVIATION and not taken[j]:
            total += math.exp(-0.5 * square)
    return math.exp(-0.5 * own) * n_free / total if total > 0.0 else 0.0


@inner
def _apart(x: Array, i: Scalar, j: Scalar) -> Scalar:
    dx, dy = x[i, 0] - x[j, 0], x[i, 1] - x[j, 1]
    return math.sqrt(dx * dx + dy * dy)


@inner
def _find_around(gap: Array, around: Scalar, radius: Scalar) -> Array:
    """Indices of the values of gap (n,) below a radius, or of the `around` smallest if these are more."""
    within: Array = np.flatnonzero(gap < radius)
    return within if len(within) > around else _nearest(gap, around)


@inner
def _nearest(gap: Array, around: Scalar) -> Array:
    """Indices of the `around` smallest of gap (n,), by (gap, index); NumPy's sort compiles for seconds."""
    chosen, n = np.empty(min(around, len(gap)), np.int64), 0
    for t in range(len(gap)):
        if n == len(chosen) and not gap[t] < gap[chosen[n - 1]]:
            continue
        at = min(n, len(chosen) - 1)
        while at > 0 and gap[t] < gap[chosen[at - 1]]:
            chosen[at] = chosen[at - 1]
            at -= 1
        chosen[at] = t
        n = min(n + 1, len(chosen))
    return chosen
