"""The compiled loops of the search; they skip entries that are too far away to matter."""

import numpy as np

from gdl_core.jit import inner, njit
from matching._common.types import Array, Scalar
from matching.collection.retrieval._codes import SHAPE_BITS, EntryLists
from matching.collection.retrieval._votes import EQUAL_DISTANCE, FAR_DISTANCE, N_KEPT, N_VOTING_NEIGHBORS


@inner
def _count_bits(x: Scalar) -> Scalar:
    """Count the bits that are set in a 64-bit number."""
    x = x - ((x >> np.uint64(1)) & np.uint64(0x5555555555555555))
    x = (x & np.uint64(0x3333333333333333)) + ((x >> np.uint64(2)) & np.uint64(0x3333333333333333))
    x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((x * np.uint64(0x0101010101010101)) >> np.uint64(56))


@inner
def _count_different(a: Array, b: Array) -> Scalar:
    """Count the bits in which a and b (4,) uint64 differ."""
    halves = _count_bits(a[0] ^ b[0]) + _count_bits(a[1] ^ b[1])
    return halves + _count_bits(a[2] ^ b[2]) + _count_bits(a[3] ^ b[3])


@njit
def search(
    query: Array, order: Array, lists: Array, entries: EntryLists, dead: Array, distance: Array, found: Array
) -> None:
    """Find the entries in lists[i] (n, p) nearest to query[i] (n, 4) uint64, except those of `dead` (sorted).

    A list of -1 is skipped. Entries that may vote, or are among the nearest, are written to `distance` and
    `found` (n, N_KEPT), by ascending distance and id. The rows of `order` are searched one after the other.
    """
    bits, ids, first = entries
    for i in order:
        distances, others, bits_of_query = distance[i], found[i], query[i]
        farthest = FAR_DISTANCE - 1  # the largest distance of a kept entry
        for k in lists[i]:
            for e in range(first[k], first[k + 1]) if k >= 0 else range(0):
                n_different = _count_different(bits_of_query, bits[e])
                if n_different > farthest:
                    continue
                number = ids[e]
                place = np.searchsorted(dead, number >> SHAPE_BITS)
                if place < len(dead) and dead[place] == number >> SHAPE_BITS:
                    continue
                if n_different == distances[N_KEPT - 1] and number > others[N_KEPT - 1]:
                    continue
                place = np.int64(N_KEPT - 1)
                while place > 0 and (
                    distances[place - 1] > n_different
                    or (distances[place - 1] == n_different and others[place - 1] > number)
                ):
                    distances[place], others[place] = distances[place - 1], others[place - 1]
                    place -= 1
                distances[place], others[place] = n_different, number
                # from the background's distance on, only nearly equal entries may vote
                background = max(distances[N_VOTING_NEIGHBORS], EQUAL_DISTANCE) - 1
                farthest = min(farthest, background, distances[N_KEPT - 1])
