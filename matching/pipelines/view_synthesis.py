"""Objects seen from very different directions, found in simulated views.

If plain features do not solve a pair, a few simulated views of both pictures are matched, then, if need be,
many more (`matching.features.views`). The objects are those groups that are planes
(`matching.grouping.refinement.planes`).
"""

from collections.abc import Sequence
from dataclasses import replace

from matching._common.threads import default_threads
from matching.config import MatchConfig
from matching.correspondences.candidates import Candidates
from matching.correspondences.view_candidates import match_views
from matching.features.extraction import Features
from matching.features.views import ViewedPicture, join_features, view_levels
from matching.grouping import VIEWS, Correspondences, Groups, group
from matching.grouping.refinement.planes import count_places, find_planes
from matching.objects.confidence import DOUBTFUL, confidence
from matching.pipelines.details import Located

# Times the places that a plane needs: with so many, no more views are simulated. Chosen on seven pairs of
# very different views (EVD).
ENOUGH_PLACES = 2


def is_solved(groups: Groups | Located) -> bool:
    """Test whether plain features solve a pair, that is, whether its best object is sure or likely."""
    return groups.log_nfa is not None and any(confidence(v) != DOUBTFUL for v in groups.log_nfa)


def has_enough(kept: Correspondences, config: MatchConfig) -> bool:
    """Test whether matches lie at so many places that no more views are needed."""
    return count_places(kept, config.graph.scale) >= ENOUGH_PLACES * config.planes.min_places


def find_in_views(
    plain: Sequence[Features], pictures: Sequence[ViewedPicture], config: MatchConfig = MatchConfig()
) -> tuple[Candidates, Groups] | None:
    """Find objects that only simulated views show, and the rejected groups of the views."""
    n_threads, found = default_threads(), None
    narrow = replace(config, objects=replace(config.objects, min_width=0.0))  # seen from the side
    for views in view_levels(config.features.regions):
        features0, features1 = (
            join_features([own, picture.features(views, n_threads)])
            for own, picture in zip(plain, pictures, strict=True)
        )
        candidates, n_listed = match_views(
            features0, features1, config.candidates, config.view_candidates, n_threads
        )
        correspondences = candidates.correspondences
        groups = group(correspondences, n_listed, narrow, n_threads, VIEWS)
        share = config.suppression.share  # as for other objects that share matches with stronger ones
        planes = find_planes(correspondences, groups, config.planes, config.graph.scale, share)
        if len(planes.scores) or found is None or not len(found[1].scores):
            found = candidates, planes
        if has_enough(correspondences[planes.labels >= 0], config):
            break
    return found
