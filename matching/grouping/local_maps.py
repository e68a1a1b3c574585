"""Maps around matches of points without scale or direction, from the matches nearest in both images.

A match and one of its neighbours define a similarity from one image to the other. So each neighbour proposes
one, and all neighbours choose the one that explains most of them, whatever the rotation between the images.

Notation: how well the map M_i of match i explains its neighbour j is 1 / (1 + r^2 / sigma^2), with
r = |(x1_j - x1_i) - M_i (x0_j - x0_i)| and sigma = slope gap_ij.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from matching._common.types import Array, Bools, Floats, Ints
from matching.grouping import _vote_kernels


@dataclass(frozen=True, eq=False)
class LocalMaps:
    """Maps around m matches, and how well they explain the k neighbours of each."""

    maps: Floats  # (m, 2, 2)
    support: Floats  # (m,), share of the neighbours that each map explains, in [0, 1]
    near: Ints  # (m, k)

    @property
    def agreeing(self) -> Bools:
        """(m,) bool: whether each map explains more than half of the neighbours."""
        return np.greater(self.support, 0.5)


def vote_for_maps(xy0: Array, xy1: Array, near: Ints, slope: float, given: Array | None = None) -> LocalMaps:
    """Find similarities that neighbours agree on: xy0, xy1 (m, 2); near (m, k).

    A given map (m, 2, 2) is kept unless the similarity explains more.
    """
    xy0, xy1 = (np.ascontiguousarray(xy, np.float64) for xy in (xy0, xy1))
    maps = np.empty((len(xy0), 2, 2))
    _vote_kernels.voted_similarities(xy0, xy1, near, float(slope), maps)
    voted = _measure_support(xy0, xy1, near, slope, maps)
    if given is None:
        return voted
    kept = _measure_support(xy0, xy1, near, slope, given)
    is_better = voted.agreeing & (voted.support > kept.support)
    maps = np.where(is_better[:, None, None], maps, given)
    return LocalMaps(maps, np.where(is_better, voted.support, kept.support), near)


def _measure_support(xy0: Array, xy1: Array, near: Ints, slope: float, maps: Array) -> LocalMaps:
    """Measure how much of the neighbours, near (m, k), the maps (m, 2, 2) explain."""
    u, v = xy0[near] - xy0[:, None], xy1[near] - xy1[:, None]  # (m, k, 2)
    residual = np.linalg.norm(v - np.einsum("mab,mkb->mka", maps, u), axis=2)
    gap = np.maximum(np.linalg.norm(u, axis=2), np.linalg.norm(v, axis=2))
    explained = 1 / (1 + (residual / (slope * gap)) ** 2)
    return LocalMaps(maps, explained.mean(axis=1), near)
