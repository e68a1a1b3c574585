"""Tests of whether one picture may be a mirrored copy of another, cheap enough for every pair."""

from dataclasses import replace

import numpy as np

from matching._common.arrays import determinants
from matching._common.threads import default_threads
from matching.config import MatchConfig
from matching.correspondences.candidates import match_features
from matching.features.extraction import Features, mirrored_features
from matching.grouping.evidence import MIN_SUPPORTED, find_supported

N_LARGEST = 300  # features of each picture that are compared, and the most candidates: limits the work
# Share of the degree that counts as support, if the settings ask for none: half of 4 of 35 neighbours. With a
# share of 0, every candidate would be supported.
MIN_SHARE = 0.5 * 4 / 35


def may_be_mirrored(features0: Features, features1: Features, config: MatchConfig = MatchConfig()) -> bool:
    """Test whether the largest features of two pictures have evidence of a mirrored object in common."""
    return _count_supported(features0, mirrored_features(features1), config) >= MIN_SUPPORTED


def looks_mirrored(features0: Features, features1: Features, config: MatchConfig = MatchConfig()) -> bool:
    """Test whether a picture has more in common with the mirror image of another than with that itself."""
    n_mirrored = _count_supported(features0, mirrored_features(features1), config)
    return n_mirrored >= MIN_SUPPORTED and n_mirrored > _count_supported(features0, features1, config)


def _count_supported(features0: Features, features1: Features, config: MatchConfig) -> int:
    """The number of mutual candidates of the largest features that others support."""
    sizes = (np.abs(determinants(features.frames)) for features in (features0, features1))
    rows0, rows1 = (np.sort(np.argsort(-size, kind="stable")[:N_LARGEST]) for size in sizes)
    how = replace(config.candidates, max_matches=min(N_LARGEST, config.candidates.max_matches))
    found = match_features(features0[rows0], features1[rows1], how, default_threads())
    least = config.objects.evidence * config.clustering.min_degree
    neighbors, n_threads = config.clustering.n_neighbors, default_threads()
    supported = find_supported(found.correspondences, neighbors, least or MIN_SHARE, config.graph, n_threads)
    return len(supported)
