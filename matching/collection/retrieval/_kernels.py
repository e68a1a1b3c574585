"""The compiled loop of the search; unlike faiss's, it skips entries that are too far away to matter."""

import numpy as np

from gdl_core.jit import inner, njit
from matching._common.types import Array, Scalar
from matching.collection.retrieval._codes import PICTURE, EntryLists
from matching.collection.retrieval._votes import FAR, KEPT, NEARLY_EQUAL, NEIGHBORS


@inner
def _count_bits(x: Scalar) -> Scalar:
    x = x - ((x >> np.uint64(1)) & np.uint64(0x5555555555555555))
    x = (x & np.uint64(0x3333333333333333)) + ((x >> np.uint64(2)) & np.uint64(0x3333333333333333))
    x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((x * np.uint64(0x0101010101010101)) >> np.uint64(56))


@njit
def search(
    query: Array, order: Array, lists: Array, entries: EntryLists, dead: Array, distance: Array, found: Array
) -> None:
    """Find the entries in lists[i] (n, p) nearest to query[i] (n, 4) uint64, except those of `dead` (sorted).

    A list of -1 is skipped. Entries that may vote, or are among the nearest, are written to `distance` and
    `found` (n, KEPT), by ascending distance and id. The rows of `order` are searched one after the other.
    """
    words, first, size = entries
    for i in order:
        distances, others = distance[i], found[i]
        a, b, c, d = query[i]
        farthest = FAR - 1  # the largest distance of a kept entry
        for k in lists[i]:
            n = size[k] if k >= 0 else 0
            bits = words[first[k] : first[k] + 4 * n].reshape(n, 4)
            for e in range(n):
                apart = _count_bits(a ^ bits[e, 0]) + _count_bits(b ^ bits[e, 1])
                apart += _count_bits(c ^ bits[e, 2]) + _count_bits(d ^ bits[e, 3])
                if apart > farthest:
                    continue
                number = np.int64(words[first[k] + 4 * n + e])
                place = np.searchsorted(dead, number >> PICTURE)
                if place < len(dead) and dead[place] == number >> PICTURE:
                    continue
                if apart == distances[KEPT - 1] and number > others[KEPT - 1]:
                    continue
                place = np.int64(KEPT - 1)
                while place > 0 and (
                    distances[place - 1] > apart
                    or (distances[place - 1] == apart and others[place - 1] > number)
                ):
                    distances[place], others[place] = distances[place - 1], others[place - 1]
                    place -= 1
                distances[place], others[place] = apart, number
                # from the background's distance on, only nearly equal entries may vote
                background = max(distances[NEIGHBORS], NEARLY_EQUAL) - 1
                farthest = min(farthest, background, distances[KEPT - 1])
