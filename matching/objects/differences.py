"""Where both places of an object show print, and not the same."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from matching._common.types import Floats


@dataclass(frozen=True, eq=False)
class Difference:
    """A place of an object where the pictures show different prints.

    Parameters
    ----------
    polygon0, polygon1 : (k, 2) float64
        Its outline in picture 0 and 1, pixels; corner k of one lies at corner k of the other.
    share : float
        Its share of the print in the hull of the matches.
    evidence : float
        Its log likelihood ratio of another print to the same one, in nats.
    unexplained : float
        The share of what is unlike there that white light added to one picture can't explain.
    correlation : float
        The median correlation of its parts, each moved to where it fits best.
    """

    polygon0: Floats
    polygon1: Floats
    share: float
    evidence: float
    unexplained: float
    correlation: float

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Difference:
        """Restore a difference from the JSON of its `dataclasses.asdict`."""
        polygons: dict[str, Any] = {name: np.array(values[name]) for name in ("polygon0", "polygon1")}
        return cls(**{**values, **polygons})
