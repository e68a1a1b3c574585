"""Settings of the features."""

from collections.abc import Iterable
from dataclasses import dataclass

from matching.errors import InputError
from matching.features.detectors import list_detectors
from matching.settings import LARGEST, REGIONS, check_settings, setting

DESCRIPTORS = ("rootsift", "sift")


@dataclass(frozen=True)
class FeatureConfig:
    """Settings of the detectors and of the descriptor.

    Parameters
    ----------
    regions : tuple of str
        Kinds of features: "mser", "sift", or names of registered detectors (`matching.features.detectors`).
    max_features : int
        Largest number of features of each kind in a picture. Photographs have up to 17,000, and fine textures
        such as printed dots 100,000; the time and memory of matching grow with the square of this number.
    mser_delta : int
        Grey levels over which a region must be stable.
    mser_min_area : int
        Smallest area of a region, pixels.
    mser_max_area : float
        Largest area of a region, as a share of the image.
    mser_max_variation : float
        Largest relative growth of a region's area over `mser_delta` grey levels.
    mser_window : float
        Half the side of the window that is described, in radii of the region's ellipse.
    mser_orientations : int
        Largest number of dominant orientations of a region; each makes a feature.
    mser_cell : float
        Side of a spatial bin, in radii: of nested regions of similar size whose centres are in one bin, only
        one counts. 0: all count.
    sift_contrast : float
        Smallest response of a key point, as a share of the grey levels, defined as in OpenCV.
    sift_fill : int
        In squares of 64 x 64 pixels with fewer key points than this, key points fainter than OpenCV's 0.04
        are also kept, the strongest first. So nearly plain areas have some, and rich areas take no more time.
    sift_orientations : int
        Largest number of dominant orientations of a key point; each makes a feature.
    sift_window : float
        Half the side of the window that is described, in units of the key point's sigma.
    descriptor : str
        "rootsift" or "sift".
    """

    regions: tuple[str, ...] = REGIONS
    max_features: int = setting(20_000, 1, LARGEST)
    mser_delta: int = setting(3, 1, 255)
    mser_min_area: int = setting(30, 1, 10**9)
    mser_max_area: float = setting(0.1, 0, 1)
    mser_max_variation: float = setting(0.4, 0, 1000)
    mser_window: float = setting(3.0, 0.01, 100)
    mser_orientations: int = setting(2, 1, 36)
    mser_cell: float = setting(0.2, 0, 100)
    sift_contrast: float = setting(0.01, 0, 1)
    sift_fill: int = setting(24, 0, LARGEST)
    sift_orientations: int = setting(2, 1, 36)
    sift_window: float = setting(7.5, 0.01, 100)
    descriptor: str = setting("rootsift", choices=DESCRIPTORS)

    def __post_init__(self) -> None:
        is_list = isinstance(self.regions, Iterable) and not isinstance(self.regions, str)
        regions = tuple(self.regions) if is_list else ()
        names = list_detectors()
        if not regions or any(kind not in names for kind in regions) or len(set(regions)) < len(regions):
            raise InputError(f"regions must be some of {names}, got {self.regions!r}")
        object.__setattr__(self, "regions", regions)  # as a tuple, which can be hashed
        check_settings(self)
