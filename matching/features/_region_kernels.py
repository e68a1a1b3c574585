"""Compiled loops over the regions of a grey image, documented where they are called.

A region is a connected set of pixels (4 neighbours) up to a level, surrounded by brighter pixels. Regions
form a tree, built in one pass like flooding (Nister and Stewenius, Linear time MSER, ECCV 2008).
"""

import math

import numpy as np

from gdl_core.jit import inner, njit
from matching._common.types import Array, Scalar

SUMS = 6  # sums over a region: pixels, x, y, x x, x y, y y
# Pixels and levels are unsigned, because the compiler would test signed indices for being negative.
ZERO, ONE, BYTE = np.uint32(0), np.uint32(1), np.uint32(8)
SEEN, ALL_ASKED = np.uint32(1 << 8), np.uint32(5 << 8)  # flags in a pixel's state, in bits above the level
END = np.uint32(256)  # above all levels


@njit
def stable_regions(
    grey: Array, flip: Scalar, delta: Scalar, min_area: Scalar, max_area: Scalar, max_variation: Scalar
) -> Array:
    """(n, 5): mean x, y and central moments xx, xy, yy of the maximally stable regions, inner ones first.

    Regions are dark or, with flip = 255, bright. They equal OpenCV's, which ignores the pixels at the edges
    of the picture. The variation of a region is its growth from `delta` levels below, along the largest
    parts, to `delta` levels above, over its area.
    """
    if min(grey.shape) < 3:  # every pixel is at the edge
        return np.empty((0, 5))
    level, parent, largest, first, sums, ended = _tree_of_regions(grey, flip)
    n, shift = len(ended), _row_shift(grey)
    variation, least = np.full(n, np.inf, np.float32), np.full(n, np.inf, np.float32)  # least: of the parts
    for r in range(n):
        if sums[r, 0] < min_area:
            continue
        inside = outside = r
        while largest[inside] >= 0 and level[largest[inside]] + delta >= level[r]:
            inside = largest[inside]
        while parent[outside] >= 0 and level[parent[outside]] <= level[r] + delta:
            outside = parent[outside]
        variation[r] = np.float32(sums[outside, 0] - sums[inside, 0]) / np.float32(sums[r, 0])
        if parent[r] >= 0:
            least[parent[r]] = min(least[parent[r]], variation[r])
    out, k = np.empty((n, 5)), 0
    for r in ended:
        own = variation[r]
        if not (min_area <= sums[r, 0] <= max_area and own <= max_variation and own <= least[r]):
            continue
        if own > 0 and parent[r] >= 0 and own >= variation[parent[r]]:
            continue
        _moments(sums[r], *_place(first[r], shift), out[k])
        k += 1
    return out[:k].copy()


@inner
def _moments(sums: Array, x0: Scalar, y0: Scalar, out: Array) -> None:
    """The mean and the central second moments, from sums over pixels relative to one of them, x0, y0."""
    n, sx, sy = sums[0], sums[1] - sums[0] * x0, sums[2] - sums[0] * y0
    mx, my = sx / n, sy / n
    out[0], out[1] = x0 + mx, y0 + my
    out[2] = (sums[3] - x0 * (2 * sums[1] - n * x0)) / n - mx * mx
    out[3] = (sums[4] - x0 * sums[2] - y0 * sx) / n - mx * my
    out[4] = (sums[5] - y0 * (2 * sums[2] - n * y0)) / n - my * my


@inner
def _row_shift(grey: Array) -> Scalar:
    """The binary logarithm of the length of rows, a power of two, by which pixels are numbered."""
    return np.uint32(math.ceil(math.log2(grey.shape[1])))


@inner
def _place(pixel: Scalar, shift: Scalar) -> tuple[Scalar, Scalar]:
    """The x and y of a pixel."""
    return np.int64(pixel & ((ONE << shift) - ONE)), np.int64(pixel >> shift)


@inner
def _unseen(grey: Array, flip: Scalar, shift: Scalar) -> tuple[Array, Array]:
    """The initial state of each pixel, and the start of each level's stack in an array of all pixels.

    The state holds the level and, in higher bits, one plus the number of neighbours visited, or 0 if the
    pixel has not been seen; the pixels at the edges are never seen.
    """
    height, width = grey.shape
    state = np.full(height << shift, ALL_ASKED, np.uint16)
    start = np.zeros(END + ONE, np.uint32)
    for y in range(1, height - 1):
        row = state[y << shift :][:width]
        for x in range(1, width - 1):
            row[x] = grey[y, x] ^ flip
            start[row[x] + 1] += ONE
    for k in range(256):
        start[k + 1] += start[k]
    return state, start


