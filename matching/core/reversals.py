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
import shapely

from matching._common.arrays import invert_matrices
from matching._common.types import Bools, Ints
from matching.core.config import MatchConfig
from matching.core.evidence import MIN_SUPPORTED, find_supported
from matching.core.groups import Group
from matching.core.ledger import Ledger
from matching.core.methods import Method
from matching.core.pixel_matches import PixelMatches
from matching.core.search import Search, find_objects, find_pair_candidates
from matching.core.significance import correct_for_tests
from matching.core.source import DescribedPicture, ImageSource
from matching.correspondences.correspondences import Correspondences
from matching.features.extraction import Features, mirrored_features, negative_features
from matching.features.views import join_features
from matching.objects.frames import MIN_PICTURE_SHARE, hull_area

N_SEARCHES = 3  # plain, mirrored, negative: each is one test
# Of the area of a larger object: a copy of the same thing covers more. No record of a choice.
MAX_AREA_OF_PART = 0.25
# Share of K that counts as support, if the settings demand none: half of 4 of 35 neighbours. With a share of
# 0, every match would be supported.
MIN_DEGREE = 0.5 * 4 / 35


@dataclass(frozen=True)
class Reversal:
    """A change of a picture after which it may show what another one shows."""

    step: str  # that drops what is too small, a key of `matching.core.reasons.REASONS`
    reverse: Callable[[Features], Features]
    min_share: float  # of a picture that an object must surround


MIRRORED = Reversal("mirrored", mirrored_features, MIN_PICTURE_SHARE)
# Windows of a dark desktop surround 0.08 of it. Agreement rejects print that is in negative by chance.
NEGATIVE = Reversal("negative", negative_features, MIN_PICTURE_SHARE / 2)
REVERSALS = MIRRORED, NEGATIVE


def search_reversed(
    first: DescribedPicture,
    second: DescribedPicture,
    reversal: Reversal,
    config: MatchConfig,
    method: Method,
) -> PixelMatches:
    """Search for objects that the second picture shows reversed.

    They must surround a share of a picture: letters and other symmetric print match their mirror image, and
    print is often shown in negative.
    """
    turned = replace(second, features=reversal.reverse(second.features))
    candidates = find_pair_candidates(first.features, turned.features, replace(config, mirrored=False))
    found = find_objects(first.features, turned.features, candidates, config, method)
    kept = keep_large(found, first, turned, reversal, found.ledger)
    kept = correct_for_tests(kept, N_SEARCHES, config.objects.max_log_nfa, found.ledger)
    located = replace(found, objects=kept).locate(first.step, turned.step)
    if reversal is not NEGATIVE:
        return located
    return replace(located, objects=tuple(replace(one, negative=1) for one in located.objects))


def keep_large(
    search: Search, first: DescribedPicture, second: DescribedPicture, reversal: Reversal, ledger: Ledger
) -> list[Group]:
    """Keep the objects that surround enough of a picture."""
    kept = []
    for group in search.objects:
        share = measure_share(search, group.rows, first, second)
        if share >= reversal.min_share:
            kept.append(group)
        else:
            ledger.drop(reversal.step, group.rows, share, reversal.min_share)
    return kept


def measure_share(search: Search, rows: Ints, first: DescribedPicture, second: DescribedPicture) -> float:
    """Measure the share of a picture that matches (n,) surround, in the picture where it is larger."""
    ends = (first, search.candidates.xy0[rows]), (second, search.candidates.xy1[rows])
    return max(hull_area(xy) * float(one.step.prod() / np.ptp(one.box, axis=0).prod()) for one, xy in ends)


def drop_symmetric(
    known: PixelMatches, mirrored: PixelMatches, reach: float
) -> tuple[PixelMatches, PixelMatches]:
    """Drop the objects of either search that are a small part of a larger one of the other search.

    Symmetric print, such as a window, also matches its mirror image, and that of the next window.
    """
    kept = [_find_separate(one, other) for one, other in ((known, mirrored), (mirrored, known))]
    return known.drop("suppression", kept[0], reach), mirrored.drop("suppression", kept[1], reach)


def _find_separate(matches: PixelMatches, others: PixelMatches) -> Bools:
    """(n_objects,) bool: the objects that are in neither picture a small part of one of the others."""
    is_separate: Bools = np.ones(len(matches.objects), bool)
    for k, other in product(range(len(matches.objects)), range(len(others.objects))):
        for xy, around in ((matches.xy0, others.xy0), (matches.xy1, others.xy1)):
            points = shapely.MultiPoint(xy[matches.labels == k])
            hull = shapely.MultiPoint(around[others.labels == other]).convex_hull
            is_small = points.convex_hull.area < MAX_AREA_OF_PART * hull.area
            is_separate[k] &= not (is_small and shapely.contains(hull, points.centroid))
    return is_separate


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
        supported = find_supported(matches, config.clustering.n_neighbors, min_degree, config.graph)
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
