"""SIFT key points."""

import numpy as np

from matching._common.arrays import select_rows
from matching._common.types import Array
from matching.features.config import FeatureConfig
from matching.features.detectors import Detection, Detector
from matching.features.keypoints import CLEAR_CONTRAST, dog_keypoints
from matching.features.thinning import choose_clear

ORIENTATION_WINDOW = 4.5  # sigmas, half the side of the window that determines an orientation


def make_detector(config: FeatureConfig) -> Detector:
    """Make the detector with the settings of features."""

    def detect(grey: Array) -> Detection:
        points = dog_keypoints(grey, config.sift_contrast)
        is_chosen = choose_clear(points.xy, points.contrast / CLEAR_CONTRAST, config.sift_fill)
        points = select_rows(points, is_chosen)
        frames = points.sigma[:, None, None] * np.eye(2)
        return Detection(points.xy, frames, np.abs(points.response), points.response < 0)

    return Detector(
        "sift", detect, window=config.sift_window, n_orientations=config.sift_orientations,
        orientation_window=ORIENTATION_WINDOW, localisation=0.5, border=4.0, coarsest=1.6,
    )  # fmt: skip
