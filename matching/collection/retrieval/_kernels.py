"""The compiled loops of a search: the nearest cells, and the nearest entries of some lists."""

import numpy as np

from gdl_core.jit import inner, njit
from matching._common.types import Array, Scalar
from matching.collection.retrieval._codes import PICTURE
from matching.collection.retrieval._votes import BACKGROUND, FARTHEST, KEPT, NEIGHBORS


@inner
def _count_bits(x: Scalar) -> Scalar:
    x = x - ((x >> np.uint64(1)) & np.uint64(0x5555555555555555))
    x = (x & np.uint64(0x3333333333333333)) + ((x >> np.uint64(2)) & np.uint64(0x3333333333333333))
    x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((x * np.uint64(0x0101010101010101)) >> np.uint64(56))


@inner
def _is_among(x: Scalar, rising: Array) -> Scalar:
    place = np.searchsorted(rising, x)
    return place < len(rising) and rising[place] == x


@njit
def nearest_cells(query: Array, cells: Array, near: Array) -> None:
    """The cells (4, c) uint64 nearest to query (n, 4), by number in near (n, p), which -1 fills before.

    Of equally near cells the first; cells lie in columns, so that several distances are computed at a time.
    """
    first, second, third, fourth = cells[0], cells[1], cells[2], cells[3]
    distances = np.empty(len(first), np.int32)
    for i in range(len(query)):
        q0, q1, q2, q3 = query[i, 0], query[i, 1], query[i, 2], query[i, 3]
        for j in range(len(first)):
            apart = _count_bits(q0 ^ first[j]) + _count_bits(q1 ^ second[j])
            distances[j] = apart + _count_bits(q2 ^ third[j]) + _count_bits(q3 ^ fourth[j])
        for k in range(min(near.shape[1], len(first))):
            least = distances[0]
            for j in range(len(first)):
                least = min(least, distances[j])
            j = 0
            while distances[j] > least:
                j += 1
            near[i, k], distances[j] = j, 1000  # more than there are bits


@njit
def search(
    query: Array, order: Array, lists: Array, starts: Array, words: Array, but: Array, near: Array, ids: Array
) -> None:
    """The KEPT entries nearest to query[i] (4,) uint64 in lists[i] (p,), but those of pictures `but`, rising.

    List k has entries starts[k] to starts[k + 1], in `words` (5e,) uint64 first their bits, then their ids.
    `near` and `ids` (n, KEPT) get distances and ids. What can't vote is among the first NEIGHBORS + 1 only.
    """
    for i in order:
        distances, others = near[i], ids[i]
        q0, q1, q2, q3 = query[i, 0], query[i, 1], query[i, 2], query[i, 3]
        bound = distances[NEIGHBORS]  # what is as far as this is passed over
        for k in lists[i]:
            n = starts[k + 1] - starts[k] if k >= 0 else 0
            own = words[5 * starts[k] : 5 * (starts[k] + n)]
            bits, numbers = own[: 4 * n].reshape(n, 4), own[4 * n :]
            for e in range(n):
                apart = _count_bits(q0 ^ bits[e, 0]) + _count_bits(q1 ^ bits[e, 1])
                apart += _count_bits(q2 ^ bits[e, 2]) + _count_bits(q3 ^ bits[e, 3])
                if apart >= bound:
                    continue
                apart, number = min(apart, BACKGROUND), np.int64(numbers[e])
                place = KEPT - 1 if apart < FARTHEST else NEIGHBORS
                is_late = apart == distances[place] and number > others[place]
                if is_late or (len(but) and _is_among(number >> PICTURE, but)):
                    continue
                while place > 0 and (
                    distances[place - 1] > apart
                    or (distances[place - 1] == apart < FARTHEST and others[place - 1] > number)
                ):
                    distances[place], others[place] = distances[place - 1], others[place - 1]
                    place -= 1
                distances[place], others[place] = apart, number
                # what is as far as the last one that is kept may have a smaller id
                bound = max(distances[NEIGHBORS], min(distances[KEPT - 1] + 1, FARTHEST))
