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
    make_scene,
)
from matching.correspondences.correspondences import Correspondences
from matching.correspondences.points import is_inside
from matching.features.extraction import Features

MIN_VISIBLE_SHARE = 1 / 3  # of a place whose rest something hides; no record of a choice
# MAX_SHARED_PRINTS and MAX_SCALE_OF_SMALLER were chosen on made pages with seeds 0 to 2.
MAX_SHARED_PRINTS = 0.1  # share of a part's prints: if another part shows more of them, it is another copy
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
    must_join, is_taken = np.zeros(len(seeds), bool), np.zeros(len(features), bool)
    bounds = [seed.bound for seed in seeds if len(seed.first)]
    if not bounds:
        return Copies(things, must_join)
    scene = make_scene(features, max(bounds), config.reach)
    known: dict[float, list[Ints]] = {}
    for k, seed in enumerate(seeds):
        if 2 * np.count_nonzero(is_taken[seed.first]) >= len(seed.first):
            continue
        rows = np.unique(seed.first)
        motions, has_motion = _find_motions_of_seed(scene, seed, known.setdefault(seed.bound, []), config)
        if not has_motion:
            continue
        ends = np.stack(motions)
        found = _find_things(scene, ends, rows, config)
        if found:
            # An object that joins both places of a thing is whole, even where the thing bends.
            must_join[k] = any(len(places) > 2 for places in found)
        else:
            # Distant parts of one print share the same motions; separate copies in different arrangements
            # do not.
            agrees = _find_profiles(scene, ends >= 0)[rows].any(axis=1)
            must_join[k] = 2 * np.count_nonzero(agrees) <= len(rows)
        for places in found if must_join[k] else []:
            if 2 * np.count_nonzero(is_taken[places[0]]) <= len(places[0]):
                is_taken[np.concatenate(places)] = True
                things.append(places)
    return Copies(_drop_parts(features, things), must_join)


def _find_motions_of_seed(
    scene: Scene, seed: Seed, known: list[Ints], config: ObjectsConfig
) -> tuple[list[Ints], bool]:
    """Find the motions (n,) that take the place of a seed to copies, its own motion first.

    Also returns whether the matches of the seed follow one motion. New motions are added to `known`.
    """
    xy = scene.features.xy
    motions = find_motions(scene, np.unique(seed.first), seed.bound, known, config)
    motion = follow(scene, *fit_affine(xy[seed.first], xy[seed.second]), seed.bound, config)
    if motion is None:
        return motions, False
    if not any(is_same(motion, other) for other in motions):
        motions.insert(0, motion)
    gap = np.linalg.norm(xy[motion[seed.first]] - xy[seed.second], axis=1)
    is_followed = (gap <= SAME_POINT_RADIUS) & (motion[seed.first] >= 0)
    return motions, bool(2 * np.count_nonzero(is_followed) > len(seed.first))


def _drop_parts(features: Features, things: list[list[Ints]]) -> list[list[Ints]]:
    """Drop the things that are parts of others: all of their places lie inside larger ones."""
    kept: list[list[Ints]] = []
    for places in sorted(things, key=lambda places: -sum(map(len, places))):
        larger = [rows for other in kept for rows in other]
        if not larger or not all(_lies_inside(features, rows, np.concatenate(larger)) for rows in places):
            kept.append(places)
    return kept


def _lies_inside(features: Features, rows: Ints, others: Ints) -> bool:
    """Whether more than half of the features (k,) lie among others (m,)."""
    return bool(2 * np.count_nonzero(is_inside(features.xy[rows], features.xy[others])) > len(rows))


