"""The smooth deformation of an object: a thin-plate spline with smoothing, in both directions.

f(x) = H x + s(x). H is the object's homography or affine map, and s minimises
    sum_i |y_i - H x_i - s(x_i)|^2 + mu * integral |second derivatives of s|^2
over the matches x_i -> y_i (Duchon 1977). If the density of matches is rho per square pixel, a wave of length
L is damped to rho / (rho + mu (2 pi / L)^4). So `smoothing` is given as the length of the waves that are
halved, L = 2 pi (mu / rho)^(1/4), in pixels: shorter bends count as noise.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from matching._common.types import Array, Bools, Floats, Ints
from matching.objects.transforms import apply_transform, fit_transform

Spline = Callable[[Array], Floats]  # a bend: pixels (n, 2) -> (n, 2)

MAX_CONTROLS = 300  # bins; the matches in each are merged into one control point
MIN_MATCHES = 12  # fewer matches say nothing about bends; no record of a choice, as of the next three numbers
LENGTHS = (2.0, 1.0, 0.5, 0.25, 0.125, 0.0625)  # values of `smoothing` to try, in sizes of the object
N_FOLDS = 5  # parts in which matches are held out
MAX_ERROR_RATIO = 0.97  # a shorter smoothing must lower the hold-out error to this share ...
MIN_ERROR_GAIN = 0.05  # ... and by this many pixels, so that noise bends nothing
MAX_RESIDUAL = 5.0  # times the median residual: matches beyond this are left out


@dataclass(frozen=True, eq=False)
class SmoothMap:
    """A map of one object from one picture to the other; call it with pixels (n, 2) to get (n, 2) float64."""

    base: Array  # (3, 3) float64, the homography or affine map that is bent
    smoothing: float  # pixels of the first picture: bends of this length are halved; inf: no bend
    # median hold-out distance in the second picture, in pixels, for maps fitted without nearby matches
    error: float
    base_error: float  # the same for the base alone, fitted to all matches
    spline: Spline | None = None  # from pixels (n, 2) to displacements (n, 2)

    def __call__(self, xy: Array) -> Floats:
        """Map points (n, 2)."""
        xy = np.asarray(xy, np.float64).reshape(-1, 2)
        mapped: Floats = apply_transform(self.base, xy)
        return mapped if self.spline is None or not len(xy) else mapped + self.spline(xy)


@dataclass(frozen=True, eq=False)
class Deformation:
    """The smooth maps of an object in both directions."""

    forward: SmoothMap  # from image 0 to image 1
    backward: SmoothMap


def fit_deformation(xy0: Array, xy1: Array, transform: Array, smoothing: float | None = None) -> Deformation:
    """Fit the smooth maps of an object in both directions: xy0, xy1 (n, 2); transform (3, 3)."""
    # many matches at one place can lead to a map without an inverse
    back = np.linalg.inv(transform) if np.linalg.cond(transform) < 1e12 else fit_transform(xy1, xy0)[0]
    return Deformation(
        fit_smooth_map(xy0, xy1, transform, smoothing), fit_smooth_map(xy1, xy0, back, smoothing)
    )


def fit_smooth_map(source: Array, target: Array, base: Array, smoothing: float | None = None) -> SmoothMap:
    """Fit a given map plus a smooth bend to matched pixels: source, target (n, 2); base (3, 3)."""
    residual = target - apply_transform(base, source)
    base_error = float(np.median(np.linalg.norm(residual, axis=1)))
    plain = SmoothMap(base, math.inf, base_error, base_error)
    bins = _make_bins(source)
    if len(source) < MIN_MATCHES or not all(_fixes_a_map(source, bins, ~out) for out in _folds(bins)):
        return plain
    if smoothing is None:
        smoothing, error = _choose_smoothing(source, residual, bins)
    else:
        error = _hold_out(source, residual, _make_folds(source, residual, bins), smoothing)
    if math.isinf(smoothing):
        return plain
    spline = _fit(_make_controls(source, residual, bins), smoothing)
    off = np.linalg.norm(spline(source) - residual, axis=1)
    kept = off <= MAX_RESIDUAL * max(np.median(off), 1e-6)
    if _fixes_a_map(source, bins, kept):
        spline = _fit(_make_controls(source[kept], residual[kept], bins[kept]), smoothing)
    return SmoothMap(base, float(smoothing), float(np.median(error)), base_error, spline)


@dataclass(frozen=True, eq=False)
class _Bins:
    """The square bins of matches."""

    number: Array  # (n,) int64, of the bin in which each match lies
    side: float  # of a bin, pixels

    def __getitem__(self, index: Any) -> _Bins:
        return _Bins(self.number[index], self.side)


def _make_bins(xy: Array) -> _Bins:
    """Lay at most MAX_CONTROLS bins over matches (n, 2)."""
    width, height = np.maximum(np.ptp(xy, axis=0), 1.0)
    side = math.sqrt(width * height / MAX_CONTROLS)
    place = np.floor((xy - xy.min(axis=0)) / side).astype(np.int64)
    return _Bins(np.unique(place, axis=0, return_inverse=True)[1].reshape(-1), side)


def _choose_smoothing(source: Array, residual: Array, bins: _Bins) -> tuple[float, Floats]:
    """Choose the smoothing with the smallest hold-out error -> its length (inf: no bend), errors (n,)."""
    best, best_error = math.inf, np.linalg.norm(residual, axis=1)
    folds = _make_folds(source, residual, bins)
    for length in np.linalg.norm(np.ptp(source, axis=0)) * np.array(LENGTHS):
        error, bound = _hold_out(source, residual, folds, length), _average(best_error)
        if _average(error) < min(MAX_ERROR_RATIO * bound, bound - MIN_ERROR_GAIN):
            best, best_error = length, error
    return best, best_error


def _average(error: Array) -> float:
    """Compute the mean error; larger ones than five times the median count as that: they may be outliers."""
    return float(np.minimum(error, MAX_RESIDUAL * np.median(error)).mean())


def _make_folds(source: Array, residual: Array, bins: _Bins) -> list[tuple[Bools, _Controls]]:
    """Make N_FOLDS pairs of the matches that are held out (n,), and the control points of the others."""
    folds = (out for out in _folds(bins) if out.any())
    return [(out, _make_controls(source[~out], residual[~out], bins[~out])) for out in folds]


def _hold_out(
    source: Array, residual: Array, folds: list[tuple[Bools, _Controls]], smoothing: float
) -> Floats:
    """Measure the distance (n,) of each match from a map fitted without its bin."""
    error = np.empty(len(source))
    for out, controls in folds:
        error[out] = np.linalg.norm(_fit(controls, smoothing)(source[out]) - residual[out], axis=1)
    return error


def _folds(bins: _Bins) -> list[Bools]:
    """Make N_FOLDS masks (n,) bool of the matches that are held out in turn, in whole bins."""
    fold = np.random.default_rng(0).permutation(bins.number.max(initial=-1) + 1)[bins.number] % N_FOLDS
    return [fold == k for k in range(N_FOLDS)]


def _fixes_a_map(source: Array, bins: _Bins, chosen: Bools) -> bool:
    """Test whether control points of the chosen matches fix an affine map: three, not all on one line."""
    used, number = np.unique(bins.number[chosen], return_inverse=True)
    if len(used) < 3:
        return False
    controls = _medians(source[chosen], number, len(used))
    spread = np.linalg.svd(controls - controls.mean(axis=0), compute_uv=False)
    return bool(spread[1] >= 0.02 * spread[0])


@dataclass(frozen=True, eq=False)
class _Controls:
    """The control points (k, 2) of a spline, one per bin, and the displacements (k, 2) there."""

    xy: Floats
    values: Floats
    count: Ints  # (k,), matches in each bin
    density: float  # matches per square pixel


def _make_controls(source: Array, residual: Array, bins: _Bins) -> _Controls:
    """Make the control points: the medians of the matches of each bin."""
    _, number, count = np.unique(bins.number, return_inverse=True, return_counts=True)
    xy, values = (_medians(points, number, len(count)) for points in (source, residual))
    return _Controls(xy, values, count, len(source) / (len(count) * bins.side**2))


def _fit(controls: _Controls, smoothing: float) -> Spline:
    """Fit a spline to control points, weighted by their numbers of matches."""
    mu = controls.density * (smoothing / (2 * math.pi)) ** 4
    # the kernel r^2 log r is 8 pi times the Green's function of the squared Laplacian
    spline: Spline = scipy.interpolate.RBFInterpolator(
        controls.xy,
        controls.values,
        smoothing=8 * math.pi * mu / controls.count,
        kernel="thin_plate_spline",
        degree=1,
    )
    return spline


def _medians(values: Array, number: Ints, n: int) -> Floats:
    """Compute the medians (n, 2) of the values in each of n bins."""
    return np.column_stack([scipy.ndimage.median(column, number, range(n)) for column in values.T])
