"""Compiled loops over the edges of a graph: a check of the edges, and the connected components."""

import numpy as np

from .jit import inner, njit
from .types import Array, Scalar


@njit
def find_wrong_edge(indptr: Array, indices: Array) -> Scalar:
    """The position in `indices` of the first edge that leads from a vertex to itself or occurs twice in its
    row; -1 if there is none.
    """
    last = np.full(len(indptr) - 1, -1, np.int32)  # the last row with an edge to each vertex
    for i in range(len(indptr) - 1):
        for e in range(indptr[i], indptr[i + 1]):
            j = indices[e]
            if j == i or last[j] == i:
                return e
            last[j] = i
    return np.int64(-1)


@njit
def label_components(indptr: Array, indices: Array, groups: Array, n_groups: Scalar) -> Array:
    """(n_groups,) int64: the weakly connected component of each group of vertices, numbered in the order of
    their first groups.

    groups (n,) int: the group of each vertex; members of a group count as connected. Union-find: the smallest
    group of a component is the root, and each walk shortens the path to it.
    """
    root = np.arange(n_groups)
    for i in range(len(indptr) - 1):
        a = _find_root(root, groups[i])
        for e in range(indptr[i], indptr[i + 1]):
            b = _find_root(root, groups[indices[e]])
            if a < b:
                root[b] = a
            elif b < a:
                root[a] = b
                a = b
    n_components = 0
    for c in range(n_groups):  # a root comes before the rest of its component
        if root[c] == c:
            root[c] = n_components
            n_components += 1
        else:
            root[c] = root[root[c]]
    return root


@inner
def _find_root(root: Array, c: Scalar) -> Scalar:
    while root[c] != c:
        root[c] = root[root[c]]
        c = root[c]
    return c