def _find_things(scene: Scene, ends: Ints, rows: Ints, config: ObjectsConfig) -> list[list[Ints]]:
    """Find the things of the rows (k,): all places of each, beginning with the one at the rows.

    Things with more places come first.
    """
    profile = _find_profiles(scene, ends >= 0)
    print_number = _number_prints(ends)
    label = _cut(scene, ends, profile, print_number, config)
    labels_at_rows = np.unique(label[rows[label[rows] >= 0]])
    patches = [np.flatnonzero(label == k) for k in labels_at_rows]
    patches = [patch for patch in patches if len(patch) >= config.min_matches]
    patches = _join(scene, ends, profile, print_number, patches)
    things = []
    for patch in patches:
        places = [patch]
        for p in range(len(ends)):
            copy = np.unique(ends[p, patch[ends[p, patch] >= 0]])
            is_shown = profile[patch, p].mean() > 0.5 and len(copy) >= MIN_VISIBLE_SHARE * len(patch)
            if (
                is_shown
                and _is_place(scene, copy, config)
                and not any(_share(copy, place) for place in places)
            ):
                places.append(copy)
        if len(places) > 1 and _is_place(scene, patch, config):
            things.append(places)
    return sorted(things, key=lambda places: (-len(places), -sum(map(len, places))))


def _is_place(scene: Scene, rows: Ints, config: ObjectsConfig) -> bool:
    """Whether features (k,) are enough for a place, and spread in every direction."""
    xy = scene.features.xy
    return len(rows) > 1 and is_object(Correspondences(xy, xy, np.empty((0, 2, 2))), rows, config)


def _share(rows: Ints, others: Ints) -> bool:
    """Whether more than a quarter of the rows (k,) are among others (m,)."""
    return bool(4 * np.count_nonzero(np.isin(rows, others)) > len(rows))


def _find_profiles(scene: Scene, is_moved: Bools) -> Bools:
    """Find profiles (n, m), the motions of each feature, from those that move it: is_moved (m, n).

    A motion belongs to a profile if it moves enough of the neighbours, weighted by how similar their motions
    are to those of the feature.
    """
    moves = is_moved.T
    size, total, share = moves.sum(axis=1), np.zeros(len(moves)), np.zeros(moves.shape)
    for k in range(scene.near.shape[1]):  # one neighbour at a time: there may be hundreds of motions
        neighbour = moves[scene.near[:, k]]
        common = (neighbour & moves).sum(axis=1)
        weight = (common + 0.05) / (size + size[scene.near[:, k]] - common + 0.05)
        np.add(share, weight[:, None], out=share, where=neighbour)
        total += weight
    share /= total[:, None]
    usual_share = [
        np.median(share[moves[:, p], p]) if moves[:, p].any() else 1.0 for p in range(len(is_moved))
    ]
    profile: Bools = share >= np.maximum(np.array(usual_share) / 2, 0.25)
    return profile


def _number_prints(ends: Ints) -> Ints:
    """Number the prints: features that motions take to each other show the same print -> (n,)."""
    motion, feature = np.nonzero(ends >= 0)
    return find_components(ends.shape[1], np.column_stack([feature, ends[motion, feature]]))


def _cut(scene: Scene, ends: Ints, profile: Bools, print_number: Ints, config: ObjectsConfig) -> Ints:
    """Cut the features into patches -> (n,) the patch of each, -1: none.

    Neighbours a, b with the most similar profiles are joined first. Smaller copies lack the finest features,
    so features without a profile must not split a patch.
    """
    xy, n = scene.features.xy, len(profile)
    rows = np.flatnonzero(profile.any(axis=1))
    a, b = rows[list_neighbors(xy[rows])].T
    is_edge = np.isin(a * n + b, scene.edges @ [n, 1])
    similarity = (profile[a] & profile[b]).sum(axis=1) / (profile[a] | profile[b]).sum(axis=1)
    length = np.linalg.norm(xy[a] - xy[b], axis=1)
    strain, shared, growth = _measure_strain(xy, ends, a, b)
    is_joined = (similarity > 0.5) & (strain <= shared * SAME_POINT_RADIUS) & (length <= config.reach)
    is_joined &= is_edge | ((shared > 0) & (growth < MAX_SCALE_OF_SMALLER))
    order = np.lexsort((length, -similarity))
    order = order[is_joined[order]]
    pairs = zip(a[order].tolist(), b[order].tolist(), strict=True)
    label = np.full(n, -1)
    label[rows] = _unite(n, pairs, [{number} for number in print_number.tolist()])[rows]
    return label


