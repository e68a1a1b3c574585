"""Suppression of contained objects, like that of overlapping detections.

A point has only one counterpart in an object. Repeated structure (a logo printed twice on a box, the squares
of a cube) gives small clusters that contradict the object they belong to: their points are also points of its
matches, in both images. A copy of an object shares the object's points in only one image, and so does a thing
that moved in front of a matched background.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from matching._common.types import Array, Ints
from matching.correspondences.points import is_within_reach
from matching.settings import check_settings, setting


@dataclass(frozen=True)
class SuppressionConfig:
    """What makes an object contained in others.

    Parameters
    ----------
    share : float
        An object is contained if, in both images, at least this share of its points are also points of larger
        objects. If the share is above 1, nothing is suppressed.
    """

    share: float = setting(0.25, 0, 2)

    def __post_init__(self) -> None:
        check_settings(self)


def find_uncontained(
    xy0: Array, xy1: Array, parts: Sequence[Array], share: float, radius: float, by_one: bool = False
) -> Ints:
    """Find the parts that are not contained in stronger ones: xy0, xy1 (m, 2) -> (k,).

    A part is contained if in BOTH pictures at least `share` of its points are points of stronger, uncontained
    parts; with by_one, of a single such part. (If each picture shows a thing twice, each of the four objects
    shares its points with others in both pictures.)
    """
    kept: list[int] = []
    for k, part in enumerate(parts):
        stronger = [parts[n] for n in kept]
        others = stronger if by_one or not stronger else [np.concatenate(stronger)]
        if not any(
            all(is_within_reach(xy[part], xy[other], radius).mean() >= share for xy in (xy0, xy1))
            for other in others
        ):
            kept.append(k)
    return np.array(kept, np.int64)
