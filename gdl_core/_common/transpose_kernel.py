"""The compiled loop of `transpose`."""

from .jit import njit
from .types import Array


@njit
def fill_transposed(indptr: Array, indices: Array, start: Array, source: Array, edge: Array) -> None:
    """Fill start (n + 1,), given as zeros, and source, edge (E,): see `transpose`."""
    n = len(indptr) - 1
    for e in range(len(indices)):
        start[indices[e]] += 1
    total = 0
    for j in range(n + 1):
        count = start[j]
        start[j] = total
        total += count
    for i in range(n):
        for e in range(indptr[i], indptr[i + 1]):
            place = start[indices[e]]
            source[place], edge[place] = i, e
            start[indices[e]] += 1
    for j in range(n, 0, -1):
        start[j] = start[j - 1]
    start[0] = 0
