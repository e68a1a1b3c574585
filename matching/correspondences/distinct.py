"""Distinct matches: those that no second place of either picture matches nearly as well."""

from __future__ import annotations

import numpy as np

from matching._common.types import Bools
from matching.correspondences.candidates import Candidates
from matching.features.extraction import DESCRIPTOR_NORM, Features

# Distance of the descriptors of a match over that of the best one at a second place. Visible against near
# infrared and day against night have 58 to 276 such matches in one object; of 364 pairs that have nothing in
# common, none has more than 17.
MAX_RATIO = 0.85
MIN_GAP = 8.0  # pixels to a second place; nearer features are of the same place


def count_distinct_matches(features0: Features, features1: Features, matches: Candidates) -> int:
    """Count the distinct ones among matches of two lists of features."""
    there = _is_distinct(features0[matches.row0], features1[matches.row1], features1, matches)
    back = _is_distinct(features1[matches.row1], features0[matches.row0], features0, matches)
    return int(np.count_nonzero(there & back))


def _is_distinct(source: Features, matched: Features, others: Features, matches: Candidates) -> Bools:
    """Whether each feature (n,) matches its own place better than all other features of its kind -> (n,)."""
    product = source.descriptors @ others.descriptors.T  # whole numbers: exact
    norms = [(one.descriptors**2).sum(axis=1) for one in (source, others)]
    squared = norms[0][:, None] + norms[1] - 2 * product
    gap = np.hypot(*(others.xy.T[:, None] - matched.xy.T[:, :, None]))
    squared[(gap < MIN_GAP) | (others.kind != source.kind[:, None])] = np.inf
    second = np.sqrt(np.maximum(squared.min(axis=1, initial=np.inf), 0)) / DESCRIPTOR_NORM
    return np.asarray(matches.score <= MAX_RATIO * second)
