"""Which objects show the same thing, and at which places."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import shapely

from matching._common.components import find_components
from matching._common.once import Later
from matching._common.types import Array, Floats, Ints

NONE_ALIKE: Later[tuple[int, ...]] = Later.known(())
NONE_DIFFERING: Later[set[int]] = Later.known(set())


@dataclass(frozen=True, eq=False)
class Thing:
    """A thing at one or more places.

    Parameters
    ----------
    number : int
        `MatchedObject.thing` of its objects.
    objects : tuple of int
        The ids of its objects.
    places : tuple of (k, 2) float64
        Outlines, pixels: of the copies and of what is alike in picture 1 or, for repeats in one picture, of
        all places, row by row and from left to right.
    periodic : bool
        Whether it is a fine periodic texture (bricks, cloth, text), whose place is shifted onto itself.
    joined : tuple of (int, int)
        For repeats in one picture: the two `places` that each of `objects` joins.
    found_alike : Later of tuple of int
        `alike`, found when it is first read.
    """

    number: int
    objects: tuple[int, ...]
    places: tuple[Array, ...] = field(repr=False)
    periodic: bool = False
    joined: tuple[tuple[int, int], ...] = ()
    found_alike: Later[tuple[int, ...]] = field(default=NONE_ALIKE, repr=False)

    @property
    def alike(self) -> tuple[int, ...]:
        """The `places` that are no copies.

        Of two pictures, those that differ from picture 0 or can't be confirmed; in one picture, those that
        differ from most of the others.
        """
        return self.found_alike.read()

    def name_place(self, k: int) -> str:
        """Name a place of a picture's repeats.

        Parameters
        ----------
        k : int
            Its position in `places`.

        Returns
        -------
        str
            "0-2" for the second place of thing 0; the number of the thing alone for a texture.
        """
        return str(self.number) if self.periodic else f"{self.number}-{k + 1}"

    def find_alike(self, differing: Container[int]) -> tuple[int, ...]:
        """Tell the places that look the same from those that are only alike.

        Parameters
        ----------
        differing : container of int
            The ids of the objects whose two places differ.

        Returns
        -------
        tuple of int
            All places but the largest set of those that objects without a difference join.
        """
        if self.periodic or not any(k in differing for k in self.objects):
            return ()
        joins = [ends for k, ends in zip(self.objects, self.joined, strict=True) if k not in differing]
        label = find_components(len(self.places), np.array(joins, np.int64).reshape(-1, 2))
        return tuple(np.flatnonzero(label != np.bincount(label).argmax()).tolist())

    @property
    def kind(self) -> str:
        """What the thing is, unless its places are counted: "periodic texture", or "" for separate places."""
        return "periodic texture" if self.periodic else ""


def number_places(outlines: Sequence[Array]) -> Ints:
    """Number the places where the outlines of one picture lie: outlines sequence of (k, 2) -> (n,).

    In descending order of area, each outline joins the place whose first outline is most similar to it, or
    begins a new place. Outlines are similar if their common area exceeds half the geometric mean of their
    areas, so a logo and its box are at different places.
    """
    overlap, area = _measure_overlap(outlines)
    owner, firsts = np.full(len(area), -1), list[int]()
    for k in np.argsort(-area, kind="stable").tolist():
        similar = [n for n in firsts if 2 * overlap[k, n] > 1]
        owner[k] = max(similar, key=lambda n: overlap[k, n], default=k)
        if owner[k] == k:
            firsts.append(k)
    return renumber(owner)


def _measure_overlap(outlines: Sequence[Array]) -> tuple[Floats, Floats]:
    """Measure the areas (n,) of outlines, and the overlap (n, n) of each two -> overlap, areas.

    The overlap is the common area as a share of the geometric mean of both areas.
    """
    if not len(outlines):
        return np.empty((0, 0)), np.empty(0)
    # a small margin gives points and lines an area, too
    margin = max(np.ptp(outline, axis=0).max() for outline in outlines) / 1000 or 1.0
    rings = [np.resize(outline, (max(len(outline), 3), 2)) for outline in outlines]
    shapes = np.array([shapely.buffer(shapely.polygons(ring), margin) for ring in rings])
    area = shapely.area(shapes)
    common = shapely.intersection(shapes[:, None].copy(), shapes)  # shapely 2.0 does not accept a view
    return shapely.area(common) / np.sqrt(area[:, None] * area), area


def find_things_of_repeats(
    outlines: Sequence[Array],
    joins: Sequence[tuple[int, int]],
    differing: Later[set[int]] = NONE_DIFFERING,
) -> tuple[Thing, ...]:
    """Find the things of repeats in one picture: places that objects join, directly or through others.

    outlines: of all places; joins: the two places of each object, which are equal if it shifts a texture onto
    itself; differing: the objects whose two places differ.
    """

    def add_alike(thing: Thing) -> Thing:
        return replace(thing, found_alike=Later(lambda: thing.find_alike(differing.read())))

    label = find_components(len(outlines), np.array(joins, np.int64))
    number = renumber(label[[a for a, _ in joins]])
    things = []
    for k in range(number.max(initial=-1) + 1):
        objects = np.flatnonzero(number == k).tolist()
        places = np.flatnonzero(label == label[joins[objects[0]][0]])
        order = places[list_in_rows([outlines[p] for p in places.tolist()])].tolist()
        joined = tuple((order.index(joins[n][0]), order.index(joins[n][1])) for n in objects)
        shown = tuple(outlines[p] for p in order)
        things.append(add_alike(Thing(k, tuple(objects), shown, len(places) == 1, joined)))
    return tuple(things)


def list_in_rows(outlines: Sequence[Array]) -> list[int]:
    """List outlines (k, 2) in the order in which they are read, row by row and from left to right.

    A row consists of the topmost remaining outline, and of all outlines whose centres lie at most half of
    that outline's height below its centre.
    """
    low, high = (np.array([f(outline, axis=0) for outline in outlines]) for f in (np.min, np.max))
    middle, height = (low + high) / 2, (high - low)[:, 1]
    order, left = list[int](), np.argsort(middle[:, 1], kind="stable")
    while len(left):
        in_row = middle[left, 1] <= middle[left[0], 1] + height[left[0]] / 2
        row, left = left[in_row], left[~in_row]
        order += row[np.argsort(middle[row, 0], kind="stable")].tolist()
    return order


def renumber(labels: Array) -> Ints:
    """Number labels in the order in which they first occur: labels (n,) -> (n,)."""
    _, first, label = np.unique(labels, return_index=True, return_inverse=True)
    rank: Ints = np.argsort(np.argsort(first))
    return rank[label]
