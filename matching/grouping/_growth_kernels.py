"""A compiled loop that grows an object from two matches and compares it with chance.

Notation: x0, x1 (m, 2) are the points of matches, the first two of them the seed; S is the similarity that
takes the points of the seed in one picture to those in the other. At displacements u and w from the first
match, the deviation of an object from S has the covariance noise^2 + strain^2 u.w + bend^2 (|u| + |w| - |u -
w|) / 2. Its terms stand for the noise of the first match, an affine map and a Brownian bend.
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
def grow(
    x0: Array,
    x1: Array,
    u: Array,
    ahead: Array,
    deviations: Array,
    ends: Array,
    gap: Array,
    is_taken: Array,
    noise: Scalar,
    bend: Scalar,
    strain: Scalar,
    min_gap0: Scalar,
    min_gap1: Scalar,
    n_nearest: Scalar,
    max_ratio: Scalar,
    accepted: Array,
) -> Scalar:
    """Return the largest log likelihood ratio of growth from the seed, at most `max_ratio`.

    u (m, 2) are the displacements of the matches from the first, ahead (m, 2) the places to which S takes
    them, and deviations (m, 2) their displacements from these places. ends (2, n) are the ends of all
    matches, by their first coordinate. accepted (limit,) gets the matches that agree up to the largest ratio,
    padded with -1.
    min_gap0 and min_gap1 are the gaps in each picture between matches that add different information. gap
    (m,), initially infinite, and is_taken (n,) bool, initially False, are buffers.
    """
    near, distance = np.empty(n_nearest, np.int64), np.empty(n_nearest)
    cov, weights = np.empty((n_nearest + 1, n_nearest)), np.empty(n_nearest)
    accepted[0], accepted[1] = 0, 1
    size, counted, n_largest, n_free = 2, 0, 2, ends.shape[1]
    total, largest, agreeing, seen = 0.0, 0.0, 0.2, 2.0
    while True:
        while counted < size:  # matches that have just been accepted
            i = accepted[counted]
            counted += 1
            n_free -= _take(ends, x1[i, 0], x1[i, 1], min_gap1, is_taken)
            for s in range(len(gap)):
                away = _length(x0[s, 0] - x0[i, 0], x0[s, 1] - x0[i, 1])
                # the nearest add nothing new
                gap[s] = -np.inf if away < min_gap0 else min(gap[s], away)
        if size == len(accepted) or largest >= max_ratio:
            break
        i, smallest = len(gap), np.inf
        for s in range(len(gap)):
            if 0.0 <= gap[s] < smallest:
                i, smallest = s, gap[s]
        if i == len(gap):
            break
        gap[i] = -np.inf
        k = _find_near(x0, x1, i, accepted, counted, min_gap1, near, distance)
        if k == 0:  # adds nothing new
            continue
        variance, x, y = _krige(u, ahead, deviations, i, near, k, noise, bend, strain, cov, weights)
        ratio = _over_chance(ends, is_taken, n_free, x1[i, 0], x1[i, 1], x, y, variance)
        share = agreeing / seen
        factor = 1.0 - share + share * ratio
        total += math.log(factor)
        belief = share * ratio / factor
        agreeing = MEMORY_WEIGHT * agreeing + belief + 0.5 * (1.0 - MEMORY_WEIGHT)
        seen = MEMORY_WEIGHT * seen + 2.0 - MEMORY_WEIGHT
        if belief > 0.5:
            accepted[size] = i
            size += 1
            if total > largest:
                largest, n_largest = total, size
    accepted[n_largest:] = -1
    return min(largest, max_ratio)


@inner
def _find_near(
    x0: Array,
    x1: Array,
    i: Scalar,
    accepted: Array,
    size: Scalar,
    min_gap1: Scalar,
    near: Array,
    distance: Array,
) -> Scalar:
    """Find the accepted matches nearest to i in picture 0, by ascending distance, and count them.

    The count is 0 if i coincides with one of them in picture 1.
    """
    k = 0
    for s in range(size):
        j = accepted[s]
        if _length(x1[i, 0] - x1[j, 0], x1[i, 1] - x1[j, 1]) < min_gap1:
            return 0
        d = _length(x0[i, 0] - x0[j, 0], x0[i, 1] - x0[j, 1])
        place = min(k, len(near) - 1)
        if k == len(near) and not d < distance[place]:
            continue
        while place > 0 and distance[place - 1] > d:
            distance[place], near[place] = distance[place - 1], near[place - 1]
            place -= 1
        distance[place], near[place] = d, j
        k = min(k + 1, len(near))
    return k


@inner
def _krige(
    u: Array,
    ahead: Array,
    deviations: Array,
    i: Scalar,
    near: Array,
    k: Scalar,
    noise: Scalar,
    bend: Scalar,
    strain: Scalar,
    cov: Array,
    weights: Array,
) -> tuple[Scalar, Scalar, Scalar]:
    """Predict the end of match i from the k matches near it: its variance, x and y."""
    noise_variance = noise * noise
    variance = 0.0
    for r in range(k + 1):  # Cholesky of the covariance, whose last row is that of match i: L weights = cross
        t = near[r] if r < k else i
        for s in range(r + 1):
            q = near[s] if s < k else i
            along = _length(u[t, 0], u[t, 1]) + _length(u[q, 0], u[q, 1])
            along -= _length(u[t, 0] - u[q, 0], u[t, 1] - u[q, 1])
            dot = u[t, 0] * u[q, 0] + u[t, 1] * u[q, 1]
            value = noise_variance + strain * strain * dot + 0.5 * bend * bend * along
            value += noise_variance if s == r else 0.0
            for h in range(s):
                value -= cov[r, h] * cov[s, h]
            if s < r:
                cov[r, s] = value / cov[s, s]
            elif r < k:
                cov[r, r] = math.sqrt(max(value, 1e-3 * noise_variance))
            else:
                variance = value
    x, y = ahead[i, 0], ahead[i, 1]
    for r in range(k - 1, -1, -1):
        weight = cov[k, r]
        for h in range(r + 1, k):
            weight -= cov[h, r] * weights[h]
        weights[r] = weight / cov[r, r]
        x += weights[r] * deviations[near[r], 0]
        y += weights[r] * deviations[near[r], 1]
    return max(variance, noise_variance), x, y


@inner
def _take(ends: Array, x: Scalar, y: Scalar, reach: Scalar, is_taken: Array) -> Scalar:
    """Mark all but one of the ends nearer to (x, y) than `reach` as taken, and count those that were not."""
    n, is_first = 0, True
    for j in range(_first_from(ends, x - reach), ends.shape[1]):
        dx, dy = ends[0, j] - x, ends[1, j] - y
        if dx > reach:
            break
        if is_first and dx == 0.0 and dy == 0.0:
            is_first = False
        elif not is_taken[j] and _length(dx, dy) < reach:
            is_taken[j] = True
            n += 1
    return n


@inner
def _over_chance(
    ends: Array,
    is_taken: Array,
    n_free: Scalar,
    x: Scalar,
    y: Scalar,
    px: Scalar,
    py: Scalar,
    variance: Scalar,
) -> Scalar:
    """The normal density around the prediction (px, py) at an end (x, y), over its mean at the free ends."""
    square_at_end = ((x - px) * (x - px) + (y - py) * (y - py)) / variance
    if square_at_end >= MAX_SQUARED_DEVIATION:
        return 0.0
    total, reach = 0.0, math.sqrt(MAX_SQUARED_DEVIATION * variance)
    for j in range(_first_from(ends, px - reach), ends.shape[1]):
        dx, dy = ends[0, j] - px, ends[1, j] - py
        if dx > reach:
            break
        square = (dx * dx + dy * dy) / variance
        if square < MAX_SQUARED_DEVIATION and not is_taken[j]:
            total += math.exp(-0.5 * square)
    return math.exp(-0.5 * square_at_end) * n_free / total if total > 0.0 else 0.0


@inner
def _first_from(ends: Array, x: Scalar) -> Scalar:
    """The first end whose first coordinate is at least x; np.searchsorted compiles four times as long."""
    low, high = 0, ends.shape[1]
    while low < high:
        middle = (low + high) // 2
        if ends[0, middle] < x:
            low = middle + 1
        else:
            high = middle
    return low


@inner
def _length(x: Scalar, y: Scalar) -> Scalar:
    """The length of a vector."""
    return math.sqrt(x * x + y * y)
