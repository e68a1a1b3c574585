"""The same matching over many pictures: a cache of features, a database of results, many processes."""

from typing import TYPE_CHECKING

from matching._common.lazy import lazy_names

if TYPE_CHECKING:
    from matching.collection.cache import FeatureCache
    from matching.collection.plan import Plan, plan_folder, plan_gallery, plan_list
    from matching.collection.run import Summary, match_collection

__all__ = [
    "FeatureCache",
    "Plan",
    "Summary",
    "match_collection",
    "plan_folder",
    "plan_gallery",
    "plan_list",
]
_MODULES = {
    "FeatureCache": "matching.collection.cache",
    "Plan": "matching.collection.plan",
    "Summary": "matching.collection.run",
    "match_collection": "matching.collection.run",
    "plan_folder": "matching.collection.plan",
    "plan_gallery": "matching.collection.plan",
    "plan_list": "matching.collection.plan",
}
__getattr__, __dir__ = lazy_names(__name__, _MODULES)
