"""A compiled choice of branches: dynamic programming over a hierarchy."""

import numpy as np

from .._common.jit import njit
from .._common.types import Array


@njit
def fill_choices(
    children: Array, cost: Array, is_required: Array, start: Array, best: Array, n_in_first: Array
) -> None:
    """Fill the least costs of choosing 0, 1, ... nodes within each node, none inside another.

    children (m, 2) are the merges of n_initial + m nodes, cost (n_initial + m,) that of choosing a node. In a
    node that ``is_required``, at least one is chosen. The entries of node v are ``start[v]:start[v + 1]`` of
    best, the least costs, and of n_in_first, the number chosen within the first child, or -1 for the node
    itself (ties: the node itself, then the fewest in the first child).
    """
    n_initial = len(cost) - len(children)
    best[:], n_in_first[:] = np.inf, -1
    for v in range(len(cost)):
        sums, counts = best[start[v] : start[v + 1]], n_in_first[start[v] : start[v + 1]]
        if v < n_initial:
            sums[0] = 0.0
        else:
            a, b = children[v - n_initial]
            in_a, in_b = best[start[a] : start[a + 1]], best[start[b] : start[b + 1]]
            for i in range(len(in_a)):
                for j in range(min(len(in_b), len(sums) - i)):
                    if in_a[i] + in_b[j] < sums[i + j]:
                        sums[i + j], counts[i + j] = in_a[i] + in_b[j], i
        if cost[v] <= sums[1]:
            sums[1], counts[1] = cost[v], -1
        if is_required[v]:
            sums[0] = np.inf


@njit
def trace_choice(children: Array, start: Array, n_in_first: Array, root: int, n_chosen: int) -> Array:
    """Find the chosen nodes (k,) int64 of the best choice of n_chosen nodes within ``root``."""
    n_initial = len(start) - 1 - len(children)
    nodes, n_found = np.empty(n_chosen, np.int64), 0
    pending = [(root, n_chosen)]
    while len(pending):
        v, k = pending.pop()
        i = n_in_first[start[v] + k]
        if k and i < 0:
            nodes[n_found] = v
            n_found += 1
        elif k:
            pending.append((children[v - n_initial, 0], i))
            pending.append((children[v - n_initial, 1], k - i))
    return nodes
