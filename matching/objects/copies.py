"""The copies of picture 0 that picture 1 shows, the places that show only a part of it, and their things."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import shapely

from matching._common.once import Later
from matching._common.types import Ints
from matching.objects.description import MatchedObject
from matching.objects.things import Thing, number_places

Places = tuple[tuple[int, ...], ...]  # the ids of the objects at each


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
    whole, parts = _find_places(objects)
    alike = {ids for ids in whole if _are_alike([found for found in objects if found.id in ids])}
    return Copies(
        tuple(ids for ids in whole if ids not in alike), parts, tuple(ids for ids in whole if ids in alike)
    )


def _are_alike(objects: Sequence[MatchedObject]) -> bool:
    """Whether the objects at a place are only alike to picture 0."""
    return any(found.is_doubtful or found.is_same is False for found in objects)


def _find_places(objects: Sequence[MatchedObject]) -> tuple[Places, Places]:
    """Find the places that show all of picture 0, and those that show a part: the ids of their objects."""
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
    return _group(whole, number_places(frames)), _group(parts, number_places(outlines))


def find_things_of_pair(objects: Sequence[MatchedObject]) -> tuple[Thing, ...]:
    """Find the things that the objects of two pictures show, with the places that `count_copies` counts.

    All of picture 0 is a thing, to whose places the parts inside them belong, too. Other objects show one
    thing if their outlines are at one place in picture 0.

    Parameters
    ----------
    objects : sequence of MatchedObject
        The objects, numbered from 0.

    Returns
    -------
    tuple of Thing
        The things, in the order of their first objects.
    """
    whole, parts = _find_places(objects)
    of_parts = np.array([k for ids in parts for k in sorted(ids)], int)
    number = number_places([objects[k].outline0 for k in of_parts])
    things = []
    for n in range(number.max(initial=-1) + 1):
        members = np.sort(of_parts[number == n]).tolist()
        outlines = [objects[k].outline1 for k in members]
        _, first = np.unique(number_places(outlines), return_index=True)
        things.append(Thing(0, tuple(members), tuple(outlines[k] for k in first)))
    if whole:
        rest = tuple(found.id for found in objects if found.id not in set(of_parts.tolist()))
        frames = tuple(np.asarray(objects[ids[0]].frame1) for ids in whole)
        alike = Later(
            lambda: tuple(k for k, ids in enumerate(whole) if _are_alike([objects[i] for i in ids]))
        )
        things.append(Thing(0, rest, frames, found_alike=alike))
    things.sort(key=lambda thing: thing.objects)
    return tuple(replace(thing, number=n) for n, thing in enumerate(things))


def _group(objects: Sequence[MatchedObject], places: Ints) -> tuple[tuple[int, ...], ...]:
    """List the ids of the objects at each place: places (n,) of objects."""
    ids = np.array([found.id for found in objects], int)
    return tuple(tuple(ids[places == k].tolist()) for k in range(places.max(initial=-1) + 1))
