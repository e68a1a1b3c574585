"""The number of copies of picture 0 that picture 1 shows, and the places that show only a part of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import shapely

from matching._common.types import Ints
from matching.objects.description import MatchedObject
from matching.objects.things import number_places


@dataclass(frozen=True)
class Copies:
    """Whole copies and other places, each given by the ids of the objects that show it.

    Parameters
    ----------
    copies : tuple of tuple of int
        The copies of picture 0, as far as can be told.
    parts : tuple of tuple of int
        The places that show a part of picture 0 and belong to no copy.
    alike : tuple of tuple of int
        The places that show all of picture 0, but with another print somewhere, or so little of it that they
        can't be confirmed.
    """

    copies: tuple[tuple[int, ...], ...]
    parts: tuple[tuple[int, ...], ...]
    alike: tuple[tuple[int, ...], ...] = ()


def is_mostly_within(shape: Any, other: Any) -> bool:
    """Test whether more than half of a shape lies within another one; both are shapes of shapely."""
    return bool(2 * shape.intersection(other).area > shape.area)


def count_copies(objects: Sequence[MatchedObject]) -> Copies:
    """Count the copies of picture 0.

    Several objects, like the halves of a bent print, are one copy if their frames are at one place
    (`number_places`). A part inside the frame of a copy belongs to that copy. A place where an object differs
    (`is_same`), or where what lies between its matches does not confirm it, is no copy, but alike.

    Parameters
    ----------
    objects : sequence of MatchedObject
        The objects, with `completeness`.

    Returns
    -------
    Copies
        The copies, in the order of their first objects.
    """
    whole = [found for found in objects if found.is_whole]
    frames = [np.asarray(found.frame1) for found in whole]
    shapes = [shapely.Polygon(frame) for frame in frames]

    def is_of_a_copy(found: MatchedObject) -> bool:
        outline = shapely.MultiPoint(found.outline1).convex_hull
        if len(found.outline1) >= 3:
            outline = shapely.Polygon(found.outline1).buffer(0)
        return any(is_mostly_within(outline, shape) for shape in shapes)

    parts = [found for found in objects if not found.is_whole and not is_of_a_copy(found)]
    outlines = [np.asarray(found.outline1) for found in parts]
    places = _group(whole, number_places(frames))
    differing = {found.id for found in objects if found.is_same is False or found.is_doubtful}
    return Copies(
        tuple(ids for ids in places if differing.isdisjoint(ids)),
        _group(parts, number_places(outlines)),
        tuple(ids for ids in places if not differing.isdisjoint(ids)),
    )


def _group(objects: Sequence[MatchedObject], places: Ints) -> tuple[tuple[int, ...], ...]:
    """List the ids of the objects at each place: places (n,) of objects."""
    ids = np.array([found.id for found in objects], int)
    return tuple(tuple(ids[places == k].tolist()) for k in range(places.max(initial=-1) + 1))
