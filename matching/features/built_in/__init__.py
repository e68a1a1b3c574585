"""The built-in detectors: each is a module of this folder, whose name is that of the detector.

Its function ``make_detector(config)`` makes a `Detector` from the settings of the features, a
`FeatureConfig`. The command reads the names before it loads anything slow.
"""

from matching._common.modules import list_modules
from matching.settings import REGIONS

# The default ones come first: the kind of a feature is an index, which a kept index of pictures stores.
BUILT_IN = tuple(dict.fromkeys((*REGIONS, *list_modules(__name__))))
