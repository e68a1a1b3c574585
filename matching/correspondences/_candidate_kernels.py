"""Compiled loops over pairs of features, documented where they are called."""

from typing import Any

import numpy as np

from gdl_core.jit import inner, njit
from matching._common.types import Array, Scalar

RUN_LENGTH = 32  # distances compared at a time


@njit
def exclude_near(similarity: Array, xy0: Array, clearance0: Array, xy1: Array, clearance1: Array) -> None:
    """Write -inf into similarity (b, c) where two points are nearer than the larger of their clearances."""
    for r in range(similarity.shape[0]):
        x, y = xy0[r, 0], xy0[r, 1]
        for j in range(similarity.shape[1]):
            u, v, clearance = xy1[j, 0] - x, xy1[j, 1] - y, max(clearance0[r], clearance1[j])
            if u * u + v * v < clearance * clearance:
                similarity[r, j] = -np.inf


@njit
def enter_nearest(
    similarity: Array, norms: Array, rows: Array, members: Array, buffer: Array, nearest: Array, score: Array
) -> None:
    """Enter the columns of similarity (b, c) into lists of the nearest, ordered by norm - 2 similarity.

    The columns are the `members` (c,). The lists are the `rows` (b,) of nearest and score (n, width).
    buffer (c,) float32 is for distances.
    """
    for b in range(similarity.shape[0]):
        for j in range(len(buffer)):
            buffer[j] = norms[j] - np.float32(2) * similarity[b, j]
        enter_smallest(buffer, members, nearest[rows[b]], score[rows[b]])


@njit
def enter_within(
    products: Array, min_product: Array, halves: Array, rows: Array, members: Array, norms: Array,
    first: Scalar, nearest: Array, score: Array,
) -> None:  # fmt: skip
    """Enter members (c, d) int16, numbered from `first`, into the lists of the nearest of rows (b, d) int16.

    The lists are nearest and score (b, width), ordered by norm - 2 similarity. A member enters only if the
    product of the projections (b, c), less the member's `halves` (c,), is at least the row's `min_product`.
    """
    for b in range(products.shape[0]):
        index, value, product, row, smallest = nearest[b], score[b], products[b], rows[b], min_product[b]
        for start in range(0, len(product), RUN_LENGTH):
            run, half = product[start : start + RUN_LENGTH], halves[start : start + RUN_LENGTH]
            n_near = np.int32(0)
            for j in range(len(run)):  # by vector instructions; most runs hold nothing near
                n_near += np.int32(run[j] - half[j] >= smallest)
            if n_near > 0:
                for j in range(len(run)):
                    if run[j] - half[j] >= smallest:
                        member, similarity = members[start + j], np.int32(0)
                        for d in range(len(row)):
                            similarity += np.int32(row[d]) * np.int32(member[d])
                        distance = norms[start + j] - np.float32(2) * np.float32(similarity)
                        if distance < value[-1]:
                            insert(first + start + j, distance, index, value)


@inner
def enter_smallest(distance: Array, members: Array, index: Array, value: Array) -> None:
    """Enter members (c,) into the list of the nearest, index and value (width,), by distance (c,)."""
    for start in range(0, len(distance), RUN_LENGTH):
        run = distance[start : start + RUN_LENGTH]
        largest, n_nearer = value[-1], np.int32(0)
        for j in range(len(run)):  # by vector instructions; most runs hold nothing nearer
            n_nearer += np.int32(run[j] < largest)
        if n_nearer > 0:
            for j in range(len(run)):
                if run[j] < value[-1]:
                    insert(members[start + j], run[j], index, value)


@inner
def insert(j: Scalar, d: Scalar, index: Array, value: Array) -> None:
    """Insert j by its value d, behind equal values, and drop the last entry."""
    k = len(value) - 1
    while k > 0 and value[k - 1] > d:
        value[k], index[k] = value[k - 1], index[k - 1]
        k -= 1
    value[k], index[k] = d, j


@njit
def keep_distinct(places: Any, sizes: Any, limits: Any, max_pairs: Scalar, is_kept: Array) -> None:
    """Set is_kept (n,) for at most `max_pairs` pairs, in order of preference, that don't repeat a kept one.

    places: xy0 and xy1 (n, 2); sizes: those of both ends (n,); limits: radius, reach and largest reach. Kept
    pairs are listed by the square cells in which xy0 lie, whose side is the largest distance.
    """
    (xy0, xy1), (size0, size1), (radius, reach, max_reach) = places, sizes, limits
    cells = np.floor(xy0 / max(radius, max_reach)).astype(np.int64)
    head, next_pair = np.full(65536, -1), np.empty(len(xy0), np.int64)
    buckets, n_kept = len(head), 0
    for p in range(len(xy0)):
        is_distinct = True
        for k in range(9):
            cx, cy = cells[p, 0] + k % 3 - 1, cells[p, 1] + k // 3 - 1
            q = head[(cx * 73856093 ^ cy * 19349663) & (buckets - 1)]
            while q >= 0 and is_distinct:
                a = (xy0[p, 0] - xy0[q, 0]) ** 2 + (xy0[p, 1] - xy0[q, 1]) ** 2
                b = (xy1[p, 0] - xy1[q, 0]) ** 2 + (xy1[p, 1] - xy1[q, 1]) ** 2
                is_distinct = not (a < radius * radius and b < radius * radius)
                if is_distinct and _are_similar(size0[p], size0[q]) and _are_similar(size1[p], size1[q]):
                    r0, r1 = min(reach * size0[q], max_reach), min(reach * size1[q], max_reach)
                    is_distinct = not (a < r0 * r0 and b < r1 * r1)
                q = next_pair[q]
        if is_distinct:
            is_kept[p] = True
            bucket = (cells[p, 0] * 73856093 ^ cells[p, 1] * 19349663) & (buckets - 1)
            next_pair[p] = head[bucket]
            head[bucket] = p
            n_kept += 1
            if n_kept == max_pairs:
                break


@inner
def _are_similar(size: Scalar, other: Scalar) -> Scalar:
    """Test if two sizes differ by a factor below 1.5."""
    return size < 1.5 * other and other < 1.5 * size
