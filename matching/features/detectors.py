"""Detectors, which find features in a picture, and their registry.

A detector returns centres and frames. The program gives a direction to frames without one, describes a window
around each frame, and matches the features of a detector only with each other.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from matching._common.arrays import determinants
from matching._common.types import Array, Bools, Floats
from matching.errors import InputError
from matching.settings import REGIONS

ROOT_2 = math.sqrt(2.0)


@dataclass(frozen=True, eq=False)
class Detection:
    """The features that a detector finds in a picture, as aligned arrays.

    Parameters
    ----------
    xy : (n, 2) float64
        Centres, pixels; (0, 0) is the centre of the top-left pixel.
    frames : (n, 2, 2) float64
        Maps from the unit circle to the region, with the first column along the direction of the feature:
        ``[[r, 0], [0, r]]`` for a circle of radius r without a direction.
    strength : (n,) float64
        The strength of each feature; if there are too many, the strongest ones are kept.
    bright : (n,) bool
        Whether each is brighter than its surroundings: bright features are matched only with bright ones. All
        are True if the detector does not know.
    """

    xy: Floats
    frames: Floats
    strength: Floats
    bright: Bools


@dataclass(frozen=True)
class Detector:
    """A kind of feature.

    Parameters
    ----------
    name : str
        Its name in `regions` and ``--regions``: letters, digits and hyphens.
    detect : callable
        Called as ``detect(grey)`` with a picture (h, w) uint8, it returns a `Detection`. The same picture
        must give the same features.
    window : float
        Half the side of the square that is described, in radii of the region.
    n_orientations : int
        The largest number of directions that a feature gets: those of the strongest gradients. 0 if the
        frames already have directions.
    orientation_window : float, optional
        Half the side of the square whose gradients determine the direction, in radii; by default, `window`.
    localisation : float
        Accuracy of a centre, in radii: features of simulated views that are closer than this count as one.
    border : float
        In simulated views, how far the picture must extend around a centre, in radii.
    coarsest : float
        Radius in pixels up to which features of large pictures are detected at their full size.
    version : str
        A version that must change whenever `detect` changes, so that caches don't return old features.
    """

    name: str
    detect: Callable[[Array], Detection]
    window: float = 3.0
    n_orientations: int = 0
    orientation_window: float | None = None
    localisation: float = 0.25
    border: float = 1.5
    coarsest: float = 6.0
    version: str = "1"

    def __post_init__(self) -> None:
        if not self.name.replace("-", "").isalnum():
            raise InputError(f"name must be letters, digits and hyphens, got {self.name!r}")
        for field in ("window", "localisation", "border", "coarsest"):
            if not 0 < getattr(self, field) < math.inf:
                raise InputError(f"{field} must be above 0 and finite, got {getattr(self, field)!r}")
        if not callable(self.detect):
            raise InputError(f"detect must be a function, got {type(self.detect).__name__}")

    @property
    def reach(self) -> float:
        """The distance from the centre to the corners of the largest window at full size, pixels."""
        return math.ceil(self.coarsest * self.window * ROOT_2)

    def run(self, grey: Array) -> Detection:
        """Detect the features of a picture, and check them.

        Parameters
        ----------
        grey : (h, w) uint8
            The picture.

        Returns
        -------
        Detection
            The features.

        Raises
        ------
        InputError
            The value that `detect` returns has the wrong type or shape, or holds numbers that can't be used.
        """
        detection = self.detect(grey)
        if not isinstance(detection, Detection):
            raise InputError(
                f"detector {self.name!r} must return a Detection, got {type(detection).__name__}"
            )
        n, shapes = len(detection.xy), {"xy": (2,), "frames": (2, 2), "strength": (), "bright": ()}
        for field, shape in shapes.items():
            array = np.asarray(getattr(detection, field))
            if array.shape != (n, *shape):
                expected = str(("n", *shape)).replace("'", "")
                raise InputError(
                    f"detector {self.name!r}: {field} must have shape {expected}, got {array.shape}"
                )
        columns = detection.xy, detection.frames, detection.strength
        xy, frames, strength = (np.asarray(column, np.float64) for column in columns)
        is_finite = np.isfinite(xy).all(axis=1) & np.isfinite(frames).all(axis=(1, 2))
        if not is_finite.all() or not (np.abs(determinants(frames)) > 0).all():
            raise InputError(f"detector {self.name!r} must return finite points and invertible frames")
        return Detection(xy, frames, strength, np.asarray(detection.bright, bool))


_REGISTRY: dict[str, Detector] = {}


def register_detector(detector: Detector) -> None:
    """Register a detector by its name, for ``regions=("mser", "sift", name)``.

    Parameters
    ----------
    detector : Detector
        The detector. It replaces a registered one of the same name.

    Raises
    ------
    InputError
        Its name is that of a built-in detector.
    """
    if detector.name in REGIONS:
        raise InputError(f"name must not be {detector.name!r}, which is a built-in detector")
    _REGISTRY[detector.name] = detector


def list_detectors() -> tuple[str, ...]:
    """List the names of all detectors; a feature's kind is an index into these."""
    return (*REGIONS, *_REGISTRY)


def list_registered_detectors() -> tuple[Detector, ...]:
    """List the detectors that users have registered, in the order of registration."""
    return tuple(_REGISTRY.values())
