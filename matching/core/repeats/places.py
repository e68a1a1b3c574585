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
        The features of each match, as given.
    repeats : Repeats
        The objects.
    copies : Copies
        The places of things, and for which objects it is required that they join two of these places.
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
    is_known: Bools = np.asarray((place >= 0).all(axis=1))
    joins = is_known.copy()
    joins[is_known] = (thing_of[place[is_known, 0]] == thing_of[place[is_known, 1]]) & (
        place[is_known, 0] != place[is_known, 1]
    )
    pairs: dict[tuple[int, int], list[tuple[int, Ints]]] = {}
    found: list[Repeat] = []
    is_reversed = repeats.is_reversed.copy()
    for k, one in enumerate(repeats.objects):
        rows = one.rows
        joining = rows[joins[rows]]
        is_placed = 2 * np.count_nonzero(is_known[rows]) > len(rows) or copies.must_join[k]
        if not is_placed:
            found.append(one)
        elif not one.is_periodic:
            kinds = np.unique(np.sort(place[joining], axis=1), axis=0).tolist()
            if len(kinds) == 1 and 2 * len(joining) > len(rows):
                pairs.setdefault((kinds[0][0], kinds[0][1]), []).append((k, rows))
                nearest = cKDTree(correspondences.xy0[joining]).query(correspondences.xy0[rows])[1]
                place[rows] = place[joining[nearest]]
                continue
            for pair in kinds:
                part = joining[(np.sort(place[joining], axis=1) == pair).all(axis=1)]
                pairs.setdefault((pair[0], pair[1]), []).append((k, part))
    for (first, second), parts in pairs.items():
        rows = np.sort(np.concatenate([part for _, part in parts]))
        if not is_object(correspondences, rows, config):
            continue
        starts = place[rows, 0] == first
        at = [
            np.where(starts[:, None], xy[ends[rows, k]], xy[ends[rows, 1 - k]]).mean(axis=0) for k in (0, 1)
        ]
        is_first = tuple(at[0]) <= tuple(at[1])
        is_reversed[rows] = starts != is_first
        largest = repeats.objects[parts[0][0]]
        is_whole = len(parts) == 1 and len(rows) == len(largest.rows)
        score = largest.score if is_whole else measure_score(rows + n * is_reversed[rows])
        measured = [repeats.objects[k].log_nfa for k, _ in parts]
        log_nfa = min((value for value in measured if value is not None), default=None)
        pair = (first, second) if is_first else (second, first)
        found.append(Repeat(rows, score, log_nfa, joins=pair))
    objects = sorted(found, key=lambda one: -one.score)
    labels = number_rows(n, [one.rows for one in objects])
    for one in repeats.objects:
        ledger.reach("places", one.rows)
        if (labels[one.rows] < 0).all():
            ledger.drop("places", one.rows)
    return Placed(Repeats(objects, is_reversed), copies.things)


def _absorb_parts(ends: Ints, repeats: Repeats, copies: Copies, xy: Floats, reach: float) -> Copies:
    """The copies, with the things and objects that are parts of larger things absorbed into these."""
    solid = [one.rows for one in repeats.objects if not one.is_periodic]
    turned = np.where(repeats.is_reversed[:, None], ends[:, ::-1], ends)
    matches, things = turned[number_rows(len(ends), solid) >= 0], list[list[Ints]]()
    known = np.unique(
        np.concatenate([ends[:0].ravel(), *(rows for places in copies.things for rows in places)])
    )
    objects = [turned[rows] for rows in solid]
    loose = [list(map(np.unique, own.T)) for own in objects if not np.isin(own, known).any()]
    for places in [*sorted(copies.things, key=lambda own: -sum(map(len, own))), *loose]:
        for larger in things:
            at = _find_whole(xy, matches, places, larger, reach)
            if at:
                for k, rows in zip(at, places, strict=True):
                    larger[k] = np.union1d(larger[k], rows)
                break
        else:
            things.append(list(places))
    return replace(copies, things=[places for places in things if np.isin(places[0], known).any()])


def _find_whole(xy: Floats, matches: Ints, places: list[Ints], larger: list[Ints], reach: float) -> list[int]:
    """The place of a larger thing near each place of a thing, if both move alike; otherwise none."""
    tree, near = cKDTree(xy[np.concatenate(larger)]), list[int]()
    of = np.repeat(np.arange(len(larger)), list(map(len, larger)))
    for rows in places:
        distance, k = tree.query(xy[rows])
        if distance.min() > reach or of[k[distance.argmin()]] in near:
            return []
        near.append(int(of[k[distance.argmin()]]))
    own, theirs = (number_rows(len(xy), thing)[matches] for thing in (places, larger))
    joins = (own >= 0).all(axis=1) & (own[:, 0] != own[:, 1])
    for p, q in np.unique(own[joins], axis=0).tolist():
        there, back = ((theirs == [near[i], near[j]]).all(axis=1) for i, j in ((p, q), (q, p)))
        known = np.concatenate([matches[there], matches[back][:, ::-1]])
        if len(known) < 3:
            return []
        turn, shift = fit_affine(*xy[known.T])
        x, y = xy[matches[(own == [p, q]).all(axis=1)].T]
        if np.median(np.linalg.norm(x @ turn.T + shift - y, axis=1)) > SAME_POINT_RADIUS:
            return []
    return near if joins.any() else []


def _find_place(xy: Floats, places: list[Ints], reach: float) -> Ints:
    """(n,) the place of each feature, copied from the nearest feature within reach that has one; or -1."""
    found = np.full(len(xy), -1)
    if places:
        rows, number = np.concatenate(places), np.repeat(np.arange(len(places)), [len(own) for own in places])
        distance, nearest = cKDTree(xy[rows]).query(xy, distance_upper_bound=reach)
        near = np.isfinite(distance)
        found[near] = number[nearest[near]]
        found[rows] = number
    return found
