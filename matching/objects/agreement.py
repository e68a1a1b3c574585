"""Where two pictures of the same size show the same print, pixel by pixel.

A and B are small pictures that a map has aligned.
"""

import numpy as np

from matching._common import opencv
from matching._common.types import Array, Bools, Floats

FINE_WINDOW = 2.0  # pixels: the window in which print is compared
NOISE_VARIANCE = 4.0  # of grey values
MIN_VARIANCE = 16.0  # of grey values that are print: at 6, 12 and 25, the same of 757 objects are whole


def correlate_in_place(a: Floats, b: Floats) -> tuple[Floats, Bools]:
    """Correlate the print of exactly aligned pictures (h, w) -> (h, w), and whether there is any (h, w)."""
    (mean_a, unit_a), (mean_b, unit_b) = _standardise(a, FINE_WINDOW), _standardise(b, FINE_WINDOW)
    return (blur(a * b, FINE_WINDOW) - mean_a * mean_b) * unit_a * unit_b, ~find_flat(a, b)


def find_flat(a: Floats, b: Floats) -> Bools:
    """Find where neither of two grey pictures has any print: a, b (h, w) float -> (h, w) bool."""
    variances = (_measure_moments(picture, FINE_WINDOW)[1] for picture in (a, b))
    return np.asarray(np.maximum(*variances) < MIN_VARIANCE)


def lay_grid(box: Floats, side: int) -> Floats:
    """Lay points (h, w, 2) in a box (2, 2): the middles of equal squares, `side` along the longer side."""
    size = np.ptp(box, axis=0)
    width, height = np.maximum(np.rint(size * side / size.max()), 8).astype(int).tolist()
    rows, columns = np.indices((height, width))
    return np.asarray(box[0] + (np.stack([columns, rows], axis=2) + 0.5) * size / (width, height))


def shrink(rgb: Array, xy: Floats, zoom: float) -> Floats:
    """Sample the colours (h, w, 3) float32 of a picture at pixels (h, w, 2) that are `zoom` apart."""
    margin = 2 * max(zoom, 1.0)
    size = np.array(rgb.shape[1::-1])
    low = np.clip(np.floor(xy.min(axis=(0, 1)) - margin), 0, size - 1).astype(int)
    high = np.clip(np.ceil(xy.max(axis=(0, 1)) + margin), low + 1, size).astype(int)
    part, xy = np.ascontiguousarray(rgb[low[1] : high[1], low[0] : high[0]]), xy - low
    if zoom > 1:
        small = np.maximum(np.rint((high - low) / zoom), 1)
        xy = (xy + 0.5) * small / (high - low) - 0.5
        part = opencv.resize_area(part, *small.astype(int).tolist())
    return opencv.sample(part, xy).astype(np.float32)


def to_grey(rgb: Floats) -> Floats:
    """Compute the mean of the channels (h, w)."""
    return np.asarray(rgb.mean(axis=2))


def blur(values: Floats, sigma: float) -> Floats:
    """Smooth a picture (h, w) or (h, w, n) by a Gaussian."""
    return np.asarray(opencv.gaussian_blur(values, sigma))


def _standardise(values: Floats, sigma: float) -> tuple[Floats, Floats]:
    """Compute the mean and the inverse of the standard deviation in the window around each pixel."""
    mean, variance = _measure_moments(values, sigma)
    return mean, 1 / np.sqrt(variance + NOISE_VARIANCE)


def _measure_moments(values: Floats, sigma: float) -> tuple[Floats, Floats]:
    """Compute the mean and the variance in the window around each pixel."""
    mean = blur(values, sigma)
    return mean, np.maximum(blur(values * values, sigma) - mean**2, 0)
