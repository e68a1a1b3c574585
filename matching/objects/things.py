"""Which objects show the same thing: those that share their place in picture 0."""

from __future__ import annotations

import numpy as np

from matching import _opencv

CANVAS = 256  # pixels along the longer side of the raster on which outlines are compared
SHARED = 0.5  # of the smaller outline that lies in the larger one
COMPARABLE = 0.1  # of the larger one's area that the smaller has: a logo is another thing than its box


def number_things(outlines: list[np.ndarray]) -> np.ndarray:
    """(n,) int64: the thing of each outline (k, 2) of one picture, 0, 1, ... in the order given.

    Outlines are taken by falling area: each is of the thing whose first outline shares most of the smaller of
    both, or begins another thing where that is too little.
    """
    if not outlines:
        return np.empty(0, np.int64)
    masks = _rasters(outlines)
    area = masks.sum(axis=1)
    shared = masks @ masks.T / np.minimum(area[:, None], area)
    shared[area[:, None] < COMPARABLE * area] = 0.0
    owner, firsts = np.empty(len(outlines), np.int64), []
    for k in np.argsort(-area, kind="stable"):
        best = max(firsts, key=lambda first: shared[k, first], default=None)
        if best is None or shared[k, best] < SHARED:
            firsts.append(k)
            best = k
        owner[k] = best
    return in_order(owner)


def in_order(labels: np.ndarray) -> np.ndarray:
    """The labels (n,) as 0, 1, ... in the order in which they come first."""
    _, first, label = np.unique(labels, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[label]


def _rasters(outlines):
    """(n, pixels) float32, 1 inside an outline and on it."""
    corners = np.concatenate(outlines)
    low, size = corners.min(axis=0), max(float(np.ptp(corners, axis=0).max()), 1e-9)
    shape = (CANVAS + 1, CANVAS + 1)
    drawn = [_opencv.fill_polygons(shape, [(outline - low) * (CANVAS / size)]) for outline in outlines]
    return np.stack([mask.ravel() for mask in drawn]).astype(np.float32)
