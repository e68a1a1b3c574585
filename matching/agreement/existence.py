"""Whether a group of matches is an object: whether its windows win against the places around them.

The elements of a false object (letters, modules of a code, icons) agree at its matches, and nothing agrees
between them. A window is *recognised* if it correlates better in place than anywhere around. With w the share
of the windows with print that are recognised, N the number of independent windows, and p the share that false
objects reach by chance,

    S = sign(w - p) N KL(w || p) / ln 10,    KL(w || p) = w ln(w / p) + (1 - w) ln((1 - w) / (1 - p)),

the log10 significance of w (Chernoff's bound of the tail of a binomial distribution).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

import numpy as np

from matching._common import opencv
from matching.agreement.grid import Grid
from matching.agreement.windows import WINDOW_AREA, Windows, correlate_windows

# Fisher's z by which a window must win. Without a margin, flat noise wins as often as it loses.
MIN_LEAD = 0.06
# Share of the windows of false objects that are recognised, by chance. Of 67 false groups on pages of alike
# elements, covers, boxes and logos, three of two pairs have more, and 0.4 at most; half of the true logos
# have less than 0.45.
CHANCE_SHARE = 0.35
# Log10: of an object that fills both pictures. Of 59 false objects on made pages, the highest has 0.3.
MIN_SIGNIFICANCE = 0.5
# The less of the pictures an object fills, the more places its matches had to choose from, and the more
# significant it must be. At 0.75, one of 128 pairs with rows of alike letters, posts and keys has an object,
# at 0.5 four, at 0 seven; at 1, three of 90 true objects on made pages can't be told, at 0.75 two.
PLACES_EXPONENT = 0.75
# Factors by which the map is reduced before an object is rejected, if one picture is blurred. A scene blurred
# over 10 px by motion has a significance of -7 on the map itself, and of 0.6, 1.9 and 1.8 on these. Rows of
# alike elements agree on coarser maps, too, but are equally sharp.
COARSER = 2, 3, 4
MIN_BLUR = 1.0  # pixels of the map, standard deviation by which the other picture must be blurred
# Ratio of sizes along and across: a picture that is foreshortened by more lacks what the other one shows, so
# that nothing is rejected there. Of 25 groups on made pages that are no object, none has more than 1.4, and a
# front seen along a street (5.1) has a significance of -2.9. Of ten false groups that are foreshortened more,
# nine have less than MIN_STEEP_SHARE of their windows recognised.
MAX_FORESHORTENING, MIN_STEEP_SHARE = 3.0, 0.175
MIN_WINDOWS = 0.3  # independent windows: fewer say nothing


class Verdict(Enum):
    """Whether a group of matches is an object."""

    OBJECT = "an object"
    DOUBTFUL = "look at it"  # it may be one
    NONE = "none"


@dataclass(frozen=True)
class Existence:
    """What tells whether a group of matches is an object.

    Parameters
    ----------
    recognised : float
        The share of the windows with print that are recognised in place; nan if there are too few.
    n_windows : float
        The number of independent windows with print in both pictures.
    significance : float
        S, log10 of the significance of that share; negative if chance gives more; nan if there are too few.
    bound : float
        The significance of an object, at least: log10 of the number of places that it was chosen from.
    coarse : float
        The highest significance on coarser maps, which motion blurs less; nan where it is not needed.
    is_steep : bool
        Whether one picture is foreshortened too much to reject an object.
    """

    recognised: float
    n_windows: float
    significance: float
    bound: float = MIN_SIGNIFICANCE
    coarse: float = math.nan
    is_steep: bool = False

    @property
    def verdict(self) -> Verdict:
        """An object if S reaches its bound; doubtful if S is positive, or little speaks against it."""
        if self.significance >= self.bound:
            return Verdict.OBJECT
        is_open = self.significance >= 0 or self.coarse >= self.bound or self.is_steep
        return Verdict.DOUBTFUL if is_open else Verdict.NONE

    @property
    def measured(self) -> tuple[float, float]:
        """What decides, and the least that leaves open whether it is an object."""
        return self.recognised, CHANCE_SHARE

    @property
    def log_nfa(self) -> float:
        """Log10 of the number of false alarms: of places that agree as well by chance."""
        return self.bound - self.significance


def measure_existence(grid: Grid, windows: Windows, n_places: float) -> Existence:
    """Measure whether the windows in the hull of the matches are recognised.

    n_places: how many pairs of places as large as the hull both pictures have.
    """
    bound = max(MIN_SIGNIFICANCE, PLACES_EXPONENT * math.log10(max(n_places, 1.0)))
    share, n_windows = measure_recognised(grid, windows)
    significance = measure_significance(share, n_windows, CHANCE_SHARE)
    if significance >= 0:
        return Existence(share, n_windows, significance, bound)
    coarser = [coarsen(grid, factor) for factor in COARSER if max(grid.blurs) >= MIN_BLUR]
    found = [measure_recognised(one, correlate_windows(one)) for one in coarser]
    coarse = [measure_significance(*one, CHANCE_SHARE) for one in found if not math.isnan(one[0])]
    is_steep = share >= MIN_STEEP_SHARE and measure_foreshortening(grid) > MAX_FORESHORTENING
    return Existence(share, n_windows, significance, bound, max(coarse, default=math.nan), is_steep)


def measure_recognised(grid: Grid, windows: Windows) -> tuple[float, float]:
    """Measure the share of the windows in the hull that are recognised (nan if too few), and their number."""
    use = windows.both & grid.hull
    n_windows = float(use.sum()) / WINDOW_AREA
    leads = windows.lead[use]
    leads = leads[~np.isnan(leads)]
    if n_windows < MIN_WINDOWS or not len(leads):
        return math.nan, n_windows
    return float((leads > MIN_LEAD).mean()), n_windows


def measure_foreshortening(grid: Grid) -> float:
    """The median ratio of the sizes of a picture along and across, in the other one, inside the hull."""
    slopes = np.stack([np.gradient(grid.xy_other, axis=axis)[grid.hull] for axis in (1, 0)], axis=2)
    along, across = np.linalg.svd(slopes, compute_uv=False).T
    return float(np.median(along / np.maximum(across, 1e-6)))


def coarsen(grid: Grid, factor: int) -> Grid:
    """Reduce a map (h, w) by a factor."""
    height, width = (max(n // factor, 1) for n in grid.grey0.shape)
    reduced: dict[str, Any] = {
        name: opencv.resize_area(np.asarray(getattr(grid, name), np.float32), width, height)
        for name in ("base", "other", "grey0", "grey1", "seen", "hull", "xy_base", "xy_other")
    }
    return replace(grid, **{**reduced, "seen": reduced["seen"] > 0.5, "hull": reduced["hull"] > 0.5})


def measure_significance(share: float, n_windows: float, chance: float) -> float:
    """Log10 of the significance of a share of n windows; negative below the share that chance gives."""
    if math.isnan(share):
        return math.nan
    w, p = min(max(share, 1e-6), 1 - 1e-6), chance
    divergence = w * math.log(w / p) + (1 - w) * math.log((1 - w) / (1 - p))
    return math.copysign(n_windows * divergence / math.log(10), w - p)
