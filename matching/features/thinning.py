"""A bounded number of features, spread over the picture: what fine textures have too many of."""

import numpy as np

from matching._common.types import Array, Ints

BLOCK = 64.0  # pixels, the side of the squares that are given an equal share


def choose_strongest(xy: Array, strength: Array, most: int) -> Ints:
    """Choose the strongest points of each square of BLOCK pixels, one per round: xy (n, 2) -> (k,)."""
    if len(xy) <= most:
        return np.arange(len(xy))
    column, row = np.floor(xy / BLOCK).astype(np.int64).T
    square = np.unique(row * (column.max() + 1) + column, return_inverse=True)[1]
    order = np.lexsort((-strength, square))
    starts = np.searchsorted(square[order], square[order])  # where the square of each begins
    rank = np.empty(len(xy), np.int64)
    rank[order] = np.arange(len(xy)) - starts
    return np.sort(np.lexsort((-strength, rank))[:most])
