"""The places where two registered pictures differ: connected pixels that stand out of the noise together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from matching._common import opencv
from matching._common.types import Bools, Float32s
from matching.agreement.closeup import Closeup
from matching.agreement.residual import Residual

BLUR = 1.2  # pixels, standard deviation: pixels that differ lie together
MIN_UNLIKE = 2.0  # times the noise, of each pixel of a place
# Of a place, times the noise: the highest pixel, and the sum of what is above 1.
MIN_PEAK, MIN_SUM = 6.7, 150.0
EDGE = 5  # pixels along the border of what both show, where pixels do not count
INNER = 7  # pixels, the side of a square that lies in the object around each pixel ...
MIN_INSIDE = 0.9  # ... of this share of a place


@dataclass(frozen=True, eq=False)
class Place:
    """A place that differs: its mask (h, w), the x and y of its corner, and its evidence."""

    mask: Bools
    corner: tuple[int, int]
    evidence: float


def find_places(pair: Closeup, residual: Residual) -> list[Place]:
    """Find the places that differ, the one with most evidence first."""
    reach = 2 * int(EDGE + 2 * max(residual.blurs)) + 1
    inner = opencv.erode(np.pad(pair.seen, 1), reach)[1:-1, 1:-1]
    inside = opencv.erode(pair.use, INNER)
    unlike = gather(np.where(inner, residual.unlike, 0))
    labels, boxes = opencv.box_components(unlike > MIN_UNLIKE)
    places = []
    for k, (x, y, width, height) in enumerate(boxes.tolist()):
        box = np.s_[y : y + height, x : x + width]
        mask = labels[box] == k + 1
        high = unlike[box][mask]
        evidence = float((high - 1).sum())
        if high.max() >= MIN_PEAK and evidence >= MIN_SUM and inside[box][mask].mean() >= MIN_INSIDE:
            places.append(Place(mask, (x, y), evidence))
    return sorted(places, key=lambda place: -place.evidence)


def gather(unlike: Float32s) -> Float32s:
    """What is unlike (h, w) around each pixel."""
    return opencv.gaussian_blur(unlike, BLUR)
