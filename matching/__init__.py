"""Finds the objects that two pictures both show, by clustering feature correspondences.

The names below load when they are first used, so that a command can tell of an interrupt or a broken
installation in a line.
"""

from typing import TYPE_CHECKING

from matching._common.lazy import lazy_names
from matching._version import __version__
from matching.errors import InputError

if TYPE_CHECKING:
    from matching.config import MatchConfig
    from matching.interchange.arrays import matches_from
    from matching.interchange.files import read_matches
    from matching.interchange.records import PairMatches
    from matching.matches import object_deformation
    from matching.objects.description import MatchedObject
    from matching.objects.things import Thing
    from matching.pipelines.given import group_matches
    from matching.pipelines.pair import match
    from matching.pipelines.repeats import find_repeats
    from matching.result import MatchResult
    from matching.video.search import Appearance, Sighting, VideoResult, find_in_video

__all__ = [
    "Appearance",
    "InputError",
    "MatchConfig",
    "MatchResult",
    "MatchedObject",
    "PairMatches",
    "Sighting",
    "Thing",
    "VideoResult",
    "__version__",
    "find_in_video",
    "find_repeats",
    "group_matches",
    "match",
    "matches_from",
    "object_deformation",
    "read_matches",
]
_MODULES = {
    "Appearance": "matching.video.search",
    "MatchConfig": "matching.config",
    "MatchResult": "matching.result",
    "MatchedObject": "matching.objects.description",
    "PairMatches": "matching.interchange.records",
    "Sighting": "matching.video.search",
    "Thing": "matching.objects.things",
    "VideoResult": "matching.video.search",
    "find_in_video": "matching.video.search",
    "find_repeats": "matching.pipelines.repeats",
    "group_matches": "matching.pipelines.given",
    "match": "matching.pipelines.pair",
    "matches_from": "matching.interchange.arrays",
    "object_deformation": "matching.matches",
    "read_matches": "matching.interchange.files",
}
__getattr__, __dir__ = lazy_names(__name__, _MODULES)
