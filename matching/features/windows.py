"""Histograms of the gradients in windows around features: dominant orientations, and descriptors.

Notation: a window has a centre x (2,) and a map W (2, 2), which takes the square [-1, 1]^2 to the window.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from matching._common import opencv
from matching._common.arrays import determinants
from matching._common.threads import run_in_ranges
from matching._common.types import Array, Float32s, Floats, Ints
from matching.features import _feature_kernels
from matching.features._feature_kernels import BINS, PATCH, SIDE
from matching.features.keypoints import CAMERA_BLUR, FIRST_BLUR

DESCRIBED_SHARE = 0.8  # share of a window's side that is described
MIN_PEAK_SHARE = 0.8  # smallest height of a further orientation, as a share of the highest peak
DESCRIPTOR_NORM = 2048  # descriptors are whole numbers, so that all products are exact in float32
# Places (2, SIDE * SIDE) of the samples, in units of half the side of a window. They extend one sample beyond
# each side.
GRID = (np.stack(np.meshgrid(*2 * [2 * np.arange(SIDE) - 1])).reshape(2, -1) / PATCH - 1).astype(np.float32)
# The shares of a sample in the 4 x 4 spatial bins are constant. Along each axis, it lies in two adjacent bins
# of six, of which the outer ones are outside the window.
_POSITION = (np.arange(PATCH) + 0.5) * 5 / PATCH
PLACES = np.floor(_POSITION).astype(np.int64)  # (PATCH,), the first of the two bins
SHARES = np.stack([1 - (_POSITION - PLACES), _POSITION - PLACES]).astype(np.float32)


@dataclass(frozen=True, eq=False)
class Pyramid:
    """Smoothed copies of an image, half an octave apart, in one flat array for the compiled loops."""

    pixels: Array  # (p,) float32, of all levels
    levels: Array  # (l, 4) float64, offset into `pixels`, height, width, image pixels per level pixel
    blur: Array  # (l,) float64, standard deviation of each level's blur, pixels of the image


def build_pyramid(grey: Array) -> Pyramid:
    """Smooth grey (h, w) uint8 to blurs of 0.8, 1.13, 1.6, ... pixels; after every second, halve the size."""
    images: list[Array] = []
    levels, blur = [], []
    image, step, offset = grey.astype(np.float32), 1, 0
    image = opencv.gaussian_blur(image, np.sqrt(FIRST_BLUR**2 - CAMERA_BLUR**2))
    while min(image.shape) >= 4 or not images:
        for k, sigma in enumerate((FIRST_BLUR, FIRST_BLUR * np.sqrt(2))):
            if k:
                image = opencv.gaussian_blur(image, FIRST_BLUR)  # 0.8^2 + 0.8^2 = 1.13^2
            images.append(image.ravel())
            levels.append((offset, *image.shape, step))
            blur.append(sigma * step)
            offset += image.size
        image = opencv.gaussian_blur(image, FIRST_BLUR * np.sqrt(2))[::2, ::2]
        step *= 2
    return Pyramid(np.concatenate(images), np.array(levels, float), np.array(blur))


def find_orientations(pyramid: Pyramid, xy: Floats, windows: Floats, n_peaks: int) -> Floats:
    """Find the highest peaks of each window's histogram of gradient directions: xy, windows -> (n, most).

    NaN stands for peaks below MIN_PEAK_SHARE times the highest one.
    """
    angles = np.empty((len(xy), n_peaks))
    weights = make_weights(0.5)

    def find(start: int, stop: int) -> None:
        rows = slice(start, stop)
        histograms = _make_histograms(pyramid, xy[rows], windows[rows], weights, 2 * (BINS + 2))
        halves = histograms.reshape(-1, 2, BINS + 2)
        halves[:, :, :2] += halves[:, :, BINS:]  # these bins are one turn later than the first two
        total = halves[:, 0, :BINS] + halves[:, 1, :BINS]
        angles[rows] = _find_peaks(np.roll(total, BINS // 2, axis=1), n_peaks)

    run_in_ranges(find, len(xy), 512)
    return angles


def _find_peaks(histograms: Array, n_peaks: int) -> Floats:
    """Find the angles of the highest peaks of smoothed circular histograms (n, BINS) -> (n, n_peaks)."""
    smooth = histograms.astype(np.float64)
    for _ in range(3):
        left, right = _neighbours(smooth)
        smooth = 0.25 * left + 0.5 * smooth + 0.25 * right
    left, right = _neighbours(smooth)
    peaks = np.where((smooth > left) & (smooth >= right), smooth, 0.0)
    min_height, rows = MIN_PEAK_SHARE * smooth.max(axis=1, initial=0.0), np.arange(len(smooth))
    angles = np.full((len(smooth), n_peaks), np.nan)
    for k in range(n_peaks):
        bins = peaks[rows].argmax(axis=1)
        high = peaks[rows, bins]
        is_peak = (high > 0) & (high >= min_height[rows])
        rows, bins, high = rows[is_peak], bins[is_peak], high[is_peak]
        before, after = left[rows, bins], right[rows, bins]
        places = bins + 0.5 * (before - after) / (before - 2 * high + after)
        angles[rows, k] = places * 2 * math.pi / BINS
        peaks[rows, bins] = 0.0
    return angles


def _neighbours(circular: Floats) -> tuple[Floats, Floats]:
    """Return the bins before and after each bin of circular histograms (n, BINS)."""
    padded = np.concatenate([circular[:, -1:], circular, circular[:, :1]], axis=1)
    return padded[:, :-2], padded[:, 2:]


def describe(pyramid: Pyramid, xy: Floats, windows: Floats, descriptor: str = "rootsift") -> Float32s:
    """Describe windows by SIFT or RootSIFT: xy (n, 2); windows (n, 2, 2) -> (n, 128) float32.

    The descriptor has 4 x 4 spatial bins of 8 directions (Lowe, IJCV 2004) over the inner four fifths of the
    window. "sift" clips the histogram at a fifth of its norm and normalises it again; "rootsift" takes the
    roots of the L1-normalised histogram (Arandjelovic and Zisserman, CVPR 2012).
    """
    out = np.empty((len(xy), 128), np.float32)
    weights = make_weights(0.8)

    def fill(start: int, stop: int) -> None:
        rows = slice(start, stop)
        bins = _make_histograms(pyramid, xy[rows], windows[rows], weights, 6 * 4 * 8).reshape(-1, 6, 32)
        out[rows] = _normalise(bins[:, 1:5].reshape(-1, 128).astype(np.float64), descriptor == "rootsift")

    run_in_ranges(fill, len(xy), 512)
    return out


def _normalise(histograms: Floats, root: bool) -> Floats:
    """Clip histograms (n, 128) at a fifth of their norm, or take roots; normalise them. Empty ones stay 0."""
    norm = np.sqrt(np.einsum("ij,ij->i", histograms, histograms))[:, None]
    clipped = np.minimum(histograms, 0.2 * norm)
    if root:
        total = clipped.sum(axis=1, keepdims=True)
        shares = np.sqrt(clipped / np.where(norm > 0, total, 1.0))
        return np.asarray(np.rint(DESCRIPTOR_NORM * shares))
    total = np.sqrt(np.einsum("ij,ij->i", clipped, clipped))[:, None]
    return np.asarray(np.rint(DESCRIPTOR_NORM * clipped / np.where(norm > 0, total, 1.0)))


def _make_histograms(
    pyramid: Pyramid, xy: Floats, windows: Floats, weights: Float32s, n_bins: int
) -> Float32s:
    """Make histograms (n, n_bins) of the gradients in windows (n, 2, 2), weighted by `make_weights`."""
    histograms = np.zeros((len(xy), n_bins), np.float32)
    xy, windows = np.ascontiguousarray(xy), np.ascontiguousarray(windows)
    levels, sampling = _choose_levels(pyramid, windows), (GRID, weights, SHARES, PLACES)
    buffers = np.empty(SIDE * SIDE, np.int32), np.zeros((6, SIDE * SIDE), np.float32)
    inputs = (pyramid.pixels, pyramid.levels), xy, windows, levels, sampling, buffers
    _feature_kernels.window_histograms(*inputs, histograms)
    return histograms


def make_weights(sigma: float) -> Float32s:
    """Make Gaussian weights of gradients in [-1, 1]^2, which are 0 to the right of it -> (PATCH * SIDE,)."""
    u = (2 * np.arange(PATCH) + 1) / PATCH - 1
    weights = np.zeros((PATCH, SIDE), np.float32)
    weights[:, :PATCH] = np.exp(-(u**2 + u[:, None] ** 2) / (2 * sigma * sigma))
    return weights.ravel()


def _choose_levels(pyramid: Pyramid, windows: Floats) -> Ints:
    """Choose the pyramid level whose blur is nearest to 1/24 of each window's side -> (n,) int64."""
    blur = 2 * np.sqrt(np.abs(determinants(windows))) / 24
    return np.asarray(np.abs(np.log(blur)[:, None] - np.log(pyramid.blur)).argmin(axis=1))
