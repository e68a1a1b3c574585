"""Nearest points in the plane, found by a grid in compiled code.

Ten thousand queries of a few hundred points take less time here than building a tree, and SciPy need not be
loaded.
"""

import math
from dataclasses import dataclass

import numpy as np

from matching._common.arrays import find_box
from matching._common.threads import run_in_ranges
from matching._common.types import Array, Bools, Floats, Ints
from matching.correspondences import _point_kernels

# A point covers its surroundings up to its neighbour of this rank; no record of a choice.
RADIUS_RANK = 8
# Standard deviation of points across, relative to that along them, below which they are narrow. No record of
# a choice.
NARROW_WIDTH = 0.15


def nearest_points(points: Array, places: Array, k: int, reach: float = np.inf) -> tuple[Ints, Floats]:
    """Find the k points (n, 2) nearest to each of `places` (q, 2) -> index, distance (q, k).

    Points farther away than `reach` do not count. Results are padded with -1 and infinity.
    """
    index, square = np.full((len(places), k), -1, np.int64), np.full((len(places), k), float(reach) ** 2)
    _enter(points, np.arange(len(points)), places, np.full(len(places), -1), index, square)
    return index, np.where(index >= 0, np.sqrt(square), np.inf)


def _enter(points: Array, numbers: Ints, places: Array, excluded: Array, index: Ints, square: Floats) -> None:
    """Enter points (n, 2), numbered (n,), into lists (q, k) of the nearest to places (q, 2).

    The list of a place leaves out the point excluded (q,). Lists are in the order (squared distance, number).
    Initially they hold -1 and bounds.
    """
    if not len(points) or not len(places):
        return
    low, size = points.min(axis=0), np.ptp(points, axis=0)
    # the side of a cell holds two points per cell on average
    side = max(math.sqrt(2 * size[0] * size[1] / len(points)), 2 * size.max() / len(points)) or 1.0
    columns, rows = (size / side).astype(int) + 1
    x, y = np.minimum(((points - low) / side).astype(int), (columns - 1, rows - 1)).T
    cell = y * columns + x
    order = np.argsort(cell, kind="stable")
    start = np.append(0, np.cumsum(np.bincount(cell, minlength=columns * rows)))
    by_cell = np.ascontiguousarray(points[order], np.float64)
    grid = by_cell, numbers[order], start, np.array([*low, *size, side], np.float64), int(columns), int(rows)
    places, excluded = np.ascontiguousarray(places, np.float64), np.ascontiguousarray(excluded, np.int64)

    def search(start: int, stop: int) -> None:
        part = slice(start, stop)
        _point_kernels.search_nearest(grid, places[part], excluded[part], index[part], square[part])

    run_in_ranges(search, len(places), 1024)


@dataclass(eq=False)
class NearestMembers:
    """The k members nearest to each of `points` (m, 2), as members join and leave.

    For the points of the last query, `index` (m, k) int64 holds their nearest members, nearest first, without
    the point itself and padded with -1. `square` (m, k) float64 holds the squared distances, padded with
    infinity.
    """

    points: Floats
    k: int

    def __post_init__(self) -> None:
        m = len(self.points)
        self.index, self.square = np.full((m, self.k), -1, np.int64), np.full((m, self.k), np.inf)

    def renew(self, members: Ints, rows: Ints) -> Bools:
        """Find the members (n,) nearest to the points `rows` (q,).

        Returns (q,) bool: whether the members of a point differ from those of its last query.
        """
        index, square = np.full((len(rows), self.k), -1), np.full((len(rows), self.k), np.inf)
        _enter(self.points[members], members, self.points[rows], rows, index, square)
        has_changed = (index != self.index[rows]).any(axis=1)
        self.index[rows], self.square[rows] = index, square
        return np.asarray(has_changed)


def as_numbers(points: Array) -> Array:
    """View points (n, 2) as complex numbers (n,), which can be sorted and searched."""
    return np.ascontiguousarray(points, np.float64).view(np.complex128).ravel()


def is_within_reach(points: Array, others: Array, reach: float) -> Bools:
    """Test which points have others nearby: points (n, 2); others (k, 2) -> (n,) bool."""
    is_near = np.zeros(len(points), bool)
    if len(others):
        candidates = np.flatnonzero(is_in_box(points, others, reach))
        is_near[candidates] = nearest_points(others, points[candidates], 1, reach)[0][:, 0] >= 0
    return is_near


def is_in_box(points: Array, others: Array, reach: float) -> Bools:
    """Test which points (n, 2) are within `reach` of the box around others (k, 2), along both axes."""
    (left, top), (right, bottom) = find_box(others, reach)
    x, y = points.T
    return np.asarray((x > left) & (x < right) & (y > top) & (y < bottom))


def is_inside(points: Array, others: Array) -> Bools:
    """Test which points (n, 2) lie among others (k, 2).

    Such a point is no farther from one of the others than these typically are from their neighbours.
    """
    pixels = np.unique(as_numbers(np.rint(others)))[:, None].view(np.float64)
    k = min(RADIUS_RANK + 1, len(pixels))  # the first is the point itself
    reach = np.median(nearest_points(pixels, pixels, k)[1][:, -1])
    return is_within_reach(points, pixels, float(reach))


def spread_out(points: Floats, n: int) -> Ints:
    """Choose up to n points (m, 2): the one farthest from the middle, then those farthest from the chosen."""
    if not len(points):
        return np.empty(0, np.int64)
    chosen = [int(np.argmax(((points - points.mean(axis=0)) ** 2).sum(axis=1)))]
    square = ((points - points[chosen[0]]) ** 2).sum(axis=1)
    while len(chosen) < min(n, len(points)):
        chosen.append(int(np.argmax(square)))
        square = np.minimum(square, ((points - points[chosen[-1]]) ** 2).sum(axis=1))
    return np.array(chosen)


def measure_spread(points: Array) -> Floats:
    """Measure the variances of points (n, 2) across and along the direction of largest spread -> (2,)."""
    return np.asarray(np.linalg.eigvalsh(np.cov(points.T)))


def is_narrow(points: Array) -> bool:
    """Test whether points (n, 2) spread much farther in one direction than across it."""
    if len(points) < 2:
        return True
    low, high = measure_spread(points)
    return bool(low < NARROW_WIDTH**2 * high)


def list_neighbors(xy: Floats) -> Ints:
    """List the pairs of neighbours among points (n, 2): the sides of their Delaunay triangles -> (e, 2).

    Points on a line have no triangles, and no neighbours but those at the same point.
    """
    points, first, point = np.unique(xy, axis=0, return_index=True, return_inverse=True)
    same = np.column_stack([first[point.ravel()], np.arange(len(xy))])  # several at one point
    pairs = [same[same[:, 0] != same[:, 1]]]
    from scipy.spatial import Delaunay  # loads only where it is needed

    if np.linalg.matrix_rank(points - points[:1], tol=1.0) > 1:  # pixels
        triangles = Delaunay(points).simplices
        pairs += [first[triangles[:, sides]] for sides in ([0, 1], [1, 2], [2, 0])]
    neighbors: Ints = np.unique(np.sort(np.concatenate(pairs), axis=1), axis=0)
    return neighbors
