"""Motions within one picture that take a thing to its copies, followed through all features.

Features are equal if the distance of their descriptors is within a bound. The features of a place vote for
the motions that take them to equal features. Each motion, which may bend a little, is then followed to all
other features that it takes to equal ones.

Notation: n features; ends[i] is the feature to which a motion takes feature i, or -1.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree

from matching._common.arrays import fit_affine
from matching._common.types import Bools, Float32s, Floats, Ints
from matching.features.extraction import DESCRIPTOR_NORM, Features, mirrored_features
from matching.grouping import _vote_kernels
from matching.grouping.groups import ObjectsConfig

# Chosen on made pages with seeds 0 to 2. On pages with seeds 17 to 20, 28 of 30 products, 8 of 8 faces, 4 of
# 4 pages of icons and 4 of 4 walls are counted correctly.
BEND_TOLERANCE = 8.0  # pixels by which an affine map may be off, because things bend
# A feature farther than this many pixels from where its neighbours predict it belongs to another copy.
SAME_POINT_RADIUS = 3.0
VOTE_RADIUS = 0.1  # of the extent of a place: its votes for one motion differ by less
N_GUIDES = 8  # nearest features that predict where a motion takes a feature
# A feature with more equal features belongs to a fine texture, and is compared with none of them. On pages
# with 40 copies, features had up to 166.
MAX_EQUALS = 300
N_FOLLOWED = 3  # rounds in which a motion is followed
BLOCK_ROWS = 300  # features that are compared with all others at a time


@dataclass(frozen=True, eq=False)
class Scene:
    """The features of a picture, and their equals: features of the picture, or of the mirrored one."""

    features: Features
    frames: Floats  # (n, 2, 2), as equals
    equal: Ints  # (2, p), each feature and one equal to it elsewhere, the most similar first
    start: Ints  # (n + 1,), where the pairs of each feature start in `equal`, and where they end
    product: Float32s  # (p,), the product of their descriptors
    is_fine: Bools  # (n,), whether a feature belongs to a fine texture


def make_scene(features: Features, bound: float, reach: float, *, mirrored: bool = False) -> Scene:
    """Prepare a picture for motions between features equal within `bound` that are at least `reach` apart."""
    others = mirrored_features(features) if mirrored else features
    pairs = zip(*_list_equal(features, others, bound, reach), strict=True)
    first, second, product = (np.concatenate(part) for part in pairs)
    order = np.lexsort((-product, first))
    equal = np.stack([first, second])[:, order]
    start = np.searchsorted(equal[0], np.arange(len(features) + 1))
    return Scene(features, others.frames, equal, start, product[order], np.diff(start) == 0)


def _list_equal(
    features: Features, others: Features, bound: float, reach: float
) -> Iterator[tuple[Ints, Ints, Float32s]]:
    """Pairs of equal features that are `reach` or more apart, and the products of their descriptors."""
    kind = 2 * features.kind + features.bright
    for rows in (np.flatnonzero(kind == k) for k in np.unique(kind)):
        for start in range(0, len(rows), BLOCK_ROWS):
            part = features.descriptors[rows[start : start + BLOCK_ROWS]]
            product = part @ others.descriptors[rows].T  # whole numbers, which float32 holds exactly
            is_equal = product > to_product(bound)
            a, b = np.nonzero(is_equal & (is_equal.sum(axis=1, keepdims=True) <= MAX_EQUALS))
            first, second = rows[a + start], rows[b]
            is_apart = np.linalg.norm(features.xy[first] - features.xy[second], axis=1) >= reach
            yield first[is_apart], second[is_apart], product[a, b][is_apart]


def to_product(bound: float) -> float:
    """Convert a distance of two descriptors, as unit vectors, to their product."""
    return float((1 - bound**2 / 2) * DESCRIPTOR_NORM**2)


def find_motions(scene: Scene, first: Ints, second: Ints, bound: float, config: ObjectsConfig) -> list[Ints]:
    """Find the motion of a group that takes first (k,) to second, and others of these -> ends (n,) of each.

    Nothing is found if most of the group does not follow its motion.
    """
    xy, motion = scene.features.xy, follow(scene, first, second, bound, config)
    if motion is None:
        return []
    gap = np.linalg.norm(xy[motion[first]] - xy[second], axis=1)
    if 2 * np.count_nonzero((motion[first] >= 0) & (gap <= SAME_POINT_RADIUS)) <= len(first):
        return []
    found = [motion]
    for votes in ((first, second), *list_votes(scene, np.unique(first), bound, config)):
        for from_, to in (votes, votes[::-1]):
            if not any(takes(ends, from_, to) for ends in found):
                motion = follow(scene, from_, to, bound, config)
                if motion is not None:
                    moved = np.flatnonzero(motion >= 0)
                    found += [] if any(takes(ends, moved, motion[moved]) for ends in found) else [motion]
    return found


def takes(ends: Ints, from_: Ints, to: Ints) -> bool:
    """Test whether a motion takes most of features from_ (k,) to others (k,), or most of those it moves."""
    n_moved = min(len(from_), int(np.count_nonzero(ends >= 0)))
    return bool(2 * np.count_nonzero(ends[from_] == to) > n_moved)


def list_votes(scene: Scene, rows: Ints, bound: float, config: ObjectsConfig) -> Iterator[tuple[Ints, Ints]]:
    """List the pairs of equal features (k,), (k,) that vote alike for where rows (m,) of features move."""
    features = scene.features
    first, second = scene.equal[:, (scene.product > to_product(bound)) & np.isin(scene.equal[0], rows)]
    # Each pair votes with the affine map of its frames: where the map takes the middle of the place, and how
    # much it scales and turns.
    linear = scene.frames[second] @ np.linalg.inv(features.frames[first])
    middle, extent = features.xy[rows].mean(axis=0), np.ptp(features.xy[rows], axis=0)
    target = features.xy[second] + ((middle - features.xy[first])[:, None] @ linear.swapaxes(1, 2))[:, 0]
    growth = np.sqrt(np.abs(np.linalg.det(linear)))
    turn = np.arctan2(linear[:, 1, 0], linear[:, 0, 0])
    reach = max(VOTE_RADIUS * float(np.sqrt(np.prod(extent))), BEND_TOLERANCE)
    votes = np.column_stack([target / reach, 2 * np.log(growth), 2 * np.cos(turn), 2 * np.sin(turn)])
    tree = cKDTree(votes)
    count = tree.query_ball_point(votes, 1.0, return_length=True)
    is_free = np.ones(len(votes), bool)
    for k in np.argsort(-count, kind="stable"):
        if 2 * count[k] < config.min_matches:
            return
        if is_free[k]:
            near = np.sort(tree.query_ball_point(votes[k], 1.0))
            is_free[near] = False
            yield first[near], second[near]


def follow(scene: Scene, first: Ints, second: Ints, bound: float, config: ObjectsConfig) -> Ints | None:
    """Follow matches of features first -> second (k,) through the picture -> ends (n,).

    None if too few features move.
    """
    xy, pairs = scene.features.xy, (scene.start, scene.equal[1], scene.product)
    rows, reach = np.flatnonzero(np.diff(scene.start)), BEND_TOLERANCE
    for _ in range(N_FOLLOWED):
        x, y = xy[first], xy[second]
        a, b = fit_affine(x, y)
        near = cKDTree(x).query(xy[rows], k=min(N_GUIDES + 1, len(x)))[1]
        predicted = xy[rows] @ a.T + b + np.median((y - x @ a.T - b)[near], axis=1)
        ends = np.full(len(xy), -1)
        _vote_kernels.most_alike(xy, *pairs, to_product(bound), rows, predicted, reach, ends)
        first = np.flatnonzero(ends >= 0)
        second, reach = ends[first], SAME_POINT_RADIUS
        if len(first) < config.min_matches:
            return None
    return ends
