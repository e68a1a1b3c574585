"""Where both places of an object show print, and not the same."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from matching._common.types import Floats


@dataclass(frozen=True, eq=False, repr=False)
class Difference:
    """A place of an object where the pictures show different prints.

    Parameters
    ----------
    polygon0, polygon1 : (k, 2) float64
        Its outline in picture 0 and 1, pixels; corner k of one lies at corner k of the other.
    share : float
        Its share of the print in the hull of the matches.
    evidence : float
        How far it stands out of what registration leaves: the sum of what is unlike over the noise of the
        pair, less one, over its pixels. Larger is surer.
    size : float
        The square root of its area, pixels of picture 0.
    """

    polygon0: Floats
    polygon1: Floats
    share: float
    evidence: float
    size: float

    def __repr__(self) -> str:
        x, y = np.mean(self.polygon0, axis=0)
        return f"<Difference of {self.size:.0f} px at {x:.0f}, {y:.0f}: evidence {self.evidence:.0f}>"
