"""Finds the objects that two pictures both show, by clustering feature correspondences.

The names below load when they are first used, so that a command can tell of an interrupt or a broken
installation in a line.
"""

from typing import TYPE_CHECKING

from matching._lazy import lazy_names
from matching._version import __version__
from matching.errors import InputError

if TYPE_CHECKING:
    from matching.config import MatchConfig
    from matching.given import group_matches
    from matching.objects.deformation import object_deformation
    from matching.objects.description import MatchedObject
    from matching.pipeline import MatchResult, match

__all__ = [
    "InputError",
    "MatchConfig",
    "MatchResult",
    "MatchedObject",
    "__version__",
    "group_matches",
    "match",
    "object_deformation",
]
_MODULES = {
    "MatchConfig": "matching.config",
    "MatchResult": "matching.pipeline",
    "MatchedObject": "matching.objects.description",
    "group_matches": "matching.given",
    "match": "matching.pipeline",
    "object_deformation": "matching.objects.deformation",
}
__getattr__, __dir__ = lazy_names(__name__, _MODULES)
