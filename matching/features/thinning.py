"""Limits the number of features, evenly over the picture, because fine textures have too many."""

import numpy as np

from matching._common.types import Array, Bools, Ints

SQUARE_SIDE = 64.0  # pixels, side of the squares that get equal shares


def choose_strongest(xy: Array, strength: Array, max_points: int) -> Ints:
    """Choose the strongest points, in turn from each square of side `SQUARE_SIDE`: xy (n, 2) -> rows (k,)."""
    if len(xy) <= max_points:
        return np.arange(len(xy))
    return np.sort(np.lexsort((-strength, _rank_in_square(xy, strength)))[:max_points])


def choose_clear(xy: Array, clearness: Array, fill: int) -> Bools:
    """Choose the clear points, and faint ones where clear ones are few.

    Clear points have a clearness of 1 or more. In squares of side `SQUARE_SIDE` with fewer than `fill` clear
    points, the clearest others are added up to that number.

    xy (n, 2) float64; clearness (n,) float64 -> (n,) bool.
    """
    is_chosen: Bools = (clearness >= 1) | (_rank_in_square(xy, clearness) < fill)
    return is_chosen


def _rank_in_square(xy: Array, strength: Array) -> Ints:
    """Count the points in each point's square that are stronger, or equal with a smaller index -> (n,)."""
    if len(xy) == 0:
        return np.empty(0, np.int64)
    column, row = np.floor(xy / SQUARE_SIDE).astype(np.int64).T
    square = np.unique(row * (column.max() + 1) + column, return_inverse=True)[1]
    order = np.lexsort((-strength, square))
    first_rank = np.searchsorted(square[order], square[order])  # where the square of each point begins
    rank = np.empty(len(xy), np.int64)
    rank[order] = np.arange(len(xy)) - first_rank
    return rank
