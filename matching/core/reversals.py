"""Objects that one picture shows reversed: mirrored, or in negative.

Each reversal costs as much as the plain search, so it is tried only if that found nothing sure or likely. For
one of very many pairs, the largest features of either picture decide whether a reversal is worth it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from matching._common.arrays import determinants
from matching._common.threads import default_threads
from matching._common.types import Ints
from matching.core.config import MatchConfig
from matching.core.evidence import MIN_SUPPORTED, find_supported
from matching.core.groups import Group
from matching.core.ledger import Ledger
from matching.core.methods import Method
from matching.core.pixel_matches import PixelMatches
from matching.core.search import Search, find_objects, find_pair_candidates
from matching.core.source import DescribedPicture
from matching.correspondences.candidates import match_features
from matching.features.extraction import Features, mirrored_features, negative_features
from matching.objects.frames import MIN_PICTURE_SHARE, hull_area

N_LARGEST = 300  # features of a picture that are looked for in the other one, and the most candidates
# Share of the degree that counts as support, if the settings ask for none: half of 4 of 35 neighbours. With a
# share of 0, every candidate would be supported.
MIN_SHARE = 0.5 * 4 / 35


@dataclass(frozen=True)
class Reversal:
    """One way in which a picture may show what another one shows."""

    step: str  # that drops what is too small, a key of `matching.core.reasons.REASONS`
    reverse: Callable[[Features], Features]


MIRRORED = Reversal("mirrored", mirrored_features)
NEGATIVE = Reversal("negative", negative_features)


def search_reversed(
    first: DescribedPicture,
    second: DescribedPicture,
    reversal: Reversal,
    config: MatchConfig,
    method: Method,
) -> PixelMatches | None:
    """Search for objects that the second picture shows reversed; None if a cheap test says that it can't.

    Only one of very many pairs is tested. The objects must surround a share of a picture: letters and other
    symmetric print match their mirror image, and print is often shown in negative.
    """
    if method.tests_first and not is_promising(first.features, second.features, reversal, config):
        return None
    turned = replace(second, features=reversal.reverse(second.features))
    candidates = find_pair_candidates(first.features, turned.features, replace(config, mirrored=False))
    found = find_objects(first.features, turned.features, candidates, config, method)
    kept = keep_large(found, first, turned, reversal.step, found.ledger)
    return replace(found, objects=kept).locate(first.step, turned.step)


def keep_large(
    search: Search, first: DescribedPicture, second: DescribedPicture, step: str, ledger: Ledger
) -> list[Group]:
    """Keep the objects that surround at least MIN_PICTURE_SHARE of a picture."""
    kept = []
    for group in search.objects:
        share = measure_share(search, group.rows, first, second)
        if share >= MIN_PICTURE_SHARE:
            kept.append(group)
        else:
            ledger.drop(step, group.rows, share, MIN_PICTURE_SHARE)
    return kept


def measure_share(search: Search, rows: Ints, first: DescribedPicture, second: DescribedPicture) -> float:
    """Measure the share of a picture that matches (n,) surround, in the picture where it is larger."""
    ends = (first, search.candidates.xy0[rows]), (second, search.candidates.xy1[rows])
    return max(hull_area(xy) * float(one.step.prod() / np.ptp(one.box, axis=0).prod()) for one, xy in ends)


def is_promising(
    features0: Features, features1: Features, reversal: Reversal, config: MatchConfig = MatchConfig()
) -> bool:
    """Test whether there is evidence that one picture shows a large part of the other one reversed.

    The largest features of each picture are compared with all features of the other one.
    """
    turned = reversal.reverse(features1)
    return (
        count_supported(choose_largest(features0), turned, config) >= MIN_SUPPORTED
        or count_supported(features0, choose_largest(turned), config) >= MIN_SUPPORTED
    )


def choose_largest(features: Features) -> Features:
    """Choose the N_LARGEST largest features."""
    area = np.abs(determinants(features.frames))
    return features[np.sort(np.argsort(-area, kind="stable")[:N_LARGEST])]


def count_supported(features0: Features, features1: Features, config: MatchConfig) -> int:
    """Count the mutual candidates that others support, among the best N_LARGEST candidates."""
    how_many = min(N_LARGEST, config.candidates.max_matches)
    few = replace(config.candidates, max_matches=how_many)
    found = match_features(features0, features1, few, default_threads())
    min_degree = config.objects.evidence * config.clustering.min_degree or MIN_SHARE
    k = config.clustering.n_neighbors
    return len(find_supported(found.correspondences, k, min_degree, config.graph))
