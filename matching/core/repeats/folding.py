"""Repeats in one picture, from the groups of matches within it.

Every match is listed in both directions: the matches of two places are two groups, one the reverse of the
other, or one group if the motion is its own inverse (half a turn, a reflection). They are folded into one
object per pair of places. Things that appear twice and move alike form one group. Here they are separated if
they are far apart; `copies` separates the others. If the two places of an object overlap, the object is
either a row of copies, each shifted onto the next, which is cut into its steps, or, if the steps hold too few
matches, a fine periodic texture.

Notation: n matches; directed match i < n leads from xy0[i] to xy1[i], i + n the other way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial import cKDTree

from matching._common.arrays import fit_affine
from matching._common.components import find_components
from matching._common.types import Array, Bools, Floats, Ints
from matching.core.groups import Group, ObjectsConfig, is_object, label_groups
from matching.core.ledger import Ledger
from matching.correspondences.correspondences import Correspondences
from matching.correspondences.points import is_inside
from matching.objects.things import is_of_copies


@dataclass(frozen=True, eq=False)
class Repeat:
    """An object among n matches within a picture."""

    rows: Ints  # (k,) of the n matches, ascending
    score: float
    is_periodic: bool = False  # whether it is a periodic texture shifted onto itself
    # the places that it joins, numbered over all things; -1: it joins none of them
    joins: tuple[int, int] = (-1, -1)


@dataclass(frozen=True, eq=False)
class Repeats:
    """Objects among n matches within a picture, by descending score."""

    objects: list[Repeat]
    # (n,), whether a match leads from xy1 to xy0, so that it starts at the left place, or at the upper one
    is_reversed: Bools


def direct_both_ways(xy0: Floats, xy1: Floats, maps: Floats) -> Correspondences:
    """List matches in both directions: xy0, xy1 (n, 2); maps (n, 2, 2)."""
    there = Correspondences(xy0, xy1, maps)
    return Correspondences(
        np.concatenate([xy0, xy1]),
        np.concatenate([xy1, xy0]),
        np.concatenate([maps, there.inverse_maps]),
    )


def find_repeats_in_groups(
    correspondences: Correspondences,
    groups: list[Group],
    config: ObjectsConfig,
    ledger: Ledger,
    is_texture: Callable[[Ints], bool] = lambda members: False,
    measure_score: Callable[[Ints], float] | None = None,
    may_mirror: bool = True,
) -> Repeats:
    """Find the objects among n matches: each joins two places, or shifts a texture onto itself.

    `measure_score` scores a part of a group; without it, a part has the score of its group. With `may_mirror`
    False, no mirrored features were matched, so mirrored objects are dropped: a few symmetric features match
    their mirror images nevertheless. The ledger is that of the n matches.
    """
    n = len(correspondences) // 2
    folded = _fold(correspondences, groups, config)
    found = list(_separate(correspondences, folded, config, is_texture))
    if not may_mirror:
        found = [
            item for item in found if item.is_periodic or not _is_mirrored(correspondences, item.members)
        ]
    objects, is_reversed = list[Repeat](), np.zeros(n, bool)
    for item in found:
        score = item.score
        if measure_score is not None and len(item.members) < item.n_of_group:
            score = measure_score(item.members)
        is_reversed[item.members % n] = item.members >= n
        objects.append(Repeat(np.sort(item.members % n), score, item.is_periodic))
    for group in groups:
        ledger.drop("places", np.unique(group.rows % n))
    return Repeats(sorted(objects, key=lambda one: -one.score), is_reversed)


@dataclass(frozen=True, eq=False)
class _Joined:
    """Directed matches (k,) that join two places, with the score of their group."""

    members: Ints
    score: float
    n_of_group: int
    # (k,), the smaller group that contains the reverse of each match, or -1; each value is a thing of its own
    parts: Ints
    is_periodic: bool = False


def _fold(correspondences: Correspondences, groups: list[Group], config: ObjectsConfig) -> Iterator[_Joined]:
    """Fold each group and its reverse into one list of matches, each in one direction only."""
    n = len(correspondences) // 2
    labels = label_groups(2 * n, groups)
    size = np.array([len(group.rows) for group in groups], np.int64)
    is_free = np.ones(n, bool)
    folded: set[int] = set()
    for k, group in enumerate(groups):
        if k in folded:
            continue
        members = group.rows
        reverse = labels[(members + n) % (2 * n)]
        count = np.bincount(reverse[reverse >= 0], minlength=len(size))
        twins = np.flatnonzero(2 * count > size)  # groups of which more than half are the reverse
        if 2 * count[k] > size[k]:
            members = _keep_one_way(correspondences, members)
        else:
            folded.update(twins.tolist())
            members = np.union1d(members, (np.flatnonzero(np.isin(labels, twins)) + n) % (2 * n))
        # Of both directions of a match, the first one is kept, unless an earlier object has the match.
        members = members[np.unique(members % n, return_index=True)[1]]
        members = members[is_free[members % n]]
        if is_object(correspondences, members, config):
            is_free[members % n] = False
            reverse = labels[(members + n) % (2 * n)]
            parts = np.where(np.isin(reverse, twins) & (2 * count[reverse] <= size[k]), reverse, -1)
            members = _put_left_first(correspondences, members)
            yield _Joined(members, group.score, len(members), parts)


def _keep_one_way(correspondences: Correspondences, members: Ints) -> Ints:
    """Keep the members that lead along the main direction of a group that equals its reverse."""
    first, second = _get_places(correspondences, members)
    axis = np.linalg.eigh((second - first).T @ (second - first))[1][:, 1]
    axis *= -1 if (axis[0], axis[1]) < (0, 0) else 1
    chosen: Ints = members[(second - first) @ axis > 0]
    return chosen


def _put_left_first(correspondences: Correspondences, members: Ints) -> Ints:
    """Reverse all members or none, so that the left place comes first, or the upper one if they are level."""
    first, second = (place.mean(axis=0) for place in _get_places(correspondences, members))
    n = len(correspondences) // 2
    return members if tuple(first) <= tuple(second) else (members + n) % (2 * n)


def _separate(
    correspondences: Correspondences,
    folded: Iterable[_Joined],
    config: ObjectsConfig,
    is_texture: Callable[[Ints], bool],
) -> Iterator[_Joined]:
    """Separate what is folded into objects that join two places, or shift a periodic texture onto itself."""
    textures: list[Floats] = []
    for item in folded:
        looks_periodic = is_texture(item.members)
        is_row = is_of_copies(item.score) and not looks_periodic
        things = _split_things(correspondences, item, config)
        for part in things if is_row else [item.members]:
            places = _get_places(correspondences, part)
            if textures and all(_lies_inside(place, np.concatenate(textures)) for place in places):
                continue  # this is another shift of the same texture
            if not looks_periodic and not _overlap(correspondences, part, config):
                yield replace(item, members=part)
            elif is_row and (copies := _cut_row(correspondences, part, config)):
                yield from (replace(item, members=copy) for copy in copies)
            else:
                yield replace(item, members=part, is_periodic=True)
                textures += places


def _lies_inside(place: Array, others: Array) -> bool:
    """Whether half of the points of a place (k, 2), or more, lie among others (m, 2)."""
    return bool(2 * np.count_nonzero(is_inside(place, others)) >= len(place))


def _get_places(correspondences: Correspondences, members: Ints) -> tuple[Array, Array]:
    """The points (k, 2) of the members in their first and second place."""
    return correspondences.xy0[members], correspondences.xy1[members]


def _is_mirrored(correspondences: Correspondences, members: Ints) -> bool:
    """Whether the affine map of the members mirrors, although each of them alone does not."""
    linear, _ = fit_affine(*_get_places(correspondences, members))
    return bool(np.linalg.det(linear) < 0)


def _overlap(correspondences: Correspondences, members: Ints, config: ObjectsConfig) -> bool:
    """Whether the two places of an object overlap so much that the matches there would make an object."""
    first, second = _get_places(correspondences, members)
    shared = is_inside(first, second), is_inside(second, first)
    return all(is_object(correspondences, members[is_shared], config) for is_shared in shared)


def _split_things(correspondences: Correspondences, item: _Joined, config: ObjectsConfig) -> list[Ints]:
    """Split an object into its parts, and each part into pieces that are far apart.

    They are far apart if the gap between their first places is more than half the shift.
    """
    things = []
    for k in np.unique(item.parts):
        members = item.members[item.parts == k]
        first, second = _get_places(correspondences, members)
        reach = max(np.median(np.linalg.norm(second - first, axis=1)) / 2, config.reach)
        label = find_components(len(first), cKDTree(first).query_pairs(reach, output_type="ndarray"))
        things += [members[label == k] for k in np.unique(label)]
    return [part for part in things if is_object(correspondences, part, config)] or [item.members]


def _halve(correspondences: Correspondences, members: Ints, config: ObjectsConfig) -> list[Ints]:
    """Halve an object by its first place: the halves that are objects, if they hold half of it or more."""
    cells = np.rint(correspondences.xy0[members] / config.reach)
    cells, cell = np.unique(cells, axis=0, return_inverse=True)
    if len(cells) < 2:
        return []
    half = fcluster(linkage(cells, "average"), 2, "maxclust")[cell.ravel()]
    parts = [members[half == k] for k in np.unique(half)]
    return _keep_most(members, [part for part in parts if is_object(correspondences, part, config)])


def _keep_most(members: Ints, parts: list[Ints]) -> list[Ints]:
    """The parts; none if they hold less than half of the members."""
    return parts if 2 * sum(map(len, parts)) >= len(members) else []


def _cut_row(correspondences: Correspondences, members: Ints, config: ObjectsConfig) -> list[Ints]:
    """Cut a row of copies into copies; return none if the copies hold less than half of its members."""
    if steps := _cut_steps(correspondences, members, config):
        return steps
    copies: list[Ints] = []
    for half in _halve(correspondences, members, config):
        is_row = _overlap(correspondences, half, config)
        copies += _cut_row(correspondences, half, config) if is_row else [half]
    return _keep_most(members, copies)


def _cut_steps(correspondences: Correspondences, members: Ints, config: ObjectsConfig) -> list[Ints]:
    """Cut a row of copies into its steps; return none if the steps hold less than half of its members."""
    first, second = _get_places(correspondences, members)
    shift = np.median(second - first, axis=0)
    length = np.linalg.norm(shift)
    if length == 0:
        return []
    along = first @ shift / length
    number = np.floor((along - along.min()) / length).astype(int)
    steps = [members[number == k] for k in np.unique(number)]
    return _keep_most(members, [step for step in steps if is_object(correspondences, step, config)])
