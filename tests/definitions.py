"""The paper's definitions as written (Sec. 3.3), to check the compiled ones.

W is the (n, n) weighted adjacency matrix, W[i, j] = w_ij the weight of the edge i -> j; a and b are arrays
of vertices, the clusters C_a and C_b.
"""

import numpy as np


def indegree(w, i, cluster):
    """Definition 2: deg^-_i(C) = 1/|C| sum_{j in C} w_ji."""
    return float(sum(w[j, i] for j in cluster) / len(cluster))


def outdegree(w, i, cluster):
    """Definition 2: deg^+_i(C) = 1/|C| sum_{j in C} w_ij."""
    return float(sum(w[i, j] for j in cluster) / len(cluster))


def directed_affinity(w, b, a):
    """Eq. 3: A_{C_b -> C_a}, the sum over i in C_b of deg^-_i(C_a) deg^+_i(C_a)."""
    return sum(indegree(w, i, a) * outdegree(w, i, a) for i in b)


def affinity(w, a, b):
    """Eq. 4: A_{C_a, C_b} = A_{C_b -> C_a} + A_{C_a -> C_b}."""
    return directed_affinity(w, b, a) + directed_affinity(w, a, b)


def affinity_matrix_form(w, a, b):
    """Eq. 5 (Theorem 1): the affinity by products of matrices."""
    a, b = np.asarray(a), np.asarray(b)
    ab, ba = w[np.ix_(a, b)], w[np.ix_(b, a)]
    one_a, one_b = np.ones(len(a)), np.ones(len(b))
    return float(one_a @ ab @ ba @ one_a / len(a) ** 2 + one_b @ ba @ ab @ one_b / len(b) ** 2)
