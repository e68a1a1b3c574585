"""Whether two places of one picture look the same.

They have the same light, sharpness and noise, so plain correlation tells, also where the test of `existence`
has too few windows: small windows of the one place, moved by a few pixels, correlate with the other place
nearly everywhere if it is a true repeat. Only telling windows count, those unlike the print a few pixels
aside: edges, bands and gutters agree with any others. What looks the same must be wide both ways, because
letters, scale bars and axes repeat in any figure.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from matching._common import opencv
from matching._common.types import Bools, Float32s
from matching.agreement.existence import Verdict, measure_significance
from matching.agreement.grid import (
    Ends,
    cut_level,
    evaluate_map,
    find_seen,
    list_places,
    measure_ratio,
    to_grey,
)
from matching.agreement.windows import NOISE_VARIANCE, Measured, correlate_moved, measure_windows
from matching.objects.deformation import SmoothMap
from matching.objects.description import draw_outlines

MAX_SIDE = 512  # pixels of the grid along the longer side of the object; larger ones are reduced
MARGIN = 12  # grid pixels around the matches, so that windows at the edge lie on the grid
WINDOW = 2.5  # grid pixels, standard deviation: the strokes of small letters
MAX_MOVE = 4  # grid pixels by which a window may move, as prints bend and maps are not exact ...
MOVE_STEP = 2  # ... in steps of so many, which a window is too wide to notice
MIN_CORRELATION = 0.7  # of windows that look the same; bands of different lanes often have 0.6
PRINT_VARIANCE = 16.0  # of grey values: windows with less are flat
ASIDE = (0, 3), (3, 0), (2, 2), (2, -2)  # grid pixels down and right: a few, in each direction
MAX_ALIKE = 0.8  # correlation of a telling window with those aside; along an edge it is 1
# Pixels across what looks the same, if it fills less than their square. In 140 drawn figures, letters, scale
# bars and corners of panels have 44 and less, and fill 37 squared, but for 2 of 360; panels shown again have
# 49 and more, but for 9 of 94; icons of 64 pixels have 46.
MIN_WIDTH, MIN_FILLED_WIDTH = 45.0, 30.0
# Share of the print that looks the same. True repeats of bent prints have 0.98 and more, repeated letters and
# logos on 53 covers and boxes 0.55 to 1, and 76 false objects there 0.39 in the median and 0.55 at most, but
# for four of up to 0.7.
MIN_SHARE, CERTAIN_SHARE = 0.5, 0.58
# Log10 of false alarms. Of small parts of covers, seven whose places do not look the same have -1.2 and more,
# and true repeats -1.6 and less.
MAX_LOG_NFA, CERTAIN_LOG_NFA = -1.0, -1.5
WINDOW_AREA = 4 * math.pi * WINDOW**2  # grid pixels, of a Gaussian: windows farther apart are independent


@dataclass(frozen=True)
class Resemblance:
    """What tells whether two places of one picture look the same.

    Parameters
    ----------
    share : float
        The share of the print that looks the same; nan if there is too little print.
    n_pixels : int
        Grid pixels with telling print.
    width : float
        Of a strip as long and wide as what looks the same, pixels.
    """

    share: float
    n_pixels: int
    width: float

    @property
    def verdict(self) -> Verdict:
        """An object if enough of enough print looks the same; doubtful in between."""
        is_filled = self.share * self.n_pixels >= MIN_WIDTH**2
        min_width = MIN_FILLED_WIDTH if is_filled else MIN_WIDTH
        if not self.share >= MIN_SHARE or self.log_nfa > MAX_LOG_NFA or self.width < min_width:
            return Verdict.NONE
        is_certain = self.share >= CERTAIN_SHARE and self.log_nfa <= CERTAIN_LOG_NFA
        return Verdict.OBJECT if is_certain else Verdict.DOUBTFUL

    @property
    def measured(self) -> tuple[float, float]:
        """What decides, and the least that leaves open whether it is an object."""
        return self.share, MIN_SHARE

    @property
    def log_nfa(self) -> float:
        """Log10 of the number of false alarms: of pairs of places that look as much the same by chance."""
        return -measure_significance(self.share, self.n_pixels / WINDOW_AREA, MIN_SHARE)


def measure_resemblance(base: Ends, other: Ends, smooth_map: SmoothMap) -> Resemblance:
    """Measure on which share of the print in the outline of an object its two places look the same."""
    pitch = max(1.0, float(np.ptp(base.xy, axis=0).max()) / MAX_SIDE)
    low = base.xy.min(axis=0) - MARGIN * pitch
    width, height = np.rint(np.ptp(base.xy, axis=0) / pitch + 2 * MARGIN).astype(int).tolist()
    xy_base = list_places(low, pitch, 1, (height, width))
    xy_other = evaluate_map(smooth_map, xy_base)
    a = to_grey(cut_level(base.image, xy_base, pitch).sample(xy_base))
    b = to_grey(cut_level(other.image, xy_other, pitch * measure_ratio(base, other)).sample(xy_other))
    outline, _ = draw_outlines(base.xy, other.xy)
    inside = opencv.fill_polygons(a.shape, [(outline - low) / pitch - 0.5])
    one, two = ((grey, *measure_windows(grey, _mean_in_window)) for grey in (a, b))
    seen = inside & find_seen(base, xy_base) & find_seen(other, xy_other)
    use = seen & (_find_telling(one) | _find_telling(two))
    is_same = use & (correlate_moved(one, two, MAX_MOVE, MOVE_STEP, _mean_in_window) >= MIN_CORRELATION)
    if is_same.sum() <= 2:
        return Resemblance(0.0 if use.any() else math.nan, int(use.sum()), 0.0)
    spread = np.linalg.eigvalsh(np.cov(np.argwhere(is_same).T))[0]
    width = pitch * math.sqrt(12 * max(float(spread), 0.0))
    return Resemblance(float(is_same.sum() / use.sum()), int(use.sum()), width)


def _find_telling(windows: Measured) -> Bools:
    """Where windows show print that is unlike the print aside -> (h, w)."""
    grey, mean, variance = windows
    unit, telling = 1 / np.sqrt(variance + NOISE_VARIANCE), variance > PRINT_VARIANCE
    for step in ASIDE:
        moved, aside, scale = (np.roll(one, step, axis=(0, 1)) for one in (grey, mean, unit))
        telling &= (_mean_in_window(grey * moved) - mean * aside) * unit * scale < MAX_ALIKE
    return np.asarray(telling)


def _mean_in_window(values: Float32s) -> Float32s:
    return np.asarray(opencv.gaussian_blur(values, WINDOW))
