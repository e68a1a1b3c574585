"""MSER regions, bright and dark, as ellipses."""

import numpy as np

from matching._common.arrays import determinants
from matching._common.threads import map_in_threads
from matching._common.types import Array, Floats, Ints
from matching.features.config import FeatureConfig
from matching.features.detectors import Detection, Detector
from matching.features.stable_regions import find_stable_regions


def make_detector(config: FeatureConfig) -> Detector:
    """Make the detector with the settings of features."""

    def detect(grey: Array) -> Detection:
        sides = map_in_threads(lambda bright: mser_ellipses(grey, config, bright), (True, False))
        xy, frames = (np.concatenate(arrays) for arrays in zip(*sides, strict=True))
        return Detection(xy, frames, determinants(frames), np.arange(len(xy)) < len(sides[0][0]))

    return Detector(
        "mser", detect, window=config.mser_window, n_orientations=config.mser_orientations, coarsest=6.0
    )


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
    rows = _choose_distinct(xy, frames, config.mser_cell) if config.mser_cell else slice(None)
    return xy[rows], frames[rows]


def _choose_distinct(xy: Floats, frames: Floats, cell: float) -> Ints:
    """Choose the first region in each cell of size and relative position: nested regions count once."""
    if len(xy) == 0:
        return np.empty(0, np.int64)
    half_octave = np.floor(2 * np.log2(np.sqrt(determinants(frames))))
    place = np.floor(xy / (cell * np.exp2(half_octave / 2))[:, None])
    grid = np.column_stack([half_octave, place]).astype(np.int64)
    grid -= grid.min(axis=0)
    keys = np.ravel_multi_index(grid.T, grid.max(axis=0) + 1)  # much faster to sort than rows
    return np.sort(np.unique(keys, return_index=True)[1])
