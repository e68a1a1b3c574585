"""The compiled loops of a search: the nearest cells, and the nearest entries of some lists."""

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
def nearest_cells(query: Array, cells: Array, near: Array) -> None:
    """The numbers near (n, p) of the cells (4, c) uint64 nearest to query (n, 4); -1 if there are fewer.

    Of equally near cells the first; cells lie in columns, so that several distances are computed at a time.
    """
    first, second, third, fourth = cells[0], cells[1], cells[2], cells[3]
    distances = np.empty(len(first), np.int32)
    taken = np.int32(1000)  # more than there are bits
    for i in range(len(query)):
        q0, q1, q2, q3 = query[i, 0], query[i, 1], query[i, 2], query[i, 3]
        for j in range(len(first)):
            apart = _count_bits(q0 ^ first[j]) + _count_bits(q1 ^ second[j])
            distances[j] = apart + _count_bits(q2 ^ third[j]) + _count_bits(q3 ^ fourth[j])
        for k in range(near.shape[1]):
            least = taken
            for j in range(len(first)):
                least = min(least, distances[j])
            near[i, k] = -1
            for j in range(len(first)):
                if distances[j] == least and least < taken:
                    near[i, k], distances[j] = j, taken
                    break


@njit
def search(
    query: Array,
    order: Array,
    lists: Array,
    starts: Array,
    words: Array,
    but: Array,
    near: Scalar,
    far: Scalar,
    n_far: Scalar,
    distance: Array,
    found: Array,
) -> None:
    """The entries nearest to query[i] (4,) uint64 of those in lists[i] (p,), but those of pictures `but`.

    List k has entries starts[k] to starts[k + 1]; in `words` (5e,) uint64 the bits of all its entries come
    first, and then their ids. Distances and ids go to `distance` and `found` (n, k), by rising distance, of
    equal ones by rising id. What is as far as `near` or farther has a place among the first `n_far` only, in
    any order; `far` stands for all larger distances.
    """
    most = distance.shape[1]
    for i in order:
        distances, others = distance[i], found[i]
        q0, q1, q2, q3 = query[i, 0], query[i, 1], query[i, 2], query[i, 3]
        bound = distances[n_far - 1]  # what is as far as this is passed over
        for k in lists[i]:
            if k < 0:
                continue
            n = starts[k + 1] - starts[k]
            own = words[5 * starts[k] : 5 * starts[k + 1]]
            bits, numbers = own[: 4 * n].reshape(n, 4), own[4 * n :]
            for e in range(n):
                apart = _count_bits(q0 ^ bits[e, 0]) + _count_bits(q1 ^ bits[e, 1])
                apart += _count_bits(q2 ^ bits[e, 2]) + _count_bits(q3 ^ bits[e, 3])
                if apart >= bound:
                    continue
                apart = min(apart, far)
                number = np.int64(numbers[e])
                if _is_among(number >> PICTURE, but):
                    continue
                place = most if apart < near else n_far  # one behind the last that it may have
                while place > 0 and apart <= distances[place - 1]:
                    if apart == distances[place - 1] and (apart >= near or number > others[place - 1]):
                        break
                    if place < most:
                        distances[place], others[place] = distances[place - 1], others[place - 1]
                    place -= 1
                if place < most:
                    distances[place], others[place] = apart, number
                # what is as far as the last one that is kept may have a smaller id
                bound = max(distances[n_far - 1], min(distances[most - 1] + 1, near))
