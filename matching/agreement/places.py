"""The places where two registered pictures differ: connected pixels that stand out of the noise together."""

from __future__ import annotations

import math
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
END = 6  # pixels beside what may not be the object, and what is blurred into it
# Of the side of the object, the length along its frame of ground around it, and of what covers a corner; what
# differs there on a page has a twentieth.
MIN_RUN = 0.12
MIN_BETWEEN = 0.5  # of a place at the end of the object, between the matches: less lies beside it


@dataclass(frozen=True, eq=False)
class Place:
    """A place that differs: its mask (h, w), the x and y of its corner, and its evidence."""

    mask: Bools
    corner: tuple[int, int]
    evidence: float


def find_places(pair: Closeup, residual: Residual) -> tuple[list[Place], float]:
    """Find the places that differ, the one with most evidence first, and the side of the largest that may.

    Pixels; 0 if there is none.
    """
    reach = 2 * int(EDGE + 2 * max(residual.blurs)) + 1
    inner = opencv.erode(np.pad(pair.seen, 1), reach)[1:-1, 1:-1]
    inside = opencv.erode(pair.use, INNER)
    end = opencv.dilate(pair.surroundings, reach + 2 * END)
    unlike = gather(np.where(inner, residual.unlike, 0))
    labels, boxes = opencv.box_components(unlike > MIN_UNLIKE)
    places, doubt, side = list[Place](), 0.0, 0.0
    for k, (x, y, width, height) in enumerate(boxes.tolist()):
        box = np.s_[y : y + height, x : x + width]
        mask = labels[box] == k + 1
        high = unlike[box][mask]
        peak, evidence = float(high.max()), float((high - 1).sum())
        if peak < OPEN_PEAK or evidence < MIN_OPEN_SUM or inside[box][mask].mean() < MIN_INSIDE:
            continue
        at_end = int((end[box] & mask).sum())
        if at_end and pair.between[box][mask].mean() < MIN_BETWEEN:
            if pair.matched[box][mask].mean() >= MIN_BETWEEN:
                continue  # the outline is too wide
            if at_end >= MIN_RUN * END * math.sqrt(pair.use.sum()):
                # ground around the object, or something that covers it
                doubt, side = doubt + MIN_OPEN, max(side, math.sqrt(mask.sum()))
                continue
        if peak >= MIN_PEAK and evidence >= MIN_SUM:
            places += _trim(Place(mask, (x, y), evidence), unlike[box], residual.off[box])
        else:
            doubt, side = doubt + peak - OPEN_PEAK, max(side, math.sqrt(mask.sum()))
    return sorted(places, key=lambda place: -place.evidence), side if doubt >= MIN_OPEN else 0.0


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
