"""Objects seen from very different directions, found in simulated views.

If plain features do not solve a pair, a few simulated views of both pictures are matched, then, if need be,
many more (`matching.features.views`). The objects are those groups that are planes
(`matching.grouping.planes`).
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from matching.correspondences.correspondences import Correspondences
from matching.correspondences.view_candidates import match_views
from matching.features.views import ViewedPicture, join_features, view_levels
from matching.grouping.config import MatchConfig
from matching.grouping.group import group
from matching.grouping.ledger import Ledger
from matching.grouping.methods import VIEWS
from matching.grouping.planes import count_places, find_planes
from matching.searches.proposals import Listing
from matching.searches.search import GroupedCandidates
from matching.searches.source import DescribedPicture

# Times the places that a plane needs: with so many, no more views are simulated. Chosen on seven pairs of
# very different views (EVD).
ENOUGH_PLACES = 2


def has_enough(kept: Correspondences, config: MatchConfig) -> bool:
    """Test whether matches lie at so many places that no more views are needed."""
    return count_places(kept, config.graph.scale) >= ENOUGH_PLACES * config.planes.min_places


def find_in_views(
    described: Sequence[DescribedPicture], views: Sequence[ViewedPicture], config: MatchConfig = MatchConfig()
) -> Listing:
    """Find planes that only simulated views of two pictures show."""
    found: Listing | None = None
    for level in view_levels(config.features.regions):
        joined = [
            replace(picture, features=join_features([picture.features, viewed.features(level)]))
            for picture, viewed in zip(described, views, strict=True)
        ]
        features0, features1 = (picture.features for picture in joined)
        candidates, n_listed = match_views(features0, features1, config.candidates, config.view_candidates)
        matches, ledger = candidates.correspondences, Ledger(len(candidates))
        groups = group(matches, n_listed, config, VIEWS, ledger)
        share = config.suppression.share  # as for other objects that share matches with stronger ones
        planes = find_planes(matches, groups, config.planes, config.graph.scale, share, ledger)
        if planes or found is None or not found.proposals:
            found = GroupedCandidates(candidates, n_listed, planes, ledger).locate(joined[0], joined[1])
        rows = np.concatenate([np.empty(0, np.int64), *(plane.rows for plane in planes)])
        if has_enough(matches[rows], config):
            break
    assert found is not None  # there are always some views
    return found
