"""The paper's definitions as written (Sec. 3.3), and Algorithm 1 built on them: short, slow and exact.

W is the (n, n) weighted adjacency matrix, W[i, j] = w_ij the weight of the edge i -> j; a and b are arrays
of vertices, the clusters C_a and C_b. These functions check the compiled ones.
"""

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from ._common.checks import check_integer_at_least, check_sample_labels
from ._common.types import Array, Ints
from .graph import AffinityGraph
from .tree import MergeTree

Vertices = Sequence[int] | Ints
Edges = list[dict[int, int]]  # for each vertex, {other end: weight}


def indegree(w: Array, i: int, cluster: Vertices) -> float:
    """Definition 2: deg^-_i(C) = 1/|C| sum_{j in C} w_ji.

    Parameters
    ----------
    w : (n, n) array
        Weights of the graph.
    i : int
        A vertex.
    cluster : sequence of int
        Vertices.

    Returns
    -------
    float
        The average indegree.
    """
    return float(sum(w[j, i] for j in cluster) / len(cluster))


def outdegree(w: Array, i: int, cluster: Vertices) -> float:
    """Definition 2: deg^+_i(C) = 1/|C| sum_{j in C} w_ij.

    Parameters
    ----------
    w : (n, n) array
        Weights of the graph.
    i : int
        A vertex.
    cluster : sequence of int
        Vertices.

    Returns
    -------
    float
        The average outdegree.
    """
    return float(sum(w[i, j] for j in cluster) / len(cluster))


def directed_affinity(w: Array, b: Vertices, a: Vertices) -> float:
    """Eq. 3: A_{C_b -> C_a}, the sum over i in C_b of deg^-_i(C_a) deg^+_i(C_a).

    Parameters
    ----------
    w : (n, n) array
        Weights of the graph.
    b, a : sequence of int
        Vertices of two clusters.

    Returns
    -------
    float
        The affinity from b to a.
    """
    return sum(indegree(w, i, a) * outdegree(w, i, a) for i in b)


def affinity(w: Array, a: Vertices, b: Vertices) -> float:
    """Eq. 4: A_{C_a, C_b} = A_{C_b -> C_a} + A_{C_a -> C_b}.

    Parameters
    ----------
    w : (n, n) array
        Weights of the graph.
    a, b : sequence of int
        Vertices of two clusters.

    Returns
    -------
    float
        The affinity.
    """
    return directed_affinity(w, b, a) + directed_affinity(w, a, b)


def affinity_matrix_form(w: Array, a: Vertices, b: Vertices) -> float:
    """Eq. 5 (Theorem 1): the affinity by products of matrices.

    Parameters
    ----------
    w : (n, n) NumPy array
        Weights of the graph.
    a, b : sequence of int
        Vertices of two clusters.

    Returns
    -------
    float
        The affinity, equal to `affinity` except for rounding.
    """
    a, b = np.asarray(a), np.asarray(b)
    ab, ba = w[np.ix_(a, b)], w[np.ix_(b, a)]
    one_a, one_b = np.ones(len(a)), np.ones(len(b))
    return float(one_a @ ab @ ba @ one_a / len(a) ** 2 + one_b @ ba @ ab @ one_b / len(b) ** 2)


def gdl(graph: AffinityGraph, initial_labels: ArrayLike, n_clusters: int = 1) -> MergeTree:
    """Run graph degree linkage by the plain Algorithm 1, to check `gdl_u`.

    Affinities are computed in exact integers (a float64 is an integer times a power of two) and rounded once.
    This takes seconds for a few thousand samples.

    Parameters
    ----------
    graph : AffinityGraph
        n vertices.
    initial_labels : (n,) array of int
        Clusters to start from, 0, 1, ... without gaps.
    n_clusters : int
        n_T; merging stops at this number, or earlier if no pair of clusters has a positive affinity.

    Returns
    -------
    MergeTree
    """
    labels, n_initial = check_labels(graph, initial_labels, n_clusters)
    out_edges, in_edges, scale = _exact_edges(graph)
    node = labels.tolist()  # the cluster of each vertex
    members = {c: np.flatnonzero(labels == c).tolist() for c in range(n_initial)}
    table: dict[tuple[int, int], float] = {}
    for c in members:
        table.update(_compute_affinities(c, members, node, out_edges, in_edges, scale))
    children: list[tuple[int, int]] = []
    affinities: list[float] = []
    while len(members) > n_clusters and table:
        a, b = min(table, key=lambda pair: (-table[pair], pair))
        new = n_initial + len(children)
        children.append((a, b))
        affinities.append(table[a, b])
        table = {pair: value for pair, value in table.items() if a not in pair and b not in pair}
        members[new] = members.pop(a) + members.pop(b)
        for i in members[new]:
            node[i] = new
        table.update(_compute_affinities(new, members, node, out_edges, in_edges, scale))
    return MergeTree(labels, np.array(children, np.int64).reshape(-1, 2), np.array(affinities, np.float64))


