"""Repeats tell where an object ends.

Two objects that stand side by side in the same order in both pictures move as one. Where each of them stands
once more elsewhere, on its own, those repeats show that they are two.

Notation: parts are arrays of candidate numbers; a part covers a match of another one in a picture where it
has a match of its own near it. In the picture that shows the pair once, the repeats cover one piece each.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse.csgraph import connected_components
from scipy.spatial import ConvexHull, QhullError, cKDTree

from matching.geometry import within_reach
from matching.joining import seam_cost
from matching.parts import PartsConfig

ON_THE_EDGE = 1e-6  # pixels beyond it


@dataclass(frozen=True)
class RepeatsConfig:
    """When repeats show that a part is several objects."""

    reach: float = 25.0  # pixels from a match that is covered to one of the repeat
    least_share: float = 0.1  # of the part's matches, in a piece
    covered_share: float = 0.8  # of the part's matches, in all pieces together
    shared: float = 0.1  # of a repeat's matches, amid those of another; with more they show the same piece
    least_seam: float = 3.0  # cost of joining two repeats below which they may be one object themselves


def split_at_repeats(candidates, parts, config=RepeatsConfig(), joining=PartsConfig()):
    """The parts, those that repeats cover in pieces replaced by their pieces, in a fixed order.

    The pieces get all matches of the part: those that no repeat covers go to the nearest.
    """
    for xy in (candidates.xy0, candidates.xy1):
        k = 0
        while k < len(parts):
            others = [part for n, part in enumerate(parts) if n != k]
            pieces = _pieces(candidates, xy, parts[k], others, config, joining)
            if len(pieces) > 1:
                parts = [*parts[:k], *pieces, *parts[k + 1 :]]
            k += max(len(pieces), 1)
    return parts


def _pieces(candidates, xy, part, others, config, joining):
    covers = [within_reach(xy[part], xy[other], config.reach) for other in others]
    covers = np.array(covers).reshape(-1, len(part))
    least = max(config.least_share * len(part), joining.min_matches)
    used = np.flatnonzero(covers.sum(axis=1) >= least)
    if len(used) < 2 or covers[used].any(axis=0).mean() < config.covered_share:
        return [part]
    repeats = [others[n] for n in used]
    group = _groups([xy[r][within_reach(xy[r], xy[part], config.reach)] for r in repeats], config.shared)
    for a, b in zip(*np.nonzero(group[:, None] > group), strict=True):
        if seam_cost(candidates, repeats[a], repeats[b], joining) < config.least_seam:
            return [part]
    owners = [xy[np.concatenate([r for r, g in zip(repeats, group, strict=True) if g == k])]
              for k in range(group.max() + 1)]  # fmt: skip
    nearest = np.argmin([cKDTree(owner).query(xy[part])[0] for owner in owners], axis=0)
    pieces = [part[nearest == k] for k in range(len(owners))]
    return pieces if min(map(len, pieces)) >= joining.min_matches else [part]


def _groups(places, shared):
    """(u,) group of each repeat, from where its matches lie: those that lie amid each other show the same."""
    hulls = [_hull(place) for place in places]
    amid = np.array([[_inside(place, hull).mean() for hull in hulls] for place in places])
    return connected_components((amid > shared) | (shared < amid.T), directed=False)[1]


def _hull(points):
    """(f, 3) float64: a, b, c of the half-planes a x + b y + c <= 0 that hold all points; holds nothing where
    these are in one line.
    """
    try:
        return ConvexHull(points).equations
    except QhullError:
        return np.array([[0.0, 0.0, np.inf]])


def _inside(points, hull):
    """(n,) bool: whether a point lies in the convex hull."""
    return (points @ hull[:, :2].T + hull[:, 2] <= ON_THE_EDGE).all(axis=1)
