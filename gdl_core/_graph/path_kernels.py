"""Compiled bottlenecks: the smallest possible longest step on a path between two vertices."""

import numpy as np

from .._common.jit import inner, njit
from .._common.types import Array, Scalar


@njit
def link_forest(
    source: Array, target: Array, step: Array, order: Array, parent: Array, link_step: Array
) -> None:
    """Fill the links of a minimum spanning forest (Kruskal): ``parent`` (n,) and the step of each link,
    ``link_step`` (n,); a root is its own parent, at an infinite step.

    order are the edges from the shortest step to the longest. Trees are joined by size and paths are not
    compressed, so that a climb takes at most log2(n) links, and the steps of its links grow.
    """
    size = np.ones(len(parent), np.int64)
    for i in range(len(parent)):
        parent[i] = i
        link_step[i] = np.inf
    for e in order:
        a, b = source[e], target[e]
        while parent[a] != a:
            a = parent[a]
        while parent[b] != b:
            b = parent[b]
        if a != b:
            if size[a] < size[b]:
                a, b = b, a
            parent[b] = a
            link_step[b] = step[e]
            size[a] += size[b]


@inner
def climb(a: Scalar, b: Scalar, parent: Array, link_step: Array) -> Scalar:
    """Compute the longest step between two vertices of the forest; infinity if they are in two trees."""
    longest: Scalar = 0.0
    while a != b:
        if link_step[a] <= link_step[b]:
            step, a = link_step[a], parent[a]
        else:
            step, b = link_step[b], parent[b]
        longest = max(longest, step)
        if longest == np.inf:
            break
    return longest


@njit
def find_bottlenecks(
    source: Array, target: Array, parent: Array, link_step: Array, bottleneck: Array
) -> None:
    """Fill ``bottleneck`` (m,), the longest step of the best path between ``source`` and ``target`` (m,)."""
    for e in range(len(source)):
        bottleneck[e] = climb(source[e], target[e], parent, link_step)


@njit
def find_bottlenecks_of_new(
    indices: Array, step: Array, parent: Array, link_step: Array, bottleneck: Array
) -> None:
    """Fill ``bottleneck`` (m, K) for new vertices that are joined to their neighbours ``indices`` (m, K), or
    -1, by ``step`` (m, K): a path begins with any of these steps and goes on in the forest.
    """
    for i in range(len(indices)):
        for column in range(indices.shape[1]):
            j = indices[i, column]
            best = np.inf
            for first in range(indices.shape[1]):
                u = indices[i, first]
                if j >= 0 and u >= 0 and step[i, first] < best:
                    best = min(best, max(step[i, first], climb(u, j, parent, link_step)))
            bottleneck[i, column] = best
