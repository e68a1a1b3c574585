"""The compiled loop over the pixels of a grey image, documented where it is called."""

from typing import Any

import numpy as np

from gdl_core.jit import inner, njit
from matching._common.types import Array, Scalar

# Pixels and levels are unsigned, because the compiler would test whether signed indices are negative.
ONE, BYTE = np.uint32(1), np.uint32(8)
SEEN, ALL_VISITED = np.uint32(1 << 8), np.uint32(5 << 8)  # flags in a pixel's state, in bits above the level
END = np.uint32(256)  # above all levels


@njit
def flood(state: Array, step: Array, shift: Scalar, bottom: Array, tree: Any) -> int:
    """Fill the tree of regions, parts first, and return the number of regions.

    tree: level, parent, largest part, first pixel and sums (n, 6), initially 0, with a row per region; and
    the regions in the order in which they are complete. state holds the level of each pixel and, in higher
    bits, one plus the number of neighbours visited, or 0 if the pixel has not been seen. step (5,) holds the
    offsets of the neighbours, from index 1 on. The pixels of a level that are seen but not yet under water
    are a stack, which begins at bottom (257,).
    """
    level, parent, largest, first, sums, order = tree
    shore, top = np.empty(len(order), np.uint32), bottom.copy()
    filling = np.empty(256, np.int64)  # incomplete regions, by descending level
    depth, n, n_complete = -1, 0, 0
    pixel = np.uint32(step[2] + ONE)
    here, n_visited, is_new = np.uint32(state[pixel]), ONE, True
    state[pixel] = ALL_VISITED | here
    while True:
        if is_new:
            depth += 1
            filling[depth] = n
            level[n], parent[n], largest[n] = here, -1, -1
            n += 1
            is_new = False
        while n_visited < 5:
            other = np.uint32(pixel + step[n_visited])
            n_visited = np.uint32(n_visited + ONE)
            there = np.uint32(state[other])
            if there >= SEEN:
                continue
            if there < here:  # the water runs down
                state[pixel], state[other] = n_visited << BYTE | here, ALL_VISITED | there
                shore[top[here]] = pixel
                top[here] += ONE
                pixel, here, n_visited, is_new = other, there, ONE, True
                break
            state[other] = SEEN | there
            shore[top[there]] = other
            top[there] += ONE
        if is_new:
            continue
        _add_pixel(pixel, shift, filling[depth], first, sums)
        lowest = here
        while lowest < END and top[lowest] == bottom[lowest]:
            lowest = np.uint32(lowest + ONE)
        while level[filling[depth]] < lowest:
            region = filling[depth]
            order[n_complete] = region
            n_complete += 1
            if depth > 0 and level[filling[depth - 1]] <= lowest:
                depth -= 1
            elif lowest < END:
                filling[depth] = n
                level[n], parent[n], largest[n] = lowest, -1, -1
                n += 1
            else:
                return n
            _join(region, filling[depth], parent, largest, first, sums)
        here = lowest
        top[here] = np.uint32(top[here] - ONE)
        pixel = shore[top[here]]
        n_visited = np.uint32(state[pixel]) >> BYTE


@inner
def _add_pixel(pixel: Scalar, shift: Scalar, region: Scalar, first: Array, sums: Array) -> None:
    """Add a pixel to the sums of a region."""
    x, y = np.int64(pixel & ((ONE << shift) - ONE)), np.int64(pixel >> shift)
    if sums[region, 0] == 0:
        first[region] = pixel
    sums[region, 0] += 1
    sums[region, 1] += x
    sums[region, 2] += y
    sums[region, 3] += x * x
    sums[region, 4] += x * y
    sums[region, 5] += y * y


@inner
def _join(region: Scalar, into: Scalar, parent: Array, largest: Array, first: Array, sums: Array) -> None:
    """Make a complete region a part of the region into which it has grown."""
    parent[region] = into
    if largest[into] < 0 or sums[region, 0] >= sums[largest[into], 0]:
        largest[into] = region
    if sums[into, 0] == 0:
        first[into] = first[region]
    for k in range(6):
        sums[into, k] += sums[region, k]
