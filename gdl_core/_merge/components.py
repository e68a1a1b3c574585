"""The unconnected parts of a graph: each part is merged separately, and the merges of all parts are put into
one order.

Two clusters of different components never have a positive affinity, so the merges of a component do not
depend on the others.
"""

import heapq
from dataclasses import dataclass

import numpy as np

from .._common.components import number_components
from .._common.types import Floats, Ints
from ..graph import AffinityGraph


@dataclass(frozen=True, eq=False)
class Components:
    """The vertices and clusters of a graph, ordered by component.

    Attributes
    ----------
    vertex_start, cluster_start : (p + 1,) int64
        The vertices of component q are ``vertices[vertex_start[q] : vertex_start[q + 1]]``; clusters alike.
    vertices : (n,) int64
        Ascending within a component.
    clusters : (n_initial,) int64
        Ascending within a component.
    edge_start : (p + 1,) int64
        Component q has ``edge_start[q + 1] - edge_start[q]`` edges.
    graph : AffinityGraph
        The whole graph without edges of weight 0, which add nothing to any affinity.
    """

    vertex_start: Ints
    cluster_start: Ints
    vertices: Ints
    clusters: Ints
    edge_start: Ints
    graph: AffinityGraph


def split(graph: AffinityGraph, labels: Ints, n_initial: int) -> Components:
    """Split ``graph`` into components; members of a cluster of ``labels`` count as joined."""
    graph = _drop_zero_weights(graph)
    ends = labels.astype(np.int32)
    source, target = np.repeat(ends, np.diff(graph.indptr)), ends[graph.indices]
    of_cluster = number_components(n_initial, source, target)
    n_parts = int(of_cluster.max()) + 1
    vertex_start, vertices = _group(of_cluster[labels], n_parts)
    cluster_start, clusters = _group(of_cluster, n_parts)
    edge_end = np.cumsum(np.diff(graph.indptr)[vertices])
    edge_start = np.concatenate([[0], edge_end])[vertex_start]
    return Components(vertex_start, cluster_start, vertices, clusters, edge_start, graph)


def _drop_zero_weights(graph: AffinityGraph) -> AffinityGraph:
    kept = graph.weights > 0
    if kept.all():
        return graph
    indptr = np.concatenate([[0], np.cumsum(kept)])[graph.indptr]
    return AffinityGraph(indptr, graph.indices[kept], graph.weights[kept], graph.sigma2)


def _group(part: Ints, n_parts: int) -> tuple[Ints, Ints]:
    """The start of each part, and the items sorted by part."""
    start = np.concatenate([[0], np.cumsum(np.bincount(part, minlength=n_parts))])
    return start, np.argsort(part, kind="stable")


def interleave(
    components: Components,
    n_merges: Ints,
    children: Ints,
    affinities: Floats,
    n_initial: int,
    n_clusters: int,
) -> tuple[Ints, Floats]:
    """The merges of all components in the order of one run: at each step, the best next merge of any
    component.

    Parameters
    ----------
    n_merges : (p,) int64
    children : (n_initial, 2) int64
        The merges of component q begin at row ``cluster_start[q]``; the node of its merge t is n_initial + t.
    affinities : (n_initial,) float64

    Returns
    -------
    children (m, 2) int64, affinities (m,) float64
        Node numbers are those of the whole hierarchy. There are no more merges than are needed to reach
        ``n_clusters``.
    """
    limit = max(min(int(n_merges.sum()), n_initial - n_clusters), 0)
    if len(n_merges) == 1:
        return children[:limit].copy(), affinities[:limit].copy()
    start = components.cluster_start.tolist()
    pairs, values = children.tolist(), affinities.tolist()
    nodes: list[list[int]] = [[] for _ in n_merges]  # those that the merges of each component made

    def following(q: int, t: int) -> tuple[float, int, int, int, int]:
        row = start[q] + t
        a, b = (c if c < n_initial else nodes[q][c - n_initial] for c in pairs[row])
        return (-values[row], a, b, q, t) if a < b else (-values[row], b, a, q, t)

    last = n_merges.tolist()
    heap = [following(q, 0) for q in range(len(last)) if last[q]]
    heapq.heapify(heap)
    merged, found = [], []
    for step in range(limit):
        value, a, b, q, t = heap[0]
        merged.append((a, b))
        found.append(-value)
        nodes[q].append(n_initial + step)
        if t + 1 < last[q]:
            heapq.heapreplace(heap, following(q, t + 1))
        else:
            heapq.heappop(heap)
    return np.array(merged, np.int64).reshape(-1, 2), np.array(found, np.float64)
