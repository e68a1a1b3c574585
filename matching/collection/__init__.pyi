from .cache import FeatureCache as FeatureCache
from .plan import Plan as Plan
from .plan import plan_folder as plan_folder
from .plan import plan_gallery as plan_gallery
from .plan import plan_list as plan_list
from .run import Summary as Summary
from .run import match_collection as match_collection
