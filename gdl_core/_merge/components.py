"""The unconnected parts of a graph. Each part is merged separately; then the merges of all parts are put into
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
        Component q has ``edge_start[q + 1] - edge_start[q]`` edges, those of weight 0 included.
    """

    vertex_start: Ints
    cluster_start: Ints
    vertices: Ints
    clusters: Ints
    edge_start: Ints


def split(graph: AffinityGraph, labels: Ints, n_initial: int) -> Components:
    """Split ``graph`` into components; members of a cluster of ``labels`` count as joined, and the ends of an
    edge of weight 0 do not.
    """
    cluster, is_edge = labels.astype(np.int32), graph.weights > 0
    source = cluster[graph.sources[is_edge]]
    part_of_cluster = number_components(n_initial, source, cluster[graph.indices[is_edge]])
    n_parts = int(part_of_cluster.max()) + 1
    vertex_start, vertices = _group(part_of_cluster[labels], n_parts)
    cluster_start, clusters = _group(part_of_cluster, n_parts)
    edge_end = np.cumsum(np.diff(graph.indptr)[vertices])
    edge_start = np.concatenate([[0], edge_end])[vertex_start]
    return Components(vertex_start, cluster_start, vertices, clusters, edge_start)


def _group(part: Ints, n_parts: int) -> tuple[Ints, Ints]:
    """Sort items by part: the start of each part (n_parts + 1,), and the items (n,)."""
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
    """Put the merges of all components into the order of one run: each step takes the best next merge of any
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
    nodes: list[list[int]] = [[] for _ in n_merges]  # the nodes that the merges of each component made

    def next_merge(q: int, t: int) -> tuple[float, int, int, int, int]:
        """Make the heap entry (-affinity, node, node, q, t) of merge t of component q."""
        row = start[q] + t
        a, b = (c if c < n_initial else nodes[q][c - n_initial] for c in pairs[row])
        return (-values[row], a, b, q, t) if a < b else (-values[row], b, a, q, t)

    counts = n_merges.tolist()
    heap = [next_merge(q, 0) for q in range(len(counts)) if counts[q]]
    heapq.heapify(heap)
    merged, merged_affinities = [], []
    for step in range(limit):
        value, a, b, q, t = heap[0]
        merged.append((a, b))
        merged_affinities.append(-value)
        nodes[q].append(n_initial + step)
        if t + 1 < counts[q]:
            heapq.heapreplace(heap, next_merge(q, t + 1))
        else:
            heapq.heappop(heap)
    return np.array(merged, np.int64).reshape(-1, 2), np.array(merged_affinities, np.float64)
