"""Objects that are seen from very different directions: found in simulated views, on demand.

Where plain features do not solve a pair, features of a few simulated views of both pictures are matched, then
those of many more (`matching.features.views`), until the pair is solved. Their candidates are grouped as
others are; the objects are the groups that are planes (`matching.grouping.planes`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from matching.config import MatchConfig
from matching.correspondences.candidates import Candidates
from matching.correspondences.view_candidates import match_views
from matching.features.extraction import Features
from matching.features.views import ViewedPicture, join_features, view_levels
from matching.grouping import Correspondences, Groups, group
from matching.grouping.planes import count_places, find_planes
from matching.threads import default_threads

SOLVED_PLACES = 100  # of the best object, see `PlanesConfig.min_places`, for which no more views are needed


def is_solved(groups: Groups, config: MatchConfig) -> bool:
    """Whether a pair counts as solved: its best object has `solved_score`."""
    return len(groups.scores) > 0 and groups.scores[0] >= config.solved_score


def find_in_views(
    plain: Sequence[Features], pictures: Sequence[ViewedPicture], config: MatchConfig = MatchConfig()
) -> tuple[Candidates, Groups] | None:
    """Objects that only simulated views show.

    Parameters
    ----------
    plain : two Features
        Of the pictures themselves.
    pictures : two ViewedPicture
    config : MatchConfig

    Returns
    -------
    candidates : Candidates
        Of the last level of views that was looked at, by falling trust.
    groups : Groups
        None instead of both where no level has an object.
    """
    n_threads, found = default_threads(), None
    narrow = replace(config, objects=replace(config.objects, min_width=config.planes.min_width))
    for views in view_levels(config.features.regions):
        both = [
            join_features([own, picture.features(views, n_threads)])
            for own, picture in zip(plain, pictures, strict=True)
        ]
        candidates, n_listed = match_views(*both, config.candidates, config.view_candidates, n_threads)
        correspondences = Correspondences(candidates.xy0, candidates.xy1, candidates.maps)
        groups = group(correspondences, n_listed, narrow, n_threads)
        planes = find_planes(correspondences, groups, config.planes)
        if len(planes.scores):
            found = candidates, planes
        best = correspondences[planes.labels == 0]
        if is_solved(planes, config) and count_places(best, config.planes.cell) >= SOLVED_PLACES:
            break
    return found
