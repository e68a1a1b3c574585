"""Conversion of pixels of any type to 8 bits, so that the content of a picture is visible."""

import math

import numpy as np

from matching._common import opencv
from matching._common.types import Array, Bools, Floats

MAX_SAMPLE = 4_000_000  # evenly spaced values from which percentiles of larger pictures are computed
LUMA = np.array([0.299, 0.587, 0.114], np.float32)  # weights of red, green and blue (ITU-R BT.601)
MIN_LEVELS = 128  # grey levels: pictures that span fewer are stretched to span all
TAIL_SHARE = 1e-4  # of the pixels, at either end of the greys, that the stretched range leaves out
MIN_DISTINCT = 32  # different values of a picture, besides a fill value
MAX_DRAWING_LEVELS = 16  # grey levels that a drawing in one colour may span
MIN_DRAWING_SHARE = 0.9  # of the opaque pixels, with these levels, because edges may be blended


def to_eight_bits(array: Array, mask: Bools | None = None) -> Array:
    """Convert real numbers to 8 bits: array (h, w) or (h, w, 3); mask (h, w) bool."""
    if array.dtype == np.uint8:
        return array
    low, high = _find_range(array, mask)
    if array.dtype == np.uint16:
        return _stretch(np.arange(2**16), low, high)[array]
    return _stretch(array, low, high)


def _stretch(values: Array, low: float, high: float) -> Array:
    """Map values of any shape linearly to uint8: low to 0, high to 255; those that are not finite to 0."""
    values = values.astype(np.float32 if values.dtype == np.float32 else np.float64)
    values[~np.isfinite(values)] = low
    with np.errstate(over="ignore"):  # values near the type's maximum become white
        values -= low
        values *= 255 / max(high - low, 1e-30)
    return np.rint(np.clip(values, 0, 255, out=values), out=values).astype(np.uint8)


def _find_range(array: Array, mask: Bools | None) -> tuple[float, float]:
    """Find the values that become black and white, from what the mask (h, w) shows."""
    step = math.ceil(math.sqrt(array.size / MAX_SAMPLE))
    values = array[::step, ::step]
    is_shown = np.isfinite(values)
    if mask is not None:
        is_shown &= mask[::step, ::step].reshape(*values.shape[:2], *[1] * (values.ndim - 2))
    values = _drop_fill(values[is_shown].astype(np.float64))
    if not len(values):
        return 0.0, 0.0
    low, high = np.percentile(values, [0.1, 99.9])
    return (low, high) if high > low else (values.min(), values.max())


def _drop_fill(values: Floats) -> Floats:
    """Drop from values (n,) those that fill a picture where it has no data."""
    while len(values):
        low, high = values.min(), values.max()
        inner = values[(values > low) & (values < high)]
        sample = inner[:: max(len(inner) // MAX_SAMPLE, 1)][: 64 * MIN_DISTINCT]
        if len(np.unique(sample)) < MIN_DISTINCT:
            break
        if inner.min() - low > high - inner.min():
            values = values[values > low]
        elif high - inner.max() > inner.max() - low:
            values = values[values < high]
        else:
            break
    return values


def raise_contrast(grey: Array, rgb: Array, mask: Bools | None = None) -> Array:
    """Raise the contrast of a flat picture for detectors with fixed thresholds -> (h, w) uint8."""
    counts = opencv.histogram(grey, mask)
    low, high = (
        int(np.argmax(np.cumsum(ordered) > TAIL_SHARE * counts.sum())) for ordered in (counts, counts[::-1])
    )
    if not 0 < 255 - high - low < MIN_LEVELS:
        return grey
    return _stretch(rgb @ LUMA, low, 255 - high)


def has_one_colour(rgb: Array, mask: Bools) -> bool:
    """Test whether a picture is a drawing in one colour whose shape is opaque: rgb (h, w, 3); mask (h, w)."""
    shades = opencv.luma(rgb)[mask]
    if not len(shades):
        return False
    is_common = np.abs(shades - np.median(shades)) <= MAX_DRAWING_LEVELS / 2
    return bool(is_common.mean() >= MIN_DRAWING_SHARE)


def draw_shape(colours: Array, opacity: Array, full: float) -> Array:
    """Draw a picture in one colour on a contrasting ground: colours (h, w) or (h, w, 3); opacity (h, w)."""
    ink = np.clip(np.nan_to_num(colours), 0, full) / full
    share = np.clip(opacity, 0, full) / full
    ground = 0.0 if np.median(ink[share >= 0.5]) >= 0.5 else 1.0
    ink, share = (values.reshape(*opacity.shape, -1) for values in (ink, share))
    mixed = np.rint(255 * (ink * share + ground * (1 - share))).astype(np.uint8)
    return np.repeat(mixed, 3 // mixed.shape[2], axis=2)
