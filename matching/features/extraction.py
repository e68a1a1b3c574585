"""Local features of any kind, such as MSER regions and SIFT key points, in one record.

Notation: a feature has a centre x (2,) and a frame A (2, 2); A takes the unit circle to the feature's region,
and its first column points along the dominant orientation. Coordinates are pixels, x to the right, y down,
with (0, 0) the centre of the top-left pixel.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

import numpy as np

from matching._common.arrays import at_pixels, select_rows
from matching._common.threads import map_in_threads
from matching._common.types import Array, Bools, Floats
from matching.features.config import FeatureConfig as FeatureConfig
from matching.features.detectors import Detection, Detector, list_detectors, list_registered_detectors
from matching.features.thinning import choose_strongest
from matching.features.windows import DESCRIPTOR_NORM as DESCRIPTOR_NORM
from matching.features.windows import Pyramid, build_pyramid, describe, find_orientations
from matching.settings import REGIONS


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


def rotation(angle: Array) -> Floats:
    """Make rotations from the x axis towards the y axis: angle (n,), radians -> (n, 2, 2)."""
    c, s = np.cos(angle), np.sin(angle)
    return np.stack([c, -s, s, c], axis=-1).reshape(*np.shape(angle), 2, 2)


def extract_features(
    grey: Array,
    config: FeatureConfig = FeatureConfig(),
    mask: Bools | None = None,
    max_radius: Mapping[str, float] | None = None,
) -> Features:
    """Extract at most `max_features` of each kind, spread over the picture: grey, mask (h, w).

    max_radius: for each kind, the radius in pixels that its features must not reach.
    """
    pyramid = build_pyramid(grey)

    def extract_kind(kind: str) -> tuple[Array, ...]:
        detector = get_detector(kind, config)
        detection = detector.run(grey)
        is_visible = np.ones(len(detection.xy), bool) if mask is None else at_pixels(mask, detection.xy)
        if max_radius is not None:
            is_visible &= np.abs(np.linalg.det(detection.frames)) < max_radius[kind] ** 2
        detection = _orient(detector, select_rows(detection, is_visible), pyramid)
        strongest = choose_strongest(detection.xy, detection.strength, config.max_features)
        detection = select_rows(detection, strongest)
        xy, frames, bright = detection.xy, detection.frames, detection.bright
        descriptors = describe(pyramid, xy, frames * detector.window, config.descriptor)
        return xy, frames, descriptors, np.full(len(xy), list_detectors().index(kind), np.int8), bright

    parts = map_in_threads(extract_kind, config.regions)
    columns = [np.concatenate(arrays) for arrays in zip(*parts, strict=True)]
    return Features(*columns)


def _orient(detector: Detector, detection: Detection, pyramid: Pyramid) -> Detection:
    """Make one feature for each dominant orientation, unless the detector sets directions."""
    if not detector.n_orientations:
        return detection
    half = detector.window if detector.orientation_window is None else detector.orientation_window
    windows = detection.frames * half
    angles = find_orientations(pyramid, detection.xy, windows, detector.n_orientations)
    which, peak = np.nonzero(~np.isnan(angles))
    turned = detection.frames[which] @ rotation(angles[which, peak])
    return Detection(detection.xy[which], turned, detection.strength[which], detection.bright[which])


def get_detector(name: str, config: FeatureConfig) -> Detector:
    """Find a detector by its name, with the settings of features."""
    if name in REGIONS:
        detector: Detector = import_module(f"matching.features.built_in.{name}").make_detector(config)
        return detector
    return next(detector for detector in list_registered_detectors() if detector.name == name)


def measure_by_kind(config: FeatureConfig, field: str) -> Floats:
    """List a field of all detectors, to be indexed by the kind of a feature -> (n_detectors,) float64."""
    return np.array([getattr(get_detector(name, config), field) for name in list_detectors()], np.float64)


def list_kinds(features0: Features, features1: Features) -> list[int]:
    """List the kinds of the features of two pictures, or only the first kind if there are no features."""
    return np.union1d(features0.kind, features1.kind).tolist() or [0]


def mirrored_features(features: Features) -> Features:
    """Make the features of the mirrored picture: frames with negative determinants, bins in reverse order."""
    bins = features.descriptors.reshape(-1, 4, 4, 8)
    descriptors = bins[:, ::-1, :, -np.arange(8) % 8].reshape(len(features), 128)
    return replace(features, frames=features.frames @ np.diag([1.0, -1.0]), descriptors=descriptors)


def negative_features(features: Features) -> Features:
    """Make the features of the negative: frames turned by half a turn, spatial bins in reverse order."""
    bins = features.descriptors.reshape(-1, 4, 4, 8)
    descriptors = bins[:, ::-1, ::-1].reshape(len(features), 128)
    return replace(features, frames=-features.frames, descriptors=descriptors, bright=~features.bright)
