"""What is unlike in two registered pictures, over the noise of the pair.

Light is white and smooth, print is neither: picture A in the light of picture B is

    B(p) = t (g(p) A(p) + o(p)) + noise,

with one gain and offset for all channels, planes over the whole, then smooth fields; t is the tint of each
channel. The pair is its own null: what registration leaves is proportional to the gradient of the print, so
the noise is a quantile of the residual in classes of the gradient.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from matching._common import opencv
from matching._common.threads import run_in_ranges
from matching._common.types import Array, Bools, Float32s
from matching.agreement._residual_kernels import measure_unlike
from matching.agreement.closeup import Closeup
from matching.agreement.glare import find_glare, has_step
from matching.agreement.grid import to_grey
from matching.agreement.registration import equalise_sharpness

SAMPLES = 4000  # pixels to which the light is fitted
ITERATIONS = 8  # of reweighted least squares
MIN_SPREAD, ROBUSTNESS = 2.0, 2.0  # grey values; spreads beyond which pixels count less
# How strongly the gain is drawn towards 1, and its planes to 0: a page that is nearly white has any gain.
PRIOR = 0.01 * np.array([1, 1, 1, 1e-4, 1e-2, 1e-2])
MAX_TINT = 0.2  # lamps tint by less
CHROMA = 2.0  # pixels, standard deviation: pictures have colour at half the resolution of brightness
SMOOTHING = 0.8  # pixels, standard deviation: noise of single pixels
LIGHT = 14.0  # pixels, standard deviation of the window in which light is even
LIGHT_VARIANCE = 60.0  # of grey values, the print from which on the gain of a window is its own
MAX_GAIN = 2.0  # of a window
STRIP = 128  # rows that are compared at a time
N_CLASSES = 12  # of gradients
QUANTILE, MAX_RATIO = 0.9, 5.0  # of the residual: the noise is this quantile, but at most so many medians
NOISE_STEP = 2  # pixels between those that tell the noise: neighbours have nearly the same
MIN_NOISE = 2.5  # grey values
MAX_UNLIKE = 12.0  # times the noise: more says no more


@dataclass(frozen=True, eq=False)
class Residual:
    """What is unlike.

    Parameters
    ----------
    unlike : (h, w) float32
        The residual over the noise.
    off : (h, w) float32
        How far the colours of both pictures lie apart in one light, grey values.
    relief : (h, w) float32
        How far the print of either picture stands out of its surroundings, grey values.
    noise : (h, w) float32
        The noise, grey values.
    grey : (h, w) float32
        Grey values of the base without those of its surroundings.
    hidden : (h, w) bool
        Where glare hides print.
    is_stepped : bool
        Whether light took something off that it can't explain.
    blurs : pair of float
        By how much base and other were blurred to be equally sharp, standard deviations in pixels.
    """

    unlike: Float32s
    off: Float32s
    relief: Float32s
    noise: Float32s
    grey: Float32s
    hidden: Bools
    is_stepped: bool
    blurs: tuple[float, float]


def measure_residual(pair: Closeup) -> Residual:
    """Compare two registered pictures."""
    use = pair.matched
    _, _, blurs = equalise_sharpness(to_grey(pair.base), to_grey(pair.other), use)
    # where not both show something, they are made equal, as what lies there is blurred into what both show
    shown = np.where(pair.seen[..., None], pair.other, pair.base)
    base, other = (_soften(colours, blur) for colours, blur in zip((pair.base, shown), blurs, strict=True))
    base = _relight(base, other, use)
    hidden = find_glare((pair.base, pair.other), (base, other), pair.use)
    is_stepped = has_step((base, other), pair.use & ~hidden)
    gradient = np.minimum(
        *(opencv.neighbourhood_limits(opencv.gradient(to_grey(c)))[0] for c in (base, other))
    )
    off = np.maximum.reduce([np.abs(base[..., k] - other[..., k]) for k in range(3)])
    base, other, gains = _level(base, other, pair.use)
    unlike = np.empty(use.shape, np.float32)

    def compare(start: int, stop: int) -> None:
        rows = np.s_[max(start - 1, 0) : stop + 1]
        around = (0, 0), (int(start == 0), int(stop == len(unlike))), (1, 1)
        one, two, gain0, gain1 = (v[rows] for v in (base, other, *gains))
        lit = (one * gain0[..., None], two), (one, two * gain1[..., None])
        both = np.empty((2, stop - start, use.shape[1]), np.float32)
        for out, pictures in zip(both, lit, strict=True):
            measure_unlike(*(np.pad(np.moveaxis(c, 2, 0), around, "edge") for c in pictures), out)
        unlike[start:stop] = both.min(axis=0)

    run_in_ranges(compare, len(unlike), STRIP)
    noise = _measure_noise(unlike, gradient, use)
    relief = np.maximum.reduce([np.abs(c[..., k]) for c in (base, other) for k in range(3)])
    unlike = np.where(hidden, 0, np.minimum(unlike / noise, MAX_UNLIKE))
    return Residual(unlike, off, relief, noise, to_grey(base), hidden & pair.use, is_stepped, blurs)


def _soften(colours: Float32s, blur: float) -> Float32s:
    """Blur colours (h, w, 3), and what is not grey in them farther."""
    blurred = opencv.gaussian_blur(colours, math.hypot(blur, SMOOTHING))
    grey = to_grey(blurred)[..., None]
    return np.asarray(grey + opencv.coarse_blur(blurred - grey, CHROMA))


def _relight(a: Float32s, b: Float32s, use: Bools) -> Float32s:
    """A in the light of B (h, w, 3)."""
    height, width = use.shape
    rows, columns = np.nonzero(use)
    step = max(len(rows) // SAMPLES, 1)
    rows, columns = rows[::step], columns[::step]

    def list_terms(level: Array, y: Array, x: Array) -> Array:
        x, y, level = (
            x / np.float32(width) - np.float32(0.5),
            y / np.float32(height) - np.float32(0.5),
            level / 100,
        )
        ones = np.ones_like(level)
        return np.stack([level, level * x, level * y, ones, x * ones, y * ones], axis=-1)

    terms = list_terms(a[rows, columns].mean(axis=1), rows, columns).astype(float)
    target = b[rows, columns].mean(axis=1).astype(float)
    weight, planes, prior = np.ones(len(target)), np.zeros(6), np.array([100.0, 0, 0, 0, 0, 0])
    drawn = len(target) * PRIOR
    for _ in range(ITERATIONS):
        normal = (terms.T * weight) @ terms + np.diag(drawn + 1e-6 * len(target))
        planes = np.linalg.solve(normal, (terms.T * weight) @ target + drawn * prior)
        off = target - terms @ planes
        spread = max(1.48 * float(np.median(np.abs(off))), MIN_SPREAD)
        weight = 1 / (1 + (off / (ROBUSTNESS * spread)) ** 2)
    y, x = np.arange(height, dtype=np.float32)[:, None], np.arange(width, dtype=np.float32)
    one = np.ones((height, width), np.float32)
    x, y = x / width - 0.5, y / height - 0.5
    g, gx, gy, o, ox, oy = planes.astype(np.float32)
    gain, offset = (g + gx * x + gy * y) / 100 * one, (o + ox * x + oy * y) * one
    lit: Float32s = a * gain[..., None] + offset[..., None]
    # bright pixels and those that light explains tell the tint
    product = (weight[:, None] * lit[rows, columns] * b[rows, columns]).sum(axis=0)
    square = (weight[:, None] * lit[rows, columns] ** 2).sum(axis=0)
    tint = np.clip(product / np.maximum(square, 1), 1 - MAX_TINT, 1 + MAX_TINT)
    return np.asarray(lit * tint, np.float32)


def _level(a: Float32s, b: Float32s, use: Bools) -> tuple[Float32s, Float32s, tuple[Float32s, Float32s]]:
    """Take the local mean grey off A and B (h, w, 3); also the gains (h, w) that lay each on the other."""
    weight = use.astype(np.float32)
    total = opencv.coarse_blur(weight, LIGHT) + 1e-3

    def take_mean_off(c: Float32s) -> Float32s:
        return np.asarray(c - (opencv.coarse_blur(to_grey(c) * weight, LIGHT) / total)[..., None], np.float32)

    a, b = take_mean_off(a), take_mean_off(b)

    def sum_up(products: Float32s) -> Float32s:
        summed = opencv.coarse_blur(3 * to_grey(products) * weight, LIGHT) / total + LIGHT_VARIANCE
        return np.asarray(summed, np.float32)

    product = sum_up(a * b)
    gains = [np.clip(product / sum_up(c * c), 1 / MAX_GAIN, MAX_GAIN) for c in (a, b)]
    return a, b, (gains[0], gains[1])


def _measure_noise(unlike: Float32s, gradient: Float32s, use: Bools) -> Float32s:
    """The noise (h, w) that pixels with such a gradient have."""
    some = np.s_[::NOISE_STEP, ::NOISE_STEP]
    level, off = (values[some][use[some]] for values in (gradient, unlike))
    edges = np.quantile(level, np.linspace(0, 1, N_CLASSES + 1))
    middles, noise = np.empty((2, N_CLASSES))
    for k in range(N_CLASSES):
        of_class = (level >= edges[k]) & (level <= edges[k + 1])
        high, median = np.quantile(off[of_class], [QUANTILE, 0.5])
        middles[k], noise[k] = level[of_class].mean(), min(high, MAX_RATIO * median)
    # more noise at a lower gradient is what differs there
    noise = np.maximum(np.minimum.accumulate(noise[::-1])[::-1], MIN_NOISE)
    return np.interp(gradient, middles, noise).astype(np.float32)
