"""Compiled loops over pairs of features, documented where they are called."""

import math

import numpy as np

from gdl_core.jit import inner, njit
from matching._common.types import Array, Scalar

RUN = 32  # distances that are compared at a time


@njit
def pass_over_near(similarity: Array, xy0: Array, clearance0: Array, xy1: Array, clearance1: Array) -> None:
    """Write -inf into `similarity` (b, c) where two points are nearer than the larger of their clearances."""
    for r in range(similarity.shape[0]):
        x, y, own = xy0[r, 0], xy0[r, 1], clearance0[r]
        for j in range(similarity.shape[1]):
            u, v, least = xy1[j, 0] - x, xy1[j, 1] - y, max(own, clearance1[j])
            if u * u + v * v < least * least:
                similarity[r, j] = -np.inf


@njit
def enter_nearest(
    similarity: Array, norms: Array, rows: Array, members: Array, distance: Array, found: Array, score: Array
) -> None:
    """Enter the columns of `similarity` (b, c) into the lists of the nearest, ordered by norm - 2 similarity.

    The columns are `members` (c,); the lists of `rows` (b,) are in found and score (n, width). distance (c,)
    float32 is for the kernel's use.
    """
    for b in range(similarity.shape[0]):
        for j in range(len(distance)):
            distance[j] = norms[j] - np.float32(2) * similarity[b, j]
        enter_smallest(distance, members, found[rows[b]], score[rows[b]])


@inner
def enter_smallest(distance: Array, members: Array, index: Array, value: Array) -> None:
    """Enter members (c,) into the list of the nearest, index and value (width,), by distance (c,)."""
    end = len(value) - 1
    for start in range(0, len(distance), RUN):
        stop, worst, nearer = min(start + RUN, len(distance)), value[end], np.int32(0)
        for j in range(start, stop):  # vector instructions; most runs hold none
            nearer += np.int32(distance[j] < worst)
        if nearer > 0:
            for j in range(start, stop):
                if distance[j] < value[end]:
                    insert(members[j], distance[j], index, value)


@njit
def enter_within(
    products: Array,
    least: Array,
    halves: Array,
    rows: Array,
    members: Array,
    norms: Array,
    first: Scalar,
    found: Array,
    score: Array,
) -> None:
    """Enter members (c, d) int16, numbered from `first`, into the lists of the nearest of rows (b, d) int16.

    The lists are found and score (b, width), ordered by norm - 2 similarity. A member enters only if the
    product of the projections, minus the member's `halves`, is at least the row's `least`.
    """
    for b in range(products.shape[0]):
        index, value, product, own = found[b], score[b], products[b], rows[b]
        for start in range(0, len(product), RUN):
            run, half = product[start : start + RUN], halves[start : start + RUN]
            near = np.int32(0)
            for j in range(len(run)):  # vector instructions; most runs hold none
                near += np.int32(run[j] - half[j] >= least[b])
            if near > 0:
                for j in range(len(run)):
                    if run[j] - half[j] >= least[b]:
                        other, similarity = members[start + j], np.int32(0)
                        for d in range(len(own)):
                            similarity += np.int32(own[d]) * np.int32(other[d])
                        distance = norms[start + j] - np.float32(2) * np.float32(similarity)
                        if distance < value[-1]:
                            insert(first + start + j, distance, index, value)


@inner
def insert(j: Scalar, d: Scalar, index: Array, value: Array) -> None:
    """Insert j by its value, behind equal values; the last entry drops out."""
    k = len(value) - 1
    while k > 0 and value[k - 1] > d:
        value[k], index[k] = value[k - 1], index[k - 1]
        k -= 1
    value[k], index[k] = d, j


@njit
def ratios_to_other_places(found: Array, squared: Array, xy1: Array, radius: Scalar, ratios: Array) -> None:
    """Divide the distance of each nearest descriptor by that of the first one at another place.

    The nearest descriptors are `found` (n, width), and their squared distances `squared`. Another place is
    farther away than `radius`; if there is none, the last descriptor counts.
    """
    n, width = found.shape
    r2 = radius * radius
    for i in range(n):
        last = width - 1
        while last > 0 and found[i, last] < 0:
            last -= 1
        for q in range(last + 1):
            other = last
            j = found[i, q]
            if j < 0:
                continue
            for p in range(last + 1):
                k = found[i, p]
                if (xy1[j, 0] - xy1[k, 0]) ** 2 + (xy1[j, 1] - xy1[k, 1]) ** 2 > r2:
                    other = p
                    break
            ratios[i, q] = math.sqrt(squared[i, q] / max(squared[i, other], np.float32(1.0)))
        for q in range(last + 1, width):
            ratios[i, q] = np.inf


@njit
def keep_distinct(
    xy0: Array,
    xy1: Array,
    size0: Array,
    size1: Array,
    radius: Scalar,
    reach: Scalar,
    farthest: Scalar,
    most: Scalar,
    squares: Array,
    head: Array,
    after: Array,
    keep: Array,
) -> None:
    """Set keep (n,) for at most `most` pairs, in order of preference, that don't repeat a kept one.

    squares (n, 2) are those in which xy0 lie, which are as wide as the largest distance. head (b,), initially
    -1, and after (n,) are for the kernel's use: lists of the kept pairs in each of b sets of squares.
    """
    buckets, kept = len(head), 0
    for p in range(len(xy0)):
        free = True
        for k in range(9):
            cx, cy = squares[p, 0] + k % 3 - 1, squares[p, 1] + k // 3 - 1
            q = head[(cx * 73856093 ^ cy * 19349663) & (buckets - 1)]
            while q >= 0 and free:
                a = (xy0[p, 0] - xy0[q, 0]) ** 2 + (xy0[p, 1] - xy0[q, 1]) ** 2
                b = (xy1[p, 0] - xy1[q, 0]) ** 2 + (xy1[p, 1] - xy1[q, 1]) ** 2
                free = not (a < radius * radius and b < radius * radius)
                if free and _alike(size0[p], size0[q]) and _alike(size1[p], size1[q]):
                    r0, r1 = min(reach * size0[q], farthest), min(reach * size1[q], farthest)
                    free = not (a < r0 * r0 and b < r1 * r1)
                q = after[q]
        if free:
            keep[p] = True
            bucket = (squares[p, 0] * 73856093 ^ squares[p, 1] * 19349663) & (buckets - 1)
            after[p] = head[bucket]
            head[bucket] = p
            kept += 1
            if kept == most:
                break


@inner
def _alike(size: Scalar, other: Scalar) -> Scalar:
    return size < 1.5 * other and other < 1.5 * size
