"""Features of the fine octaves of a large picture, which are lost at its working size.

The picture is described tile by tile, each tile with its surroundings, so that memory does not grow. Tiles
contribute only small key points; larger key points, and MSER regions, come from the working size. (With MSER
regions of tiles, 15 of 22 prints of 28 to 60 px are found instead of 14, in twice the time.)

Notation: step is the number of pixels per working pixel, the larger of x and y.
"""

from dataclasses import replace
from itertools import pairwise

import numpy as np

from matching._common.types import Array, Bools, Floats
from matching.features.detectors import list_detectors
from matching.features.extraction import FeatureConfig, Features, extract_features, get_detector
from matching.features.thinning import BLOCK
from matching.features.views import join_features
from matching.settings import LARGEST

GRID = int(BLOCK)  # pixels: tiles begin at multiples of it, so that the pixels of their octaves, and the
# squares in which features are chosen, are those of the whole picture
TILE = 2048  # pixels: the longest side of a tile
# Contrast of a key point of a tile, at least. (Of 18 prints of 45 and 60 px at two fifths or one fifth of
# their contrast, all are found, so fainter key points would find no more; without key points below 0.04, two
# are missed.)
MIN_CONTRAST = 0.02


def extract_details(
    grey: Array,
    mask: Bools | None,
    coarse: Features,
    step: Floats,
    config: FeatureConfig = FeatureConfig(),
    n_threads: int = 1,
) -> Features:
    """Extract the features of all octaves of a large picture (h, w) uint8; mask (h, w) bool; step (2,)."""
    kinds = ("sift",) if "sift" in config.regions else config.regions
    config = replace(
        config, regions=kinds, sift_contrast=max(config.sift_contrast, MIN_CONTRAST), sift_orientations=1
    )  # one direction is enough, because key points of the other picture have two
    detectors = [get_detector(kind, config) for kind in kinds]
    least = {detector.name: detector.coarsest * float(step.max()) for detector in detectors}
    reach = GRID * int(np.ceil(max(detector.reach for detector in detectors) * step.max() / GRID))
    parts = []
    for top, bottom in _cut(grey.shape[0]):
        for left, right in _cut(grey.shape[1]):
            y, x = max(top - reach, 0), max(left - reach, 0)
            around = slice(y, bottom + reach), slice(x, right + reach)
            tile = np.ascontiguousarray(grey[around])
            own = np.zeros(tile.shape, bool)
            own[top - y : bottom - y, left - x : right - x] = True
            if mask is not None:
                own &= mask[around]
            share = (bottom - top) * (right - left) * step.prod() / grey.size  # of the working pixels
            most = min(max(int(config.max_features * share), 1), LARGEST)
            how = replace(config, max_features=most)
            found = extract_features(tile, how, own, n_threads, below=least)
            parts.append(replace(found, xy=found.xy + np.array([x, y])))
    scaled = replace(coarse, xy=(coarse.xy + 0.5) * step - 0.5, frames=np.diag(step) @ coarse.frames)
    bounds = np.array([least.get(kind, 0.0) for kind in list_detectors()])[scaled.kind]
    return join_features([*parts, scaled[scaled.radius >= bounds]])  # and those seen at the working size


def _cut(size: int) -> list[tuple[int, int]]:
    """Start and end of each of several nearly equal parts of a side, of at most about TILE pixels."""
    edges = np.linspace(0, size, -(-size // TILE) + 1)
    edges[1:-1] = GRID * np.round(edges[1:-1] / GRID)
    return list(pairwise(edges.astype(int).tolist()))
