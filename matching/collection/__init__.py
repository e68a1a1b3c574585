"""Matching of many pictures: a cache of features, a database of results, and many processes."""

from matching.collection.cache import FeatureCache
from matching.collection.plan import Plan, plan_folder, plan_gallery, plan_list
from matching.collection.run import Summary, match_collection

__all__ = ["FeatureCache", "Plan", "Summary", "match_collection", "plan_folder", "plan_gallery", "plan_list"]
