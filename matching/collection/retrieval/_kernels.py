"""The compiled loop of the exact search."""

import numpy as np

from gdl_core.jit import inner, njit
from matching._common.types import Array, Scalar
from matching.collection.retrieval._codes import PICTURE


@inner
def _count_bits(x: Scalar) -> Scalar:
    x = x - ((x >> np.uint64(1)) & np.uint64(0x5555555555555555))
    x = (x & np.uint64(0x3333333333333333)) + ((x >> np.uint64(2)) & np.uint64(0x3333333333333333))
    x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((x * np.uint64(0x0101010101010101)) >> np.uint64(56))


@njit
def search(
    query: Array, own: Scalar, ranges: Array, bits: Array, number: Array, distance: Array, found: Array
) -> None:
    """The nearest of bits[first:last] (e, 4) uint64, of ranges[i], to query[i], but those of picture `own`.

    Distances and ids go to `distance` and `found` (n, k), by rising distance, of equal ones the first.
    """
    most = distance.shape[1]
    for i in range(len(query)):
        distances, others = distance[i], found[i]
        for e in range(ranges[i, 0], ranges[i, 1]):
            apart = _count_bits(query[i, 0] ^ bits[e, 0]) + _count_bits(query[i, 1] ^ bits[e, 1])
            apart += _count_bits(query[i, 2] ^ bits[e, 2]) + _count_bits(query[i, 3] ^ bits[e, 3])
            if apart >= distances[most - 1] or number[e] >> PICTURE == own:
                continue
            place = most - 1
            while place > 0 and distances[place - 1] > apart:
                distances[place], others[place] = distances[place - 1], others[place - 1]
                place -= 1
            distances[place], others[place] = apart, number[e]
