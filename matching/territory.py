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
OUTLINE_CANVAS = 160  # pixels along the longer side of an object when its outline is traced
MARGIN = 10.0  # pixels by which an outline may reach beyond its points


def drop_covered(xy0, xy1, parts, share):
    """The parts that have a place of their own, in the order given.

    parts : arrays of rows of xy0, xy1 (m, 2), the strongest first. A part goes if in BOTH pictures at least
        `share` of its points lie inside the outlines of stronger parts that stay.
    """
    territories = [_Territory(xy) for xy in (xy0, xy1)]
    kept, undrawn = [], []
    for part in parts:
        # Drawing outlines takes time, and most parts are not even near stronger ones.
        if all(territory.near(kept, part).mean() >= share for territory in territories):
            for stronger in undrawn:
                drawn = outlines(xy0[stronger], xy1[stronger], OUTLINE_CANVAS)
                for territory, outline in zip(territories, drawn, strict=True):
                    territory.take(outline)
            undrawn = []
            if all(territory.taken_at(part).mean() >= share for territory in territories):
                continue
        kept.append(part)
        undrawn.append(part)
    return kept


class _Territory:
    """What is taken of one picture, on a small canvas over all points."""

    def __init__(self, xy):
        self.xy, self.low = xy, xy.min(axis=0)
        self.scale = CANVAS / max(float(np.ptp(xy, axis=0).max()), 1.0)
        shape = tuple(int(n) + 2 for n in np.ceil(np.ptp(xy, axis=0) * self.scale))[::-1]
        self.taken = np.zeros(shape, bool)

    def near(self, kept, part):
        """(n,) bool: which of the part's points lie in the box around one of the kept parts."""
        inside = np.zeros(len(part), bool)
        for other in kept:
            low, high = self.xy[other].min(axis=0) - MARGIN, self.xy[other].max(axis=0) + MARGIN
            inside |= ((self.xy[part] >= low) & (self.xy[part] <= high)).all(axis=1)
        return inside

    def take(self, outline):
        self.taken |= _opencv.fill_polygons(self.taken.shape, [self._to_canvas(outline)])

    def taken_at(self, part):
        x, y = np.rint(self._to_canvas(self.xy[part])).astype(int).T
        return self.taken[y, x]

    def _to_canvas(self, xy):
        return (xy - self.low) * self.scale
