"""Which objects show the same thing, and at which places."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import shapely

from matching._common.components import find_components
from matching._common.once import Later
from matching._common.types import Array, Bools, Floats, Ints
from matching.objects.frames import polygon_area


def is_of_copies(score: float) -> bool:
    """Whether matches agree with half of their neighbours, as on copies; on similar things they do not."""
    return 2 * score >= 1


NONE_ALIKE: Later[tuple[int, ...]] = Later.known(())


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
        Whether it is a fine periodic texture (bricks, cloth, text), whose place is shifted onto itself, or
        has too low a score for copies that overlap (leaves, gables).
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

    def name_kind(self, score: float) -> str:
        """Say what the thing is, unless its places are counted.

        Parameters
        ----------
        score : float
            The score of its best object.

        Returns
        -------
        str
            "periodic texture" or "similar, no copies"; "" for separate places.
        """
        if not self.periodic:
            return ""
        return "periodic texture" if is_of_copies(score) else "similar, no copies"


def number_places(outlines: Sequence[Array]) -> Ints:
    """Number the places where the outlines of one picture lie: outlines sequence of (k, 2) -> (n,).

    In descending order of area, each outline joins the place whose first outline is most similar to it, or
    begins a new place. Outlines are similar if their common area exceeds half the geometric mean of their
    areas, so a logo and its box are at different places.
    """
    return _join_places(*_measure_overlap(outlines), np.ones((len(outlines), len(outlines)), bool))


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


def _join_places(overlap: Floats, area: Floats, may_share: Bools) -> Ints:
    """Number the places (n,) of outlines; may_share (n, n): whether two of them may lie at one place."""
    owner, firsts = np.full(len(area), -1), list[int]()
    for k in np.argsort(-area, kind="stable").tolist():
        similar = [n for n in firsts if 2 * overlap[k, n] > 1 and may_share[k, owner == n].all()]
        owner[k] = max(similar, key=lambda n: overlap[k, n], default=k)
        if owner[k] == k:
            firsts.append(k)
    return renumber(owner)


def find_things_of_repeats(
    outlines0: Sequence[Array],
    outlines1: Sequence[Array],
    periodic: Sequence[bool] | Bools,
    known: Sequence[Sequence[Array]] = (),
    joins: Ints | None = None,
) -> tuple[Thing, ...]:
    """Find the things of repeats in one picture: places that objects join, directly or through others.

    `known` holds the outlines of all places of some things, and joins (n_objects, 2) the two of these places,
    numbered over all things, that an object joins; -1: none. The two places of an object are different ones,
    unless it shifts a texture onto itself; then it is of no thing that has copies.
    """
    n = len(outlines0)
    joins = np.full((n, 2), -1) if joins is None else joins
    free = np.flatnonzero(joins[:, 0] < 0)
    outlines = [outlines[int(k)] for outlines in (outlines0, outlines1) for k in free]
    outlines += [outline for places in known for outline in places]
    overlap, area = _measure_overlap(outlines)
    place = _join_places(overlap, area, _may_share(overlap, np.asarray(periodic, bool)[free], known))
    ends = joins + 2 * len(free)  # (n, 2), the outlines that each object joins
    ends[free] = np.column_stack([np.arange(len(free)), np.arange(len(free)) + len(free)])
    starts = np.cumsum([2 * len(free), *map(len, known)])
    known_links = [(int(start), k) for start, stop in pairwise(starts) for k in range(start, stop)]
    links = place[np.array([*ends.tolist(), *known_links], np.int64).reshape(-1, 2)]
    label = find_components(place.max(initial=-1) + 1, links)
    object_label = label[place[ends[:, 0]]]
    number = renumber(object_label)
    things = []
    for k in range(number.max(initial=-1) + 1):
        objects = np.flatnonzero(number == k)
        places = np.flatnonzero(label == object_label[objects[0]])
        largest = [max((outlines[i] for i in np.flatnonzero(place == p)), key=polygon_area) for p in places]
        order = list_in_rows(largest)
        position = np.argsort(order)[np.searchsorted(places, place[ends[objects]])]
        is_periodic = 2 * sum(periodic[int(i)] for i in objects) > len(objects)
        joined = tuple((a, b) for a, b in position.tolist())
        shown = tuple(largest[i] for i in order)
        things.append(Thing(k, tuple(objects.tolist()), shown, bool(is_periodic), joined))
    return tuple(things)


def _may_share(overlap: Floats, periodic: Bools, known: Sequence[Sequence[Array]]) -> Bools:
    """Find the pairs of outlines that may lie at one place -> (n, n) bool; overlap (n, n), periodic (f,).

    The outlines are the first places of f objects, their second places, and the known places of things.
    """
    k = np.arange(len(periodic))
    owner = np.concatenate([k, k, len(k) + np.repeat(np.arange(len(known)), list(map(len, known)))])
    may_share: Bools = owner[:, None] != owner
    is_texture = np.append(np.tile(periodic, 2), np.zeros(len(owner) - 2 * len(k), bool))
    onto_itself = k[periodic & (2 * overlap[k, k + len(k)] > 1)]
    for rows in (onto_itself, onto_itself + len(k)):
        may_share[rows] = is_texture
        may_share[:, rows] = is_texture[:, None]
    return may_share


def list_joined_again(things: Sequence[Thing]) -> list[int]:
    """List the objects whose two places an earlier object joins already; a texture may have several."""
    again = list[int]()
    for thing in (thing for thing in things if not thing.periodic):
        joined = [tuple(sorted(ends)) for ends in thing.joined]
        again += [k for n, k in enumerate(thing.objects) if joined[n] in joined[:n]]
    return again


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
