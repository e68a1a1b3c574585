"""Copies within one picture: all places of each thing, and where each place ends.

The profile of a feature is the set of motions that take it, and its neighbours, to features that look the
same. A place is a patch of neighbouring features that have the same profile and are not copies of each other.
So a place ends where the surroundings differ from copy to copy, or where its own next copy begins.

Notation: n features, m motions; ends[p, i] is the feature to which motion p takes feature i, or -1.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from scipy.spatial import cKDTree

from matching._common.arrays import fit_affine
from matching._common.components import find_components
from matching._common.types import Bools, Floats, Ints
from matching.correspondences.correspondences import Correspondences
from matching.correspondences.points import is_within_reach, list_neighbors
from matching.drivers.repeats.motions import N_GUIDES, SAME_POINT_RADIUS
from matching.grouping.groups import ObjectsConfig, is_object

MIN_VISIBLE_SHARE = 1 / 3  # of a place whose rest something hides; no record of a choice
# MAX_SHARED_PRINTS was chosen on made pages with seeds 0 to 2.
MAX_SHARED_PRINTS = 0.1  # share of a part's prints: if another part shows more of them, it is another copy
MAX_TAKEN = 0.25  # share of the features of a place that may belong to another one; no record of a choice
SIMILARITY_OF_NONE = 0.05  # motions that features without any have in common
MAX_GAP = 50.0  # pixels between neighbours in one place
MIN_PLACES = 3  # of a thing; of two places, the group of matches that joins them tells


def find_things(
    xy: Floats, motions: list[Ints], seeds: Ints, taken: Ints, config: ObjectsConfig
) -> list[Ints]:
    """Find the things at three places or more: xy (n, 2), motions (n,) each, seeds (s,) of their features.

    Returns (k, q) of each thing: the features that show its q prints at each of its k places, -1 where one is
    hidden. Things inside of larger ones, or among features taken (t,), are left out.
    """
    found, things = list[Ints](), list[Ints]()
    if not motions:
        return things
    ends = np.stack(motions)
    profile = find_profiles(xy, ends >= 0)
    for patch in cut_patches(xy, ends, profile, config.min_matches):
        rows = [patch] if is_place(xy, patch[np.isin(patch, seeds)], config) else []
        for copy in ends[2 * profile[patch].sum(axis=0) > len(patch)][:, patch] if rows else []:
            shown = np.unique(copy[copy >= 0])
            is_shown = is_place(xy, shown, config) and len(shown) >= MIN_VISIBLE_SHARE * len(patch)
            if is_shown and np.isin(shown, rows).mean() <= MAX_TAKEN:
                rows.append(copy)
        found += [np.stack(rows)] if len(rows) >= MIN_PLACES else []
    for places in sorted(found, key=lambda places: (-len(places), -np.count_nonzero(places >= 0))):
        if any(lie_near(xy, rows[None, rows >= 0], taken, config.reach).mean() <= 0.5 for rows in places):
            things.append(places)
            taken = np.concatenate([taken, places[places >= 0]])
    return things


def lie_near(xy: Floats, ends: Ints, taken: Ints, reach: float) -> Bools:
    """Test of which matches (k, n) all ends lie within reach of features taken (t,) -> (n,)."""
    return np.asarray(np.all([is_within_reach(xy[rows], xy[taken], reach) for rows in ends], axis=0))


def is_place(xy: Floats, rows: Ints, config: ObjectsConfig) -> bool:
    """Whether features (k,) are enough for a place, and spread in every direction."""
    return len(rows) > 1 and is_object(Correspondences(xy, xy, np.empty((0, 2, 2))), rows, config)


def find_profiles(xy: Floats, is_moved: Bools) -> Bools:
    """Find profiles (n, m), the motions of each feature, from those that move it: is_moved (m, n).

    A motion belongs to a profile if it moves half as many of the neighbours as usual, and a quarter, weighted
    by how similar their motions are to those of the feature.
    """
    near = cKDTree(xy).query(xy, k=N_GUIDES + 1)[1].T
    moves = is_moved.T.astype(float)
    common = np.einsum("knm,nm->kn", moves[near], moves) + SIMILARITY_OF_NONE
    size = moves.sum(axis=1) + SIMILARITY_OF_NONE
    weight = common / (size + size[near] - common)
    share = np.einsum("kn,knm->nm", weight / weight.sum(axis=0), moves[near])
    usual = [np.median(share[rows, p]) for p, rows in enumerate(is_moved)]
    return np.asarray(share >= np.maximum(np.array(usual) / 2, 0.25))


def cut_patches(xy: Floats, ends: Ints, profile: Bools, min_size: int) -> list[Ints]:
    """Cut the features that have a profile into patches.

    Neighbours with the most similar profiles are joined first, unless the motions of both move them apart.
    Smaller copies lack the finest features, so features without a profile must not split a patch.
    """
    rows = np.flatnonzero(profile.any(axis=1))
    a, b = rows[list_neighbors(xy[rows])].T
    similarity = (profile[a] & profile[b]).sum(axis=1) / (profile[a] | profile[b]).sum(axis=1)
    length = np.linalg.norm(xy[a] - xy[b], axis=1)
    strain, shared = np.zeros((2, len(a)))
    for motion in ends:
        moved = motion >= 0
        linear, offset = fit_affine(xy[moved], xy[motion[moved]])
        off, both = xy[motion] - xy @ linear.T - offset, moved[a] & moved[b]
        strain += both * np.linalg.norm(off[a] - off[b], axis=1)
        shared += both
    is_joined = (similarity > 0.5) & (length <= MAX_GAP) & (strain <= shared * SAME_POINT_RADIUS)
    order = np.lexsort((length, -similarity))
    order = order[is_joined[order]]
    pairs = zip(a[order].tolist(), b[order].tolist(), strict=True)
    label = unite(pairs, [{number} for number in number_prints(ends).tolist()])[rows]
    return [rows[label == k] for k in np.flatnonzero(np.bincount(label) >= min_size)]


def number_prints(ends: Ints) -> Ints:
    """Number the prints: features that motions take to each other, there and back, show the same -> (n,)."""
    pairs = [np.empty((0, 2), np.int64)]
    for motion in ends:
        moved = np.flatnonzero(motion >= 0)
        pairs.append(np.column_stack([moved, motion[moved]])[(ends[:, motion[moved]] == moved).any(axis=0)])
    return find_components(ends.shape[1], np.concatenate(pairs))


def unite(pairs: Iterable[tuple[int, int]], prints: list[set[int]]) -> Ints:
    """Join pairs of n parts in turn, unless too many prints would then occur twice -> (n,) union of each."""
    parent = list(range(len(prints)))

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
    return np.array([root(k) for k in parent], np.int64)
