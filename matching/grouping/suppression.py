"""Suppression of contained objects, like that of overlapping detections.

A point has only one counterpart in an object. Repeated structure (a logo printed twice on a box, the squares
of a cube) gives small clusters that contradict the object they belong to: their points are also points of its
matches, in both images. A copy of an object shares the object's points in only one image, and so does a thing
that moved in front of a matched background.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import compress

import numpy as np

from matching._common.types import Array, Ints
from matching.correspondences.correspondences import Correspondences
from matching.correspondences.points import is_within_reach
from matching.grouping.groups import Part
from matching.grouping.ledger import Ledger
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


# Called as `suppress_contained`, which it may replace.
Suppress = Callable[[Correspondences, Sequence[Ints], float, float], Ints]


def drop_contained(parts: list[Part], uncontained: Ints, n_known: int, ledger: Ledger) -> list[Part]:
    """Drop the parts that others contain.

    uncontained (k,): numbers among n_known objects, followed by the parts.
    """
    is_kept = np.isin(n_known + np.arange(len(parts)), uncontained)
    for part in compress(parts, ~is_kept):
        ledger.drop("suppression", part.rows)
    return list(compress(parts, is_kept))


def suppress_contained(
    correspondences: Correspondences,
    parts: Sequence[Array],
    share: float,
    radius: float,
    *,
    by_one: bool = False,
) -> Ints:
    """Find the parts, rows (n,) each, that are not contained in stronger ones, which come first -> (k,).

    A part is contained if in both pictures at least `share` of its points are within `radius` of points of
    stronger, uncontained parts; by_one: of a single one, because if each picture shows a thing twice, each of
    the four objects shares its points with others in both pictures.
    """
    xy0, xy1, kept = correspondences.xy0, correspondences.xy1, list[int]()
    for k, part in enumerate(parts):
        stronger = [parts[n] for n in kept]
        others = stronger if by_one or not stronger else [np.concatenate(stronger)]
        if not any(
            all(is_within_reach(xy[part], xy[other], radius).mean() >= share for xy in (xy0, xy1))
            for other in others
        ):
            kept.append(k)
    return np.array(kept, np.int64)