def _measure_strain(xy: Floats, ends: Ints, a: Ints, b: Ints) -> tuple[Floats, Floats, Floats]:
    """Compare the motions of neighbours a and b (k,) with the affine maps of these motions -> (k,) each.

    Returns the sum of the deviations in pixels, the number of motions that both have, and the scale of the
    largest of these copies.
    """
    strain, shared, growth = np.zeros((3, len(a)))
    for motion in ends:
        is_moved = motion >= 0
        linear, _ = fit_affine(xy[is_moved], xy[motion[is_moved]])
        both = np.flatnonzero(is_moved[a] & is_moved[b])
        i, j = a[both], b[both]
        deviation = xy[motion[j]] - xy[motion[i]] - (xy[j] - xy[i]) @ linear.T
        strain[both] += np.linalg.norm(deviation, axis=1)
        shared[both] += 1
        growth[both] = np.maximum(growth[both], np.sqrt(abs(np.linalg.det(linear))))
    return strain, shared, growth


def _unite(n: int, pairs: Iterable[tuple[int, int]], prints: list[set[int]]) -> Ints:
    """Join pairs of n parts in turn, unless too many prints would then occur twice -> (n,) union of each."""
    parent = list(range(n))

    def root(k: int) -> int:
        while parent[k] != k:
            parent[k] = parent[parent[k]]
            k = parent[k]
        return k

    for pair in pairs:
        larger, smaller = sorted((root(k) for k in pair), key=lambda k: -len(prints[k]))
        n_shared = len(prints[larger] & prints[smaller])
        if larger != smaller and n_shared <= MAX_SHARED_PRINTS * len(prints[smaller]):
            parent[smaller] = larger
            prints[larger] |= prints[smaller]
    return np.array([root(k) for k in range(n)], np.int64)


def _join(scene: Scene, ends: Ints, profile: Bools, print_number: Ints, patches: list[Ints]) -> list[Ints]:
    """Join the patches that have similar profiles and move as one thing; the largest comes first."""
    xy, joined = scene.features.xy, list[Ints]()

    def measure_similarity(larger: Ints, patch: Ints) -> float:
        shares = profile[larger].mean(axis=0), profile[patch].mean(axis=0)
        common, either = np.minimum(*shares), np.maximum(*shares)
        prints = np.unique(print_number[patch])
        n_shared = np.count_nonzero(np.isin(prints, print_number[larger]))
        if n_shared > MAX_SHARED_PRINTS * len(prints) or not (common > 0.5).any():
            return 0.0
        moves_alike = _moves_alike(xy, ends[common > 0.5], patch, larger)
        return float(common.sum() / either.sum()) if moves_alike else 0.0

    for patch in sorted(patches, key=len, reverse=True):
        similarities = [measure_similarity(larger, patch) for larger in joined]
        if max(similarities, default=0.0) > 0.5:
            k = int(np.argmax(similarities))
            joined[k] = np.concatenate([joined[k], patch])
        else:
            joined.append(patch)
    return joined


def _moves_alike(xy: Floats, ends: Ints, patch: Ints, larger: Ints) -> bool:
    """Whether the motions (k, n) of a larger patch also predict where a patch's nearest features move."""
    distance = cKDTree(xy[larger]).query(xy[patch])[0]
    nearest = patch[np.argsort(distance, kind="stable")[:N_GUIDES]]
    errors = list[Floats]()
    for motion in ends:
        moved, near = (rows[motion[rows] >= 0] for rows in (larger, nearest))
        linear, shift = fit_affine(xy[moved], xy[motion[moved]])
        errors.append(np.linalg.norm(xy[near] @ linear.T + shift - xy[motion[near]], axis=1))
    error = np.concatenate(errors)
    return bool(len(error) and error.mean() <= SAME_POINT_RADIUS)
