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

CLEAR = 0.04  # contrast of a key point, as in Lowe's paper and OpenCV
LAYERS = 3  # layers per octave
FIRST_BLUR = 0.8  # blur of an octave's first image, in pixels of that image
CAMERA_BLUR = 0.5  # blur of the picture itself, pixels
EDGE = 10.0  # ratio of the curvatures across and along an edge above which the place is uncertain
# An extremum between pixels may be weaker at the pixels: the share of the contrast that is enough for a
# closer look, and by how much the adjacent layers may exceed the pixel.
LEAST_SHARE, SLACK = np.float32(0.6), np.float32(1.05)


@dataclass(frozen=True, eq=False)
class Keypoints:
    """Key points of one image, octave by octave, as aligned arrays."""

    xy: Array  # (n, 2) float64, pixels, (0, 0) the centre of the top-left pixel
    sigma: Array  # (n,) float64, the scale, pixels
    # (n,) float64, difference of Gaussians, grey levels; negative if brighter than the surroundings
    response: Array

    @property
    def contrast(self) -> Floats:
        """(n,) the response as a share of the grey levels, as in OpenCV."""
        return np.asarray(np.abs(self.response) * LAYERS / 255)


def dog_keypoints(grey: Array, contrast: float = CLEAR, n_threads: int = 1) -> Keypoints:
    """Find extrema of the differences of Gaussians of a grey image (h, w) uint8, over place and scale."""
    least: Any = np.float32(contrast * 255 / LAYERS)
    image = opencv.gaussian_blur(grey.astype(np.float32), np.sqrt(FIRST_BLUR**2 - CAMERA_BLUR**2))
    octaves, step = [np.empty((0, 4))], 1
    while min(image.shape) > 2 * MARGIN:
        dog, image = _differences(image)
        x, y, layer, response = octave_extrema(dog, least, n_threads).T
        sigma = FIRST_BLUR * step * 2 ** (layer / LAYERS)
        octaves.append(np.stack([x * step, y * step, sigma, response], axis=1))
        image, step = image[::2, ::2], 2 * step
    x, y, sigma, response = np.concatenate(octaves).T
    return Keypoints(np.stack([x, y], axis=1), sigma, response)


def _differences(image: Array) -> tuple[Float32s, Array]:
    """(LAYERS + 2, h, w) float32 differences of an octave's blurred images, and the next octave's image."""
    dog = np.empty((LAYERS + 2, *image.shape), np.float32)
    for k in range(len(dog)):
        blur = FIRST_BLUR * 2 ** (k / LAYERS)
        wider = opencv.gaussian_blur(image, blur * np.sqrt(4 ** (1 / LAYERS) - 1))
        np.subtract(wider, image, out=dog[k])
        image = wider
        if k == LAYERS - 1:
            doubled = image
    return dog, doubled


def octave_extrema(dog: Float32s, least: float, n_threads: int = 1) -> Floats:
    """Find the extrema of the differences of Gaussians of one octave: dog (l, h, w) float32 -> (n, 4).

    Extrema are sought among half pixels, interpolated from six pixels by Lagrange's formula. Their place and
    value are those of the vertex of the quadric through the 27 surrounding half pixels (Brown and Lowe, BMVC
    2002).
    """

    def of_layer(layer: int) -> tuple[Ints, Floats]:
        at = find_extrema(dog, layer, LEAST_SHARE * least)
        places, cubes = np.empty((len(at), 3), np.int64), np.empty((len(at), 27), np.float32)
        _keypoint_kernels.climb(dog, layer, at, np.empty(7, np.float32), places, cubes)
        sign = np.where(dog[layer, at[:, 0], at[:, 1]] > 0, 1.0, -1.0)
        reached = places[:, 0] >= 0
        rows, vertices = _fit_vertices(cubes[reached].reshape(-1, 3, 3, 3))
        places, sign = places[reached][rows], sign[reached][rows]
        peaks = np.column_stack(
            [
                (places[:, 2] + vertices[:, 0]) / 2,
                (places[:, 1] + vertices[:, 1]) / 2,
                places[:, 0] + vertices[:, 2],
                vertices[:, 3] * sign,
            ]
        )
        clear = vertices[:, 3] >= least
        return places[clear], peaks[clear]

    layers = zip(*map_in_threads(of_layer, range(1, len(dog) - 1), n_threads), strict=True)
    places, peaks = (np.concatenate(arrays) for arrays in layers)
    grid = len(dog), 2 * dog.shape[1], 2 * dog.shape[2]
    numbers = np.asarray(np.ravel_multi_index(tuple(places.T), grid))
    distinct: Floats = peaks[np.unique(numbers, return_index=True)[1]]  # several pixels may lead to the same
    return distinct


def find_extrema(dog: Float32s, layer: int, least: Any, slack: Any = SLACK) -> Ints:
    """Find the extrema among the pixels of a layer: dog (l, h, w) float32 -> y, x (n, 2).

    Their absolute value is above `least` and at least that of their eight neighbours; `slack` times the value
    is at least that of the nine pixels in each adjacent layer.
    """
    inside = slice(MARGIN, -MARGIN)
    highest, lowest = (limits[inside, inside] for limits in opencv.neighbourhood_limits(dog[layer]))
    middle = dog[layer, inside, inside]
    is_extremum = (middle > least) & (middle >= highest) | (middle < -least) & (middle <= lowest)
    y, x = (places + MARGIN for places in np.nonzero(is_extremum))
    value = dog[layer, y, x]
    sign = np.sign(value)
    bound, kept = value * sign * slack, np.ones(len(y), bool)
    for beside in (dog[layer - 1], dog[layer + 1]):
        for b in (-1, 0, 1):
            for c in (-1, 0, 1):
                kept &= beside[y + b, x + c] * sign <= bound
    return np.stack([y[kept], x[kept]], axis=1)


def _fit_vertices(cubes: Float32s) -> tuple[Ints, Floats]:
    """Fit quadrics to cubes (n, 3, 3, 3), by layer, row and column.

    Returns the rows (m,) of those whose vertex is near and not on an edge, that is, whose curvatures in the
    layer have one sign, and neither is EDGE times the other; and x, y, layer and value (m, 4) of the vertex.
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
    is_peak = (determinant != 0) & (in_layer > 0) & ((xx + yy) ** 2 * EDGE < (EDGE + 1) ** 2 * in_layer)
    determinant = np.where(is_peak, determinant, 1.0)
    x = -(minor_x * gx + minor_y * gy + minor_s * gs) / determinant
    y = -(minor_y * gx + (xx * ss - xs * xs) * gy + mixed * gs) / determinant
    s = -(minor_s * gx + mixed * gy + in_layer * gs) / determinant
    value = c[1, 1, 1] + (gx * x + gy * y + gs * s) / 2
    rows = np.flatnonzero(is_peak & (np.abs(x) <= 1) & (np.abs(y) <= 1) & (np.abs(s) <= 1))
    return rows, np.stack([x, y, s, value], axis=1)[rows]
