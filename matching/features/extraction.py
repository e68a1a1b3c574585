"""Local features: MSER regions and SIFT key points, one record for both.

Notation: a feature has a centre x (2,) and a frame A (2, 2); A takes the unit circle to the feature's region,
and its first column points along the dominant orientation. Coordinates are pixels, x to the right, y down,
with (0, 0) the centre of the top-left pixel.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from matching._common.arrays import select_rows
from matching._common.threads import map_in_threads
from matching._common.types import Array, Bools, Floats, Ints
from matching.errors import InputError
from matching.features.detectors import Detection, Detector, list_detectors, list_registered
from matching.features.keypoints import CLEAR, dog_keypoints
from matching.features.stable_regions import find_stable_regions
from matching.features.thinning import choose_clear, choose_strongest
from matching.features.windows import DESCRIPTOR_NORM as DESCRIPTOR_NORM
from matching.features.windows import Pyramid, build_pyramid, describe, find_orientations
from matching.settings import LARGEST, REGIONS, check_settings, setting

DESCRIPTORS = ("rootsift", "sift")
ORIENTATION_WINDOW = 4.5  # half the side of the window that determines an orientation, in units of sigma


@dataclass(frozen=True)
class FeatureConfig:
    """Settings of the detectors and of the descriptor.

    Parameters
    ----------
    regions : tuple of str
        Kinds of features: "mser", "sift", or names of registered detectors (`matching.features.detectors`).
    max_features : int
        Largest number of features of each kind in a picture. Photographs have up to 17,000, and fine textures
        such as printed dots 100,000; the time and memory of matching grow with the square of this number.
    mser_delta : int
        Grey levels over which a region must be stable.
    mser_min_area : int
        Smallest area of a region, pixels.
    mser_max_area : float
        Largest area of a region, as a share of the image.
    mser_max_variation : float
        Largest relative growth of a region's area over `mser_delta` grey levels.
    mser_window : float
        Half the side of the window that is described, in radii of the region's ellipse.
    mser_orientations : int
        Largest number of dominant orientations of a region; each makes a feature.
    mser_cell : float
        Side of a spatial bin, in radii: of nested regions of similar size whose centres are in one bin, only
        one counts. 0: all count.
    sift_contrast : float
        Smallest response of a key point, as a share of the grey levels, defined as in OpenCV.
    sift_fill : int
        In squares of 64 x 64 pixels with fewer key points than this, key points fainter than OpenCV's 0.04
        are also kept, the strongest first. So nearly plain areas have some, and rich areas take no more time.
    sift_orientations : int
        Largest number of dominant orientations of a key point; each makes a feature.
    sift_window : float
        Half the side of the window that is described, in units of the key point's sigma.
    descriptor : str
        "rootsift" or "sift".
    """

    regions: tuple[str, ...] = REGIONS
    max_features: int = setting(20_000, 1, LARGEST)
    mser_delta: int = setting(3, 1, 255)
    mser_min_area: int = setting(30, 1, 10**9)
    mser_max_area: float = setting(0.1, 0, 1)
    mser_max_variation: float = setting(0.4, 0, 1000)
    mser_window: float = setting(3.0, 0.01, 100)
    mser_orientations: int = setting(2, 1, 36)
    mser_cell: float = setting(0.2, 0, 100)
    sift_contrast: float = setting(0.01, 0, 1)
    sift_fill: int = setting(24, 0, LARGEST)
    sift_orientations: int = setting(2, 1, 36)
    sift_window: float = setting(7.5, 0.01, 100)
    descriptor: str = setting("rootsift", choices=DESCRIPTORS)

    def __post_init__(self) -> None:
        is_list = isinstance(self.regions, Iterable) and not isinstance(self.regions, str)
        regions = tuple(self.regions) if is_list else ()
        known = list_detectors()
        if not regions or any(kind not in known for kind in regions) or len(set(regions)) < len(regions):
            raise InputError(f"regions must be some of {known}, got {self.regions!r}")
        object.__setattr__(self, "regions", regions)  # as a tuple, which can be hashed
        check_settings(self)


@dataclass(frozen=True, eq=False)
class Features:
    """Features of one image, as aligned arrays."""

    xy: Array  # (n, 2) float64, centres, pixels
    frames: Array  # (n, 2, 2) float64, from the unit circle to the region; first column: dominant orientation
    descriptors: Array  # (n, 128) float32, whole numbers, Euclidean norm about DESCRIPTOR_NORM
    kind: Array  # (n,) int8, index into the names of `matching.features.detectors.list_detectors`
    bright: Array  # (n,) bool, whether brighter than the surroundings; only equal polarities are matched

    def __len__(self) -> int:
        return len(self.xy)

    def __getitem__(self, index: Any) -> Features:
        return select_rows(self, index)

    @property
    def radius(self) -> Floats:
        """(n,) float64: the geometric mean of the half-axes of each region, pixels."""
        return np.asarray(np.sqrt(np.abs(np.linalg.det(self.frames))))


def mser_ellipses(grey: Array, config: FeatureConfig, bright: bool) -> tuple[Floats, Floats]:
    """Find MSER ellipses in grey (h, w) uint8 -> xy, and frames: twice the roots of moment matrices."""
    moments = find_stable_regions(
        grey,
        bright,
        config.mser_delta,
        config.mser_min_area,
        max(int(config.mser_max_area * grey.size), config.mser_min_area),
        config.mser_max_variation,
    )
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


def _distinct(xy: Floats, frames: Floats, cell: float) -> Ints:
    """Rows of the first region in each cell of size and relative position: nested regions count once."""
    if len(xy) == 0:
        return np.empty(0, np.int64)
    half_octave = np.floor(2 * np.log2(np.sqrt(np.linalg.det(frames))))
    place = np.floor(xy / (cell * np.exp2(half_octave / 2))[:, None])
    grid = np.column_stack([half_octave, place]).astype(np.int64)
    grid -= grid.min(axis=0)
    keys = np.ravel_multi_index(grid.T, grid.max(axis=0) + 1)  # much faster to sort than rows
    return np.sort(np.unique(keys, return_index=True)[1])


def rotation(angle: Array) -> Floats:
    """The rotations from the x axis towards the y axis: angle (n,) -> (n, 2, 2)."""
    c, s = np.cos(angle), np.sin(angle)
    return np.stack([c, -s, s, c], axis=-1).reshape(*np.shape(angle), 2, 2)


def extract_features(
    grey: Array,
    config: FeatureConfig = FeatureConfig(),
    mask: Bools | None = None,
    n_threads: int = 1,
    below: Mapping[str, float] | None = None,
) -> Features:
    """Extract at most `max_features` of each kind, spread over the picture: grey, mask (h, w)."""
    pyramid = build_pyramid(grey)

    def of_kind(kind: str) -> tuple[Array, ...]:
        detector = get_detector(kind, config, n_threads)
        found = detector.run(grey)
        on = np.ones(len(found.xy), bool) if mask is None else _on(mask, found.xy)
        if below is not None:
            on &= np.abs(np.linalg.det(found.frames)) < below[kind] ** 2
        found = _orient(detector, select_rows(found, on), pyramid, n_threads)
        found = select_rows(found, choose_strongest(found.xy, found.strength, config.max_features))
        xy, frames, bright = found.xy, found.frames, found.bright
        descriptors = describe(pyramid, xy, frames * detector.window, n_threads, config.descriptor)
        return xy, frames, descriptors, np.full(len(xy), list_detectors().index(kind), np.int8), bright

    parts = map_in_threads(of_kind, config.regions, n_threads)
    columns = [np.concatenate(arrays) for arrays in zip(*parts, strict=True)]
    return Features(*columns)


def _orient(detector: Detector, found: Detection, pyramid: Pyramid, n_threads: int) -> Detection:
    """Make one feature for each dominant orientation, unless the detector sets directions."""
    if not detector.n_orientations:
        return found
    half = detector.window if detector.orientation_window is None else detector.orientation_window
    angles = find_orientations(pyramid, found.xy, found.frames * half, detector.n_orientations, n_threads)
    which, turn = np.nonzero(~np.isnan(angles))
    turned = found.frames[which] @ rotation(angles[which, turn])
    return Detection(found.xy[which], turned, found.strength[which], found.bright[which])


def _make_mser(config: FeatureConfig, n_threads: int) -> Detector:
    def detect(grey: Array) -> Detection:
        sides = map_in_threads(lambda bright: mser_ellipses(grey, config, bright), (True, False), n_threads)
        xy, frames = (np.concatenate(arrays) for arrays in zip(*sides, strict=True))
        return Detection(xy, frames, np.linalg.det(frames), np.arange(len(xy)) < len(sides[0][0]))

    return Detector(
        "mser", detect, window=config.mser_window, n_orientations=config.mser_orientations, coarsest=6.0
    )


def _make_sift(config: FeatureConfig, n_threads: int) -> Detector:
    def detect(grey: Array) -> Detection:
        found = dog_keypoints(grey, config.sift_contrast, n_threads)
        found = select_rows(found, choose_clear(found.xy, found.contrast / CLEAR, config.sift_fill))
        upright = found.sigma[:, None, None] * np.eye(2)
        return Detection(found.xy, upright, np.abs(found.response), found.response < 0)

    return Detector(
        "sift", detect, window=config.sift_window, n_orientations=config.sift_orientations,
        orientation_window=ORIENTATION_WINDOW, localisation=0.5, border=4.0, coarsest=1.6,
    )  # fmt: skip


BUILT_IN = {"mser": _make_mser, "sift": _make_sift}


def get_detector(name: str, config: FeatureConfig, n_threads: int = 1) -> Detector:
    """Find a detector by its name, with the settings of features."""
    if name in BUILT_IN:
        return BUILT_IN[name](config, n_threads)
    return next(detector for detector in list_registered() if detector.name == name)


def measure_by_kind(config: FeatureConfig, field: str) -> Floats:
    """(n_detectors,) float64: a number for each detector, indexed by the kind of a feature."""
    return np.array([getattr(get_detector(name, config), field) for name in list_detectors()], np.float64)


def list_kinds(features0: Features, features1: Features) -> list[int]:
    """The kinds of the features of two pictures; only the first kind if there are no features."""
    return np.union1d(features0.kind, features1.kind).tolist() or [0]


def mirrored_features(features: Features) -> Features:
    """The features of the mirrored picture: frames of negative determinant, reversed bins and directions."""
    bins = features.descriptors.reshape(-1, 4, 4, 8)
    descriptors = bins[:, ::-1, :, -np.arange(8) % 8].reshape(len(features), 128)
    return replace(features, frames=features.frames @ np.diag([1.0, -1.0]), descriptors=descriptors)


def negative_features(features: Features) -> Features:
    """The features of the negative: frames turned by half a turn, and spatial bins in reverse order."""
    bins = features.descriptors.reshape(-1, 4, 4, 8)
    descriptors = bins[:, ::-1, ::-1].reshape(len(features), 128)
    return replace(features, frames=-features.frames, descriptors=descriptors, bright=~features.bright)


def _on(mask: Bools, xy: Floats) -> Bools:
    """(n,) bool: whether the pixel below a point is in the mask."""
    x, y = np.rint(xy).astype(int).T
    on: Bools = mask[np.clip(y, 0, mask.shape[0] - 1), np.clip(x, 0, mask.shape[1] - 1)]
    return on
