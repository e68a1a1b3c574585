"""Objects that one picture shows reversed: mirrored, or in negative.

A search for them costs as much as the plain one. So a cheap test decides whether it is worth it: whether the
largest features of either picture have evidence in the other one, if they are reversed. Of 110 scenes in
which the search finds the mirror image or the negative of a cover, 40 to 400 px wide, 106 pass it, and none
of 60 scenes without.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from matching._common.arrays import invert_matrices
from matching._common.types import Ints
from matching.correspondences.correspondences import Correspondences
from matching.features.extraction import Features, mirrored_features, negative_features
from matching.features.views import join_features
from matching.grouping.config import MatchConfig
from matching.grouping.evidence import MIN_SUPPORTED, find_supported
from matching.grouping.methods import Method
from matching.searches.proposals import Listing
from matching.searches.search import find_pair_candidates, group_candidates
from matching.searches.source import DescribedPicture, ImageSource

# Share of K that counts as support, if the settings demand none: half of 4 of 35 neighbours. With a share of
# 0, every match would be supported.
MIN_DEGREE = 0.5 * 4 / 35


@dataclass(frozen=True)
class Reversal:
    """A reversal of a picture (mirrored, or light for dark) in which the same object may be found."""

    name: str
    reverse: Callable[[Features], Features]


MIRRORED = Reversal("mirrored", mirrored_features)
NEGATIVE = Reversal("negative", negative_features)
REVERSALS = MIRRORED, NEGATIVE


def search_reversed(
    first: DescribedPicture,
    second: DescribedPicture,
    reversal: Reversal,
    config: MatchConfig,
    method: Method,
) -> Listing:
    """Search for objects that the second picture shows reversed."""
    turned = replace(second, features=reversal.reverse(second.features))
    candidates = find_pair_candidates(first.features, turned.features, replace(config, mirrored=False))
    found = group_candidates(*candidates, config, method).locate(first, turned)
    if reversal is not NEGATIVE:
        return found
    return replace(found, proposals=tuple(replace(one, negative=1) for one in found.proposals))


def find_promising(first: ImageSource, second: ImageSource) -> list[Reversal]:
    """Find the reversals with evidence that one picture shows a large part of the other one reversed.

    The largest features of each picture are compared with all features of the other one.
    """
    pairs = (first.largest, second.described.features), (second.largest, first.described.features)
    counts = np.max([count_supported(*pair, first.config) for pair in pairs], axis=0)
    return [reversal for reversal, n in zip(REVERSALS, counts, strict=True) if n >= MIN_SUPPORTED]


def count_supported(few: Features, features: Features, config: MatchConfig) -> list[int]:
    """Count, for each reversal of few features, the matches that others support."""
    turned = join_features([reversal.reverse(few) for reversal in REVERSALS])
    nearest = find_nearest(turned, features)
    min_degree = config.objects.evidence * config.clustering.min_degree or MIN_DEGREE
    counts = []
    for rows in np.split(np.arange(len(turned)), len(REVERSALS)):
        rows = rows[nearest[rows] >= 0]
        maps = features.frames[nearest[rows]] @ invert_matrices(turned.frames[rows])
        matches = Correspondences(turned.xy[rows], features.xy[nearest[rows]], maps)
        supported = find_supported(matches, min_degree, config)
        counts.append(len(supported))
    return counts


def find_nearest(few: Features, features: Features) -> Ints:
    """Find the most similar feature of the same kind and brightness for each of few -> row (n,), or -1.

    All descriptors have nearly the same norm, so that their products decide.
    """
    nearest = np.full(len(few), -1)
    for kind, is_bright in product(np.unique(few.kind), (False, True)):
        rows, others = (
            np.flatnonzero((one.kind == kind) & (one.bright == is_bright)) for one in (few, features)
        )
        if len(rows) and len(others):
            products = few.descriptors[rows] @ features.descriptors[others].T  # whole numbers: exact
            nearest[rows] = others[products.argmax(axis=1)]
    return nearest
