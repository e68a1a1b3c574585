"""Which matches of an object belong together: those that the same print joins in both pictures.

Between two things that moved alike lies something else in one of the pictures, or nothing. Both pictures are
laid on each other by the matches and compared pixel by pixel (`matching.objects.agreement`). Matches where
the print agrees are of one part if others, `reach` apart at most, lead from one to the other. Parts with a
gap between them belong together if they move as one rigid print does, and nothing else lies between them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.interpolate import LinearNDInterpolator
from scipy.ndimage import maximum_filter
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import Delaunay, cKDTree

from matching._common.types import Array, Bools, Floats, Ints
from matching.objects.agreement import ALIKE, FINE, blur, correlate, find_flat, shrink, to_grey

LONGEST = 192  # pixels that the place is looked at with
GAP = 1.0  # of the smaller part's size, the largest gap within one thing
REACHES = 2.0  # of the reach, the largest gap: a column of a shelf is wider
ACCURATE = 0.5  # pixels by which a match of a rigid print is off
OFF = 3.0  # standard errors by which the motions of parts of one print differ, at most


@dataclass(frozen=True, eq=False)
class _Comparison:
    """Where a place and another one, laid on it, agree and differ: (h, w) bool; low (2,) and step of it."""

    agrees: Bools
    differs: Bools
    low: Floats
    step: float

    def look_up(self, cells: Bools, xy: Floats) -> Bools:
        """The values of cells at pixels (n, 2)."""
        at = np.rint((xy - self.low) / self.step).astype(int)
        found: Bools = cells[at[:, 1], at[:, 0]]
        return found


def find_coherent_parts(rgb: Array, xy0: Floats, xy1: Floats, reach: float, least: int) -> Ints:
    """Number the coherent parts of an object that joins two places of a picture.

    rgb (h, w, 3) uint8; xy0, xy1 (n, 2) float64 -> (n,) int64, -1 for parts of fewer than `least` matches.
    """
    compared = _compare(rgb, xy0, xy1, reach)
    near = maximum_filter(compared.agrees, 2 * max(round(reach / 2 / compared.step), 1) + 1)
    rows = np.flatnonzero(compared.look_up(near, xy0))
    links = cKDTree(xy0[rows]).query_pairs(reach, output_type="ndarray")
    number = _link(len(rows), links)
    parts = [rows[number == k] for k in np.flatnonzero(np.bincount(number) >= least)]
    motions = [_fit_motion(xy0[part], xy1[part]) for part in parts]
    joined = [
        (i, j)
        for i in range(len(parts))
        for j in range(i)
        if _move_as_one(xy0[parts[i]], xy0[parts[j]], motions[i], motions[j], compared, REACHES * reach)
    ]
    found = np.full(len(xy0), -1, np.int64)
    for part, k in zip(parts, _link(len(parts), np.array(joined, int).reshape(-1, 2)), strict=True):
        found[part] = k
    return found


def _compare(rgb: Array, xy0: Floats, xy1: Floats, reach: float) -> _Comparison:
    """Compare the two places."""
    low, high = xy0.min(axis=0) - reach, xy0.max(axis=0) + reach
    step = max(float((high - low).max()) / LONGEST, 1.0)
    columns, rows = (np.arange(a, b + step, step) for a, b in zip(low, high, strict=True))
    grid = np.stack(np.meshgrid(columns, rows), axis=2)
    there = _interpolate(xy0, xy1, grid)
    known = ~np.isnan(there[..., 0])
    a = to_grey(shrink(rgb, grid, step))
    b = to_grey(shrink(rgb, np.where(known[..., None], there, xy1.mean(axis=0)), step))
    printed, alike = known & ~find_flat(a, b), correlate(a, b) > ALIKE
    agrees, differs = (
        blur(own.astype(np.float32), FINE) > 0.5 for own in (printed & alike, printed & ~alike)
    )
    return _Comparison(known & agrees, known & differs, low, step)


@dataclass(frozen=True, eq=False)
class _Motion:
    """An affine motion (3, 2) about `middle`, its rms error, its inverse normal matrix, of n matches."""

    matrix: Floats
    middle: Floats
    error: float
    inverse: Floats
    n: int

    def predict(self, xy: Floats) -> tuple[Floats, float]:
        """Where it takes a point, and the variance of that; what bends may be off by its own error."""
        row = np.append(xy - self.middle, 1.0)
        leverage = float(row @ self.inverse @ row)
        bent = max(self.error**2 - ACCURATE**2, 0.0) * (1 + self.n * leverage)
        return row @ self.matrix, leverage * max(self.error, ACCURATE) ** 2 + bent


def _fit_motion(xy0: Floats, xy1: Floats) -> _Motion:
    """Fit an affine motion; the fifth of the matches that fit worst is left out."""
    middle = xy0.mean(axis=0)
    design = np.column_stack([xy0 - middle, np.ones(len(xy0))])
    kept = np.ones(len(xy0), bool)
    for _ in range(3):
        normal = design[kept].T @ design[kept] + 1e-9 * np.eye(3)
        matrix = np.linalg.solve(normal, design[kept].T @ xy1[kept])
        off = np.linalg.norm(design @ matrix - xy1, axis=1)
        kept = off <= np.quantile(off, 0.8)
    error = float(np.sqrt(np.square(off[kept]).mean()))
    return _Motion(matrix, middle, error, np.linalg.inv(normal), int(kept.sum()))


def _move_as_one(
    a: Floats, b: Floats, motion_a: _Motion, motion_b: _Motion, compared: _Comparison, most: float
) -> bool:
    """Whether two parts (n, 2), (m, 2) move as one across the gap between them, and nothing else is in it."""
    gaps, nearest = cKDTree(a).query(b)
    k = int(gaps.argmin())
    ends = a[nearest[k]], b[k]
    if gaps[k] > min(GAP * _measure_size(a), GAP * _measure_size(b), most):
        return False
    between = ends[0] + np.linspace(0, 1, 9)[:, None] * (ends[1] - ends[0])
    if compared.look_up(compared.differs, between).any():
        return False
    middle = (ends[0] + ends[1]) / 2
    (at_a, variance_a), (at_b, variance_b) = motion_a.predict(middle), motion_b.predict(middle)
    return bool(np.linalg.norm(at_a - at_b) <= OFF * np.sqrt(variance_a + variance_b))


def _measure_size(xy: Floats) -> float:
    return float(np.sqrt(np.prod(np.ptp(xy, axis=0))))


def _link(n: int, pairs: Ints) -> Ints:
    """(n,) the connected component of each of n things, of which pairs (k, 2) are linked."""
    links = coo_array((np.ones(len(pairs)), pairs.T), shape=(n, n))
    label: Ints = connected_components(links, directed=False)[1]
    return label


def _interpolate(xy0: Floats, xy1: Floats, grid: Floats) -> Floats:
    """Where matches take the pixels between them (h, w, 2), linearly; NaN beyond them."""
    places, first = np.unique(xy0, axis=0, return_index=True)
    mapped: Floats = LinearNDInterpolator(Delaunay(places), xy1[first])(grid)
    return mapped
