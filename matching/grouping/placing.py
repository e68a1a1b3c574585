"""Objects of one picture, by the places that `copies` found: each joins two places of one thing.

An object may span several things, or several places of one; its matches are then shared out. One whose parts
have another arrangement between them, so that none of them is a place, is no object.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial import cKDTree

from matching._common.types import Floats, Ints
from matching.correspondences.correspondences import Correspondences
from matching.grouping.copies import Copies
from matching.grouping.objects import Groups, ObjectsConfig, is_object
from matching.grouping.rejections import IN_OBJECT, Dropped, choose_dropped, mark_dropped
from matching.grouping.repeats import Repeats


@dataclass(frozen=True, eq=False)
class Placed:
    """Objects, and the places that they join."""

    repeats: Repeats
    things: list[list[Ints]]  # of each thing, the rows of features in each of its places
    thing: Ints  # (n_objects,), the thing of each, -1: one that joins places of its own


def place_objects(
    correspondences: Correspondences,
    ends: Ints,
    repeats: Repeats,
    copies: Copies,
    xy: Floats,
    config: ObjectsConfig,
    measure_score: Callable[[Ints], float],
) -> Placed:
    """Share the matches of objects out to pairs of places.

    Parameters
    ----------
    correspondences : Correspondences
        Of n matches in both directions.
    ends : (n, 2) int
        The features of each match, as given.
    repeats : Repeats
        The objects.
    copies : Copies
        The places of things, and which objects were judged by them.
    xy : (n_features, 2) float64
        Where the features are.
    config : ObjectsConfig
        What an object is.
    measure_score : callable
        The score of directed matches.
    """
    groups, n = repeats.groups, len(ends)
    thing_of = np.repeat(np.arange(len(copies.things)), [len(places) for places in copies.things])
    place = _find_place(xy, [rows for places in copies.things for rows in places], config.reach)[ends]
    is_known = (place >= 0).all(axis=1)
    joins = is_known.copy()
    joins[is_known] = (thing_of[place[is_known, 0]] == thing_of[place[is_known, 1]]) & (
        place[is_known, 0] != place[is_known, 1]
    )
    pairs: dict[tuple[int, int], list[tuple[int, Ints]]] = {}
    found: list[tuple[Ints, float, float, bool, int]] = []  # rows, score, log_nfa, periodic, thing
    reversed_ = repeats.reversed.copy()
    log_nfa = np.full(len(groups.scores), np.nan) if groups.log_nfa is None else groups.log_nfa
    for k, rows in enumerate(groups.members):
        own = rows[joins[rows]]
        is_placed = 2 * np.count_nonzero(is_known[rows]) > len(rows) or copies.judged[k]
        if not is_placed:
            found.append((rows, groups.scores[k], log_nfa[k], bool(repeats.periodic[k]), -1))
        elif not repeats.periodic[k]:
            for pair in np.unique(np.sort(place[own], axis=1), axis=0).tolist():
                part = own[(np.sort(place[own], axis=1) == pair).all(axis=1)]
                pairs.setdefault((pair[0], pair[1]), []).append((k, part))
    for (one, other), parts in pairs.items():
        rows = np.sort(np.concatenate([part for _, part in parts]))
        if not is_object(correspondences, rows, config):
            continue
        starts = place[rows, 0] == one
        at = [np.where(starts[:, None], xy[ends[rows, k]], xy[ends[rows, 1 - k]]).mean(axis=0) for k in (0, 1)]
        reversed_[rows] = starts != (tuple(at[0]) <= tuple(at[1]))
        first = parts[0][0]
        is_whole = len(parts) == 1 and len(rows) == len(groups.members[first])
        score = groups.scores[first] if is_whole else measure_score(rows + n * reversed_[rows])
        nfa = min(log_nfa[k] for k, _ in parts)
        found.append((rows, score, nfa, False, int(thing_of[one])))
    return _renumber(repeats, reversed_, found, copies)


def _find_place(xy: Floats, places: list[Ints], reach: float) -> Ints:
    """(n,) the place of each feature, that of the nearest one that has a place within reach; -1: none."""
    found = np.full(len(xy), -1)
    if places:
        rows, number = np.concatenate(places), np.repeat(np.arange(len(places)), [len(own) for own in places])
        distance, nearest = cKDTree(xy[rows]).query(xy, distance_upper_bound=reach)
        near = np.isfinite(distance)
        found[near] = number[nearest[near]]
        found[rows] = number
    return found


def _renumber(
    repeats: Repeats, reversed_: Ints, found: list[tuple[Ints, float, float, bool, int]], copies: Copies
) -> Placed:
    groups = repeats.groups
    found = sorted(found, key=lambda item: -item[1])
    labels, stages = np.full_like(groups.labels, -1), groups.told_stages
    for k, item in enumerate(found):
        labels[item[0]] = k
    dropped = [Dropped("places", rows) for rows in groups.members if (labels[rows] < 0).all()]
    stages = mark_dropped(stages, "places", (labels < 0) & (groups.labels >= 0))
    stages[labels >= 0] = IN_OBJECT
    log_nfa = None if groups.log_nfa is None else np.array([item[2] for item in found])
    scores = np.array([item[1] for item in found], float)
    new = Groups(labels, scores, log_nfa, choose_dropped([*groups.rejected, *dropped], labels), stages)
    periodic = np.array([item[3] for item in found], bool)
    things = np.array([item[4] for item in found], np.int64)
    return Placed(replace(repeats, groups=new, reversed=reversed_, periodic=periodic), copies.things, things)
