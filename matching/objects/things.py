"""Which objects show the same thing, and in which places it stands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from matching import _opencv
from matching.objects.frames import polygon_area

CANVAS = 256  # pixels along the longer side of the raster on which outlines are compared
SHARED = 0.5  # of the smaller outline that lies in the larger one
COMPARABLE = 0.1  # of the larger one's area that the smaller has: a logo is another thing than its box


@dataclass(frozen=True, eq=False)
class Thing:
    """What stands in one or more places.

    Attributes
    ----------
    number : int
        `MatchedObject.thing` of its objects.
    objects : tuple of int
        Their ids.
    places : tuple of (k, 2) float64
        Outlines, pixels: of each copy in picture 1; of repeats in one picture, of each place in it.
    periodic : bool
        Whether it is a fine periodic texture (bricks, cloth, text), whose place is shifted onto itself.
    """

    number: int
    objects: tuple[int, ...]
    places: tuple[np.ndarray, ...]
    periodic: bool = False


def number_places(outlines: Sequence[np.ndarray]) -> np.ndarray:
    """(n,) int64: the place of each outline (k, 2) of one picture, 0, 1, ... in the order given.

    Outlines are taken by falling area: each is at the place whose first outline shares most of the smaller of
    both, or begins another place where that is too little.
    """
    if not len(outlines):
        return np.empty(0, np.int64)
    masks = _rasters(outlines)
    area = masks.sum(axis=1)
    shared = masks @ masks.T / np.minimum(area[:, None], area)
    shared[area[:, None] < COMPARABLE * area] = 0.0
    owner, firsts = np.empty(len(outlines), np.int64), []
    for k in np.argsort(-area, kind="stable"):
        best = max(firsts, key=lambda first: shared[k, first], default=None)
        if best is None or shared[k, best] < SHARED:
            firsts.append(k)
            best = k
        owner[k] = best
    return in_order(owner)


def things_of_pair(outlines0: Sequence[np.ndarray], outlines1: Sequence[np.ndarray]) -> tuple[Thing, ...]:
    """The things of the objects of two pictures: those that share their place in picture 0 are copies."""
    number = number_places(outlines0)
    own = [np.flatnonzero(number == n) for n in range(number.max(initial=-1) + 1)]
    return tuple(
        Thing(n, tuple(objects.tolist()), tuple(outlines1[k] for k in objects))
        for n, objects in enumerate(own)
    )


def things_of_repeats(
    outlines0: Sequence[np.ndarray], outlines1: Sequence[np.ndarray], periodic: Sequence[bool]
) -> tuple[Thing, ...]:
    """The things of repeats in one picture: places that objects join, directly or over others."""
    n, outlines = len(outlines0), [*outlines0, *outlines1]
    place = number_places(outlines)
    n_places = place.max(initial=-1) + 1
    joined = coo_array((np.ones(n), (place[:n], place[n:])), shape=(n_places, n_places))
    label = connected_components(joined, directed=False)[1]
    number = in_order(label[place[:n]])
    things = []
    for k in range(number.max(initial=-1) + 1):
        objects = np.flatnonzero(number == k)
        places = np.unique(place[np.concatenate([objects, objects + n])])
        largest = [max((outlines[i] for i in np.flatnonzero(place == p)), key=polygon_area) for p in places]
        is_periodic = bool(np.mean([periodic[i] for i in objects]) > 0.5)
        things.append(Thing(k, tuple(objects.tolist()), tuple(largest), is_periodic))
    return tuple(things)


def in_order(labels: np.ndarray) -> np.ndarray:
    """The labels (n,) as 0, 1, ... in the order in which they come first."""
    _, first, label = np.unique(labels, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[label]


def _rasters(outlines):
    """(n, pixels) float32, 1 inside an outline and on it."""
    corners = np.concatenate(outlines)
    low, size = corners.min(axis=0), max(float(np.ptp(corners, axis=0).max()), 1e-9)
    shape = (CANVAS + 1, CANVAS + 1)
    drawn = [_opencv.fill_polygons(shape, [(outline - low) * (CANVAS / size)]) for outline in outlines]
    return np.stack([mask.ravel() for mask in drawn]).astype(np.float32)
