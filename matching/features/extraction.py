"""Local features: MSER regions and SIFT key points, one record for both.

Notation: a feature has a centre x (2,) and a frame A (2, 2); A takes the unit circle to the feature's
region, its first column pointing along the dominant orientation. Pixels, x to the right, y down, (0, 0) the
centre of the top-left pixel.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields

import numpy as np

from matching import _opencv
from matching.errors import InputError, check_at_least
from matching.features import _feature_kernels
from matching.features.keypoints import dog_keypoints
from matching.features.thinning import strongest_everywhere
from matching.threads import in_ranges

KINDS = ("mser", "sift")
DESCRIPTORS = ("rootsift", "sift")
ORIENTATION_WINDOW = 4.5  # half side over a key point's sigma, of the window that tells its orientation
DESCRIPTOR_NORM = 2048  # of a descriptor: whole numbers, so that all products are exact in float32


@dataclass(frozen=True)
class FeatureConfig:
    """Settings of the detectors and of the descriptor.

    max_features : of each kind in a picture. The photographs that this was tried on have up to 17,000, fine
        textures such as printed dots 100,000, and matching takes time and memory with its square.
    """

    regions: tuple[str, ...] = KINDS
    max_features: int = 20_000
    mser_delta: int = 3
    mser_min_area: int = 30  # pixels
    mser_max_area: float = 0.1  # share of the image
    mser_max_variation: float = 0.4
    mser_window: float = 3.0  # half side of the described window over the ellipse's radius
    mser_orientations: int = 2
    mser_cell: float = 0.2  # nested regions this alike count once (centres apart over the radius); 0: all
    sift_contrast: float = 0.04
    sift_orientations: int = 2
    sift_window: float = 7.5  # half side of the described window over the key point's sigma
    descriptor: str = "rootsift"  # or "sift"

    def __post_init__(self):
        regions = tuple(self.regions) if not isinstance(self.regions, str) else ()
        if not regions or not set(regions) <= set(KINDS) or len(set(regions)) < len(regions):
            raise InputError(f"regions must be some of {KINDS}, got {self.regions!r}")
        if self.descriptor not in DESCRIPTORS:
            raise InputError(f"descriptor must be one of {DESCRIPTORS}, got {self.descriptor!r}")
        check_at_least(
            self, max_features=1, mser_delta=1, mser_min_area=1, mser_max_area=0, mser_max_variation=0
        )
        check_at_least(self, mser_window=1e-3, mser_orientations=1, mser_cell=0)
        check_at_least(self, sift_contrast=0, sift_orientations=1, sift_window=1e-3)


@dataclass(frozen=True, eq=False)
class Features:
    """n features of one image, aligned arrays.

    xy : (n, 2) float64 centres, pixels
    frames : (n, 2, 2) float64, takes the unit circle to the region, first column along the dominant
        orientation
    descriptors : (n, 128) float32 whole numbers, Euclidean norm about DESCRIPTOR_NORM
    kind : (n,) int8, index into KINDS
    bright : (n,) bool, brighter than what is around it, or darker; only like is matched with like
    """

    xy: np.ndarray
    frames: np.ndarray
    descriptors: np.ndarray
    kind: np.ndarray
    bright: np.ndarray

    def __len__(self):
        return len(self.xy)

    def __getitem__(self, index):
        return Features(*(getattr(self, f.name)[index] for f in fields(self)))


def mser_ellipses(grey, config, bright):
    """Centres (n, 2) and upright frames (n, 2, 2) of the bright or the dark MSER regions: ellipses of the
    regions' second moments.

    A uniform ellipse with half axes r has second moments r^2 / 4 along them, so the frame is twice the
    root of the moment matrix.
    """
    regions = _opencv.mser_regions(
        grey,
        bright=bright,
        delta=config.mser_delta,
        min_area=config.mser_min_area,
        max_area=max(int(config.mser_max_area * grey.size), config.mser_min_area),
        max_variation=config.mser_max_variation,
    )
    moments = np.empty((len(regions), 5))
    for points, row in zip(regions, moments, strict=True):
        _feature_kernels.region_moments(points, row)
    mean_x, mean_y, xx, xy, yy = moments.T
    # Root of a symmetric 2x2 matrix M: (M + sqrt(det M) I) / sqrt(trace M + 2 sqrt(det M)).
    # A pixel is a square, not a point: + 1/12.
    xx, yy = xx + 1 / 12, yy + 1 / 12
    root = np.sqrt(xx * yy - xy**2)
    scale = 2 / np.sqrt(xx + yy + 2 * root)
    frames = np.stack([(xx + root) * scale, xy * scale, xy * scale, (yy + root) * scale], axis=1)
    xy, frames = np.stack([mean_x, mean_y], axis=1), frames.reshape(-1, 2, 2)
    first = _distinct(xy, frames, config.mser_cell) if config.mser_cell else slice(None)
    return xy[first], frames[first]


def _distinct(xy, frames, cell):
    """Rows of the first region in each cell of size and, relative to it, position: nested ones are alike."""
    if len(xy) == 0:
        return np.empty(0, np.int64)
    half_octave = np.floor(2 * np.log2(np.sqrt(np.linalg.det(frames))))
    place = np.floor(xy / (cell * np.exp2(half_octave / 2))[:, None])
    grid = np.column_stack([half_octave, place]).astype(np.int64)
    grid -= grid.min(axis=0)
    keys = np.ravel_multi_index(grid.T, grid.max(axis=0) + 1)  # much faster to sort than rows
    return np.sort(np.unique(keys, return_index=True)[1])


def rotation(angle):
    """(n, 2, 2) rotations by `angle` (n,) radians, from the x axis towards the y axis."""
    c, s = np.cos(angle), np.sin(angle)
    return np.stack([c, -s, s, c], axis=-1).reshape(*np.shape(angle), 2, 2)


@dataclass(frozen=True, eq=False)
class Pyramid:
    """Smoothed copies of an image, half an octave apart, in one flat array for the compiled loops.

    pixels : (p,) float32
    levels : (l, 4) float64: offset into pixels, height, width, image pixels a level pixel
    blur : (l,) float64, pixels of the image
    """

    pixels: np.ndarray
    levels: np.ndarray
    blur: np.ndarray


def build_pyramid(grey, first_blur=0.8, camera_blur=0.5):
    """Levels of blur 0.8, 1.13, 1.6, ... image pixels; every second one at half the resolution."""
    images, levels, blur = [], [], []
    image, step, offset = grey.astype(np.float32), 1, 0
    image = _opencv.gaussian_blur(image, np.sqrt(first_blur**2 - camera_blur**2))
    while min(image.shape) >= 4 or not images:
        for k, sigma in enumerate((first_blur, first_blur * np.sqrt(2))):
            if k:
                image = _opencv.gaussian_blur(image, first_blur)  # 0.8^2 + 0.8^2 = 1.13^2
            images.append(image.ravel())
            levels.append((offset, *image.shape, step))
            blur.append(sigma * step)
            offset += image.size
        image = _opencv.gaussian_blur(image, first_blur * np.sqrt(2))[::2, ::2]
        step *= 2
    return Pyramid(np.concatenate(images), np.array(levels, float), np.array(blur))


def extract_features(grey, config=FeatureConfig(), mask=None, n_threads=1):
    """The features of a grey image (h, w) uint8 whose centre is where `mask` (h, w) bool is true.

    Of each kind at most `max_features`: the strongest of every part of the image (`strongest_everywhere`), by
    the response of key points and by the size of MSER regions.
    """
    pyramid = build_pyramid(grey)
    detectors = {"mser": _mser_frames, "sift": _sift_frames}

    def of_kind(kind):
        xy, frames, bright, strength, window = detectors[kind](grey, pyramid, config, n_threads)
        if mask is not None:
            on = _on(mask, xy)
            xy, frames, bright, strength = xy[on], frames[on], bright[on], strength[on]
        chosen = strongest_everywhere(xy, strength, config.max_features)
        xy, frames, bright = xy[chosen], frames[chosen], bright[chosen]
        descriptors = describe(pyramid, xy, frames * window, n_threads, config.descriptor)
        return xy, frames, descriptors, np.full(len(xy), KINDS.index(kind), np.int8), bright

    with ThreadPoolExecutor(1) as pool:
        later = map if n_threads == 1 else pool.map
        rest = later(of_kind, config.regions[1:])
        # MSER in this thread for every picture: a new thread would not use again the memory that it freed
        parts = [of_kind(config.regions[0]), *rest]
    columns = [np.concatenate(arrays) for arrays in zip(*parts, strict=True)]
    return Features(*columns)


def _mser_frames(grey, pyramid, config, n_threads):
    """Centres, frames turned to the dominant orientations, whether bright, strength, and the window a frame
    is described in.
    """
    sides = [mser_ellipses(grey, config, bright) for bright in (True, False)]
    xy, frames = (np.concatenate(arrays) for arrays in zip(*sides, strict=True))
    bright = np.arange(len(xy)) < len(sides[0][0])
    angles = orientations(pyramid, xy, frames * config.mser_window, config.mser_orientations, n_threads)
    which, turn = np.nonzero(~np.isnan(angles))
    turned = frames[which] @ rotation(angles[which, turn])
    return xy[which], turned, bright[which], np.linalg.det(frames)[which], config.mser_window


def _sift_frames(grey, pyramid, config, n_threads):
    found = dog_keypoints(grey, config.sift_contrast, n_threads)
    upright = found.sigma[:, None, None] * np.eye(2)
    windows = upright * ORIENTATION_WINDOW
    angles = orientations(pyramid, found.xy, windows, config.sift_orientations, n_threads)
    which, turn = np.nonzero(~np.isnan(angles))
    turned = upright[which] @ rotation(angles[which, turn])
    response = found.response[which]
    return found.xy[which], turned, response < 0, np.abs(response), config.sift_window


def orientations(pyramid, xy, windows, most, n_threads=1):
    """(n, most) float64 radians: directions in which the gradients in a window point most, nan where there
    are fewer.

    Peaks of at least 0.8 times the highest one in a 36-bin histogram, in the coordinates of the window: (n,
    2, 2), takes the square [-1, 1]^2 to the window.
    """
    angles = np.empty((len(xy), most))
    level = _level(pyramid, windows)
    shared = pyramid.pixels, pyramid.levels, xy, windows, level, most, 0.8
    in_ranges(
        lambda a, b: _feature_kernels.dominant_orientations(*shared, a, b, angles), len(xy), n_threads, 512
    )
    return angles


def describe(pyramid, xy, windows, n_threads=1, descriptor="rootsift"):
    """(n, 128) float32 descriptors of windows (n, 2, 2): whole numbers, Euclidean norm about DESCRIPTOR_NORM.

    4 x 4 cells of 8 directions, as Lowe (IJCV 2004) has them, over the inner four fifths of the window. For
    "sift" the histogram, clipped at a fifth of its norm, is normalised again; for "rootsift" the square roots
    of the L1-normalised histogram are taken (Arandjelovic and Zisserman, CVPR 2012).
    """
    out = np.empty((len(xy), 128), np.float32)
    root = descriptor == "rootsift"
    shared = pyramid.pixels, pyramid.levels, xy, windows, _level(pyramid, windows), root
    in_ranges(lambda a, b: _feature_kernels.describe(*shared, a, b, out), len(xy), n_threads, 512)
    return out


def _level(pyramid, windows):
    """(n,) int64: the pyramid level whose blur is nearest to 1/24 of the window's side."""
    wanted = 2 * np.sqrt(np.abs(np.linalg.det(windows))) / 24
    return np.abs(np.log(wanted)[:, None] - np.log(pyramid.blur)).argmin(axis=1)


def _on(mask, xy):
    """(n,) bool: whether the pixel below a point is in the mask."""
    x, y = np.rint(xy).astype(int).T
    return mask[np.clip(y, 0, mask.shape[0] - 1), np.clip(x, 0, mask.shape[1] - 1)]
