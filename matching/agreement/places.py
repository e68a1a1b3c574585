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
# Of what may be one, and what the peaks of all of these must have above it together: one with 4.7 has it, or
# five with 3.9 each. Of 32 copies, two have a little more than 3.7.
OPEN_PEAK, MIN_OPEN_SUM, MIN_OPEN = 3.7, 60.0, 1.0
# Of how far the colours of a place are off, at this quantile: less is a halo of its light, and with it an
# altered square of 10 pixels measures 24.
RIM, HIGH = 0.3, 0.9
GAP = 7  # pixels, the side of a square that joins what lies so close, such as strokes of one letter
EDGE = 5  # pixels along the border of what both show, where pixels do not count
INNER = 7  # pixels, the side of a square that lies in the object around each pixel ...
MIN_INSIDE = 0.9  # ... of this share of a place
END = 13  # pixels, the side of a square that leaves the object around each pixel where the object may end ...
MIN_BETWEEN = 0.5  # ... unless this share of a place lies between the matches


@dataclass(frozen=True, eq=False)
class Place:
    """A place that differs: its mask (h, w), the x and y of its corner, and its evidence."""

    mask: Bools
    corner: tuple[int, int]
    evidence: float


def find_places(pair: Closeup, residual: Residual) -> tuple[list[Place], bool]:
    """Find the places that differ, the one with most evidence first, and whether there may be others."""
    reach = 2 * int(EDGE + 2 * max(residual.blurs)) + 1
    inner = opencv.erode(np.pad(pair.seen, 1), reach)[1:-1, 1:-1]
    inside = opencv.erode(pair.use, INNER)
    # what differs there, beyond the matches, is what lies beside the object
    end = ~opencv.erode(pair.use | ~pair.seen, END)
    unlike = gather(np.where(inner, residual.unlike, 0))
    labels, boxes = opencv.box_components(unlike > MIN_UNLIKE)
    places, doubt = list[Place](), 0.0
    for k, (x, y, width, height) in enumerate(boxes.tolist()):
        box = np.s_[y : y + height, x : x + width]
        mask = labels[box] == k + 1
        high = unlike[box][mask]
        peak, evidence = float(high.max()), float((high - 1).sum())
        if peak < OPEN_PEAK or evidence < MIN_OPEN_SUM or inside[box][mask].mean() < MIN_INSIDE:
            continue
        if end[box][mask].any() and pair.between[box][mask].mean() < MIN_BETWEEN:
            continue
        if peak >= MIN_PEAK and evidence >= MIN_SUM:
            places += _trim(Place(mask, (x, y), evidence), unlike[box], residual.off[box])
        else:
            doubt += peak - OPEN_PEAK
    return sorted(places, key=lambda place: -place.evidence), doubt >= MIN_OPEN


def _trim(place: Place, unlike: Float32s, off: Float32s) -> list[Place]:
    """The parts of a place whose colours are off; itself if none has enough evidence alone."""
    is_off = place.mask & (off > RIM * np.quantile(off[place.mask], HIGH))
    labels, boxes = opencv.box_components(opencv.dilate(is_off, GAP))
    parts = []
    for k, (x, y, width, height) in enumerate(boxes.tolist()):
        box = np.s_[y : y + height, x : x + width]
        mask = opencv.erode(labels == k + 1, GAP)[box]
        high = unlike[box][mask & place.mask[box]]
        if high.max(initial=0) >= MIN_PEAK and (evidence := float((high - 1).sum())) >= MIN_SUM:
            parts.append(Place(mask, (place.corner[0] + x, place.corner[1] + y), evidence))
    return parts or [place]


def gather(unlike: Float32s) -> Float32s:
    """What is unlike (h, w) around each pixel."""
    return opencv.gaussian_blur(unlike, BLUR)
