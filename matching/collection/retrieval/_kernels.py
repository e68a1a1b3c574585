"""The compiled loop of a search: distances to all entries of some lists."""

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


@inner
def _is_among(x: Scalar, rising: Array) -> Scalar:
    first, last = 0, len(rising)
    while first < last:
        middle = (first + last) // 2
        if rising[middle] < x:
            first = middle + 1
        else:
            last = middle
    return first < len(rising) and rising[first] == x


@njit
def search(
    query: Array,
    lists: Array,
    starts: Array,
    words: Array,
    but: Array,
    near: Scalar,
    n_far: Scalar,
    distance: Array,
    found: Array,
) -> None:
    """The entries nearest to query[i] (4,) uint64 of those in lists[i] (p,), but those of pictures `but`.

    List k has entries starts[k] to starts[k + 1]; in `words` (5e,) uint64 the bits of all its entries come
    first, and then their ids. Distances and ids go to `distance` and `found` (n, k), by rising distance, of
    equal ones by rising id. What is as far as `near` or farther has a place among the first `n_far` only.
    """
    most = distance.shape[1]
    for i in range(len(query)):
        distances, others = distance[i], found[i]
        q0, q1, q2, q3 = query[i, 0], query[i, 1], query[i, 2], query[i, 3]
        bound = max(distances[n_far - 1], min(distances[most - 1], near - 1))
        for k in lists[i]:
            if k < 0:
                continue
            at, n = 5 * starts[k], starts[k + 1] - starts[k]
            for e in range(n):
                b = at + 4 * e
                apart = _count_bits(q0 ^ words[b]) + _count_bits(q1 ^ words[b + 1])
                apart += _count_bits(q2 ^ words[b + 2]) + _count_bits(q3 ^ words[b + 3])
                if apart > bound:
                    continue
                place = most - 1 if apart < near else n_far - 1
                number = np.int64(words[at + 4 * n + e])
                if apart > distances[place] or (apart == distances[place] and number >= others[place]):
                    continue
                if _is_among(number >> PICTURE, but):
                    continue
                while place > 0 and (
                    distances[place - 1] > apart
                    or (distances[place - 1] == apart and others[place - 1] > number)
                ):
                    distances[place], others[place] = distances[place - 1], others[place - 1]
                    place -= 1
                distances[place], others[place] = apart, number
                bound = max(distances[n_far - 1], min(distances[most - 1], near - 1))
