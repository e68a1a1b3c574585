"""Repeats in one picture: what the groups of matches within a picture say about its places.

Every match stands there twice, from either end: the matches of two places are two groups, one the reverse of
the other, or one group where the motion is its own inverse (half a turn, a reflection). They are folded into
one object a pair of places. Where these overlap, the object is a row of copies, each shifted onto the next,
which is cut into its steps; or a fine periodic texture, if the steps are many or hold too little.

Notation: n matches; directed match i < n leads from xy0[i] to xy1[i], i + n the other way.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

from matching.correspondences.correspondences import Correspondences
from matching.errors import check_at_least
from matching.grouping.objects import Groups, ObjectsConfig, is_object
from matching.grouping.suppression import amid

MOST = 0.5  # of an object's points: a majority


@dataclass(frozen=True)
class RepeatsConfig:
    """What counts as a repeat in one picture.

    Attributes
    ----------
    clearance : float
        Pixels: features nearer than this, or inside the described window of the other one, are its
        surroundings and no match of it.
    overlap : float
        Share of the points of one place amid those of the other, from which two places overlap.
    most_steps : int
        A row that is shifted onto itself by a smaller part of its length is a periodic texture. Products
        stand on shelves eight in a row, windows, bricks and letters are more.
    row_score : float
        Least score of an object whose places overlap for it to be a row of copies. Of things that are alike
        but no copies, such as flakes and leaves, fewer neighbours agree: 0.1 to 0.3, of rows on shelves 0.7.
    """

    clearance: float = 25.0
    overlap: float = 0.35
    most_steps: int = 8
    row_score: float = 0.4

    def __post_init__(self):
        check_at_least(self, clearance=0, overlap=0, most_steps=1, row_score=0)


@dataclass(frozen=True, eq=False)
class Repeats:
    """Objects among n matches within a picture.

    Attributes
    ----------
    groups : Groups
        Of the n matches.
    reversed : (n,) bool
        Whether a match leads from xy1 to xy0: the place further left in the picture comes first (of two
        places at the same x, the upper one).
    periodic : (n_objects,) bool
        Whether an object is a periodic texture, shifted onto itself.
    """

    groups: Groups
    reversed: np.ndarray
    periodic: np.ndarray


def both_ways(xy0: np.ndarray, xy1: np.ndarray, maps: np.ndarray) -> Correspondences:
    """The 2 n directed correspondences of n matches."""
    there = Correspondences(xy0, xy1, maps)
    return Correspondences(
        np.concatenate([xy0, xy1]),
        np.concatenate([xy1, xy0]),
        np.concatenate([maps, there.inverse_maps]),
    )


def repeats_of(
    correspondences: Correspondences,
    groups: Groups,
    config: RepeatsConfig,
    objects: ObjectsConfig,
    is_texture: Callable[[np.ndarray], bool] = lambda members: False,
) -> Repeats:
    """The Repeats among n matches.

    Parameters
    ----------
    correspondences : Correspondences
        2 n, see `both_ways`.
    groups : Groups
        Of all 2 n.
    config : RepeatsConfig
    objects : ObjectsConfig
    is_texture : callable
        Tells of rows of correspondences, an object, whether they are confusable.
    """
    n = len(correspondences) // 2
    labels, backwards = np.full(n, -1, np.int64), np.zeros(n, bool)
    found = _separated(
        correspondences, _folded(correspondences, groups, objects), config, objects, is_texture
    )
    for k, item in enumerate(found):
        labels[item.members % n], backwards[item.members % n] = k, item.members >= n
    scores, periodic = (np.array([getattr(item, name) for item in found]) for name in ("score", "periodic"))
    return Repeats(Groups(labels, scores), backwards, periodic.astype(bool))


@dataclass(frozen=True, eq=False)
class _Joined:
    """Directed matches (k,) that join two places."""

    members: np.ndarray
    score: float
    periodic: bool = False


def _separated(correspondences, folded, config, objects, is_texture):
    """The objects, each of which joins two places or shifts a periodic texture onto itself."""
    found, textures = [], []
    for item in folded:
        is_even = is_texture(item.members)
        is_row = item.score >= config.row_score and not is_even
        parts = [item.members]
        if is_row:
            parts = _places_apart(correspondences, item.members, config.clearance, objects)
        for part in parts:
            first, second = _places(correspondences, part)
            if textures and _is_amid((first, second), np.concatenate(textures)):
                continue  # another shift of the same texture
            if not is_even and not _overlap(first, second, config):
                found.append(replace(item, members=part))
            elif is_row and (steps := _steps(correspondences, part, config, objects)):
                found += [replace(item, members=step) for step in steps]
            else:
                found.append(replace(item, members=part, periodic=True))
                textures.append(np.concatenate([first, second]))
    return [part for item in found for part in _copies_apart(correspondences, item, found, objects)]


def _is_amid(places, area):
    return min(amid(place, area).mean() for place in places) >= MOST


def _overlap(first, second, config):
    return min(amid(first, second).mean(), amid(second, first).mean()) >= config.overlap


def _places_apart(correspondences, members, least, objects):
    """The parts of an object whose points in the first place are more than half the shift apart, and more
    than `least`: of things that stand twice side by side, A A B B, the second A is between the first and B.
    """
    first, second = _places(correspondences, members)
    reach = max(np.median(np.linalg.norm(second - first, axis=1)) / 2, least)
    near = cKDTree(first).query_pairs(reach, output_type="ndarray")
    joined = coo_array((np.ones(len(near)), near.T), shape=(len(first), len(first)))
    label = connected_components(joined, directed=False)[1]
    parts = [members[label == k] for k in np.unique(label)]
    return [part for part in parts if is_object(correspondences, part, objects)] or [members]


def _places(correspondences, members):
    return correspondences.xy0[members], correspondences.xy1[members]


def _copies_apart(correspondences, item, found, objects):
    """An object, or its parts, one a copy, where its places are rows of copies that others of those found
    join: of two pairs of a thing, side by side, the matches are four things'.
    """
    if item.periodic:
        return [item]
    for place in _places(correspondences, item.members):
        ends = []
        for other in found:
            if other is item or other.periodic:
                continue
            both = np.logical_and(*(amid(xy, place) for xy in _places(correspondences, other.members)))
            if is_object(correspondences, other.members[both], objects):
                ends += _places(correspondences, other.members[both])
        if not ends or amid(place, np.concatenate(ends)).mean() < MOST:
            continue
        nearest = cKDTree(np.concatenate(ends)).query(place)[1]
        copy = _joined_ends(ends)[np.repeat(np.arange(len(ends)), [len(end) for end in ends])][nearest]
        parts = [item.members[copy == k] for k in np.unique(copy)]
        parts = [part for part in parts if is_object(correspondences, part, objects)]
        if len(parts) > 1:
            return [replace(item, members=part) for part in parts]
    return [item]


def _joined_ends(ends):
    """(k,) a number for each of k sets of points, the same for those that overlap."""
    overlap = np.array([[amid(a, b).mean() >= MOST for b in ends] for a in ends])
    return connected_components(coo_array(overlap), directed=False)[1]


def _folded(correspondences, groups, config):
    """_Joined of each pair of groups: matches of one direction, none twice."""
    n = len(correspondences) // 2
    free = np.ones(n, bool)
    gone: set[int] = set()
    for k, score in enumerate(groups.scores):
        members = np.flatnonzero(groups.labels == k)
        if k in gone:
            continue
        back = groups.labels[(members + n) % (2 * n)]
        if np.mean(back == k) > MOST:
            members = _one_way(correspondences, members)
        else:
            others, count = np.unique(back[(back >= 0) & (back != k)], return_counts=True)
            for twin in others[2 * count > np.array([(groups.labels == o).sum() for o in others])]:
                gone.add(int(twin))
                members = np.union1d(members, (np.flatnonzero(groups.labels == twin) + n) % (2 * n))
        # of a match in both directions the one that was there first, and none of earlier objects
        members = members[np.unique(members % n, return_index=True)[1]]
        members = members[free[members % n]]
        if is_object(correspondences, members, config):
            free[members % n] = False
            yield _Joined(_left_first(correspondences, members), float(score))


def _one_way(correspondences, members):
    """Those of a group that is its own reverse that lead along its main direction."""
    move = correspondences.xy1[members] - correspondences.xy0[members]
    axis = np.linalg.eigh(move.T @ move)[1][:, 1]
    axis *= -1 if (axis[0], axis[1]) < (0, 0) else 1
    return members[move @ axis > 0]


def _left_first(correspondences, members):
    """The members, or all their reverses: the place further left comes first, of two the upper one."""
    first, second = correspondences.xy0[members].mean(axis=0), correspondences.xy1[members].mean(axis=0)
    n = len(correspondences) // 2
    return members if tuple(first) <= tuple(second) else (members + n) % (2 * n)


def _steps(correspondences, members, config, objects):
    """The members of a row of copies, cut into its steps; empty where there are too many, or where they hold
    less than half of it.
    """
    x = correspondences.xy0[members]
    shift = np.median(correspondences.xy1[members] - x, axis=0)
    length = np.linalg.norm(shift)
    if length == 0:
        return []
    along = x @ shift / length
    number = np.floor((along - along.min()) / length).astype(int)
    if number.max() >= config.most_steps:
        return []
    steps = [members[number == k] for k in range(number.max() + 1)]
    steps = [step for step in steps if is_object(correspondences, step, objects)]
    return steps if 2 * sum(map(len, steps)) >= len(members) else []
