"""Repeats in one picture: what the groups of matches within a picture say about its places.

Every match is listed twice, once from either end: the matches of two places are two groups, one the reverse
of the other, or one group where the motion is its own inverse (half a turn, a reflection). They are folded
into one object a pair of places.

Notation: n matches; directed match i < n leads from xy0[i] to xy1[i], i + n the other way.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from matching._common.types import Floats, Int8s, Ints
from matching.correspondences.correspondences import Correspondences
from matching.correspondences.points import is_amid
from matching.grouping.objects import Groups, ObjectsConfig, is_object
from matching.grouping.rejections import IN_OBJECT, Dropped, choose_dropped, mark_dropped


@dataclass(frozen=True, eq=False)
class Joined:
    """Directed matches (k,) that join two places; score and significance of their group."""

    members: Ints
    score: float
    log_nfa: float


def direct_both_ways(xy0: Floats, xy1: Floats, maps: Floats) -> Correspondences:
    """Direct matches either way.

    xy0, xy1 (n, 2) float64; maps (n, 2, 2) float64.
    """
    there = Correspondences(xy0, xy1, maps)
    return Correspondences(
        np.concatenate([xy0, xy1]),
        np.concatenate([xy1, xy0]),
        np.concatenate([maps, there.inverse_maps]),
    )


def fold(correspondences: Correspondences, groups: Groups, config: ObjectsConfig) -> Iterator[Joined]:
    """The matches of each pair of groups: matches of one direction, none twice."""
    n = len(correspondences) // 2
    size = np.bincount(groups.labels + 1, minlength=len(groups.scores) + 1)[1:]
    free = np.ones(n, bool)
    log_nfa = np.full(len(size), np.nan) if groups.log_nfa is None else groups.log_nfa
    gone: set[int] = set()
    for k, score in enumerate(groups.scores):
        if k in gone:
            continue
        members = np.flatnonzero(groups.labels == k)
        back = groups.labels[(members + n) % (2 * n)]
        count = np.bincount(back[back >= 0], minlength=len(size))
        if 2 * count[k] > size[k]:
            members = _keep_one_way(correspondences, members)
        else:
            twins = np.flatnonzero(2 * count > size)
            gone.update(twins.tolist())
            members = np.union1d(members, (np.flatnonzero(np.isin(groups.labels, twins)) + n) % (2 * n))
        # of a match in both directions the one that was there first, and none of earlier objects
        members = members[np.unique(members % n, return_index=True)[1]]
        members = members[free[members % n]]
        if is_object(correspondences, members, config):
            free[members % n] = False
            members = _put_left_first(correspondences, members)
            yield Joined(members, float(score), float(log_nfa[k]))


def _keep_one_way(correspondences: Correspondences, members: Ints) -> Ints:
    """Those of a group that is its own reverse that lead along its main direction."""
    first, second = correspondences.xy0[members], correspondences.xy1[members]
    axis = np.linalg.eigh((second - first).T @ (second - first))[1][:, 1]
    axis *= -1 if (axis[0], axis[1]) < (0, 0) else 1
    chosen: Ints = members[(second - first) @ axis > 0]
    return chosen


def _put_left_first(correspondences: Correspondences, members: Ints) -> Ints:
    """The members, or all their reverses: the place further left comes first, of two the upper one."""
    first, second = (xy[members].mean(axis=0) for xy in (correspondences.xy0, correspondences.xy1))
    n = len(correspondences) // 2
    return members if tuple(first) <= tuple(second) else (members + n) % (2 * n)


def find_overlap(xy0: Floats, xy1: Floats, least: int) -> bool:
    """Test whether the places that matches join overlap by so many of them or more.

    xy0, xy1 (n, 2) float64.
    """
    return all(np.count_nonzero(is_amid(*places)) >= least for places in ((xy0, xy1), (xy1, xy0)))


def tell_dropped(groups: Groups, labels: Ints) -> tuple[tuple[Dropped, ...], Int8s]:
    """What became of n matches, of `labels` (n,), whose directed ones are in groups: the groups of them that
    are no objects, and (n,) int8 the stage that dropped each.
    """
    n = len(labels)
    groups_of_matches = [np.unique(rows % n) for rows in groups.members]
    dropped = [
        *(replace(item, members=np.unique(item.members % n)) for item in groups.rejected),
        *(Dropped("places", rows) for rows in groups_of_matches),
    ]
    stages = np.maximum(*groups.told_stages.reshape(2, n))
    for rows in groups_of_matches:
        stages = mark_dropped(stages, "places", rows)
    stages[labels >= 0] = IN_OBJECT
    return choose_dropped(dropped, labels), stages
