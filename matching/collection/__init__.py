"""The same matching over many pictures: a cache of features, a database of results, many processes."""

from matching.collection.cache import FeatureCache
from matching.collection.plan import Plan, plan_of_folder, plan_of_gallery, plan_of_list
from matching.collection.run import Summary, match_collection

__all__ = [
    "FeatureCache",
    "Plan",
    "Summary",
    "match_collection",
    "plan_of_folder",
    "plan_of_gallery",
    "plan_of_list",
]
