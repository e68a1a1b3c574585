"""Parts that one smooth map explains are joined.

What tells it are the closest pairs i, j across two parts, by either of two measures: their own ACC distance,
which also a handful of matches have, or how far each is from where an affine map fitted to the other part's
matches nearby takes it. Frames of single features are coarse where a plane is seen at a slant; there the
second is the better one.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial import cKDTree

from matching.geometry import acc_of_pairs
from matching.parts import PartsConfig
from matching.verification import affine_residuals, scales

CAUCHY_SCALE = 4.0  # pixels, of the affine fits


def join_parts(candidates, parts, config=PartsConfig()):
    """Join parts that one smooth map explains, the best pair first, until none is left."""
    parts = list(parts)
    cost = {
        (a, b): seam_cost(candidates, parts[a], parts[b], config) for a in range(len(parts)) for b in range(a)
    }
    while cost:
        a, b = min(cost, key=lambda pair: (cost[pair], pair))
        if cost[a, b] >= 1:
            break
        parts[b] = np.sort(np.concatenate([parts[a], parts[b]]))
        parts[a] = parts[a][:0]
        cost = {pair: c for pair, c in cost.items() if a not in pair}
        for pair in cost:
            if b in pair:
                cost[pair] = seam_cost(candidates, parts[pair[0]], parts[pair[1]], config)
    return [p for p in parts if len(p)]


def seam_cost(candidates, one, other, config=PartsConfig()):
    """Median over the closest pairs across, three for each match of the smaller part, of their distance over
    what their gap allows, by the measure that gives less; infinite where pairs are too few. Parts are joined
    below 1.
    """
    one, other = sorted((one, other), key=lambda part: (len(part), part[0]))
    xy01 = candidates.xy01
    reach = config.seam_reach * max(scales(candidates, np.concatenate([one, other])))
    if _boxes_apart(xy01[one], xy01[other]) >= reach:
        return np.inf
    i, j, gap = _closest_pairs(xy01, one, other, reach, config.seam_pairs)
    if len(i) < min(config.seam_neighbors, len(one)):
        return np.inf
    allowed = config.seam_tolerance + config.seam_slope * gap
    distances = [acc_of_pairs(candidates, i, j)]
    if len(one) >= config.seam_neighbors:
        distances.append(_from_the_other(candidates, (one, j), (other, i), k=config.seam_neighbors))
    return min(float(np.median(distance / allowed)) for distance in distances)


def _boxes_apart(one, other):
    """Pixels between the boxes around two sets of points, along the axis where it is most."""
    return np.maximum(one.min(axis=0) - other.max(axis=0), other.min(axis=0) - one.max(axis=0)).max()


def _closest_pairs(xy01, one, other, reach, most):
    """Members i of one, j of the other (q,) and their gap, pixels along the axis of either image where it is
    most, below reach; q at most `most`.
    """
    gap, near = cKDTree(xy01[other]).query(xy01[one], k=min(3, len(other)), p=np.inf)
    i, gap = np.repeat(one, near.shape[1] if near.ndim == 2 else 1), gap.ravel()
    j = other[near.ravel()]
    order = np.lexsort((j, i, gap))[:most]
    order = order[gap[order] < reach]
    return i[order], j[order], gap[order]


def _from_the_other(candidates, *sides, k):
    """(q,) pixels, the most of both directions and of both sides: the distance of points from where an affine
    map fitted to the k nearest matches of the other part takes them. A side: (part, points).
    """
    distances = []
    for part, points in sides:
        points, pair = np.unique(points, return_inverse=True)
        for x, y in ((candidates.xy0, candidates.xy1), (candidates.xy1, candidates.xy0)):
            near = cKDTree(x[part]).query(x[points], k)[1]
            far = affine_residuals(x[part], y[part], near, CAUCHY_SCALE, (x[points], y[points]))
            distances.append(far[pair])
    return np.max(distances, axis=0)
