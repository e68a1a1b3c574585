"""Copies within one picture: all places of each thing, and where each place ends.

Each object joins two places, but only if there are enough candidates. Here the features of a place vote for
all motions that take it to a copy, and each motion is followed through the whole picture, to find the
features that it takes to ones that look the same. The profile of a feature is the set of motions that do so.
A place is a patch of neighbouring features that have the same profile and are not copies of each other. So it
ends where another arrangement begins, or its own next copy.

Notation: n features, m motions; ends[p, i] is the feature to which motion p takes feature i, or -1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.spatial import Delaunay, cKDTree

from matching._common.components import find_components
from matching._common.types import Bools, Floats, Ints
from matching.correspondences.correspondences import Correspondences
from matching.correspondences.points import NEIGHBORS, is_amid
from matching.features.extraction import DESCRIPTOR_NORM, Features
from matching.grouping.objects import ObjectsConfig, is_object

MOST_SEEDS = 200  # features of a place that vote
VOTE = 0.1  # of the extent of a place, by which votes for one motion may differ
GROWTH = 1.6  # greatest ratio of the scales of two copies
BENT = 8.0  # pixels by which an affine map may be off, because things bend
AT = 3.0  # pixels by which a feature may be off where its neighbours predict it
CROWD = 12  # features that may be at one place: both kinds, sizes and directions
SHOWN = 1 / 3  # of the features of a place, at least, that a copy shows: others are hidden

MovesApart = Callable[[Correspondences, Sequence[Ints]], bool]


@dataclass(frozen=True, eq=False)
class _Scene:
    """The features of a picture, and data that are computed once for them."""

    features: Features
    tree: cKDTree
    near: Ints  # (n, NEIGHBORS + 1), the nearest ones, itself first
    edges: Ints  # (e, 2), pairs of neighbours


@dataclass(frozen=True, eq=False)
class Seed:
    """Matches that join two places of a thing."""

    first: Ints  # (k,), rows of features
    second: Ints  # (k,), the equal ones
    bound: float  # distance of unit descriptors within which features are equal


@dataclass(frozen=True, eq=False)
class Copies:
    """Things and their places."""

    things: list[list[Ints]]  # of each, the rows of features in each of its places, two or more
    judged: Bools  # (n_seeds,), whether what moves as a seed does was looked at


def find_copies(
    features: Features, seeds: Sequence[Seed], config: ObjectsConfig, moves_apart: MovesApart
) -> Copies:
    """Find all places of the things that seeds belong to.

    Parameters
    ----------
    features : Features
        Of the picture.
    seeds : sequence of Seed
        The best first.
    config : ObjectsConfig
        The conditions for a place.
    moves_apart : callable
        Tells whether two sets of rows of correspondences are two things rather than one.
    """
    things: list[list[Ints]] = []
    judged, taken = np.zeros(len(seeds), bool), np.zeros(len(features), bool)
    if not seeds:
        return Copies(things, judged)
    scene = _survey(features)
    for k, seed in enumerate(seeds):
        if 2 * np.count_nonzero(taken[seed.first]) >= len(seed.first):
            continue
        rows = np.unique(seed.first)
        ends = _find_motions(scene, rows, seed.bound, config)
        own_motion = _follow(
            scene, *_fit(features.xy[seed.first], features.xy[seed.second]), seed.bound, config
        )
        if own_motion is not None:
            met = np.linalg.norm(features.xy[own_motion[seed.first]] - features.xy[seed.second], axis=1) <= AT
            judged[k] = 2 * np.count_nonzero(met & (own_motion[seed.first] >= 0)) > len(seed.first)
            if not any(_is_same(own_motion, other) for other in ends):
                ends = np.vstack([own_motion[None], ends])
        if not judged[k]:
            continue
        ends = np.vstack([_direct(features.xy, to) for to in ends])
        found = _find_things(scene, ends, rows, config, moves_apart)
        if not found:  # the parts of a sparse print are far apart; those of another arrangement don't agree
            agrees = _find_profiles(scene, ends >= 0)[rows].any(axis=1)
            judged[k] = 2 * np.count_nonzero(agrees) <= len(rows)
        for own, places in found:
            if 2 * np.count_nonzero(taken[own]) <= len(own):
                taken[np.concatenate(places)] = True
                things.append(places)
    return Copies(_drop_parts(features, things, config.reach), judged)


def _drop_parts(features: Features, things: list[list[Ints]], reach: float) -> list[list[Ints]]:
    """The things that are not parts of others: not all of their places lie inside larger ones.

    The gap between two places of one thing that are nearer to each other than reach counts as inside.
    """
    kept: list[list[Ints]] = []
    for places in sorted(things, key=lambda own: -sum(map(len, own))):
        known = [rows for other in kept for rows in other]
        if not known or not all(_is_amid(features, rows, np.concatenate(known)) for rows in places):
            hulls = [hull for other in kept for hull in _list_hulls(features.xy, other, reach)]
            if not all(any(_is_within(hull, features.xy[rows]) for hull in hulls) for rows in places):
                kept.append(places)
    return kept


def _list_hulls(xy: Floats, places: list[Ints], reach: float) -> list[Delaunay]:
    """The convex hulls of each two places (k, 2) that are within reach of each other."""
    trees = [cKDTree(xy[rows]) for rows in places]
    return [
        Delaunay(np.concatenate([tree.data, other.data]))
        for k, tree in enumerate(trees)
        for other in trees[:k]
        if np.isfinite(other.query(tree.data, distance_upper_bound=reach)[0]).any()
    ]


def _is_within(hull: Delaunay, points: Floats) -> bool:
    return bool(2 * np.count_nonzero(hull.find_simplex(points) >= 0) > len(points))


def _is_amid(features: Features, rows: Ints, others: Ints) -> bool:
    return bool(2 * np.count_nonzero(is_amid(features.xy[rows], features.xy[others])) > len(rows))


def _survey(features: Features) -> _Scene:
    tree = cKDTree(features.xy)
    k = min(NEIGHBORS + 1, len(features))
    near = tree.query(features.xy, k=k)[1].reshape(len(features), k)
    points, point = np.unique(features.xy, axis=0, return_inverse=True)
    triangles = Delaunay(points).simplices
    sides = np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]])
    first = np.unique(point.ravel(), return_index=True)[1]
    same = np.column_stack([first[point.ravel()], np.arange(len(features))])  # several at one point
    edges = np.concatenate([first[sides], same[same[:, 0] != same[:, 1]]])
    return _Scene(features, tree, near, np.unique(np.sort(edges, axis=1), axis=0))


def _find_motions(scene: _Scene, rows: Ints, bound: float, config: ObjectsConfig) -> Ints:
    """Ends (m, n) of the features under each motion that takes the rows (k,), or some of them, to a copy."""
    features = scene.features
    rows = rows[np.linspace(0, len(rows) - 1, min(len(rows), MOST_SEEDS)).astype(int)]
    first, second = _list_equal(features, rows, bound, config.reach)
    linear = features.frames[second] @ np.linalg.inv(features.frames[first])
    middle, extent = features.xy[rows].mean(axis=0), np.ptp(features.xy[rows], axis=0)
    target = features.xy[second] + ((middle - features.xy[first])[:, None] @ linear.swapaxes(1, 2))[:, 0]
    growth = np.sqrt(np.abs(np.linalg.det(linear)))
    turn = np.arctan2(linear[:, 1, 0] - linear[:, 0, 1], linear[:, 0, 0] + linear[:, 1, 1])
    reach = max(VOTE * float(np.sqrt(np.prod(extent))), BENT)
    votes = np.column_stack([target / reach, 2 * np.log(growth), 2 * np.cos(turn), 2 * np.sin(turn)])
    known = abs(np.log(growth)) < np.log(GROWTH)
    votes, linear, target = votes[known], linear[known], target[known]
    found: list[Ints] = []
    if not len(votes):
        return np.empty((0, len(features)), np.int64)
    tree = cKDTree(votes)
    count = tree.query_ball_point(votes, 1.0, return_length=True)
    free = np.ones(len(votes), bool)
    for k in np.argsort(-count, kind="stable"):
        if 2 * count[k] < config.min_matches:
            break
        if not free[k]:
            continue
        near = np.sort(tree.query_ball_point(votes[k], 1.0))
        free[near] = False
        a = np.median(linear[near], axis=0)
        b = np.median(target[near], axis=0) - a @ middle
        back = np.linalg.pinv(a)
        for turn_of, shift in ((a, b), (back, -back @ b)):
            ends = _follow(scene, turn_of, shift, bound, config)
            if ends is not None and not any(_is_same(ends, other) for other in found):
                found.append(ends)
    return np.array(found, np.int64).reshape(len(found), len(features))


def _is_same(ends: Ints, other: Ints) -> bool:
    """Whether two motions agree on most of the features that either of them takes somewhere."""
    least = min(np.count_nonzero(ends >= 0), np.count_nonzero(other >= 0))
    return bool(2 * np.count_nonzero((ends == other) & (ends >= 0)) > least)


def _direct(xy: Floats, to: Ints) -> Ints:
    """A motion (1, n), or, of one that is its own inverse, as half a turn is, either direction (2, n)."""
    own = np.flatnonzero(to >= 0)
    back = np.where(to[to[own]] >= 0, to[to[own]], to[own])
    if 2 * np.count_nonzero(np.linalg.norm(xy[back] - xy[own], axis=1) <= AT) <= len(own):
        return to[None]
    shift = xy[to[own]] - xy[own]
    ahead = np.zeros(len(to), bool)
    ahead[own] = shift @ np.linalg.eigh(shift.T @ shift)[1][:, 1] > 0
    return np.stack([np.where(ahead, to, -1), np.where(ahead, -1, to)])


def _list_equal(features: Features, rows: Ints, bound: float, reach: float) -> tuple[Ints, Ints]:
    """Pairs of features with equal descriptors, the first one of the rows."""
    whole = features.descriptors  # whole numbers, whose products float32 holds exactly
    like = whole[rows] @ whole.T > (1 - bound**2 / 2) * DESCRIPTOR_NORM**2
    like &= features.kind[rows][:, None] == features.kind
    like &= features.bright[rows][:, None] == features.bright
    first, second = np.nonzero(like)
    first = rows[first]
    apart = np.linalg.norm(features.xy[first] - features.xy[second], axis=1) >= reach
    return first[apart], second[apart]


def _follow(scene: _Scene, a: Floats, b: Floats, bound: float, config: ObjectsConfig) -> Ints | None:
    """Ends (n,) of the features under a motion x -> a x + b, which may bend a little; None: too few."""
    features, n = scene.features, len(scene.features)
    rows, at, reach = np.arange(n), features.xy @ a.T + b, BENT
    for _ in range(3):
        ends = np.full(n, -1)
        ends[rows] = _find_equal(scene, rows, at, reach, bound, config.reach)
        own = np.flatnonzero(ends >= 0)
        if len(own) < config.min_matches:
            return None
        x, y = features.xy[own], features.xy[ends[own]]
        a, b = _fit(x, y)
        off = y - (x @ a.T + b)
        rows = np.unique(scene.near[own])
        k = min(NEIGHBORS + 1, len(own))
        near = cKDTree(x).query(features.xy[rows], k=k)[1].reshape(len(rows), k)
        at = features.xy[rows] @ a.T + b + np.median(off[near], axis=1)
        reach = AT
    if np.abs(np.log(np.sqrt(abs(np.linalg.det(a))) + 1e-9)) > np.log(GROWTH):
        return None
    return ends


def _fit(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """The affine map of least squares from x to y (k, 2): its linear part (2, 2), and its shift (2,)."""
    solution = np.linalg.lstsq(np.column_stack([x, np.ones(len(x))]), y, rcond=None)[0]
    return np.asarray(solution[:2].T), np.asarray(solution[2])


def _find_equal(scene: _Scene, rows: Ints, at: Floats, reach: float, bound: float, apart: float) -> Ints:
    """The features most similar to the rows (k,) within reach of the points `at` (k, 2), or -1."""
    features = scene.features
    distance, near = scene.tree.query(at, k=min(CROWD, len(features)), distance_upper_bound=reach)
    r, c = np.nonzero(np.isfinite(distance))
    own, other = rows[r], near[r, c]
    fits = (features.kind[own] == features.kind[other]) & (features.bright[own] == features.bright[other])
    fits &= np.linalg.norm(features.xy[own] - features.xy[other], axis=1) >= apart
    r, c, own, other = r[fits], c[fits], own[fits], other[fits]
    alike = np.einsum("ij,ij->i", features.descriptors[own], features.descriptors[other]) / DESCRIPTOR_NORM**2
    score = np.full(distance.shape, -1.0)
    score[r, c] = alike
    best, each = score.argmax(axis=1), np.arange(len(rows))
    found: Ints = np.where(score[each, best] > 1 - bound**2 / 2, near[each, best], -1)
    return found


def _find_things(
    scene: _Scene, ends: Ints, rows: Ints, config: ObjectsConfig, moves_apart: MovesApart
) -> list[tuple[Ints, list[Ints]]]:
    """Things that the rows (k,) belong to, the largest first: the place there, and all places."""
    profile = _find_profiles(scene, ends >= 0)
    label = _cut(scene, ends, profile, config)
    asked = np.unique(label[rows[label[rows] >= 0]])
    patches = [np.flatnonzero(label == k) for k in asked]
    patches = [own for own in patches if len(own) >= config.min_matches]
    patches = _join(scene, ends, profile, patches, config, moves_apart)
    things = []
    for own in sorted(patches, key=len, reverse=True):
        places = [own]
        for p in range(len(ends)):
            to = np.unique(ends[p, own[ends[p, own] >= 0]])
            shown = profile[own, p].mean() > 0.5 and len(to) >= SHOWN * len(own)
            if shown and _is_place(scene, to, config) and not any(_share(to, other) for other in places):
                places.append(to)
        if len(places) > 1 and _is_place(scene, own, config):
            things.append((own, places))
    return things


def _is_place(scene: _Scene, rows: Ints, config: ObjectsConfig) -> bool:
    xy = scene.features.xy
    return len(rows) > 1 and is_object(Correspondences(xy, xy, np.empty((0, 2, 2))), rows, config)


def _share(rows: Ints, other: Ints) -> bool:
    return bool(4 * np.count_nonzero(np.isin(rows, other)) > len(rows))


def _find_profiles(scene: _Scene, has: Bools) -> Bools:
    """Profile (n, m) of each feature: the motions that it and neighbours with a similar profile have; has (m,
    n).
    """
    own = has.T
    total, share = np.zeros(len(own)), np.zeros(own.shape)
    for k in range(scene.near.shape[1]):  # one neighbour at a time: there may be hundreds of motions
        other = own[scene.near[:, k]]
        weight = ((other & own).sum(axis=1) + 0.05) / ((other | own).sum(axis=1) + 0.05)
        share += weight[:, None] * other
        total += weight
    share /= total[:, None]
    rate = np.array([np.median(share[own[:, p], p]) if own[:, p].any() else 1.0 for p in range(len(has))])
    profile: Bools = share >= np.maximum(rate / 2, 0.25)
    return profile


def _cut(scene: _Scene, ends: Ints, profile: Bools, config: ObjectsConfig) -> Ints:
    """(n,) the patch of each feature, -1: none; neighbours of the most similar profiles are joined first."""
    xy, n = scene.features.xy, len(profile)
    a, b = scene.edges[np.asarray(profile.any(axis=1))[scene.edges].min(axis=1)].T
    alike = (profile[a] & profile[b]).sum(axis=1) / (profile[a] | profile[b]).sum(axis=1)
    length = np.linalg.norm(xy[a] - xy[b], axis=1)
    strain, shared = np.zeros((2, len(a)))
    for to in ends:
        both = (to[a] >= 0) & (to[b] >= 0)
        own = to >= 0
        turn, shift = _fit(xy[own], xy[to[own]])
        rest = xy[to] - (xy @ turn.T + shift)
        off = np.linalg.norm(rest[a] - rest[b], axis=1)
        strain, shared = strain + np.where(both, off, 0), shared + both
    joined = (alike > 0.5) & (strain <= shared * AT) & (length <= config.reach)
    order = np.lexsort((length, -alike))
    parent = np.arange(n)

    def root(k: int) -> int:
        while parent[k] != k:
            parent[k] = parent[parent[k]]
            k = int(parent[k])
        return k

    some = np.flatnonzero(profile.any(axis=1)).tolist()
    members = {k: {k} for k in some}
    copies = {k: set(ends[ends[:, k] >= 0, k].tolist()) for k in some}
    for k in order[joined[order]].tolist():
        one, other = root(int(a[k])), root(int(b[k]))
        if one == other:
            continue
        if len(members[one]) < len(members[other]):
            one, other = other, one
        against = len(copies[one] & members[other]) + len(copies[other] & members[one])
        if against <= VOTE * len(members[other]):
            parent[other] = one
            members[one] |= members.pop(other)
            copies[one] |= copies.pop(other)
    label = np.full(n, -1)
    label[some] = [root(k) for k in some]
    return label


def _join(
    scene: _Scene,
    ends: Ints,
    profile: Bools,
    patches: list[Ints],
    config: ObjectsConfig,
    moves_apart: MovesApart,
) -> list[Ints]:
    """Patches of one profile that move as one thing across a blank band, joined."""
    xy = scene.features.xy
    shares = [profile[own].mean(axis=0) for own in patches]
    pairs = []
    for i in range(len(patches)):
        for j in range(i):
            common, either = (fold(shares[i], shares[j]).sum() for fold in (np.minimum, np.maximum))
            to = ends[:, patches[i]]
            back = ends[:, patches[j]]
            against = np.isin(to, patches[j]).sum() + np.isin(back, patches[i]).sum()
            if 2 * common <= either or against > VOTE * min(len(patches[i]), len(patches[j])):
                continue
            shared = np.flatnonzero(np.minimum(shares[i], shares[j]) > 0.5)
            if len(shared) and not any(
                _moves_apart(xy, ends[p], patches[i], patches[j], moves_apart) for p in shared
            ):
                pairs.append((i, j))
    label = find_components(len(patches), np.array(pairs, np.int64))
    return [np.concatenate([patches[i] for i in np.flatnonzero(label == k)]) for k in np.unique(label)]


def _moves_apart(xy: Floats, to: Ints, patch: Ints, other: Ints, moves_apart: MovesApart) -> bool:
    parts = [own[to[own] >= 0] for own in (patch, other)]
    rows = np.concatenate(parts)
    matches = Correspondences(xy[rows], xy[to[rows]], np.tile(np.eye(2), (len(rows), 1, 1)))
    return moves_apart(matches, np.split(np.arange(len(rows)), [len(parts[0])]))
