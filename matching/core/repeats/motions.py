"""Motions within one picture that take a thing to its copies, followed through all features.

Features are equal if the distance of their descriptors is within a bound. The features of a place vote for
the motions that take them to equal features. Each motion, which may bend a little, is then followed to all
other features that it takes to equal ones.

Notation: n features; ends[i] is the feature to which a motion takes feature i, or -1.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.spatial import Delaunay, cKDTree

from matching._common.arrays import fit_affine
from matching._common.types import Float32s, Floats, Ints
from matching.core import _vote_kernels
from matching.core.groups import ObjectsConfig
from matching.features.extraction import DESCRIPTOR_NORM, Features

# Chosen on made pages with seeds 0 to 2. On pages with seeds 17 to 20, 29 of 30 products, 8 of 8 faces, 3 of
# 4 pages of icons and 3 of 4 walls are right.
BEND_TOLERANCE = 8.0  # pixels by which an affine map may be off, because things bend
# A feature farther than this many pixels from where its neighbours predict it belongs to another copy.
SAME_POINT_RADIUS = 3.0
VOTE_RADIUS = 0.1  # of the extent of a place: its votes for one motion differ by less
MAX_LOG_SCALE = math.log(2.0)  # of a copy: with a factor of 1.6 instead of 2, the same pages are right
N_GUIDES = 8  # nearest features that predict where a motion takes a feature
# A feature with more equal features belongs to a fine texture, and is compared with none of them. On pages
# with 40 copies, features had up to 166.
MAX_EQUALS = 300
N_FOLLOWED = 3  # rounds in which a motion is followed; the first is by its affine map alone
BLOCK_ROWS = 300  # features that are compared with all others at a time


@dataclass(frozen=True, eq=False)
class Scene:
    """The features of a picture, and what is computed from them once."""

    features: Features
    near: Ints  # (n, N_GUIDES + 1), the nearest features, beginning with the feature itself
    edges: Ints  # (e, 2), pairs of neighbours
    equal: Ints  # (2, p), each feature and one equal to it elsewhere, the most similar first
    start: Ints  # (n + 1,), where the pairs of each feature start in `equal`, and where they end
    product: Float32s  # (p,), the product of their descriptors


def make_scene(features: Features, bound: float, reach: float) -> Scene:
    """Prepare a picture for motions between features equal within `bound` that are at least `reach` apart."""
    tree = cKDTree(features.xy)
    k = min(N_GUIDES + 1, len(features))
    near = tree.query(features.xy, k=k)[1].reshape(len(features), k)
    pairs = zip(*_list_equal(features, bound, reach), strict=True)
    first, second, product = (np.concatenate(part) for part in pairs)
    order = np.lexsort((-product, first))
    equal = np.stack([first, second])[:, order]
    start = np.searchsorted(equal[0], np.arange(len(features) + 1))
    return Scene(features, near, list_neighbors(features.xy), equal, start, product[order])


def list_neighbors(xy: Floats) -> Ints:
    """List the pairs of neighbours among points (n, 2): the sides of their Delaunay triangles -> (e, 2).

    Points on a line have no triangles, and no neighbours but those at the same point.
    """
    points, first, point = np.unique(xy, axis=0, return_index=True, return_inverse=True)
    same = np.column_stack([first[point.ravel()], np.arange(len(xy))])  # several at one point
    pairs = [same[same[:, 0] != same[:, 1]]]
    if np.linalg.matrix_rank(points - points[:1], tol=1.0) > 1:  # pixels
        triangles = Delaunay(points).simplices
        pairs += [first[triangles[:, sides]] for sides in ([0, 1], [1, 2], [2, 0])]
    neighbors: Ints = np.unique(np.sort(np.concatenate(pairs), axis=1), axis=0)
    return neighbors


def _list_equal(features: Features, bound: float, reach: float) -> Iterator[tuple[Ints, Ints, Float32s]]:
    """Pairs of equal features that are `reach` or more apart, and the products of their descriptors."""
    min_product = to_product(bound)
    kind = 2 * features.kind + features.bright
    for rows in (np.flatnonzero(kind == k) for k in np.unique(kind)):
        descriptors = features.descriptors[rows]  # whole numbers, whose products float32 holds exactly
        for start in range(0, len(rows), BLOCK_ROWS):
            product = descriptors[start : start + BLOCK_ROWS] @ descriptors.T
            is_equal = product > min_product
            a, b = np.nonzero(is_equal & (is_equal.sum(axis=1, keepdims=True) <= MAX_EQUALS))
            first, second = rows[a + start], rows[b]
            is_apart = np.linalg.norm(features.xy[first] - features.xy[second], axis=1) >= reach
            yield first[is_apart], second[is_apart], product[a, b][is_apart]


def to_product(bound: float) -> float:
    """Convert a distance of two descriptors, as unit vectors, to their product."""
    return float((1 - bound**2 / 2) * DESCRIPTOR_NORM**2)


def find_motions(
    scene: Scene, rows: Ints, bound: float, known: list[Ints], config: ObjectsConfig
) -> list[Ints]:
    """Find each motion that takes rows (k,) of features, or some of them, to a copy -> ends (n,) of each.

    Known motions are not followed again; new motions are added to `known`.
    """
    features = scene.features
    first, second = scene.equal[:, (scene.product > to_product(bound)) & np.isin(scene.equal[0], rows)]
    # Each pair votes with the affine map of its frames: where the map takes the middle of the place, and how
    # much it scales and turns.
    linear = features.frames[second] @ np.linalg.inv(features.frames[first])
    middle, extent = features.xy[rows].mean(axis=0), np.ptp(features.xy[rows], axis=0)
    target = features.xy[second] + ((middle - features.xy[first])[:, None] @ linear.swapaxes(1, 2))[:, 0]
    growth = np.sqrt(np.abs(np.linalg.det(linear)))
    turn = np.arctan2(linear[:, 1, 0] - linear[:, 0, 1], linear[:, 0, 0] + linear[:, 1, 1])
    reach = max(VOTE_RADIUS * float(np.sqrt(np.prod(extent))), BEND_TOLERANCE)
    votes = np.column_stack([target / reach, 2 * np.log(growth), 2 * np.cos(turn), 2 * np.sin(turn)])
    is_close = abs(np.log(growth)) < MAX_LOG_SCALE
    votes, linear, target = votes[is_close], linear[is_close], target[is_close]
    first, second = first[is_close], second[is_close]
    found: list[Ints] = []
    if not len(votes):
        return found
    tree = cKDTree(votes)
    count = tree.query_ball_point(votes, 1.0, return_length=True)
    is_free = np.ones(len(votes), bool)
    for k in np.argsort(-count, kind="stable"):
        if 2 * count[k] < config.min_matches:
            break
        if not is_free[k]:
            continue
        near = np.sort(tree.query_ball_point(votes[k], 1.0))
        is_free[near] = False
        a = np.median(linear[near], axis=0)
        b = np.median(target[near], axis=0) - a @ middle
        back = np.linalg.pinv(a)
        there_and_back = (a, b, first[near], second[near]), (back, -back @ b, second[near], first[near])
        for turn, shift, from_, to in there_and_back:
            ends = _find_known(known, from_, to)
            if ends is None:
                ends = follow(scene, turn, shift, bound, config)
                if ends is not None:
                    known.append(ends)
            if ends is not None and not any(is_same(ends, other) for other in found):
                found.append(ends)
    return found


def _find_known(known: list[Ints], from_: Ints, to: Ints) -> Ints | None:
    """The known motion (n,) that takes more than half of the features from_ (k,) to the features to (k,)."""
    return next((ends for ends in known if 2 * np.count_nonzero(ends[from_] == to) > len(from_)), None)


def is_same(ends: Ints, other: Ints) -> bool:
    """Test whether two motions agree on more than half of the features that the smaller one moves."""
    moved = np.flatnonzero(ends >= 0)
    n_moved = min(len(moved), int(np.count_nonzero(other >= 0)))
    return bool(2 * np.count_nonzero(ends[moved] == other[moved]) > n_moved)


def follow(scene: Scene, a: Floats, b: Floats, bound: float, config: ObjectsConfig) -> Ints | None:
    """Follow a motion x -> a x + b, which may bend a little -> ends (n,); None if too few features move."""
    xy, pairs = scene.features.xy, (scene.start, scene.equal[1], scene.product)
    rows, predicted, reach = np.arange(len(xy)), xy @ a.T + b, BEND_TOLERANCE
    for _ in range(N_FOLLOWED):
        ends = np.full(len(xy), -1)
        _vote_kernels.most_alike(xy, *pairs, to_product(bound), rows, predicted, reach, ends)
        moved = np.flatnonzero(ends >= 0)
        if len(moved) < config.min_matches:
            return None
        x, y = xy[moved], xy[ends[moved]]
        a, b = fit_affine(x, y)
        deviation = y - (x @ a.T + b)
        rows = np.unique(scene.near[moved])
        k = min(N_GUIDES + 1, len(moved))
        near = cKDTree(x).query(xy[rows], k=k)[1].reshape(len(rows), k)
        predicted = xy[rows] @ a.T + b + np.median(deviation[near], axis=1)
        reach = SAME_POINT_RADIUS
    if np.abs(np.log(np.sqrt(abs(np.linalg.det(a))) + 1e-9)) > MAX_LOG_SCALE:
        return None
    return ends
