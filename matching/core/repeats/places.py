"""Assignment of the matches within one picture to the places that `copies` finds: each object joins two
places of one thing.

If an object spans several things, or several places of one thing, its matches are distributed over them. If
no two places get enough matches for an object, the object is dropped: what it joins is arranged differently
at its two ends.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial import cKDTree

from matching._common.arrays import fit_affine
from matching._common.types import Bools, Floats, Ints
from matching.core.groups import ObjectsConfig, is_object, number_rows
from matching.core.ledger import Ledger
from matching.core.repeats.copies import Copies
from matching.core.repeats.folding import Repeat, Repeats
from matching.core.repeats.motions import SAME_POINT_RADIUS
from matching.correspondences.correspondences import Correspondences

MIN_GUIDES = 3  # matches of the larger thing between two places: they fix an affine map


@dataclass(frozen=True, eq=False)
class Placed:
    """Objects, and the places that they join."""

    repeats: Repeats
    things: list[list[Ints]]  # for each thing, the rows of features in each of its places


def place_objects(
    correspondences: Correspondences,
    ends: Ints,
    repeats: Repeats,
    copies: Copies,
    xy: Floats,
    config: ObjectsConfig,
    measure_score: Callable[[Ints], float],
    ledger: Ledger,
) -> Placed:
    """Distribute the matches of objects over pairs of places.

    Parameters
    ----------
    correspondences : Correspondences
        The n matches, in both directions.
    ends : (n, 2) int
        The features at both ends of each match, in the order in which it was found.
    repeats : Repeats
        The objects.
    copies : Copies
        The places of things, and which objects count only if they join two of these places.
    xy : (n_features, 2) float64
        Where the features are.
    config : ObjectsConfig
        The conditions for an object.
    measure_score : callable
        Measures the score of directed matches.
    ledger : Ledger
        The record of what is dropped.
    """
    n = len(ends)
    copies = _absorb_parts(ends, repeats, copies, xy, config.reach)
    thing_of = np.repeat(np.arange(len(copies.things)), [len(places) for places in copies.things])
    place = _find_place(xy, [rows for places in copies.things for rows in places], config.reach)[ends]
    objects, shares = _distribute(correspondences, repeats.objects, copies.must_join, place, thing_of)
    is_reversed = repeats.is_reversed.copy()
    for pair, parts in shares.items():
        rows = np.sort(np.concatenate([part for _, part in parts]))
        if not is_object(correspondences, rows, config):
            continue
        starts_at_first = place[rows, 0] == pair[0]
        first, second = (
            np.where(starts_at_first[:, None], xy[ends[rows, k]], xy[ends[rows, 1 - k]]).mean(axis=0)
            for k in (0, 1)
        )
        is_in_order = tuple(first) <= tuple(second)  # the left place comes first, else the upper one
        is_reversed[rows] = starts_at_first != is_in_order
        largest = repeats.objects[parts[0][0]]
        is_whole = len(parts) == 1 and len(rows) == len(largest.rows)
        score = largest.score if is_whole else measure_score(rows + n * is_reversed[rows])
        objects.append(Repeat(rows, score, joins=pair if is_in_order else pair[::-1]))
    objects = sorted(objects, key=lambda one: -one.score)
    labels = number_rows(n, [one.rows for one in objects])
    for one in repeats.objects:
        ledger.reach("places", one.rows)
        if (labels[one.rows] < 0).all():
            ledger.drop("places", one.rows)
    return Placed(Repeats(objects, is_reversed), copies.things)


def _distribute(
    correspondences: Correspondences,
    objects: list[Repeat],
    must_join: Bools,
    place: Ints,
    thing_of: Ints,
) -> tuple[list[Repeat], dict[tuple[int, int], list[tuple[int, Ints]]]]:
    """Distribute the matches of objects over pairs of places: place (n, 2) of both ends, -1: none.

    Returns the objects at no known places, which stay as they are, and for each pair of places of one thing
    the matches that join it, with the numbers of their objects. An object that joins only one pair keeps all
    of its matches, whose places are entered into `place`.
    """
    is_known: Bools = np.asarray((place >= 0).all(axis=1))
    joins = is_known.copy()
    joins[is_known] = (thing_of[place[is_known, 0]] == thing_of[place[is_known, 1]]) & (
        place[is_known, 0] != place[is_known, 1]
    )
    kept: list[Repeat] = []
    shares: dict[tuple[int, int], list[tuple[int, Ints]]] = {}
    for k, one in enumerate(objects):
        rows = one.rows
        if not (2 * np.count_nonzero(is_known[rows]) > len(rows) or must_join[k]):
            kept.append(one)
            continue
        if one.is_periodic:
            continue
        joining = rows[joins[rows]]
        pairs = [(low, high) for low, high in np.unique(np.sort(place[joining], axis=1), axis=0).tolist()]
        if len(pairs) == 1 and 2 * len(joining) > len(rows):
            shares.setdefault(pairs[0], []).append((k, rows))
            nearest = cKDTree(correspondences.xy0[joining]).query(correspondences.xy0[rows])[1]
            place[rows] = place[joining[nearest]]
            continue
        for pair in pairs:
            part = joining[(np.sort(place[joining], axis=1) == pair).all(axis=1)]
            shares.setdefault(pair, []).append((k, part))
    return kept, shares


def _absorb_parts(ends: Ints, repeats: Repeats, copies: Copies, xy: Floats, reach: float) -> Copies:
    """Let larger things absorb the things and objects that are parts of them; drop objects that are not."""
    solid = [one.rows for one in repeats.objects if not one.is_periodic]
    directed = np.where(repeats.is_reversed[:, None], ends[:, ::-1], ends)
    matches, things = directed[number_rows(len(ends), solid) >= 0], list[list[Ints]]()
    placed = np.unique(
        np.concatenate([ends[:0].ravel(), *(rows for places in copies.things for rows in places)])
    )
    objects = [directed[rows] for rows in solid]
    unplaced = [list(map(np.unique, rows.T)) for rows in objects if not np.isin(rows, placed).any()]
    for places in [*sorted(copies.things, key=lambda places: -sum(map(len, places))), *unplaced]:
        for larger in things:
            places_of_larger = _find_whole(xy, matches, places, larger, reach)
            if places_of_larger:
                for k, rows in zip(places_of_larger, places, strict=True):
                    larger[k] = np.union1d(larger[k], rows)
                break
        else:
            things.append(list(places))
    return replace(copies, things=[places for places in things if np.isin(places[0], placed).any()])


def _find_whole(xy: Floats, matches: Ints, places: list[Ints], larger: list[Ints], reach: float) -> list[int]:
    """Find the place of a larger thing near each place of a thing, if both move alike; otherwise none.

    matches (m, 2): the features of matches of objects.
    """
    tree, near = cKDTree(xy[np.concatenate(larger)]), list[int]()
    place_of = np.repeat(np.arange(len(larger)), list(map(len, larger)))
    for rows in places:
        distance, nearest = tree.query(xy[rows])
        nearest_place = int(place_of[nearest[distance.argmin()]])
        if distance.min() > reach or nearest_place in near:
            return []
        near.append(nearest_place)
    place, place_in_larger = (number_rows(len(xy), thing)[matches] for thing in (places, larger))
    joins = (place >= 0).all(axis=1) & (place[:, 0] != place[:, 1])
    for p, q in np.unique(place[joins], axis=0).tolist():
        there, back = ((place_in_larger == [near[i], near[j]]).all(axis=1) for i, j in ((p, q), (q, p)))
        guides = np.concatenate([matches[there], matches[back][:, ::-1]])
        if len(guides) < MIN_GUIDES:
            return []
        turn, shift = fit_affine(*xy[guides.T])
        x, y = xy[matches[(place == [p, q]).all(axis=1)].T]
        if np.median(np.linalg.norm(x @ turn.T + shift - y, axis=1)) > SAME_POINT_RADIUS:
            return []
    return near if joins.any() else []


def _find_place(xy: Floats, places: list[Ints], reach: float) -> Ints:
    """Find the place of each feature, or of the nearest feature within reach that has one -> (n,), or -1."""
    found = np.full(len(xy), -1)
    if places:
        rows, number = np.concatenate(places), np.repeat(np.arange(len(places)), list(map(len, places)))
        distance, nearest = cKDTree(xy[rows]).query(xy, distance_upper_bound=reach)
        is_near = np.isfinite(distance)
        found[is_near] = number[nearest[is_near]]
        found[rows] = number
    return found
