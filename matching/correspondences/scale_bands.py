"""Candidate correspondences by relative scale, for objects large in one picture and small in the other.

If an object is much smaller in picture 1, its matches join coarse octaves of picture 0 with fine ones of
picture 1, at one relative scale, whereas chance matches have all relative scales. So features are compared
octave by octave, and candidates compete only within a band of relative scales.

Notation: the size of a feature is the root of its frame's determinant; the relative scale r of a pair is log2
of its size in picture 1 over that in picture 0.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from matching._common.types import Array, Floats, Ints
from matching.correspondences.candidates import (
    CandidateConfig,
    Candidates,
    choose_best,
    find_comparable_rows,
    share_out,
)
from matching.correspondences.descriptor_search import nearest_descriptors
from matching.features.extraction import DESCRIPTOR_NORM, Features, list_kinds

# Octaves: half the width of a band, and the step to the next one. With it, prints in mosaics of up to 108
# megapixels are found.
HALF_BAND = 0.5


@dataclass(frozen=True, eq=False)
class _Pairs:
    """Pairs of features with near descriptors: rows, squared distances and relative scales."""

    row0: Ints
    row1: Ints
    squared: Array
    scale: Floats


def match_by_scale(
    features0: Features,
    features1: Features,
    scales: tuple[float, float],
    config: CandidateConfig = CandidateConfig(),
    n_threads: int = 1,
) -> Iterator[tuple[Candidates, Candidates]]:
    """Match the features of two pictures within bands of relative scale."""
    low, high = scales
    pairs = [
        _find_pairs(features0, features1, kind, (low - HALF_BAND, high + HALF_BAND), config, n_threads)
        for kind in list_kinds(features0, features1)
    ]
    for n in range(int(np.floor(low / HALF_BAND)), int(np.ceil(high / HALF_BAND)) + 1):
        middle, parts = n * HALF_BAND, []
        for own in pairs:
            at = np.flatnonzero(np.abs(own.scale - middle) <= HALF_BAND)
            chosen = own.row0[at], own.row1[at], own.squared[at]
            most = int(config.max_matches * (1 + config.reserve))
            parts.append(choose_best(features0, features1, *chosen, most, config))
        yield share_out(parts, config.max_matches, config.reserve)


def _find_pairs(
    features0: Features,
    features1: Features,
    kind: int,
    scales: tuple[float, float],
    config: CandidateConfig,
    n_threads: int,
) -> _Pairs:
    sizes = [np.log2(np.sqrt(np.abs(np.linalg.det(f.frames)))) for f in (features0, features1)]
    none = np.empty(0, np.int64)
    found: list[tuple[Ints, Ints, Array]] = [(none, none, np.empty(0, np.float32))]
    most = (config.per_feature + 1) // 2  # a band overlaps two octaves
    for rows in find_comparable_rows(features0, features1, kind, config.per_polarity):
        octaves = [_split_octaves(sizes[k], own) for k, own in enumerate(rows)]
        for octave0, rows0 in octaves[0]:
            descriptors = features0.descriptors[rows0]
            for octave1, rows1 in octaves[1]:
                apart = octave1 - octave0
                if apart + 1 < scales[0] or apart - 1 > scales[1]:
                    continue
                near, squared = nearest_descriptors(
                    descriptors, features1.descriptors[rows1], most, n_threads
                )
                ok = (near >= 0) & (squared < (config.max_distance * DESCRIPTOR_NORM) ** 2)
                row, rank = np.nonzero(ok)
                found.append((rows0[row], rows1[near[row, rank]], squared[row, rank]))
    row0, row1, squared = (np.concatenate(arrays) for arrays in zip(*found, strict=True))
    return _Pairs(row0, row1, squared, sizes[1][row1] - sizes[0][row0])


def _split_octaves(sizes: Floats, rows: Ints) -> Sequence[tuple[int, Ints]]:
    """The octaves of the sizes of some rows, and the rows in each."""
    octave = np.floor(sizes[rows]).astype(int)
    return [(int(o), rows[octave == o]) for o in np.unique(octave)]
