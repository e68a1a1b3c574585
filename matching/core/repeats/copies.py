"""Copies within one picture: all places of each thing, and where each place ends.

Each object joins two places, but two copies are joined only if there are enough candidates between them. Here
the features of a place vote for all motions that take it to a copy, and each motion is followed through the
whole picture, to find the features that it takes to features that look the same. The profile of a feature is
the set of motions that do so. A place is a patch of neighbouring features that have the same profile and are
not copies of each other. So a place ends where the surroundings differ from copy to copy, or where its own
next copy begins.

Notation: n features, m motions; ends[p, i] is the feature to which motion p takes feature i, or -1.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree

from matching._common.arrays import fit_affine
from matching._common.components import find_components
from matching._common.types import Bools, Floats, Ints
from matching.core.groups import ObjectsConfig, is_object
from matching.core.repeats.motions import (
    N_GUIDES,
    SAME_POINT_RADIUS,
    Scene,
    find_motions,
    follow,
    is_same,
    list_neighbors,
    survey,
)
from matching.correspondences.correspondences import Correspondences
from matching.correspondences.points import is_inside
from matching.features.extraction import Features

MIN_VISIBLE_SHARE = 1 / 3  # of a place whose rest something hides; no record of a choice
# The next two were chosen on made pages with seeds 0 to 2.
MAX_SHARED_PRINTS = 0.1  # of a part's features: more that another part also shows make it another copy
MAX_SCALE_OF_SMALLER = 0.9  # a copy below this scale is smaller, and lacks the finest features


@dataclass(frozen=True, eq=False)
class Seed:
    """Matches that join two places of a thing."""

    first: Ints  # (k,), rows of features
    second: Ints  # (k,), rows of the features equal to them
    bound: float  # distance of unit descriptors within which features are equal


@dataclass(frozen=True, eq=False)
class Copies:
    """Things and their places."""

    things: list[list[Ints]]  # for each thing, the rows of the features in each of its two or more places
    must_join: Bools  # (n_seeds,), whether the object of each seed counts only if it links two copies


def find_copies(features: Features, seeds: Sequence[Seed], config: ObjectsConfig) -> Copies:
    """Find all places of the things to which the seeds belong.

    Parameters
    ----------
    features : Features
        The features of the picture.
    seeds : sequence of Seed
        The seeds, the best first.
    config : ObjectsConfig
        The conditions for a place.
    """
    things: list[list[Ints]] = []
    must_join, taken = np.zeros(len(seeds), bool), np.zeros(len(features), bool)
    bounds = [seed.bound for seed in seeds if len(seed.first)]
    if not bounds:
        return Copies(things, must_join)
    scene = survey(features, max(bounds), config.reach)
    known: dict[float, list[Ints]] = {}
    for k, seed in enumerate(seeds):
        if 2 * np.count_nonzero(taken[seed.first]) >= len(seed.first):
            continue
        rows = np.unique(seed.first)
        motions = find_motions(scene, rows, seed.bound, known.setdefault(seed.bound, []), config)
        start = fit_affine(features.xy[seed.first], features.xy[seed.second])
        own_motion = follow(scene, *start, seed.bound, config)
        if own_motion is not None:
            gap = np.linalg.norm(features.xy[own_motion[seed.first]] - features.xy[seed.second], axis=1)
            met = gap <= SAME_POINT_RADIUS
            must_join[k] = 2 * np.count_nonzero(met & (own_motion[seed.first] >= 0)) > len(seed.first)
            if not any(is_same(own_motion, other) for other in motions):
                motions.insert(0, own_motion)
        if not must_join[k]:
            continue
        ends = np.stack(motions)
        found = _find_things(scene, ends, rows, config)
        if found and all(len(places) == 2 for _, places in found):
            must_join[k] = False  # the object itself joins both places, and is whole even where it bends
            continue
        if not found:  # parts of a sparse print are far apart but agree; copies arranged differently don't
            agrees = _find_profiles(scene, ends >= 0)[rows].any(axis=1)
            must_join[k] = 2 * np.count_nonzero(agrees) <= len(rows)
        for own, places in found:
            if 2 * np.count_nonzero(taken[own]) <= len(own):
                taken[np.concatenate(places)] = True
                things.append(places)
    return Copies(_drop_parts(features, things), must_join)


def _drop_parts(features: Features, things: list[list[Ints]]) -> list[list[Ints]]:
    """Drop the things that are parts of others: all of their places lie inside larger ones."""
    kept: list[list[Ints]] = []
    for places in sorted(things, key=lambda own: -sum(map(len, own))):
        known = [rows for other in kept for rows in other]
        if not known or not all(_is_amid(features, rows, np.concatenate(known)) for rows in places):
            kept.append(places)
    return kept


def _is_amid(features: Features, rows: Ints, others: Ints) -> bool:
    return bool(2 * np.count_nonzero(is_inside(features.xy[rows], features.xy[others])) > len(rows))


def _find_things(
    scene: Scene, ends: Ints, rows: Ints, config: ObjectsConfig
) -> list[tuple[Ints, list[Ints]]]:
    """Things of the rows (k,), those with most places first: the place at the rows, and all places."""
    profile = _find_profiles(scene, ends >= 0)
    number = _number_prints(ends)
    label = _cut(scene, ends, profile, number, config)
    asked = np.unique(label[rows[label[rows] >= 0]])
    patches = [np.flatnonzero(label == k) for k in asked]
    patches = [own for own in patches if len(own) >= config.min_matches]
    patches = _join(scene, ends, profile, number, patches)
    things = []
    for own in patches:
        places = [own]
        for p in range(len(ends)):
            to = np.unique(ends[p, own[ends[p, own] >= 0]])
            shown = profile[own, p].mean() > 0.5 and len(to) >= MIN_VISIBLE_SHARE * len(own)
            if shown and _is_place(scene, to, config) and not any(_share(to, other) for other in places):
                places.append(to)
        if len(places) > 1 and _is_place(scene, own, config):
            things.append((own, places))
    return sorted(things, key=lambda found: (-len(found[1]), -sum(map(len, found[1]))))


def _is_place(scene: Scene, rows: Ints, config: ObjectsConfig) -> bool:
    xy = scene.features.xy
    return len(rows) > 1 and is_object(Correspondences(xy, xy, np.empty((0, 2, 2))), rows, config)


def _share(rows: Ints, other: Ints) -> bool:
    return bool(4 * np.count_nonzero(np.isin(rows, other)) > len(rows))


def _find_profiles(scene: Scene, has: Bools) -> Bools:
    """Profiles (n, m): motions that each feature and neighbours with similar profiles have; has (m, n)."""
    own = has.T
    size, total, share = own.sum(axis=1), np.zeros(len(own)), np.zeros(own.shape)
    for k in range(scene.near.shape[1]):  # one neighbour at a time: there may be hundreds of motions
        other = own[scene.near[:, k]]
        common = (other & own).sum(axis=1)
        weight = (common + 0.05) / (size + size[scene.near[:, k]] - common + 0.05)
        np.add(share, weight[:, None], out=share, where=other)
        total += weight
    share /= total[:, None]
    rate = np.array([np.median(share[own[:, p], p]) if own[:, p].any() else 1.0 for p in range(len(has))])
    profile: Bools = share >= np.maximum(rate / 2, 0.25)
    return profile


def _number_prints(ends: Ints) -> Ints:
    """(n,) a number for each feature: the same for features that one or more motions take to each other."""
    motion, feature = np.nonzero(ends >= 0)
    return find_components(ends.shape[1], np.column_stack([feature, ends[motion, feature]]))


def _cut(scene: Scene, ends: Ints, profile: Bools, number: Ints, config: ObjectsConfig) -> Ints:
    """(n,) the patch of each feature, -1: none; neighbours of the most similar profiles are joined first.

    A smaller copy lacks the finest features. So those without a profile do not part the others there.
    """
    xy, n = scene.features.xy, len(profile)
    some = np.flatnonzero(profile.any(axis=1))
    a, b = some[list_neighbors(xy[some])].T
    is_edge = np.isin(a * n + b, scene.edges @ [n, 1])
    alike = (profile[a] & profile[b]).sum(axis=1) / (profile[a] | profile[b]).sum(axis=1)
    length = np.linalg.norm(xy[a] - xy[b], axis=1)
    strain, shared, growth = _measure_strain(xy, ends, a, b)
    joined = (alike > 0.5) & (strain <= shared * SAME_POINT_RADIUS) & (length <= config.reach)
    joined &= is_edge | ((shared > 0) & (growth < MAX_SCALE_OF_SMALLER))
    order = np.lexsort((length, -alike))
    pairs = zip(a[order[joined[order]]].tolist(), b[order[joined[order]]].tolist(), strict=True)
    label = np.full(n, -1)
    label[some] = _unite(n, pairs, [{int(own)} for own in number])[some]
    return label


def _measure_strain(xy: Floats, ends: Ints, a: Ints, b: Ints) -> tuple[Floats, Floats, Floats]:
    """(k,) how far the motions of features a and b part from their maps, in sum; how many both have; and the
    scale of the largest of these copies.
    """
    strain, shared, growth = np.zeros((3, len(a)))
    for to in ends:
        own = to >= 0
        turn, _ = fit_affine(xy[own], xy[to[own]])
        both = np.flatnonzero(own[a] & own[b])
        i, j = a[both], b[both]
        strain[both] += np.linalg.norm(xy[to[j]] - xy[to[i]] - (xy[j] - xy[i]) @ turn.T, axis=1)
        shared[both] += 1
        growth[both] = np.maximum(growth[both], np.sqrt(abs(np.linalg.det(turn))))
    return strain, shared, growth


def _unite(n: int, pairs: Iterable[tuple[int, int]], prints: list[set[int]]) -> Ints:
    """(n,) the union of each of n parts: pairs are joined in turn, unless a print would then occur twice."""
    parent = list(range(n))

    def root(k: int) -> int:
        while parent[k] != k:
            parent[k] = parent[parent[k]]
            k = parent[k]
        return k

    for pair in pairs:
        one, other = sorted((root(k) for k in pair), key=lambda k: -len(prints[k]))
        if one != other and len(prints[one] & prints[other]) <= MAX_SHARED_PRINTS * len(prints[other]):
            parent[other] = one
            prints[one] |= prints[other]
    return np.array([root(k) for k in range(n)], np.int64)


def _join(scene: Scene, ends: Ints, profile: Bools, number: Ints, patches: list[Ints]) -> list[Ints]:
    """The patches, the largest first, with those joined that have one profile and move as one thing."""
    xy, joined = scene.features.xy, list[Ints]()

    def measure_likeness(larger: Ints, patch: Ints) -> float:
        shares = profile[larger].mean(axis=0), profile[patch].mean(axis=0)
        common, either = np.minimum(*shares), np.maximum(*shares)
        prints = np.unique(number[patch])
        shown = np.count_nonzero(np.isin(prints, number[larger])) > MAX_SHARED_PRINTS * len(prints)
        alike = not shown and (common > 0.5).any() and _moves_alike(xy, ends[common > 0.5], patch, larger)
        return float(common.sum() / either.sum()) if alike else 0.0

    for patch in sorted(patches, key=len, reverse=True):
        likeness = [measure_likeness(larger, patch) for larger in joined]
        if max(likeness, default=0.0) > 0.5:
            k = int(np.argmax(likeness))
            joined[k] = np.concatenate([joined[k], patch])
        else:
            joined.append(patch)
    return joined


def _moves_alike(xy: Floats, ends: Ints, patch: Ints, larger: Ints) -> bool:
    """Whether the motions (k, n) of a larger patch also predict those of a patch's nearest features."""
    distance = cKDTree(xy[larger]).query(xy[patch])[0]
    nearest = patch[np.argsort(distance, kind="stable")[:N_GUIDES]]
    errors = list[Floats]()
    for to in ends:
        own, near = (rows[to[rows] >= 0] for rows in (larger, nearest))
        turn, shift = fit_affine(xy[own], xy[to[own]])
        errors.append(np.linalg.norm(xy[near] @ turn.T + shift - xy[to[near]], axis=1))
    every = np.concatenate(errors)
    return bool(len(every) and every.mean() <= SAME_POINT_RADIUS)
