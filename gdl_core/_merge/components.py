"""The unconnected parts of a graph: each part is merged separately, and the merges of all parts are put into
one order.

Two clusters of different components never have a positive affinity, so the merges of a component do not
depend on the others.
"""

import heapq
from dataclasses import dataclass

import numpy as np

from .._common.types import Floats, Int32s, Ints
from .._common.views import view_read_only
from ..graph import AffinityGraph


@dataclass(frozen=True, eq=False)
class Components:
    """The vertices and clusters of a graph, ordered by component.

    The graph itself is not copied, because it may use most of the memory.

    Attributes
    ----------
    vertex_start, cluster_start : (p + 1,) int64
        The vertices and the clusters of component q are ``start[q] : start[q + 1]``.
    clusters : (n_initial,) int64
        The number of each cluster in the whole graph; ascending within a component.
    labels : (n,) int32
        Cluster of each vertex, counted within its component.
    vertices : (n,) int64
        The number of each vertex in the whole graph; ascending within a component.
    rank : (n,) int32
        The number of each vertex of the whole graph, counted within its component.
    edge_start : (p + 1,) int64
        Component q has ``edge_start[q + 1] - edge_start[q]`` edges.
    graph : AffinityGraph
        The whole graph without edges of weight 0, which add nothing to any affinity.
    """

    vertex_start: Ints
    cluster_start: Ints
    clusters: Ints
    labels: Int32s
    vertices: Ints
    rank: Int32s
    edge_start: Ints
    graph: AffinityGraph


def split(graph: AffinityGraph, labels: Ints, n_initial: int) -> Components:
    """Split ``graph`` into components; members of a cluster of ``labels`` count as joined."""
    from .._common.edges import label_components

    graph = _drop_zero_weights(graph)
    of_cluster = label_components(
        view_read_only(graph.indptr), view_read_only(graph.indices), view_read_only(labels), n_initial
    )
    n_parts = int(of_cluster.max()) + 1
    vertex_start, vertices, vertex_rank = _group(of_cluster[labels], n_parts)
    cluster_start, clusters, cluster_rank = _group(of_cluster, n_parts)
    edge_end = np.cumsum(np.diff(graph.indptr)[vertices])
    return Components(
        vertex_start,
        cluster_start,
        clusters,
        cluster_rank[labels[vertices]].astype(np.int32),
        vertices,
        vertex_rank.astype(np.int32),
        np.concatenate([[0], edge_end])[vertex_start],
        graph,
    )


def _drop_zero_weights(graph: AffinityGraph) -> AffinityGraph:
    kept = graph.weights > 0
    if kept.all():
        return graph
    indptr = np.concatenate([[0], np.cumsum(kept)])[graph.indptr]
    return AffinityGraph(indptr, graph.indices[kept], graph.weights[kept], graph.sigma2)


def _group(part: Ints, n_parts: int) -> tuple[Ints, Ints, Ints]:
    """The start of each part, the items sorted by part, and the rank of each item in its part."""
    start = np.concatenate([[0], np.cumsum(np.bincount(part, minlength=n_parts))])
    order = np.argsort(part, kind="stable")
    rank = np.empty(len(part), np.int64)
    rank[order] = np.arange(len(part)) - np.repeat(start[:-1], np.diff(start))
    return start, order, rank


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
        The merges of component q begin at row ``cluster_start[q]``; node numbers are counted within the
        component.
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
    nodes = [components.clusters[start[q] : start[q + 1]].tolist() for q in range(len(n_merges))]

    def following(q: int, t: int) -> tuple[float, int, int, int, int]:
        row, own = start[q] + t, nodes[q]
        a, b = own[pairs[row][0]], own[pairs[row][1]]
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
