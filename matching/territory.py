"""Each place shows one thing: an object needs a place of its own.

Repeated structure (a logo printed twice on a box, the squares of a cube) makes small clusters that move as
one, on top of the object that they belong to. A copy of an object, on the other hand, shares its place in
one picture but has its own in the other.
"""

from __future__ import annotations

import numpy as np

from matching import _opencv
from matching.objects import outlines

CANVAS = 500  # pixels along the longer side of a picture when territories are drawn


def drop_covered(xy0, xy1, parts, share):
    """The parts that have a place of their own, in the order given.

    parts : arrays of rows of xy0, xy1 (m, 2), the strongest first. A part goes if in BOTH pictures at least
        `share` of its points lie inside the outlines of stronger parts that stay.
    """
    if len(parts) < 2:
        return list(parts)
    grids = [_Grid(xy) for xy in (xy0, xy1)]
    covered = [np.zeros(grid.shape, bool) for grid in grids]
    kept = []
    for part in parts:
        inside = [
            grid.look(taken, xy[part]) for grid, taken, xy in zip(grids, covered, (xy0, xy1), strict=True)
        ]
        if all(i.mean() >= share for i in inside):
            continue
        kept.append(part)
        for grid, taken, outline in zip(grids, covered, outlines(xy0[part], xy1[part]), strict=True):
            taken |= _opencv.fill_polygons(grid.shape, [grid.to_canvas(outline)])
    return kept


class _Grid:
    """A small canvas over all points of one picture."""

    def __init__(self, xy):
        self.low = xy.min(axis=0)
        self.scale = CANVAS / max(float(np.ptp(xy, axis=0).max()), 1.0)
        self.shape = tuple(int(n) + 2 for n in np.ceil(np.ptp(xy, axis=0) * self.scale))[::-1]

    def to_canvas(self, xy):
        return (xy - self.low) * self.scale

    def look(self, mask, xy):
        x, y = np.rint(self.to_canvas(xy)).astype(int).T
        return mask[y, x]
