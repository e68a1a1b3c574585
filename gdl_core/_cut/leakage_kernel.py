"""Compiled sums of products of degrees, over the samples of each node of a hierarchy."""

import numpy as np

from .._common.jit import njit
from .._common.types import Array, Arrays


@njit
def sum_degree_products(edges: tuple[Arrays, Arrays], children: Array, first: Array, order: Array) -> Array:
    """Compute (n_initial + m, 2) float64: for each node, the sum over its samples of outdegree times
    indegree, counting only the edges that leave or enter the node, and counting all edges.

    edges are those from each vertex and those to it: where each vertex begins, the other ends, and weights.
    children (m, 2) are the merges. The samples of node v are ``order[first[v, 0]:first[v, 1]]``. At each
    merge the loop visits the samples of the smaller node.
    """
    n, n_initial = len(order), len(first) - len(children)
    place, outside = np.empty(n, np.int64), np.zeros((2, n))  # outside: to and from the rest
    for k in range(n):  # an assignment of arrays takes longer to compile than all the rest
        place[order[k]] = k
    products = np.zeros((len(first), 2))
    for c in range(n_initial):
        for i in order[first[c, 0] : first[c, 1]]:
            product = 1.0
            for side in range(2):
                start, others, weights = edges[side]
                degree = 0.0
                for e in range(start[i], start[i + 1]):
                    degree += weights[e]
                    if not first[c, 0] <= place[others[e]] < first[c, 1]:
                        outside[side, i] += weights[e]
                product *= degree
            products[c, 0] += outside[0, i] * outside[1, i]
            products[c, 1] += product
    for t in range(len(children)):
        a, b = children[t, 0], children[t, 1]
        for side in range(2):
            products[n_initial + t, side] = products[a, side] + products[b, side]
        if first[a, 1] - first[a, 0] < first[b, 1] - first[b, 0]:
            a, b = b, a
        change = 0.0
        for i in order[first[b, 0] : first[b, 1]]:
            for side in range(2):
                start, others, weights = edges[side]
                for e in range(start[i], start[i + 1]):
                    j = others[e]
                    if first[a, 0] <= place[j] < first[a, 1]:
                        change -= outside[0, i] * outside[1, i] + outside[0, j] * outside[1, j]
                        outside[side, i] = max(outside[side, i] - weights[e], 0.0)
                        outside[1 - side, j] = max(outside[1 - side, j] - weights[e], 0.0)
                        change += outside[0, i] * outside[1, i] + outside[0, j] * outside[1, j]
        products[n_initial + t, 0] = max(products[n_initial + t, 0] + change, 0.0)
    return products
