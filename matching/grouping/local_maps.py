"""Maps around matches that come as points alone: what the matches nearest in both pictures tell.

Features have a size and a direction, which predict how the picture around them moves. Points have neither,
but two of them do: a similarity takes a match and its neighbour from one picture to the other. Of these
similarities, one for each neighbour, the neighbours choose the one that explains most of them.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial import cKDTree

from matching._types import Array, Floats, Ints
from matching.grouping import _vote_kernels

ROUNDS = 2  # of the fit to the neighbours that agree with the chosen map
MOST_CHANGE = 30.0  # of lengths: a map that shrinks or stretches more comes from points that all but coincide


def nearest_in_both(xy0: Array, xy1: Array, n_neighbors: int, n_threads: int = 1) -> Ints:
    """Find the matches nearest to each by the distances in both pictures, |x0_i - x0_j|^2 + |x1_i - x1_j|^2.

    Parameters
    ----------
    xy0, xy1 : (m, 2) float64
        Points of either picture, pixels.
    n_neighbors : int
        Neighbours of each; m - 1 where that is less.
    n_threads : int
        Threads; the result is the same for any number.

    Returns
    -------
    (m, k) int64
        The neighbours, the nearest first.
    """
    places = np.hstack([xy0, xy1])
    k = min(n_neighbors, len(places) - 1)
    near = cKDTree(places).query(places, k + 1, workers=n_threads)[1].reshape(len(places), -1)
    own = near == np.arange(len(places))[:, None]
    own[~own.any(axis=1), -1] = True  # crowded out by matches at the same place
    nearest: Ints = near[~own].reshape(len(places), k)
    return nearest


def vote_for_maps(xy0: Array, xy1: Array, near: Array, scale: float, slope: float) -> Floats:
    """Find a similarity map around each match that its neighbours agree on.

    Parameters
    ----------
    xy0, xy1 : (m, 2) float64
        Points of either picture, pixels.
    near : (m, k) int64
        The neighbours of each.
    scale, slope : float
        A neighbour is explained where it is off by less than the root of scale^2 + (slope gap)^2.

    Returns
    -------
    (m, 2, 2) float64
        The maps; the identity where no map has a plausible scale.
    """
    maps = np.empty((len(xy0), 2, 2))
    points = (np.ascontiguousarray(xy, np.float64) for xy in (xy0, xy1))
    _vote_kernels.voted_similarities(*points, near, float(scale), float(slope), ROUNDS, maps)
    growth = np.sqrt(np.linalg.det(maps))
    maps[~((growth > 1 / MOST_CHANGE) & (growth < MOST_CHANGE))] = np.eye(2)
    return maps
