"""Zell: agglomerative clustering by the zeta function of a graph (Zhao and Tang, NIPS 2008).

P is (n, n) sparse, the directed K-NN graph with a loop of weight 1 at each vertex, rows scaled to sum 1, as
in the public Graph Agglomerative Clustering toolbox. The popularity of a cluster C is delta(C) = 1/|C|
sum_{p in C} ln ((I - z P_C)^-1)_pp, where the logarithm is the change of the zeta function's logarithm when
p is left out. Two clusters are as close as their union raises it for their members: A(a, b) = sum over c in
{a, b} of 1/|c| sum_{p in c} ln ((I - z P_{a u b})^-1)_pp - delta(c).
"""

import heapq

import numba
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, diags, identity

from gdl_core import AffinityGraph, MergeTree

Z = 0.01


def transition_matrix(graph: AffinityGraph) -> csr_matrix:
    """P of the graph, a loop of weight 1 added at each vertex. (n, n)."""
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

    Only clusters with edges in both directions form new cycles, so only they are compared. The diagonal of
    the inverse is the series sum_l z^l (P^l)_pp, cut after l = 4: the error, z^5, is a 10^6th of the
    affinity.

    Returns
    -------
    MergeTree
        Of equal pairs the one with the smaller node numbers is merged first.
    """
    p = transition_matrix(graph)
    walks = _Walks(p, z)
    labels = np.asarray(initial_labels, np.int64)
    n_initial = int(labels.max()) + 1
    members = {c: np.flatnonzero(labels == c) for c in range(n_initial)}
    near = _joined_both_ways(graph, labels)
    popularity = {c: walks.means(m) for c, m in members.items()}
    heap = []

    def push(a, b):
        together = walks.means(members[a], members[b])
        affinity = together - popularity[a] - popularity[b]
        if affinity > 0:
            heapq.heappush(heap, (-affinity, min(a, b), max(a, b)))

    for a in near:
        for b in near[a]:
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
        popularity[new] = walks.means(members[new])
        near[new] = _inherited(near, a, b, new)
        for c in near[new]:
            push(c, new)
    return MergeTree(labels, np.array(children, np.int64).reshape(-1, 2), np.array(affinities))


def _inherited(near, a, b, new):
    """The neighbours of a and b become those of their union; both directions may come from different
    parts.
    """
    result = (near.pop(a) | near.pop(b)) - {a, b}
    for c in result:
        near[c] -= {a, b}
        near[c].add(new)
    return result


def _joined_both_ways(graph, labels):
    """For each cluster those that an edge joins to it, whichever way: a union can come to be joined
    both ways.
    """
    source, target = np.repeat(labels, np.diff(graph.indptr)), labels[graph.indices]
    other = (source != target) & (graph.weights > 0)
    near = {c: set() for c in range(int(labels.max()) + 1)}
    for a, b in zip(source[other].tolist(), target[other].tolist(), strict=True):
        near[a].add(b)
        near[b].add(a)
    return near


class _Walks:
    """Sums over the closed walks of a cluster's vertices."""

    def __init__(self, p, z):
        columns = p.T.tocsr()
        self.rows = p.indptr.astype(np.int64), p.indices.astype(np.int64), p.data
        self.columns = columns.indptr.astype(np.int64), columns.indices.astype(np.int64), columns.data
        n = p.shape[0]
        self.inside, self.forth, self.z = np.zeros(n, np.bool_), np.zeros(n), z

    def means(self, a, b=()):
        """Mean of ln ((I - z P_C)^-1)_pp over p in a, C = a u b; with b, the mean over b added."""
        both = np.concatenate([a, b]).astype(np.int64)
        sums = _log_diagonal_sums(both, len(a), *self.rows, *self.columns, self.inside, self.forth, self.z)
        return sums[0] / len(a) + (sums[1] / len(b) if len(b) else 0.0)


@numba.njit(cache=True)
def _log_diagonal_sums(vertices, n_first, rp, ri, rv, cp, ci, cv, inside, forth, z):
    """Sums of ln(1 + sum_{l=1}^4 z^l (P_C^l)_pp) over the first vertices and over the rest.

    `forth` (n,) is all zero, `inside` all False, before and after.
    """
    for p in vertices:
        inside[p] = True
    first, second = 0.0, 0.0
    one_c2 = np.empty(4)
    for k, p in enumerate(vertices):
        one_c2[:] = 0
        # forth[q] = (P_C^2)_pq from two steps along rows
        for e in range(rp[p], rp[p + 1]):
            q = ri[e]
            if inside[q]:
                if q == p:
                    one_c2[0] += rv[e]
                for f in range(rp[q], rp[q + 1]):
                    if inside[ri[f]]:
                        forth[ri[f]] += rv[e] * rv[f]
        one_c2[1] = forth[p]
        # (P^3)_pp = sum_q (P^2)_pq P_qp, (P^4)_pp = sum_q (P^2)_pq (P^2)_qp with (P^2)_qp = sum_r P_qr P_rp
        for e in range(cp[p], cp[p + 1]):
            r = ci[e]
            if inside[r]:
                one_c2[2] += forth[r] * cv[e]
                for f in range(cp[r], cp[r + 1]):
                    if inside[ci[f]]:
                        one_c2[3] += forth[ci[f]] * cv[f] * cv[e]
        for e in range(rp[p], rp[p + 1]):
            q = ri[e]
            if inside[q]:
                for f in range(rp[q], rp[q + 1]):
                    forth[ri[f]] = 0.0
        value = np.log1p(z * (one_c2[0] + z * (one_c2[1] + z * (one_c2[2] + z * one_c2[3]))))
        if k < n_first:
            first += value
        else:
            second += value
    for p in vertices:
        inside[p] = False
    return first, second
