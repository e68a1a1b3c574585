"""Limiting the number of features, evenly over the picture, because fine textures have too many."""

import numpy as np

from matching._common.types import Array, Bools, Ints

BLOCK = 64.0  # pixels: the side of the squares that get equal shares


def choose_strongest(xy: Array, strength: Array, most: int) -> Ints:
    """Choose the strongest points, in turn from each square of side `BLOCK`: xy (n, 2) -> (k,)."""
    if len(xy) <= most:
        return np.arange(len(xy))
    return np.sort(np.lexsort((-strength, _rank_in_square(xy, strength)))[:most])


def choose_clear(xy: Array, clearness: Array, fill: int) -> Bools:
    """Choose the clear points, and faint ones where clear ones are few.

    Clear points have a clearness of 1 or more. In squares of side `BLOCK` with fewer than `fill` of them, the
    clearest others are added up to that number.

    xy (n, 2) float64; clearness (n,) float64 -> (n,) bool.
    """
    chosen: Bools = (clearness >= 1) | (_rank_in_square(xy, clearness) < fill)
    return chosen


def _rank_in_square(xy: Array, strength: Array) -> Ints:
    """(n,) int64: how many points in a point's square are stronger, or equal with a smaller index."""
    if len(xy) == 0:
        return np.empty(0, np.int64)
    column, row = np.floor(xy / BLOCK).astype(np.int64).T
    square = np.unique(row * (column.max() + 1) + column, return_inverse=True)[1]
    order = np.lexsort((-strength, square))
    starts = np.searchsorted(square[order], square[order])  # where the square of each begins
    rank = np.empty(len(xy), np.int64)
    rank[order] = np.arange(len(xy)) - starts
    return rank
