"""Grouping correspondences into objects."""

from matching.grouping.correspondences import Correspondences
from matching.grouping.objects import Groups, group

__all__ = ["Correspondences", "Groups", "group"]