@inner
def _tree_of_regions(grey: Array, flip: Scalar) -> tuple[Array, Array, Array, Array, Array, Array]:
    """The tree of regions, parts first: level, parent, largest part, first pixel, sums (n, SUMS), numbers."""
    shift, size = _row_shift(grey), grey.size
    state, top = _unseen(grey, flip, shift)
    bottom = top.copy()
    shore = np.empty(size, np.uint32)  # pixels seen but not yet under water, one stack per level
    level, first, sums = np.empty(size, np.uint8), np.empty(size, np.uint32), np.empty((size, SUMS), np.int64)
    parent, largest, n = np.empty(size, np.int32), np.empty(size, np.int32), 0
    filling, depth = np.empty(END, np.int32), -1  # incomplete regions, by descending level
    ended, n_ended = np.empty(size, np.int32), 0
    row = ONE << shift
    step = np.array([ZERO, ONE, row, ZERO - ONE, ZERO - row], np.uint32)  # right, down, left, up
    pixel = row + ONE
    here, asked, is_new = np.uint32(state[pixel]), ONE, True
    state[pixel] = ALL_ASKED | here
    while True:
        if is_new:
            depth += 1
            filling[depth] = n
            n = _begin(n, here, level, parent, largest, sums)
            is_new = False
        while asked < 5:
            other = np.uint32(pixel + step[asked])
            asked = np.uint32(asked + ONE)
            there = np.uint32(state[other])
            if there >= SEEN:
                continue
            if there < here:  # the water runs down
                state[pixel], state[other] = asked << BYTE | here, ALL_ASKED | there
                _put(pixel, here, shore, top)
                pixel, here, asked, is_new = other, there, ONE, True
                break
            state[other] = SEEN | there
            _put(other, there, shore, top)
        if is_new:
            continue
        _fill(pixel, shift, np.int64(filling[depth]), first, sums)
        lowest = here
        while lowest < END and top[lowest] == bottom[lowest]:
            lowest = np.uint32(lowest + ONE)
        while level[filling[depth]] < lowest:
            region = np.int64(filling[depth])
            ended[n_ended] = region
            n_ended += 1
            if depth > 0 and level[filling[depth - 1]] <= lowest:
                depth -= 1
            elif lowest < END:
                filling[depth] = n
                n = _begin(n, lowest, level, parent, largest, sums)
            else:
                return level[:n], parent[:n], largest[:n], first[:n], sums[:n], ended[:n]
            _join(region, np.int64(filling[depth]), parent, largest, first, sums)
        here = lowest
        top[here] = np.uint32(top[here] - ONE)
        pixel = shore[top[here]]
        asked = np.uint32(state[pixel]) >> BYTE


@inner
def _put(pixel: Scalar, own: Scalar, shore: Array, top: Array) -> None:
    """Put a pixel on the stack of its level."""
    shore[top[own]] = pixel
    top[own] += ONE


@inner
def _begin(r: Scalar, own: Scalar, level: Array, parent: Array, largest: Array, sums: Array) -> Scalar:
    """Begin region r, which is empty; return the number of the next one."""
    level[r], parent[r], largest[r] = own, -1, -1
    for k in range(SUMS):
        sums[r, k] = 0
    return r + 1


@inner
def _fill(pixel: Scalar, shift: Scalar, region: Scalar, first: Array, sums: Array) -> None:
    """Add a pixel to a region."""
    x, y = _place(pixel, shift)
    total = sums[region]
    if total[0] == 0:
        first[region] = pixel
    total[0] += 1
    total[1] += x
    total[2] += y
    total[3] += x * x
    total[4] += x * y
    total[5] += y * y


@inner
def _join(region: Scalar, into: Scalar, parent: Array, largest: Array, first: Array, sums: Array) -> None:
    """Make a complete region a part of the region into which it has grown."""
    parent[region] = into
    if largest[into] < 0 or sums[region, 0] >= sums[largest[into], 0]:
        largest[into] = region
    if sums[into, 0] == 0:
        first[into] = first[region]
    for k in range(SUMS):
        sums[into, k] += sums[region, k]
