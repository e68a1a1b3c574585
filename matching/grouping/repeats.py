"""Repeats in one picture: what the groups of matches within a picture say about its places.

Every match stands there twice, from either end: the matches of two places are two groups, one the reverse of
the other, or one group where the motion is its own inverse (half a turn, a reflection). They are folded into
one object a pair of places. Where these overlap, the object is a row of copies, each shifted onto the next,
which is cut into its steps; or a fine periodic texture, if the steps are many or hold too little.

Notation: n matches; directed match i < n leads from xy0[i] to xy1[i], i + n the other way.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from matching.errors import check_at_least
from matching.grouping.correspondences import Correspondences
from matching.grouping.objects import Groups, ObjectsConfig, is_object
from matching.grouping.suppression import covered_share


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
    """

    clearance: float = 25.0
    overlap: float = 0.2
    most_steps: int = 8

    def __post_init__(self):
        check_at_least(self, clearance=0, overlap=0, most_steps=1)


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
    correspondences: Correspondences, groups: Groups, config: RepeatsConfig, objects: ObjectsConfig
) -> Repeats:
    """The Repeats among n matches, from the groups of their 2 n directed correspondences."""
    n = len(correspondences) // 2
    labels, backwards = np.full(n, -1, np.int64), np.zeros(n, bool)
    scores, periodic, textures = [], [], []
    for members, score in _folded(correspondences, groups, objects):
        places = correspondences.xy0[members], correspondences.xy1[members]
        if _amid(places, textures) >= 0.5:
            continue  # another shift of the same texture
        steps = [members]
        is_periodic = min(covered_share(*places), covered_share(*places[::-1])) >= config.overlap
        if is_periodic:
            steps = _steps(correspondences, members, config, objects) or [members]
            is_periodic = len(steps) == 1 and len(steps[0]) == len(members)
        if is_periodic:
            textures.append(np.concatenate(places))
        for step in steps:
            labels[step % n], backwards[step % n] = len(scores), step >= n
            scores.append(score)
            periodic.append(is_periodic)
    return Repeats(Groups(labels, np.array(scores)), backwards, np.array(periodic, bool))


def _folded(correspondences, groups, config):
    """(members, score) of each pair of places: directed matches of one direction, none twice."""
    n = len(correspondences) // 2
    free = np.ones(n, bool)
    gone: set[int] = set()
    for k, score in enumerate(groups.scores):
        members = np.flatnonzero(groups.labels == k)
        if k in gone:
            continue
        back = groups.labels[(members + n) % (2 * n)]
        if np.mean(back == k) > 0.5:
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
            yield _left_first(correspondences, members), score


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


def _amid(places, textures):
    """The share of the points of an object that lie amid known textures, in the place where it is less."""
    if not textures:
        return 0.0
    return min(covered_share(place, np.concatenate(textures)) for place in places)


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
