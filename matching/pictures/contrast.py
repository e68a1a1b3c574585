"""Conversion of pixels of any type to 8 bits, so that the content of a picture is visible."""

import math

import numpy as np

from matching._common import opencv
from matching._common.types import Array, Bools, Floats

SAMPLE = 4_000_000  # evenly spaced values from which percentiles of larger pictures are computed
LUMA = np.array([0.299, 0.587, 0.114], np.float32)  # weights of red, green and blue (ITU-R BT.601)
FLAT = 128  # grey levels: pictures that span fewer are stretched to span all
OUTSIDE = 1e-4  # share of the pixels at either end of the greys that the stretched range leaves out
BLOCK = 4_000_000  # values stretched at a time
DISTINCT = 32  # fewest different values of a picture, besides a fill value
ONE_COLOUR = 16  # grey values that a drawing in one colour may span
SHAPE = 0.9  # least share of the opaque pixels with these values, because edges may be blended


def to_eight_bits(array: Array, mask: Bools | None = None) -> Array:
    """Convert real numbers to 8 bits: array (h, w) or (h, w, 3); mask (h, w) bool."""
    if array.dtype == np.uint8:
        return array
    low, high = _range(array, mask)
    if array.dtype == np.uint16:
        return _stretch(np.arange(2**16), low, high)[array]
    eight = np.empty(array.shape, np.uint8)
    rows = max(BLOCK * len(array) // array.size, 1)
    for top in range(0, len(array), rows):
        eight[top : top + rows] = _stretch(array[top : top + rows], low, high)
    return eight


def _stretch(values: Array, low: float, high: float) -> Array:
    values = values.astype(np.float32 if values.dtype == np.float32 else np.float64)
    values[~np.isfinite(values)] = low
    with np.errstate(over="ignore"):  # values near the type's maximum become white
        values -= low
        values *= 255 / max(high - low, 1e-30)
    return np.rint(np.clip(values, 0, 255, out=values), out=values).astype(np.uint8)


def _range(array: Array, mask: Bools | None) -> tuple[float, float]:
    step = math.ceil(math.sqrt(array.size / SAMPLE))
    values = array[::step, ::step]
    is_shown = np.isfinite(values)
    if mask is not None:
        is_shown &= mask[::step, ::step].reshape(*values.shape[:2], *[1] * (values.ndim - 2))
    values = values[is_shown]
    values = _drop_fill(values.astype(np.float64))
    if not len(values):
        return 0.0, 0.0
    low, high = np.percentile(values, [0.1, 99.9])
    return (low, high) if high > low else (values.min(), values.max())


def _drop_fill(values: Floats) -> Floats:
    """Values (n,) without the value that fills a picture where it has no data."""
    while len(values):
        low, high = values.min(), values.max()
        inner = values[(values > low) & (values < high)]
        if len(np.unique(inner[:: max(len(inner) // SAMPLE, 1)][: 64 * DISTINCT])) < DISTINCT:
            break
        least, most = inner.min(), inner.max()
        if least - low > high - least:
            values = values[values > low]
        elif high - most > most - low:
            values = values[values < high]
        else:
            break
    return values


def raise_contrast(grey: Array, rgb: Array, mask: Bools | None = None) -> Array:
    """Raise the contrast of a flat picture for detectors with fixed thresholds -> (h, w) uint8."""
    counts = opencv.histogram(grey, mask)
    low, high = (
        int(np.argmax(np.cumsum(ordered) > OUTSIDE * counts.sum())) for ordered in (counts, counts[::-1])
    )
    if not 0 < 255 - high - low < FLAT:
        return grey
    raised = np.empty_like(grey)
    rows = max(BLOCK // grey.shape[1], 1)
    for top in range(0, len(grey), rows):
        raised[top : top + rows] = _stretch(rgb[top : top + rows] @ LUMA, low, 255 - high)
    return raised


def has_one_colour(rgb: Array, mask: Bools) -> bool:
    """Whether a picture is a drawing in one colour whose shape is opaque: rgb (h, w, 3); mask (h, w)."""
    shades = opencv.luma(rgb)[mask]
    return len(shades) > 0 and bool(np.mean(np.abs(shades - np.median(shades)) <= ONE_COLOUR / 2) >= SHAPE)


def draw_shape(colours: Array, opacity: Array, full: float) -> Array:
    """Draw a picture in one colour on a contrasting ground: colours (h, w) or (h, w, 3); opacity (h, w)."""
    own = np.clip(np.nan_to_num(colours), 0, full) / full
    share = np.clip(opacity, 0, full) / full
    ground = 0.0 if np.median(own[share >= 0.5]) >= 0.5 else 1.0
    own, share = (values.reshape(*opacity.shape, -1) for values in (own, share))
    mixed = np.rint(255 * (own * share + ground * (1 - share))).astype(np.uint8)
    return np.repeat(mixed, 3 // mixed.shape[2], axis=2)
