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
    while min(image.shape) > 2 * _keypoint_kernels.MARGIN:
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
        at = _keypoint_kernels.layer_extrema(dog, layer, LEAST_SHARE * least, SLACK)
        places, peaks = np.empty((len(at), 3), np.int64), np.empty((len(at), 4))
        n = _keypoint_kernels.refine(dog, layer, at, least, EDGE, places, peaks)
        return places[:n], peaks[:n]

    layers = zip(*map_in_threads(of_layer, range(1, len(dog) - 1), n_threads), strict=True)
    places, peaks = (np.concatenate(arrays) for arrays in layers)
    grid = len(dog), 2 * dog.shape[1], 2 * dog.shape[2]
    numbers = np.asarray(np.ravel_multi_index(tuple(places.T), grid))
    distinct: Floats = peaks[np.unique(numbers, return_index=True)[1]]  # several pixels may lead to the same
    return distinct
