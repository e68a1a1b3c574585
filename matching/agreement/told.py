"""From which size on a difference would have been found, measured on the print of the pair itself.

At each pixel with print, a square place is made plain: how far its print stands out of its surroundings is
what would be unlike there.
"""

from __future__ import annotations

import math

import numpy as np

from matching._common import opencv
from matching._common.types import Bools
from matching.agreement.places import MIN_UNLIKE, gather
from matching.agreement.residual import MAX_UNLIKE, Residual

SIDES = 6, 8, 9, 10, 12, 14, 17, 20, 24, 28, 34, 40, 48, 57, 68, 80  # pixels
MIN_TOLD = 0.95  # of the squares of the stated side
# Times the noise: more than a place must have, as noise and light take some of it. With the bounds of places
# themselves, 17 of 20 altered places as large as stated are told, with these all of 120.
CLEAR_PEAK, CLEAR_SUM = 8.5, 260.0
MIN_PRINT = 100  # pixels: less print tells nothing


def measure_told(residual: Residual, is_print: Bools) -> float:
    """The side of the squares, pixels, nearly all of which would be told; inf if none are."""
    if is_print.sum() < MIN_PRINT:
        return math.inf
    # the print of one picture alone has less noise than edges of both, but more than what is flat
    noise = np.sqrt(residual.noise * residual.noise.min())
    unlike = gather(np.minimum(residual.relief / noise, MAX_UNLIKE))
    evidence = np.where(unlike > MIN_UNLIKE, unlike - 1, np.float32(0))
    for side in SIDES:
        total, peak = opencv.box_mean(evidence, side) * side**2, opencv.box_max(unlike, side)
        if ((total >= CLEAR_SUM) & (peak >= CLEAR_PEAK))[is_print].mean() >= MIN_TOLD:
            return float(side)
    return math.inf
