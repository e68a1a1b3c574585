"""Difference-of-Gaussian key points (Lowe, Distinctive image features from scale-invariant keypoints, IJCV
2004).

Lowe first doubles the image, because extrema among pixels are unstable at its finest scales. Here, only the
surroundings of each extremum are doubled, by interpolation, which is as stable for a fraction of the work.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from matching._common import opencv
from matching._common.threads import map_in_threads
from matching._common.types import Array, Float32s, Floats, Ints
from matching.features import _keypoint_kernels
from matching.features._keypoint_kernels import MARGIN

CLEAR_CONTRAST = 0.04  # smallest contrast of a clear key point, as in Lowe's paper and OpenCV
N_LAYERS = 3  # layers of an octave
FIRST_BLUR = 0.8  # pixels of an octave's first image, the blur of that image
CAMERA_BLUR = 0.5  # pixels, blur of the picture itself
# ratio of curvatures across and along an edge above which the place along it is uncertain
MAX_EDGE_RATIO = 10.0
# An extremum between pixels may be weaker at the nearest pixel. This share of the response suffices there,
# and adjacent layers may exceed the pixel by this factor.
MIN_PIXEL_SHARE, LAYER_SLACK = np.float32(0.6), np.float32(1.05)


@dataclass(frozen=True, eq=False)
class Keypoints:
    """Key points of one image, octave by octave, as aligned arrays."""

    xy: Array  # (n, 2) float64, pixels, (0, 0) the centre of the top-left pixel
    sigma: Array  # (n,) float64, the scale, pixels
    # (n,) float64, difference of Gaussians, grey levels; negative if brighter than the surroundings
    response: Array

    @property
    def contrast(self) -> Floats:
        """(n,) float64: the response as a share of the grey levels, as in OpenCV."""
        return np.asarray(np.abs(self.response) * N_LAYERS / 255)


def dog_keypoints(grey: Array, contrast: float = CLEAR_CONTRAST) -> Keypoints:
    """Find extrema of the differences of Gaussians of a grey image (h, w) uint8, over place and scale."""
    min_response: Any = np.float32(contrast * 255 / N_LAYERS)
    image = opencv.gaussian_blur(grey.astype(np.float32), np.sqrt(FIRST_BLUR**2 - CAMERA_BLUR**2))
    octaves, step = [np.empty((0, 4))], 1
    while min(image.shape) > 2 * MARGIN:
        dog, image = _differences(image)
        x, y, layer, response = octave_extrema(dog, min_response).T
        sigma = FIRST_BLUR * step * 2 ** (layer / N_LAYERS)
        octaves.append(np.stack([x * step, y * step, sigma, response], axis=1))
        image, step = image[::2, ::2], 2 * step
    x, y, sigma, response = np.concatenate(octaves).T
    return Keypoints(np.stack([x, y], axis=1), sigma, response)


def _differences(image: Array) -> tuple[Float32s, Array]:
    """Compute differences (N_LAYERS + 2, h, w) of an octave's blurred images, and the next octave's image."""
    dog = np.empty((N_LAYERS + 2, *image.shape), np.float32)
    for k in range(len(dog)):
        blur = FIRST_BLUR * 2 ** (k / N_LAYERS)
        wider = opencv.gaussian_blur(image, blur * np.sqrt(4 ** (1 / N_LAYERS) - 1))
        np.subtract(wider, image, out=dog[k])
        image = wider
        if k == N_LAYERS - 1:
            doubled = image
    return dog, doubled


def octave_extrema(dog: Float32s, min_response: float) -> Floats:
    """Find the extrema of the differences of Gaussians of one octave: dog (l, h, w) float32 -> (n, 4).

    The columns are x, y, layer and response. Extrema are sought among half pixels, which are interpolated
    from six pixels by Lagrange's formula. Place and value are those of the vertex of the quadric through the
    27 surrounding half pixels (Brown and Lowe, BMVC 2002).
    """

    def find_in_layer(layer: int) -> tuple[Ints, Floats]:
        pixels = find_extrema(dog, layer, MIN_PIXEL_SHARE * min_response)
        half_pixels, cubes = np.empty((len(pixels), 3), np.int64), np.empty((len(pixels), 27), np.float32)
        _keypoint_kernels.climb(dog, layer, pixels, np.empty(7, np.float32), half_pixels, cubes)
        sign = np.where(dog[layer, pixels[:, 0], pixels[:, 1]] > 0, 1.0, -1.0)
        is_found = half_pixels[:, 0] >= 0
        rows, vertices = _fit_vertices(cubes[is_found].reshape(-1, 3, 3, 3))
        half_pixels, sign = half_pixels[is_found][rows], sign[is_found][rows]
        peaks = np.column_stack(
            [
                (half_pixels[:, 2] + vertices[:, 0]) / 2,
                (half_pixels[:, 1] + vertices[:, 1]) / 2,
                half_pixels[:, 0] + vertices[:, 2],
                vertices[:, 3] * sign,
            ]
        )
        is_clear = vertices[:, 3] >= min_response
        return half_pixels[is_clear], peaks[is_clear]

    layers = zip(*map_in_threads(find_in_layer, range(1, len(dog) - 1)), strict=True)
    half_pixels, peaks = (np.concatenate(arrays) for arrays in layers)
    grid = len(dog), 2 * dog.shape[1], 2 * dog.shape[2]
    numbers = np.asarray(np.ravel_multi_index(tuple(half_pixels.T), grid))
    first = np.unique(numbers, return_index=True)[1]  # several pixels may lead to the same extremum
    extrema: Floats = peaks[first]
    return extrema


def find_extrema(dog: Float32s, layer: int, threshold: Any, slack: Any = LAYER_SLACK) -> Ints:
    """Find the extrema among the pixels of a layer: dog (l, h, w) float32 -> y, x (n, 2).

    Their absolute value is above `threshold` and at least that of their eight neighbours. `slack` times the
    value is at least that of the nine pixels in each adjacent layer.
    """
    inside = slice(MARGIN, -MARGIN)
    highest, lowest = (limits[inside, inside] for limits in opencv.neighbourhood_limits(dog[layer]))
    middle = dog[layer, inside, inside]
    is_extremum = (middle > threshold) & (middle >= highest) | (middle < -threshold) & (middle <= lowest)
    y, x = (places + MARGIN for places in np.nonzero(is_extremum))
    value = dog[layer, y, x]
    sign = np.sign(value)
    bound, is_kept = value * sign * slack, np.ones(len(y), bool)
    for layer_beside in (dog[layer - 1], dog[layer + 1]):
        for b in (-1, 0, 1):
            for c in (-1, 0, 1):
                is_kept &= layer_beside[y + b, x + c] * sign <= bound
    return np.stack([y[is_kept], x[is_kept]], axis=1)


def _fit_vertices(cubes: Float32s) -> tuple[Ints, Floats]:
    """Fit quadrics to cubes (n, 3, 3, 3), by layer, row and column.

    Returns the rows (m,) of the cubes whose vertex is near and not on an edge, and x, y, layer and value
    (m, 4) of their vertices. A vertex is not on an edge if its curvatures in the layer have the same sign,
    and neither is MAX_EDGE_RATIO times the other.
    """
    c = np.moveaxis(cubes, 0, -1)
    middle = 2 * c[1, 1, 1].astype(np.float64)
    gx, gy, gs = (
        (high - low).astype(np.float64) / 2
        for high, low in ((c[1, 1, 2], c[1, 1, 0]), (c[1, 2, 1], c[1, 0, 1]), (c[2, 1, 1], c[0, 1, 1]))
    )
    xx, yy, ss = (
        c[1, 1, 2] + c[1, 1, 0] - middle,
        c[1, 2, 1] + c[1, 0, 1] - middle,
        c[2, 1, 1] + c[0, 1, 1] - middle,
    )
    xy = (c[1, 2, 2] - c[1, 2, 0] - c[1, 0, 2] + c[1, 0, 0]).astype(np.float64) / 4
    xs = (c[2, 1, 2] - c[2, 1, 0] - c[0, 1, 2] + c[0, 1, 0]).astype(np.float64) / 4
    ys = (c[2, 2, 1] - c[2, 0, 1] - c[0, 2, 1] + c[0, 0, 1]).astype(np.float64) / 4
    minor_x, minor_y, minor_s = yy * ss - ys * ys, xs * ys - xy * ss, xy * ys - xs * yy
    in_layer, mixed = xx * yy - xy * xy, xy * xs - xx * ys
    determinant = xx * minor_x + xy * minor_y + xs * minor_s
    is_on_edge = (xx + yy) ** 2 * MAX_EDGE_RATIO >= (MAX_EDGE_RATIO + 1) ** 2 * in_layer
    is_peak = (determinant != 0) & (in_layer > 0) & ~is_on_edge
    determinant = np.where(is_peak, determinant, 1.0)
    x = -(minor_x * gx + minor_y * gy + minor_s * gs) / determinant
    y = -(minor_y * gx + (xx * ss - xs * xs) * gy + mixed * gs) / determinant
    s = -(minor_s * gx + mixed * gy + in_layer * gs) / determinant
    value = c[1, 1, 1] + (gx * x + gy * y + gs * s) / 2
    rows = np.flatnonzero(is_peak & (np.abs(x) <= 1) & (np.abs(y) <= 1) & (np.abs(s) <= 1))
    return rows, np.stack([x, y, s, value], axis=1)[rows]
