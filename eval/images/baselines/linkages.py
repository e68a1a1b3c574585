"""Agglomerative clustering: SciPy's linkages on distances, and average linkage on the K-NN graph."""

import heapq
import itertools
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform

from eval.images.baselines.problem import Problem
from gdl_core import AffinityGraph, MergeTree, complete_by_distance
from gdl_core.completion import make_distances_among


def distance_linkage(distances: NDArray, n_clusters: int, method: str) -> NDArray[np.int64]:
    """SciPy's "average", "single", "complete" or "ward" linkage cut at n_clusters. (n,) int64, from 0.

    `distances` (n, n) are symmetric; Ward's method treats them as Euclidean.
    """
    condensed = squareform(np.asarray(distances), checks=False).astype(np.float64)
    return fcluster(linkage(condensed, method), n_clusters, criterion="maxclust").astype(np.int64) - 1


def average_linkage_between(w: NDArray, a: NDArray, b: NDArray) -> float:
    """The paper's reading of graph-based average linkage, A_{b -> a} + A_{a -> b} with

    A_{b -> a} = 1/|C_b| sum_{i in C_b} [deg^-_i(C_a) + deg^+_i(C_a)] / 2, in degrees of Definition 2. W is
    (n, n), a and b are arrays of vertices. `graph_linkage` is tested against this definition.
    """

    def one_way(b, a):
        indegree = w[np.ix_(a, b)].sum(axis=0) / len(a)  # (|b|,)
        outdegree = w[np.ix_(b, a)].sum(axis=1) / len(a)
        return (indegree + outdegree).sum() / 2 / len(b)

    return one_way(b, a) + one_way(a, b)


def graph_linkage(problem: Problem, bandwidth: float) -> NDArray[np.int64]:
    """Average linkage on the K-NN graph made undirected, w_ij = w_ji = (w_ij + w_ji) / 2, from single
    samples.

    If no edge joins any two clusters, the nearest ones are joined. (n,) int64.
    """
    graph, n = problem.graph(bandwidth), len(problem)
    merges = np.array(_join_by_mean_weight(graph), np.int64).reshape(-1, 2)
    tree = MergeTree(np.arange(n), merges, np.zeros(len(merges)))
    among = make_distances_among(*problem.metric_space())
    return complete_by_distance(tree, problem.n_neighbors, graph, among).cut(problem.n_clusters)


def _join_by_mean_weight(graph: AffinityGraph) -> list[tuple[int, int]]:
    """The merges of the pairs with the largest mean weights, until no edge joins any two."""
    both, n = graph.symmetric(), graph.n_samples
    weights = {i: dict(zip(*r, strict=True)) for i, r in enumerate(_rows(both))}
    size, merges = [1] * n, []
    queue = [(-w, i, j) for i, row in weights.items() for j, w in row.items() if i < j and w > 0]
    heapq.heapify(queue)
    while queue:
        _, a, b = heapq.heappop(queue)
        if a not in weights or b not in weights:
            continue
        new, joined = n + len(merges), weights.pop(a)
        for c, w in weights.pop(b).items():
            joined[c] = joined.get(c, 0.0) + w
        size.append(size[a] + size[b])
        merges.append((a, b))
        weights[new] = {c: w for c, w in joined.items() if c in weights and w > 0}
        for c, w in weights[new].items():
            weights[c][new] = w
            heapq.heappush(queue, (-w / (size[c] * size[new]), c, new))
    return merges


def _rows(matrix) -> Iterator[tuple[list[int], list[float]]]:
    """Columns and values of each row of a CSR matrix."""
    for start, end in itertools.pairwise(matrix.indptr.tolist()):
        yield matrix.indices[start:end].tolist(), matrix.data[start:end].tolist()
