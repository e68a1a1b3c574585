"""Features of simulated views: a picture as it would look from other directions.

A surface seen from the side is foreshortened by the tilt, 1 / cos of the viewing angle; local features
survive a tilt of about 2. Simulated views of both pictures undo the rest: the picture is turned, blurred and
squeezed, and the features of the view are mapped back. (Morel and Yu, ASIFT, SIAM J. Imaging Sciences 2009;
Mishkin, Matas and Perdoch, MODS, CVIU 2015.)

Notation: a view maps a pixel x to M x + b; its feature with centre u and frame B has the centre M^-1 (u - b)
and the frame M^-1 B in the picture.
"""

from dataclasses import dataclass, fields, replace

import numpy as np

from matching._common import opencv
from matching._common.threads import map_in_threads
from matching._common.types import Array, Bools
from matching.features.extraction import FeatureConfig, Features, extract_features, measure_by_kind
from matching.settings import REGIONS

ANTIALIASING = 0.8  # pixels of blur before squeezing, per unit of sqrt(tilt^2 - 1), as in ASIFT
# share of max_features per unit of area; all views have up to 60,000 features, which take seconds to match
FEATURE_SHARE = 0.25


@dataclass(frozen=True)
class View:
    """A simulated view."""

    tilt: float  # factor by which the picture is squeezed, at least 1
    angle: float  # radians of the turn before the picture is squeezed along x
    kinds: tuple[str, ...] = REGIONS  # kinds of features to find


def view_levels(kinds: tuple[str, ...] = REGIONS) -> tuple[tuple[View, ...], ...]:
    """List the views to simulate, first a few, then many more.

    A view at tilt t has 1 / t of the pixels and needs t times as many angles, so each tilt costs the same.
    Steps of 90 degrees divided by the tilt suffice for tilts 2 and 4; half that step, and tilt 8, yield about
    four times as many correct matches on extreme pairs. Only one in seven of these matches comes from MSER,
    which accounts for half of the cost. So if both kinds are wanted, dense angles are used only for key
    points.
    """
    few = tuple(_make_views(2, 2, kinds) + _make_views(4, 2, kinds))
    dense = ("sift",) if "sift" in kinds else kinds
    many = [view for tilt in (2, 4, 8) for view in _make_views(tilt, 4, dense)]
    few_dense = {replace(view, kinds=dense) for view in few}
    return few, tuple(replace(view, kinds=kinds) if view in few_dense else view for view in many)


def _make_views(tilt: float, density: int, kinds: tuple[str, ...]) -> list[View]:
    """Make the views of a tilt, at `density` * tilt angles over half a turn."""
    n = int(density * tilt)
    return [View(float(tilt), np.pi * (k / n), kinds) for k in range(n)]


class ViewedPicture:
    """A picture (h, w) with the features of its views, which are computed when they are first needed."""

    def __init__(self, grey: Array, mask: Bools | None, config: FeatureConfig) -> None:
        self._grey, self._mask, self._config = grey, mask, config
        self._features: dict[View, Features] = {}

    def features(self, views: tuple[View, ...]) -> Features:
        """Extract the features of some views."""
        new = [view for view in views if view not in self._features]
        features = map_in_threads(
            lambda view: extract_from_view(self._grey, view, self._config, self._mask), new
        )
        self._features.update(zip(new, features, strict=True))
        return join_features([self._features[view] for view in views])


def extract_from_view(
    grey: Array, view: View, config: FeatureConfig = FeatureConfig(), mask: Bools | None = None
) -> Features:
    """Extract features inside a view, mapped back to grey (h, w) uint8; mask (h, w) bool."""
    image, matrix = opencv.tilt(grey, view.tilt, view.angle, ANTIALIASING)
    max_features = max(int(FEATURE_SHARE * config.max_features / view.tilt), 1)
    inside = opencv.warp_mask(np.ones(grey.shape, bool) if mask is None else mask, matrix, image.shape)
    view_config = replace(config, regions=view.kinds, max_features=max_features)
    return _keep_within(map_back(extract_features(image, view_config, inside), matrix), grey.shape)


def map_back(features: Features, matrix: Array) -> Features:
    """Map the features of a view back to the picture: matrix (2, 3)."""
    back = np.linalg.inv(matrix[:, :2])
    return replace(features, xy=(features.xy - matrix[:, 2]) @ back.T, frames=back @ features.frames)


def _keep_within(features: Features, shape: tuple[int, ...]) -> Features:
    radii = measure_by_kind(FeatureConfig(), "border")[features.kind]
    half = np.linalg.norm(features.frames, axis=2) * radii[:, None]  # half the box around a region
    low, high = features.xy - half, features.xy + half
    inside: Bools = ((low >= -0.5) & (high <= np.array(shape[::-1]) - 0.5)).all(axis=1)
    return features[inside]


def join_features(parts: list[Features]) -> Features:
    """Join the features of several views, in this order."""
    return Features(*(np.concatenate([getattr(p, f.name) for p in parts]) for f in fields(Features)))
