"""Grouping correspondences into objects."""

from matching.correspondences.correspondences import Correspondences
from matching.grouping.objects import Groups
from matching.grouping.stages import DEFAULT, GIVEN, REPEATS, VIEWS, group, replace_clustering
from matching.grouping.ways import GROUPINGS, Grouping

__all__ = [
    "DEFAULT",
    "GIVEN",
    "GROUPINGS",
    "REPEATS",
    "VIEWS",
    "Correspondences",
    "Grouping",
    "Groups",
    "group",
    "replace_clustering",
]
