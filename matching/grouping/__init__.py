"""Grouping correspondences into objects."""

from matching.correspondences.correspondences import Correspondences
from matching.grouping.groups import Groups
from matching.grouping.objects import group
from matching.grouping.paper import group_by_paper

__all__ = ["Correspondences", "Groups", "group", "group_by_paper"]
