"""Zell: agglomerative clustering by the zeta function of a graph (Zhao and Tang, NIPS 2008).

P is (n, n) sparse, the directed K-NN graph with a loop of weight 1 at each vertex, rows scaled to sum 1, as
in the public Graph Agglomerative Clustering toolbox. The popularity of a cluster C is delta(C) = 1/|C|
sum_{p in C} ln ((I - z P_C)^-1)_pp, where the logarithm is the change of the zeta function's logarithm when
p is left out. The affinity of two clusters is what their union adds to these sums: A(a, b) = sum over c in
{a, b} of 1/|c| sum_{p in c} ln ((I - z P_{a u b})^-1)_pp - delta(c).
"""

import heapq

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, diags, identity

from gdl_core import AffinityGraph, MergeTree
from gdl_core.jit import inner, njit

Z = 0.01


def transition_matrix(graph: AffinityGraph) -> csr_matrix:
    """P of the graph, with a loop of weight 1 added at each vertex. (n, n)."""
    w = graph.to_csr() + identity(graph.n_samples, format="csr")
    return (diags(1 / np.asarray(w.sum(axis=1)).ravel()) @ w).tocsr()


def log_diagonal(p: NDArray, z: float = Z) -> NDArray[np.float64]:
    """ln of the diagonal of (I - z P)^-1; the definition, with an inverse. P (m, m) dense."""
    return np.log(np.diag(np.linalg.inv(np.eye(len(p)) - z * p)))


def incremental_popularity(p: NDArray, a: NDArray, b: NDArray, z: float = Z) -> float:
    """A(a, b) as defined; P (n, n) dense, a and b arrays of vertices."""
    both = np.concatenate([a, b])
    together = log_diagonal(p[np.ix_(both, both)], z)
    apart = log_diagonal(p[np.ix_(a, a)], z).mean() + log_diagonal(p[np.ix_(b, b)], z).mean()
    return float(together[: len(a)].mean() + together[len(a) :].mean() - apart)


def zell(graph: AffinityGraph, initial_labels: NDArray, n_clusters: int, z: float = Z) -> MergeTree:
    """Merge the pair of largest incremental popularity until n_clusters are left or none has a positive one.

    The diagonal of the inverse is the series sum_l z^l (P^l)_pp over the closed walks of p, cut after l = 3,
    which leaves out about z^2 = 10^-4 of an affinity. With this cut, only vertices with an edge to or from
    the other cluster count. Among equal pairs, the one with the smaller node numbers is merged first.

    Returns
    -------
    MergeTree
    """
    walks = _Walks(transition_matrix(graph), z)
    labels = np.asarray(initial_labels, np.int64)
    n_initial = int(labels.max()) + 1
    node = labels.copy()
    members = {c: np.flatnonzero(labels == c) for c in range(n_initial)}
    near = _find_joinable(graph, labels)
    heap: list[tuple[float, int, int]] = []

    def push(a, b):
        affinity = walks.affinity(node, members, a, b)
        if affinity > 0:
            heapq.heappush(heap, (-affinity, min(a, b), max(a, b)))

    for a, others in near.items():
        for b in others:
            if a < b:
                push(a, b)
    children, affinities = [], []
    while heap and len(members) > n_clusters:
        affinity, a, b = heapq.heappop(heap)
        if a not in members or b not in members:
            continue
        new = n_initial + len(children)
        children.append((a, b))
        affinities.append(-affinity)
        members[new] = np.concatenate([members.pop(a), members.pop(b)])
        node[members[new]] = new
        near[new] = _inherit(near, a, b, new)
        for c in near[new]:
            push(c, new)
    return MergeTree(labels, np.array(children, np.int64).reshape(-1, 2), np.array(affinities))


def _find_joinable(graph, labels):
    """For each cluster, the clusters that an edge joins to it in either direction, because their unions may
    later be joined in both directions.
    """
    source, target = np.repeat(labels, np.diff(graph.indptr)), labels[graph.indices]
    other = (source != target) & (graph.weights > 0)
    near = {c: set() for c in range(int(labels.max()) + 1)}
    for a, b in zip(source[other].tolist(), target[other].tolist(), strict=True):
        near[a].add(b)
        near[b].add(a)
    return near


def _inherit(near, a, b, new):
    """The neighbours of a and b become those of their union."""
    result = (near.pop(a) | near.pop(b)) - {a, b}
    for c in result:
        near[c] -= {a, b}
        near[c].add(new)
    return result


class _Walks:
    """P by rows and by columns, and buffers for the kernel."""

    def __init__(self, p, z):
        columns = p.T.tocsr()
        self.p = tuple(
            array
            for m in (p, columns)
            for array in (m.indptr.astype(np.int64), m.indices.astype(np.int64), m.data)
        )
        n = p.shape[0]
        self.room = np.zeros(n), np.zeros(n, np.bool_), np.empty(n, np.int64)
        self.z = z

    def affinity(self, node, members, a, b):
        """A(a, b); `node` (n,) is the cluster of each vertex."""
        if len(members[a]) > len(members[b]):
            a, b = b, a
        return _affinity(members[a], a, b, len(members[b]), node, *self.p, *self.room, self.z)


@njit
def _affinity(smaller, a, b, size_b, node, rp, ri, rv, cp, ci, cv, into, seen, found, z):
    """A(a, b) from the members of a, the smaller one. `into` is zero and `seen` False before and after."""
    total_a, total_b, n_found = 0.0, 0.0, 0
    for p in smaller:
        touches = False
        for e in range(rp[p], rp[p + 1] + cp[p + 1] - cp[p]):
            q = ri[e] if e < rp[p + 1] else ci[cp[p] + e - rp[p + 1]]
            if node[q] == b:
                touches = True
                if not seen[q]:
                    seen[q] = True
                    found[n_found] = q
                    n_found += 1
        if touches:
            total_a += _gain(p, a, b, node, rp, ri, rv, cp, ci, cv, into, z)
    for k in range(n_found):
        seen[found[k]] = False
        total_b += _gain(found[k], b, a, node, rp, ri, rv, cp, ci, cv, into, z)
    return total_a / len(smaller) + total_b / size_b


@inner
def _gain(p, own, other, node, rp, ri, rv, cp, ci, cv, into, z):
    """ln ((I - z P_C)^-1)_pp in the union minus that in p's cluster, from closed walks of up to 3 steps."""
    for e in range(cp[p], cp[p + 1]):
        if node[ci[e]] == own or node[ci[e]] == other:
            into[ci[e]] = cv[e]  # P_rp
    loop, two_own, two_new, three_own, three_new = 0.0, 0.0, 0.0, 0.0, 0.0
    for e in range(rp[p], rp[p + 1]):
        q = ri[e]
        if node[q] != own and node[q] != other:
            continue
        inside = node[q] == own
        if q == p:
            loop = rv[e]
        if inside:
            two_own += rv[e] * into[q]
        else:
            two_new += rv[e] * into[q]
        for f in range(rp[q], rp[q + 1]):
            r = ri[f]
            if into[r] > 0:
                if inside and node[r] == own:
                    three_own += rv[e] * rv[f] * into[r]
                else:
                    three_new += rv[e] * rv[f] * into[r]
    for e in range(cp[p], cp[p + 1]):
        into[ci[e]] = 0.0
    before = z * (loop + z * (two_own + z * three_own))
    return np.log1p(z * z * (two_new + z * three_new) / (1 + before))
