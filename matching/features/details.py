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
from matching.features.thinning import SQUARE_SIDE
from matching.features.views import join_features
from matching.pictures.images import to_picture
from matching.settings import LARGEST

# Pixels. Tiles begin at multiples of it, so that the pixels of their octaves, and the squares in which
# features are chosen, are those of the whole picture.
GRID_STEP = int(SQUARE_SIDE)
TILE_SIZE = 2048  # pixels, the longest side of a tile
# Smallest contrast of a key point of a tile. With it, all of 18 prints of 45 and 60 px at two fifths or one
# fifth of their contrast are found; with 0.04, two are missed.
MIN_CONTRAST = 0.02


def extract_details(
    grey: Array,
    mask: Bools | None,
    coarse: Features,
    step: Floats,
    config: FeatureConfig = FeatureConfig(),
) -> Features:
    """Extract the features of all octaves of a large picture: grey (h, w) uint8, mask (h, w) bool, step (2,).

    coarse: the features of the picture at its working size.
    """
    kinds = ("sift",) if "sift" in config.regions else config.regions
    # one direction is enough, because key points of the other picture have two
    config = replace(
        config, regions=kinds, sift_contrast=max(config.sift_contrast, MIN_CONTRAST), sift_orientations=1
    )
    detectors = [get_detector(kind, config) for kind in kinds]
    max_radius = {detector.name: detector.coarsest * float(step.max()) for detector in detectors}
    reach = GRID_STEP * int(np.ceil(max(detector.reach for detector in detectors) * step.max() / GRID_STEP))
    parts = []
    for top, bottom in _split_side(grey.shape[0]):
        for left, right in _split_side(grey.shape[1]):
            y, x = max(top - reach, 0), max(left - reach, 0)
            window = slice(y, bottom + reach), slice(x, right + reach)
            tile = np.ascontiguousarray(grey[window])
            tile_mask = np.zeros(tile.shape, bool)
            tile_mask[top - y : bottom - y, left - x : right - x] = True
            if mask is not None:
                tile_mask &= mask[window]
            share = (bottom - top) * (right - left) * step.prod() / grey.size  # of the working pixels
            max_features = min(max(int(config.max_features * share), 1), LARGEST)
            tile_config = replace(config, max_features=max_features)
            features = extract_features(tile, tile_config, tile_mask, max_radius=max_radius)
            parts.append(replace(features, xy=features.xy + np.array([x, y])))
    scaled = replace(coarse, xy=to_picture(coarse.xy, step), frames=np.diag(step) @ coarse.frames)
    bounds = np.array([max_radius.get(kind, 0.0) for kind in list_detectors()])[scaled.kind]
    return join_features([*parts, scaled[scaled.radius >= bounds]])  # and those found at the working size


def _split_side(size: int) -> list[tuple[int, int]]:
    """Split a side into nearly equal parts of at most about TILE_SIZE pixels -> their starts and ends."""
    edges = np.linspace(0, size, -(-size // TILE_SIZE) + 1)
    edges[1:-1] = GRID_STEP * np.round(edges[1:-1] / GRID_STEP)
    return list(pairwise(edges.astype(int).tolist()))
