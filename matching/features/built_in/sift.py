"""SIFT key points."""

import numpy as np

from matching._common.arrays import select_rows
from matching._common.types import Array
from matching.features.config import FeatureConfig
from matching.features.detectors import Detection, Detector
from matching.features.keypoints import CLEAR, dog_keypoints
from matching.features.thinning import choose_clear

ORIENTATION_WINDOW = 4.5  # half the side of the window that determines an orientation, in units of sigma


def make_detector(config: FeatureConfig, n_threads: int) -> Detector:
    """Make the detector with the settings of features."""

    def detect(grey: Array) -> Detection:
        found = dog_keypoints(grey, config.sift_contrast, n_threads)
        found = select_rows(found, choose_clear(found.xy, found.contrast / CLEAR, config.sift_fill))
        upright = found.sigma[:, None, None] * np.eye(2)
        return Detection(found.xy, upright, np.abs(found.response), found.response < 0)

    return Detector(
        "sift", detect, window=config.sift_window, n_orientations=config.sift_orientations,
        orientation_window=ORIENTATION_WINDOW, localisation=0.5, border=4.0, coarsest=1.6,
    )  # fmt: skip
