"""Objects that are too small for the size at which pictures are first matched.

A picture larger than the working size has finer octaves than those described at that size
(`matching.features.details`). A detail is an object of at least 24 pixels that only these finer octaves show.
Its size in the other picture is unknown, so candidates are matched and grouped for one band of relative
scales after another (`matching.correspondences.scale_bands`). All lengths are pixels of the large picture at
its full size.

A detail has few matches, so its significance decides whether chance explains it. Significance is measured
outwards from a match in the large picture, where few other matches are nearby. Each band counts as one more
test.

If only one picture is larger than the working size, its details are always searched for. If both are, or if
both are so small that they can be enlarged, details are searched for only if no object is sure or likely
without them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from matching._common.types import Array, Bools, Floats, Ints
from matching.core.config import MatchConfig
from matching.core.groups import need_fewer
from matching.core.ledger import IN_OBJECT, STEPS
from matching.core.methods import Method
from matching.core.pixel_matches import PixelMatches, PixelObject, choose_rows, locate
from matching.core.search import find_objects
from matching.core.significance import correct_for_tests
from matching.core.source import DescribedPicture
from matching.correspondences.candidates import Candidates
from matching.correspondences.points import is_within_reach
from matching.correspondences.scale_bands import match_by_scale
from matching.features.extraction import Features, mirrored_features

# Pixels of the full size: smaller objects have too few features. Of prints in 12 megapixels, none of two of
# 28 px is found, and both of 36 px are.
MIN_DETAIL_SIZE = 24.0
MAX_DETAIL_SIZE = 200.0  # working pixels: larger objects are found without details; no record of a choice
# Pixels: smaller features of the other picture are left out if that picture is large enough to have plenty
# of others, which saves a third of the time. Of 36 prints of 36 to 100 px, one fewer is found with 2.0, and
# as many without a bound.
MIN_FEATURE_SIZE = 2.0**0.5
# A detail replaces an object if it covers this share of the object's matches. Of two details that share this
# much of their matches, the smaller one is dropped.
MIN_SHARE_OF_OBJECT, MIN_SHARE_OF_DETAIL = 0.9, 0.5


def find_details(
    coarse: DescribedPicture,
    fine: DescribedPicture,
    working_step: Floats,
    config: MatchConfig,
    method: Method,
) -> list[PixelMatches]:
    """Find objects of one picture that are details of the other: working_step (2,)."""
    if not len(coarse.features) or not len(fine.features):
        return []
    extent = max(float(np.ptp(coarse.features.xy, axis=0).max()), 1.0)
    coarse = replace(coarse, features=_leave_out_finest(coarse, extent))
    max_size = MAX_DETAIL_SIZE * float((working_step / fine.step).max())
    scales = np.log2(MIN_DETAIL_SIZE / extent), max(np.log2(max_size / extent), 0.0)
    kinds = [fine.features, mirrored_features(fine.features)] if config.mirrored else [fine.features]
    bands = [
        (features, *band)
        for features in kinds
        for band in match_by_scale(coarse.features, features, scales, config.candidates)
    ]
    return [
        group_details(coarse, replace(fine, features=features), (best, pool), len(bands), config, method)
        for features, best, pool in bands
    ]


def _leave_out_finest(picture: DescribedPicture, extent: float) -> Features:
    """Leave out features that are too small to matter for an object that fills the picture.

    An object of MAX_DETAIL_SIZE pixels has enough features of one pixel and more. Leaving out the others
    saves a third of the time.
    """
    sizes = np.sqrt(np.abs(np.linalg.det(picture.features.frames)))
    min_size = min(extent / MAX_DETAIL_SIZE, MIN_FEATURE_SIZE / float(picture.step.max()))
    return picture.features[sizes >= min_size]


def group_details(
    coarse: DescribedPicture,
    fine: DescribedPicture,
    candidates: tuple[Candidates, Candidates],
    n_tests: int,
    config: MatchConfig,
    method: Method,
) -> PixelMatches:
    """Group candidates and their pool into objects of the finer picture; this is one of n_tests tests."""
    # Unrelated pictures have no group with this many matches within a band.
    conditions = need_fewer(config.objects)
    best, pool = (swap_ends(part, np.ones(len(part), bool)) for part in candidates)
    found = find_objects(
        fine.features, coarse.features, (best, pool), replace(config, objects=conditions), method
    )
    objects = correct_for_tests(found.objects, n_tests, conditions.max_log_nfa, found.ledger)
    return locate(found.candidates, objects, found.ledger, fine.step, coarse.step).swapped


def swap_ends(candidates: Candidates, is_swapped: Bools) -> Candidates:
    """Exchange the two ends of some candidates: is_swapped (m,)."""
    ends: dict[str, Array] = {}
    for name in ("xy", "frames", "row"):
        first, second = getattr(candidates, f"{name}0"), getattr(candidates, f"{name}1")
        chosen = is_swapped.reshape(-1, *[1] * (first.ndim - 1))
        ends[f"{name}0"] = np.where(chosen, second, first)
        ends[f"{name}1"] = np.where(chosen, first, second)
    return replace(candidates, **ends)


def add_objects(
    known: PixelMatches, searches: Sequence[PixelMatches], reach: float, max_rows: int
) -> PixelMatches:
    """Add the objects of other searches; of several that are the same, the one with more matches is kept.

    reach: pixels of the size at which an object was found.
    """
    objects = [_NumberedObject(part, k) for part in (known, *searches) for k in range(len(part.objects))]
    objects.sort(key=lambda found: -len(found.rows))  # of equal size, known objects come first
    kept: list[_NumberedObject] = []
    for found in objects:
        max_share = MIN_SHARE_OF_OBJECT if found.matches is known else MIN_SHARE_OF_DETAIL
        if all(_share_near(found, other, reach) < max_share for other in kept):
            kept.append(found)
    is_new = any(found.matches is not known for found in kept)
    joined = join_objects(known, kept, max_rows) if is_new else known
    return joined.add_rejected([group for part in searches for group in part.rejected], reach)


def replace_objects(known: PixelMatches, found: PixelMatches, max_rows: int) -> PixelMatches:
    """Take the objects of another search instead of those known."""
    return join_objects(known, [_NumberedObject(found, k) for k in range(len(found.objects))], max_rows)


@dataclass(frozen=True, eq=False)
class _NumberedObject:
    """An object by its number among the matches of its search."""

    matches: PixelMatches
    number: int

    @cached_property
    def rows(self) -> Ints:
        """The rows (n,) of its matches."""
        return np.flatnonzero(self.matches.labels == self.number)

    @property
    def object(self) -> PixelObject:
        """Its score and significance."""
        return self.matches.objects[self.number]


def _share_near(found: _NumberedObject, other: _NumberedObject, reach: float) -> float:
    """The share of the matches of an object that lie near those of another in both pictures."""
    reach0, reach1 = (reach * np.maximum(found.object.steps, other.object.steps)).tolist()
    is_near0 = is_within_reach(found.matches.xy0[found.rows], other.matches.xy0[other.rows], reach0)
    is_near1 = is_within_reach(found.matches.xy1[found.rows], other.matches.xy1[other.rows], reach1)
    return float((is_near0 & is_near1).mean())


def join_objects(known: PixelMatches, objects: list[_NumberedObject], max_rows: int) -> PixelMatches:
    """Join the known candidates with the matches of the objects; the result has only these objects."""
    objects = sorted(objects, key=lambda found: -found.object.score)
    known_labels = np.full(len(known.labels), -1)
    parts = [(known, np.arange(len(known.labels)), known_labels)]
    for number, found in enumerate(objects):
        if found.matches is known:
            known_labels[found.rows] = number
        else:
            parts.append((found.matches, found.rows, np.full(len(found.rows), number)))
    is_replaced = (known_labels < 0) & (known.labels >= 0)
    dropped_by = np.where(is_replaced, np.int8(STEPS.index("details")), known.dropped_by)
    xy0, xy1, score = (
        np.concatenate([getattr(matches, name)[rows] for matches, rows, _ in parts])
        for name in ("xy0", "xy1", "score")
    )
    labels = np.concatenate([part_labels for *_, part_labels in parts])
    steps = np.append(dropped_by, np.full(len(labels) - len(known_labels), IN_OBJECT, np.int8))
    rows = choose_rows(labels, score, np.zeros(len(labels), bool), max_rows)
    found_objects = tuple(found.object for found in objects)
    return PixelMatches(
        xy0[rows], xy1[rows], score[rows], labels[rows], steps[rows], found_objects, known.rejected
    )
