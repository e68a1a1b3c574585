"""Objects that are too small for the size at which pictures are first matched.

A picture larger than the working size has finer octaves than those described at that size
(`matching.features.details`). A detail is an object of at least 24 pixels that only these finer octaves show.
Its size in the other picture is unknown, so candidates are matched and grouped for one band of relative
scales after another (`matching.correspondences.scale_bands`). All lengths are pixels of the large picture at
its full size.

If only one picture is larger than the working size, its details are always searched for. If both are, or if
both are so small that they can be enlarged, details are searched for only if no object is sure or likely
without them.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from matching._common.types import Floats
from matching.correspondences.candidates import Candidates
from matching.correspondences.scale_bands import match_by_scale
from matching.features.extraction import Features, mirrored_features
from matching.grouping.config import MatchConfig
from matching.grouping.groups import need_fewer
from matching.grouping.methods import Method
from matching.searches.proposals import Listing
from matching.searches.search import group_candidates
from matching.searches.source import DescribedPicture

# Pixels of the full size: smaller objects have too few features. Of prints in 12 megapixels, none of two of
# 28 px is found, and both of 36 px are.
MIN_DETAIL_SIZE = 24.0
MAX_DETAIL_SIZE = 200.0  # working pixels: larger objects are found without details; no record of a choice
# Pixels: smaller features of the other picture are left out if that picture is large enough to have plenty
# of others, which saves a third of the time. Of 36 prints of 36 to 100 px, one fewer is found with 2.0, and
# as many without a bound.
MIN_FEATURE_SIZE = 2.0**0.5


def find_details(
    coarse: DescribedPicture,
    fine: DescribedPicture,
    working_step: Floats,
    config: MatchConfig,
    method: Method,
) -> list[Listing]:
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
        group_details(coarse, replace(fine, features=features), (best, pool), config, method)
        for features, best, pool in bands
    ]


def _leave_out_finest(picture: DescribedPicture, extent: float) -> Features:
    """Leave out features that are too small to matter for an object that fills the picture.

    An object of MAX_DETAIL_SIZE pixels has enough features of one pixel and more. Leaving out the others
    saves a third of the time.
    """
    min_size = min(extent / MAX_DETAIL_SIZE, MIN_FEATURE_SIZE / float(picture.step.max()))
    return picture.features[picture.features.radius >= min_size]


def group_details(
    coarse: DescribedPicture,
    fine: DescribedPicture,
    candidates: tuple[Candidates, Candidates],
    config: MatchConfig,
    method: Method,
) -> Listing:
    """Group candidates and their pool into proposals of the finer picture."""
    # Unrelated pictures have no group with this many matches within a band.
    conditions = need_fewer(config.objects)
    best, pool = (part.swapped for part in candidates)
    found = group_candidates(best, pool, replace(config, objects=conditions), method)
    return found.locate(fine, coarse).swapped
