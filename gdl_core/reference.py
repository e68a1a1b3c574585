"""Algorithm 1 as written: short, slow and exact, to check the compiled algorithms."""

from collections import Counter
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from ._common.checks import check_integer, check_sample_labels
from ._common.types import Ints
from .graph import AffinityGraph
from .tree import MergeTree

Edges = list[Counter[int]]  # for each vertex, {other end: weight}


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
    # |C| deg^-_i(C) and |C| deg^+_i(C) of each vertex i with an edge from or to cluster C
    degrees = {
        c: tuple(sum((edges[i] for i in members[c]), Counter[int]()) for edges in (out_edges, in_edges))
        for c in members
    }

    def affinities_of(a: int) -> dict[tuple[int, int], float]:
        """Compute {(smaller, larger): affinity} of cluster a and each cluster with a positive affinity."""
        result = {}
        for c in {node[i] for degree in degrees[a] for i in degree} - {a}:
            exact = Fraction(0)
            for one, other in ((a, c), (c, a)):  # Eq. 3
                into, out = degrees[one]
                exact += Fraction(sum(into[i] * out[i] for i in members[other]), len(members[one]) ** 2)
            if affinity := float(exact / scale**2):
                result[min(a, c), max(a, c)] = affinity
        return result

    table: dict[tuple[int, int], float] = {}
    for c in members:
        table.update(affinities_of(c))
    children: list[tuple[int, int]] = []
    affinities: list[float] = []
    while len(members) > n_clusters and table:
        a, b = min(table, key=lambda pair: (-table[pair], pair))
        new = n_initial + len(children)
        children.append((a, b))
        affinities.append(table[a, b])
        table = {pair: value for pair, value in table.items() if a not in pair and b not in pair}
        members[new] = members.pop(a) + members.pop(b)
        degrees[new] = tuple(map(Counter.__add__, degrees.pop(a), degrees.pop(b)))
        for i in members[new]:
            node[i] = new
        table.update(affinities_of(new))
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
    check_integer("n_clusters", n_clusters, 1)
    n_initial = int(labels.max(initial=-1)) + 1
    if labels.min(initial=0) < 0:
        raise ValueError(f"initial_labels must be 0, 1, ... without gaps, got {labels.min()}")
    missing = np.flatnonzero(np.bincount(labels) == 0)
    if len(missing):
        raise ValueError(f"initial_labels must be 0, 1, ... without gaps, but {missing[0]} is missing")
    return labels, n_initial


def _exact_edges(graph: AffinityGraph) -> tuple[Edges, Edges, int]:
    """Return the edges {j: w_ij * 2^s} from each vertex, those into each vertex, and 2^s, all as integers."""
    ratios = [float(w).as_integer_ratio() for w in graph.weights]
    scale = max((q for _, q in ratios), default=1)
    out_edges, in_edges = ([Counter[int]() for _ in range(graph.n_samples)] for _ in range(2))
    for i, j, (p, q) in zip(graph.sources.tolist(), graph.indices.tolist(), ratios, strict=True):
        if p > 0:
            out_edges[i][j] = in_edges[j][i] = p * (scale // q)
    return out_edges, in_edges, scale
