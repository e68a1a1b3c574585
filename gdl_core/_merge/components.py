"""The unconnected parts of a graph. Each part is merged separately; then the merges of all parts are put into
one order.

Two clusters of different components never have a positive affinity, so the merges of a component do not
depend on the others.
"""

import heapq

import numpy as np

from .._common.components import number_components
from .._common.types import Floats, Ints
from ..graph import AffinityGraph


def split(graph: AffinityGraph, labels: Ints, n_initial: int) -> tuple[Ints, Ints, Ints]:
    """Split ``graph`` into components; members of a cluster of ``labels`` count as joined, and the ends of an
    edge of weight 0 do not.

    Returns
    -------
    parts : (p, 5) int64
        A component per row: its first vertex and their end in ``vertices``, its first cluster and their end
        in ``clusters``, and its number of edges, those of weight 0 included.
    vertices, clusters : (n,), (n_initial,) int64
        Sorted by component, ascending within each.
    """
    cluster, is_edge = labels.astype(np.int32), graph.weights > 0
    source = cluster[graph.sources[is_edge]]
    part_of_cluster = number_components(n_initial, source, cluster[graph.indices[is_edge]])
    part_of_vertex = part_of_cluster[labels]
    columns: list[Ints] = []
    for part in (part_of_vertex, part_of_cluster):
        count = np.bincount(part)
        end = np.cumsum(count)
        columns += [end - count, end]
    columns.append(np.bincount(part_of_vertex, np.diff(graph.indptr)).astype(np.int64))
    order, cluster_order = (np.argsort(part, kind="stable") for part in (part_of_vertex, part_of_cluster))
    return np.array(columns).T.copy(), order, cluster_order


def interleave(
    parts: Ints, children: Ints, affinities: Floats, n_initial: int, n_clusters: int
) -> tuple[Ints, Floats]:
    """Put the merges of all components into the order of one run: each step takes the best next merge of any
    component.

    Parameters
    ----------
    parts : (p, 5) int64
        As from `split`, but the last column is the number of merges of each component.
    children : (n_initial, 2) int64
        The merges of a component begin at the row of its first cluster; the node of its merge t is
        n_initial + t.
    affinities : (n_initial,) float64

    Returns
    -------
    children (m, 2) int64, affinities (m,) float64
        Node numbers are those of the whole hierarchy. There are no more merges than are needed to reach
        ``n_clusters``.
    """
    limit = min(int(parts[:, 4].sum()), n_initial - n_clusters)
    if len(parts) == 1:
        return children[:limit].copy(), affinities[:limit].copy()
    rows, pairs, values = parts.tolist(), children.tolist(), affinities.tolist()
    nodes: list[list[int]] = [[] for _ in rows]  # the nodes that the merges of each component made
    heap: list[tuple[float, int, int, int]] = []  # the next merge of each: -affinity, nodes, component

    def push_next(q: int) -> None:
        t = len(nodes[q])
        if t < rows[q][4]:
            row = rows[q][2] + t
            a, b = sorted(c if c < n_initial else nodes[q][c - n_initial] for c in pairs[row])
            heapq.heappush(heap, (-values[row], a, b, q))

    for q in range(len(rows)):
        push_next(q)
    merges = []
    for step in range(limit):
        merges.append(heapq.heappop(heap))
        q = merges[-1][3]
        nodes[q].append(n_initial + step)
        push_next(q)
    table = np.array(merges, np.float64).reshape(-1, 4)
    return table[:, 1:3].astype(np.int64), -table[:, 0]
