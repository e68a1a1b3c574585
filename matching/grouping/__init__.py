"""Grouping correspondences into objects."""

from matching.correspondences.correspondences import Correspondences
from matching.grouping.objects import Groups
from matching.grouping.paper import group_by_paper
from matching.grouping.stages import group

__all__ = ["Correspondences", "Groups", "group", "group_by_paper"]
