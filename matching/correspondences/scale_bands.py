"""Candidate correspondences by relative scale, for objects that are much larger in one of two pictures.

If an object is much smaller in picture 1, its matches join coarse octaves of picture 0 with fine ones of
picture 1, at one relative scale, whereas chance matches have all relative scales. So features are compared
octave by octave, and candidates compete only within a band of relative scales.

Notation: the size of a feature is the root of its frame's determinant; the relative scale r of a pair is log2
of its size in picture 1 over that in picture 0.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product

import numpy as np

from matching._common.types import Floats, Ints
from matching.correspondences.candidates import (
    CandidateConfig,
    Candidates,
    FeaturePairs,
    choose_best,
    find_comparable_rows,
    find_near_pairs,
    join_pairs,
    share_out,
)
from matching.features.extraction import Features, list_kinds

# Octaves: half the width of a band, and the step to the next one. With it, prints in mosaics of 108
# megapixels are found.
HALF_BAND = 0.5


def match_by_scale(
    features0: Features,
    features1: Features,
    scales: tuple[float, float],
    config: CandidateConfig = CandidateConfig(),
) -> Iterator[tuple[Candidates, Candidates]]:
    """Match the features of two pictures within bands of relative scale, from scales[0] to scales[1] octaves.

    Yields the best candidates of each band, and a reserve.
    """
    low, high = scales
    pairs = [
        _find_pairs(features0, features1, kind, (low - HALF_BAND, high + HALF_BAND), config)
        for kind in list_kinds(features0, features1)
    ]
    limit = int(config.max_matches * (1 + config.reserve))
    for n in range(int(np.floor(low / HALF_BAND)), int(np.ceil(high / HALF_BAND)) + 1):
        parts = []
        for pairs_of_kind, scale in pairs:
            rows = np.flatnonzero(np.abs(scale - n * HALF_BAND) <= HALF_BAND)
            in_band = FeaturePairs(*(column[rows] for column in pairs_of_kind))
            parts.append(choose_best(features0, features1, in_band, limit, config))
        yield share_out(parts, config.max_matches, config.reserve)


def _find_pairs(
    features0: Features,
    features1: Features,
    kind: int,
    scales: tuple[float, float],
    config: CandidateConfig,
) -> tuple[FeaturePairs, Floats]:
    """Find pairs of features with near descriptors, and their relative scales (p,)."""
    sizes = [np.log2(features.radius) for features in (features0, features1)]
    no_rows = np.empty(0, np.int64)
    parts = [FeaturePairs(no_rows, no_rows, np.empty(0, np.float32))]
    config = replace(config, per_feature=(config.per_feature + 1) // 2)  # a band overlaps two octaves
    for rows in find_comparable_rows(features0, features1, kind, config.per_polarity):
        octaves = [_split_octaves(*pair) for pair in zip(sizes, rows, strict=True)]
        for (octave0, rows0), (octave1, rows1) in product(*octaves):
            if scales[0] - 1 <= octave1 - octave0 <= scales[1] + 1:
                descriptors = features0.descriptors[rows0], features1.descriptors[rows1]
                parts.append(find_near_pairs(rows0, rows1, *descriptors, config))
    pairs = join_pairs(parts)
    return pairs, sizes[1][pairs.row1] - sizes[0][pairs.row0]


def _split_octaves(sizes: Floats, rows: Ints) -> Sequence[tuple[int, Ints]]:
    """Split rows (r,) by the octave of their size -> pairs (octave, rows)."""
    octave = np.floor(sizes[rows]).astype(int)
    return [(int(o), rows[octave == o]) for o in np.unique(octave)]
