"""Objects seen from very different directions, found in simulated views.

If plain features do not solve a pair, a few simulated views of both pictures are matched, then, if need be,
many more (`matching.features.views`). The objects are those groups that are planes
(`matching.core.planes`).
"""

from collections.abc import Iterable, Sequence

import numpy as np

from matching.core.config import MatchConfig
from matching.core.group import group
from matching.core.ledger import Ledger
from matching.core.methods import VIEWS
from matching.core.pixel_matches import PixelObject
from matching.core.planes import count_places, find_planes
from matching.core.search import Search
from matching.correspondences.correspondences import Correspondences
from matching.correspondences.view_candidates import match_views
from matching.features.extraction import Features
from matching.features.views import ViewedPicture, join_features, view_levels
from matching.objects.confidence import DOUBTFUL, confidence

# Times the places that a plane needs: with so many, no more views are simulated. Chosen on seven pairs of
# very different views (EVD).
ENOUGH_PLACES = 2


def is_solved(objects: Iterable[PixelObject]) -> bool:
    """Test whether a pair is solved, that is, whether an object is sure or likely."""
    return any(one.log_nfa is not None and confidence(one.log_nfa) != DOUBTFUL for one in objects)


def has_enough(kept: Correspondences, config: MatchConfig) -> bool:
    """Test whether matches lie at so many places that no more views are needed."""
    return count_places(kept, config.graph.scale) >= ENOUGH_PLACES * config.planes.min_places


def find_in_views(
    plain: Sequence[Features], pictures: Sequence[ViewedPicture], config: MatchConfig = MatchConfig()
) -> Search:
    """Find objects that only simulated views show, and the rejected groups of the views."""
    found: Search | None = None
    for views in view_levels(config.features.regions):
        features0, features1 = (
            join_features([features, picture.features(views)])
            for features, picture in zip(plain, pictures, strict=True)
        )
        candidates, n_listed = match_views(features0, features1, config.candidates, config.view_candidates)
        matches, ledger = candidates.correspondences, Ledger(len(candidates))
        groups = group(matches, n_listed, config, VIEWS, ledger)
        share = config.suppression.share  # as for other objects that share matches with stronger ones
        planes = find_planes(matches, groups, config.planes, config.graph.scale, share, ledger)
        if planes or found is None or not found.objects:
            found = Search(candidates, config.candidates.max_matches, planes, ledger)
        rows = np.concatenate([np.empty(0, np.int64), *(plane.rows for plane in planes)])
        if has_enough(matches[rows], config):
            break
    assert found is not None  # there are always some views
    return found
