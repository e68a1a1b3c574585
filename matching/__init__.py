"""Finds the objects that two pictures both show, by clustering feature correspondences."""

from matching._version import __version__
from matching.config import MatchConfig
from matching.deformation import object_deformation
from matching.errors import InputError
from matching.objects import MatchedObject
from matching.pipeline import MatchResult, match

__all__ = [
    "InputError",
    "MatchConfig",
    "MatchResult",
    "MatchedObject",
    "__version__",
    "match",
    "object_deformation",
]
