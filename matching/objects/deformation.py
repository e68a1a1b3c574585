"""The smooth deformation of an object: a thin-plate spline with smoothing, in both directions.

f(x) = H x + s(x). H is the object's homography or affine map, and s minimises
    sum_i |y_i - H x_i - s(x_i)|^2 + mu * integral |second derivatives of s|^2
over the matches x_i -> y_i (Duchon 1977). If the density of matches is rho per square pixel, a wave of length
L is damped to rho / (rho + mu (2 pi / L)^4). So `smoothing` is given as the length of the waves that are
halved, L = 2 pi (mu / rho)^(1/4), in pixels: shorter bends count as noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from matching._common.once import once
from matching._common.types import Array, Floats, Ints
from matching.objects.splines import (
    Spectrum,
    Spline,
    decompose,
    fit_spline,
    measure_likelihoods,
    medians,
    phi,
)
from matching.objects.transforms import apply_transform, fit_transform

MAX_CONTROLS = 300  # bins; the matches in each are merged into one control point
MIN_MATCHES = 12  # fewer matches say nothing about bends; no record of a choice, as of the next two numbers
LENGTHS = (2.0, 1.0, 0.5, 0.25, 0.125, 0.0625)  # values of `smoothing` to try, in sizes of the object
MIN_NOISE = 0.05  # pixels, standard deviation: bends that are as small are noise
MIN_GAIN = 3.0  # nats by which a bend is likelier than none, so that noise bends nothing
MAX_RESIDUAL = 5.0  # times the median residual: matches beyond this are left out


@dataclass(frozen=True, eq=False)
class SmoothMap:
    """A map of one object from one picture to the other; call it with pixels (n, 2) to get (n, 2) float64."""

    base: Array  # (3, 3) float64, the homography or affine map that is bent
    smoothing: float  # pixels of the first picture: bends of this length are halved; inf: no bend
    # median distance, pixels of the second picture, from what other control points predict
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


def fit_deformation(xy0: Array, xy1: Array, transform: Array, smoothing: float | None) -> Deformation:
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
    if len(source) < MIN_MATCHES or not _fixes_a_map(source, bins):
        return plain
    controls = _make_controls(source, residual, bins)
    if smoothing is None:
        smoothing = _choose_smoothing(controls, float(np.linalg.norm(np.ptp(source, axis=0))))
    if math.isinf(smoothing):
        return plain
    spline = controls.fit(smoothing)
    off = np.linalg.norm(spline(source) - residual, axis=1)
    kept = off <= MAX_RESIDUAL * max(np.median(off), 1e-6)
    if not kept.all() and _fixes_a_map(source[kept], bins[kept]):
        bins, source, residual = bins[kept], source[kept], residual[kept]
        controls = _make_controls(source, residual, bins)
        spline = controls.fit(smoothing)
    error = np.linalg.norm(controls.hold_out(spline, smoothing, source) - residual, axis=1)
    return SmoothMap(base, float(smoothing), float(np.median(error)), base_error, spline)


@dataclass(frozen=True, eq=False)
class _Bins:
    """The square bins of matches."""

    number: Array  # (n,) int64, of the bin in which each match lies
    side: float  # of a bin, pixels

    def __getitem__(self, index: Any) -> _Bins:
        return _Bins(np.unique(self.number[index], return_inverse=True)[1], self.side)


def _make_bins(xy: Array) -> _Bins:
    """Lay at most MAX_CONTROLS bins over matches (n, 2)."""
    width, height = np.maximum(np.ptp(xy, axis=0), 1.0)
    side = math.sqrt(width * height / MAX_CONTROLS)
    place = np.floor((xy - xy.min(axis=0)) / side).astype(np.int64)
    return _Bins(np.unique(place, axis=0, return_inverse=True)[1].reshape(-1), side)


def _fixes_a_map(source: Array, bins: _Bins) -> bool:
    """Test whether the control points of matches fix bends: six or more, not all on one line."""
    n = int(bins.number.max(initial=-1)) + 1
    if n < 6:
        return False
    controls = medians(source, bins.number, n)
    spread = np.linalg.svd(controls - controls.mean(axis=0), compute_uv=False)
    return bool(spread[1] >= 0.02 * spread[0])


@dataclass(frozen=True, eq=False)
class _Controls:
    """The control points (k, 2) of a spline, one per bin, and the displacements (k, 2) there."""

    xy: Floats
    values: Floats
    number: Ints  # (n,), the control point of each match
    density: float  # matches per square pixel

    @once
    def kernel(self) -> Floats:
        """phi (k, k) of the control points."""
        return phi(self.xy)

    @once
    def spectrum(self) -> Spectrum:
        """The contrasts of the displacements, weighted by the numbers of matches."""
        return decompose(self.xy, self.values, self.kernel, np.sqrt(np.bincount(self.number)))

    def to_ratio(self, smoothing: Array | float) -> Any:
        """The ratio b^2 / s^2 of a spline with this smoothing."""
        # the kernel r^2 log r is 8 pi times the Green's function of the squared Laplacian
        return 1 / (8 * math.pi * self.density * (np.asarray(smoothing) / (2 * math.pi)) ** 4)

    def fit(self, smoothing: float) -> Spline:
        """Fit a spline."""
        return fit_spline(self.xy, self.values, self.kernel, self.spectrum, float(self.to_ratio(smoothing)))

    def hold_out(self, spline: Spline, smoothing: float, source: Array) -> Floats:
        """Predict the displacements of matches (n, 2) by control points other than their own."""
        off, _ = self.spectrum.hold_out(float(self.to_ratio(smoothing)))
        return np.asarray(spline(source) + (self.values - off - spline(self.xy))[self.number])


def _choose_smoothing(controls: _Controls, size: float) -> float:
    """The likeliest smoothing among LENGTHS, in sizes of the object; inf if no bend is as likely."""
    lengths = size * np.array(LENGTHS)
    ratios = np.append(0.0, controls.to_ratio(lengths))
    likelihoods, _ = measure_likelihoods(controls.spectrum, ratios, MIN_NOISE)
    best = int(likelihoods[1:].argmax())
    return float(lengths[best]) if likelihoods[1 + best] > likelihoods[0] + MIN_GAIN else math.inf


def _make_controls(source: Array, residual: Array, bins: _Bins) -> _Controls:
    """Make the control points: the medians of the matches of each bin."""
    n = int(bins.number.max()) + 1
    xy, values = (medians(points, bins.number, n) for points in (source, residual))
    return _Controls(xy, values, bins.number, len(source) / (n * bins.side**2))
