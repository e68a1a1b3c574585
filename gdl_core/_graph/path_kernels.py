"""Compiled bottlenecks: the smallest possible longest step on a path between two vertices.

A forest is the pair (parent, link_step), (n,) each: the vertex to which each one is linked, and the step of
this link. A root is its own parent, at an infinite step.
"""

import numpy as np

from .._common.jit import inner, njit
from .._common.types import Array, Arrays, Scalar


@njit
def link_forest(source: Array, target: Array, step: Array, order: Array, forest: Arrays) -> None:
    """Fill the minimum spanning forest of edges; ``order`` sorts them from the shortest step on (Kruskal).

    Trees are joined by size and paths are not compressed, so that a climb takes at most log2(n) links, and
    the steps of its links grow.
    """
    parent, link_step = forest
    size = np.ones(len(parent), np.int64)
    for v in range(len(parent)):  # an assignment of arrays takes longer to compile than all the rest
        parent[v] = v
    link_step[:] = np.inf
    for e in order:
        a, b = source[e], target[e]
        while parent[a] != a:
            a = parent[a]
        while parent[b] != b:
            b = parent[b]
        if a != b:
            if size[a] < size[b]:
                a, b = b, a
            parent[b], link_step[b] = a, step[e]
            size[a] += size[b]


@inner
def climb(a: Scalar, b: Scalar, forest: Arrays) -> Scalar:
    """Compute the longest step between two vertices of the forest; infinity if they are in two trees."""
    parent, link_step = forest
    longest: Scalar = 0.0
    while a != b and longest < np.inf:
        if link_step[a] <= link_step[b]:
            longest, a = max(longest, link_step[a]), parent[a]
        else:
            longest, b = max(longest, link_step[b]), parent[b]
    return longest


@njit
def find_bottlenecks(source: Array, target: Array, forest: Arrays, bottleneck: Array) -> None:
    """Fill ``bottleneck`` (m,), the longest step of the best path between ``source`` and ``target`` (m,)."""
    for e in range(len(source)):
        bottleneck[e] = climb(source[e], target[e], forest)


@njit
def find_bottlenecks_of_new(indices: Array, step: Array, forest: Arrays, bottleneck: Array) -> None:
    """Fill ``bottleneck`` (m, K) for new vertices that are joined to their neighbours ``indices`` (m, K), or
    -1, by ``step`` (m, K): a path begins with any of these steps and goes on in the forest.
    """
    for i in range(len(indices)):
        for column, j in enumerate(indices[i]):
            best = np.inf
            for first, u in enumerate(indices[i]):
                if j >= 0 and u >= 0 and step[i, first] < best:
                    best = min(best, max(step[i, first], climb(u, j, forest)))
            bottleneck[i, column] = best