def check_labels(graph: AffinityGraph, initial_labels: ArrayLike, n_clusters: int) -> tuple[Ints, int]:
    """Check the initial labels and the number of clusters.

    Parameters
    ----------
    graph : AffinityGraph
        The graph of the samples.
    initial_labels : array_like of int
        The initial cluster of each sample, 0, 1, ... without gaps.
    n_clusters : int
        The number at which merging stops.

    Returns
    -------
    labels : (n,) int64
        The initial labels.
    n_initial : int
        The number of initial clusters.

    Raises
    ------
    ValueError
        A label is missing or not an integer, or n_clusters is not an integer of at least 1.
    """
    labels = check_sample_labels(graph.n_samples, initial_labels, "initial_labels")
    check_integer_at_least("n_clusters", n_clusters, 1)
    n_initial = int(labels.max()) + 1 if len(labels) else 0
    if len(labels) and labels.min() < 0:
        raise ValueError(f"initial_labels must be 0, 1, ... without gaps, got {labels.min()}")
    missing = np.flatnonzero(np.bincount(labels, minlength=n_initial) == 0)
    if len(missing):
        raise ValueError(f"initial_labels must be 0, 1, ... without gaps, but {missing[0]} is missing")
    return labels, n_initial


def _exact_edges(graph: AffinityGraph) -> tuple[Edges, Edges, int]:
    """Return the edges {j: w_ij * 2^s} from each vertex, those into each vertex, and 2^s, all as integers."""
    ratios = [float(w).as_integer_ratio() for w in graph.weights]
    scale = max((q for _, q in ratios), default=1)
    out_edges: Edges = [{} for _ in range(graph.n_samples)]
    in_edges: Edges = [{} for _ in range(graph.n_samples)]
    for i in range(graph.n_samples):
        for e in range(graph.indptr[i], graph.indptr[i + 1]):
            p, q = ratios[e]
            if p > 0:
                j = int(graph.indices[e])
                out_edges[i][j] = in_edges[j][i] = p * (scale // q)
    return out_edges, in_edges, scale


def _compute_affinities(
    a: int,
    members: dict[int, list[int]],
    node: list[int],
    out_edges: Edges,
    in_edges: Edges,
    scale: int,
) -> dict[tuple[int, int], float]:
    """Compute {(smaller, larger): affinity} of cluster a and each cluster with a positive affinity to it."""
    to_a, from_a = Counter[int](), Counter[int]()  # |C_a| deg^+_i(C_a) and |C_a| deg^-_i(C_a) of each i
    sums_ca, sums_ac = (
        Counter[int](),
        Counter[int](),
    )  # |C_a|^2 A_{C_c -> C_a}, |C_c|^2 A_{C_a -> C_c} (Eq. 3)
    for j in members[a]:
        to_a.update(in_edges[j])
        from_a.update(out_edges[j])
        to_c, from_c = Counter[int](), Counter[int]()  # |C_c| deg^+_j(C_c) and |C_c| deg^-_j(C_c) of each c
        for degree, edges in ((to_c, out_edges[j]), (from_c, in_edges[j])):
            for i, w in edges.items():
                degree[node[i]] += w
        sums_ac.update({c: to_c[c] * from_c[c] for c in to_c})
    for i in to_a:
        sums_ca[node[i]] += to_a[i] * from_a[i]
    result: dict[tuple[int, int], float] = {}
    for c in (sums_ca.keys() | sums_ac.keys()) - {a}:
        size_a, size_c = len(members[a]) ** 2, len(members[c]) ** 2
        exact = Fraction(sums_ca[c] * size_c + sums_ac[c] * size_a, size_a * size_c * scale**2)
        if float(exact) > 0:
            result[min(a, c), max(a, c)] = float(exact)
    return result
