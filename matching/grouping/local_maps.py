"""Maps around matches that come as points alone: what the matches nearest in both pictures tell.

Features have a size and a direction, which predict how the picture around them moves. Points have neither,
but two of them do: a similarity takes a match and its neighbour from one picture to the other. Of these
similarities, one for each neighbour, the neighbours choose the one that explains most of them.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial import cKDTree

from matching.grouping import _vote_kernels

ROUNDS = 2  # of the fit to the neighbours that agree with the chosen map
MOST_CHANGE = 30.0  # of lengths: a map that shrinks or stretches more comes from points that all but coincide


def nearest_in_both(xy0: np.ndarray, xy1: np.ndarray, n_neighbors: int, n_threads: int = 1) -> np.ndarray:
    """(m, k) int64: the matches nearest to each by the distances in both pictures, |x0_i - x0_j|^2 +
    |x1_i - x1_j|^2; k is n_neighbors, or m - 1 where that is less.
    """
    places = np.hstack([xy0, xy1])
    k = min(n_neighbors, len(places) - 1)
    near = cKDTree(places).query(places, k + 1, workers=n_threads)[1].reshape(len(places), -1)
    own = near == np.arange(len(places))[:, None]
    own[~own.any(axis=1), -1] = True  # crowded out by matches at the same place
    return near[~own].reshape(len(places), k)


def vote_for_maps(
    xy0: np.ndarray, xy1: np.ndarray, near: np.ndarray, scale: float, slope: float
) -> np.ndarray:
    """(m, 2, 2) float64: a similarity map around each match that its neighbours agree on.

    Parameters
    ----------
    xy0, xy1 : (m, 2) float64
    near : (m, k) int64
        The neighbours of each.
    scale, slope : float
        A neighbour is explained where it is off by less than the root of scale^2 + (slope gap)^2.
    """
    maps = np.empty((len(xy0), 2, 2))
    points = (np.ascontiguousarray(xy, np.float64) for xy in (xy0, xy1))
    _vote_kernels.voted_similarities(*points, near, float(scale), float(slope), ROUNDS, maps)
    growth = np.sqrt(np.linalg.det(maps))
    maps[~((growth > 1 / MOST_CHANGE) & (growth < MOST_CHANGE))] = np.eye(2)
    return maps
