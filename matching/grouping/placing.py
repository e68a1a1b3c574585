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

from matching._common.types import Bools, Floats, Ints
from matching.correspondences.correspondences import Correspondences
from matching.grouping.copies import Copies
from matching.grouping.motions import SAME_POINT_RADIUS, fit
from matching.grouping.objects import ObjectsConfig, is_object, number_rows
from matching.grouping.rejections import Dropped
from matching.grouping.repeats import Repeats

_Object = tuple[Ints, float, float, bool, tuple[int, int]]  # rows, score, log_nfa, periodic, places


@dataclass(frozen=True, eq=False)
class Placed:
    """Objects, and the places that they join."""

    repeats: Repeats
    things: list[list[Ints]]  # for each thing, the rows of features in each of its places
    joins: Ints  # (n_objects, 2), the places that each joins, numbered over all things; -1: not in `things`


def place_objects(
    correspondences: Correspondences,
    ends: Ints,
    repeats: Repeats,
    copies: Copies,
    xy: Floats,
    config: ObjectsConfig,
    measure_score: Callable[[Ints], float],
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
    """
    groups, n = repeats.groups, len(ends)
    copies = _absorb_parts(ends, repeats, copies, xy, config.reach)
    thing_of = np.repeat(np.arange(len(copies.things)), [len(places) for places in copies.things])
    place = _find_place(xy, [rows for places in copies.things for rows in places], config.reach)[ends]
    is_known: Bools = np.asarray((place >= 0).all(axis=1))
    joins = is_known.copy()
    joins[is_known] = (thing_of[place[is_known, 0]] == thing_of[place[is_known, 1]]) & (
        place[is_known, 0] != place[is_known, 1]
    )
    pairs: dict[tuple[int, int], list[tuple[int, Ints]]] = {}
    found: list[_Object] = []
    reversed_ = repeats.reversed.copy()
    log_nfa = np.full(len(groups.scores), np.nan) if groups.log_nfa is None else groups.log_nfa
    for k, rows in enumerate(groups.members):
        own = rows[joins[rows]]
        is_placed = 2 * np.count_nonzero(is_known[rows]) > len(rows) or copies.must_join[k]
        if not is_placed:
            found.append((rows, groups.scores[k], log_nfa[k], bool(repeats.periodic[k]), (-1, -1)))
        elif not repeats.periodic[k]:
            kinds = np.unique(np.sort(place[own], axis=1), axis=0).tolist()
            if len(kinds) == 1 and 2 * len(own) > len(rows):
                pairs.setdefault((kinds[0][0], kinds[0][1]), []).append((k, rows))
                nearest = cKDTree(correspondences.xy0[own]).query(correspondences.xy0[rows])[1]
                place[rows] = place[own[nearest]]
                continue
            for pair in kinds:
                part = own[(np.sort(place[own], axis=1) == pair).all(axis=1)]
                pairs.setdefault((pair[0], pair[1]), []).append((k, part))
    for (one, other), parts in pairs.items():
        rows = np.sort(np.concatenate([part for _, part in parts]))
        if not is_object(correspondences, rows, config):
            continue
        starts = place[rows, 0] == one
        at = [
            np.where(starts[:, None], xy[ends[rows, k]], xy[ends[rows, 1 - k]]).mean(axis=0) for k in (0, 1)
        ]
        is_first = tuple(at[0]) <= tuple(at[1])
        reversed_[rows] = starts != is_first
        first = parts[0][0]
        is_whole = len(parts) == 1 and len(rows) == len(groups.members[first])
        score = groups.scores[first] if is_whole else measure_score(rows + n * reversed_[rows])
        nfa = min(log_nfa[k] for k, _ in parts)
        found.append((rows, score, nfa, False, (one, other) if is_first else (other, one)))
    return _renumber(repeats, reversed_, found, copies)


def _absorb_parts(ends: Ints, repeats: Repeats, copies: Copies, xy: Floats, reach: float) -> Copies:
    """The copies, with the things and objects that are parts of larger things absorbed into these."""
    labels, periodic = repeats.groups.labels, np.append(repeats.periodic, True)  # the last for label -1
    turned = np.where(repeats.reversed[:, None], ends[:, ::-1], ends)
    matches, things = turned[~periodic[labels]], list[list[Ints]]()
    known = np.unique(
        np.concatenate([ends[:0].ravel(), *(rows for places in copies.things for rows in places)])
    )
    objects = [turned[rows] for k, rows in enumerate(repeats.groups.members) if not periodic[k]]
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
        turn, shift = fit(*xy[known.T])
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


def _renumber(repeats: Repeats, reversed_: Bools, found: list[_Object], copies: Copies) -> Placed:
    groups = repeats.groups
    found = sorted(found, key=lambda item: -item[1])
    members = [item[0] for item in found]
    labels = number_rows(len(groups.labels), members)
    dropped = [Dropped("places", rows) for rows in groups.members if (labels[rows] < 0).all()]
    log_nfa = None if groups.log_nfa is None else np.array([item[2] for item in found])
    scores = np.array([item[1] for item in found], float)
    new = groups.regroup("places", members, scores, log_nfa, dropped)
    periodic = np.array([item[3] for item in found], bool)
    joins = np.array([item[4] for item in found], np.int64).reshape(-1, 2)
    return Placed(replace(repeats, groups=new, reversed=reversed_, periodic=periodic), copies.things, joins)
