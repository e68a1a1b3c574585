"""Maximally stable extremal regions of a grey image (Matas, Chum, Urban and Pajdla, BMVC 2002).

A region is a connected set of pixels (4 neighbours) up to a level, surrounded by brighter pixels. Regions
form a tree, built in one pass like flooding (Nister and Stewenius, Linear time MSER, ECCV 2008).
"""

from dataclasses import dataclass

import numpy as np

from matching._common.types import Array, Floats, Ints
from matching.features import _region_kernels


@dataclass(frozen=True, eq=False)
class RegionTree:
    """The tree of the n regions of an image, parts first."""

    level: Array  # (n,) uint8
    parent: Array  # (n,), -1 if there is none
    largest: Array  # (n,), the largest of the parts, -1 if there are none
    first: Array  # (n, 2), x and y of the first pixel
    sums: Array  # (n, 6), sums over a region: pixels, x, y, x x, x y, y y
    order: Array  # (n,), the regions in the order in which they are complete


def find_stable_regions(
    grey: Array, bright: bool, delta: int, min_area: int, max_area: int, max_variation: float
) -> Floats:
    """Find the maximally stable regions: grey (h, w) uint8 -> (n, 5), inner ones first.

    The columns are mean x, y and central moments xx, xy, yy. The regions equal OpenCV's, which ignores the
    pixels at the edges of the picture. The variation of a region is its growth from `delta` levels below,
    along the largest parts, to `delta` levels above, over its area.
    """
    if min(grey.shape) < 3:  # every pixel is at the edge
        return np.empty((0, 5))
    tree = build_tree(255 - grey if bright else grey)
    area, rows = tree.sums[:, 0], tree.order[tree.sums[tree.order, 0] >= min_area]
    inside, outside = rows.copy(), rows.copy()
    for places, links, sign in ((inside, tree.largest, -1), (outside, tree.parent, 1)):
        active = np.arange(len(rows))
        while len(active):  # at most delta times, because each step changes the level
            ahead = links[places[active]]
            change = sign * (tree.level[ahead].astype(int) - tree.level[rows[active]])
            is_active = (ahead >= 0) & (change <= delta)
            active, ahead = active[is_active], ahead[is_active]
            places[active] = ahead
    growth = (area[outside] - area[inside]).astype(np.float32) / area[rows].astype(np.float32)
    variation = np.full(len(area), np.inf, np.float32)
    variation[rows] = growth
    smallest_of_parts, parent = np.full(len(area), np.inf, np.float32), tree.parent[rows]
    has_parent = parent >= 0
    np.minimum.at(smallest_of_parts, parent[has_parent], growth[has_parent])
    is_stable = (area[rows] <= max_area) & (growth.astype(np.float64) <= max_variation)
    is_stable &= growth <= smallest_of_parts[rows]
    is_stable &= ~((growth > 0) & has_parent & (growth >= variation[parent]))
    return _find_moments(tree, rows[is_stable])


def _find_moments(tree: RegionTree, rows: Ints) -> Floats:
    """Compute means and central second moments of regions (k,), from sums relative to a pixel of each."""
    (n, x, y, xx, xy, yy), (x0, y0) = tree.sums[rows].T, tree.first[rows].T
    sx, sy = x - n * x0, y - n * y0
    mx, my = sx / n, sy / n
    return np.column_stack(
        [
            x0 + mx,
            y0 + my,
            (xx - x0 * (2 * x - n * x0)) / n - mx * mx,
            (xy - x0 * y - y0 * sx) / n - mx * my,
            (yy - y0 * (2 * y - n * y0)) / n - my * my,
        ]
    )


def build_tree(grey: Array) -> RegionTree:
    """Build the tree of the dark regions of an image (h, w) uint8, without the pixels at its edges."""
    height, width = grey.shape
    shift = (width - 1).bit_length()  # pixels are numbered as if rows had a power of two as length
    # pixels at the edges count as visited, so that no region contains them
    state = np.full((height, 1 << shift), _region_kernels.ALL_VISITED, np.uint16)
    state[1:-1, 1 : width - 1] = grey[1:-1, 1:-1]
    bottom = np.zeros(257, np.uint32)
    bottom[1:] = np.cumsum(np.bincount(grey[1:-1, 1:-1].ravel(), minlength=256))
    step = np.array([0, 1, 1 << shift, -1, -1 << shift]).astype(np.uint32)  # right, down, left, up
    size = grey.size
    parent, largest, order = np.empty((3, size), np.int32)
    pixels, sums = np.empty(size, np.uint32), np.zeros((size, 6), np.int64)
    tree = np.empty(size, np.uint8), parent, largest, pixels, sums, order
    n = _region_kernels.flood(state.ravel(), step, np.uint32(shift), bottom, tree)
    columns: list[Array] = [array[:n] for array in tree]
    first = columns[3].astype(np.int64)
    columns[3] = np.stack([first & (1 << shift) - 1, first >> shift], axis=1)
    return RegionTree(*columns)
