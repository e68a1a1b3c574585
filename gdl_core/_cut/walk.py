"""A compiled step of random walks: the probabilities of the clusters in which the walks end."""

import numpy as np

from .._common.jit import njit
from .._common.types import Array

MAX_CLUSTERS = 8  # clusters kept for each sample, the likeliest ones


@njit
def walk_step(
    first: int,
    end: int,
    indptr: Array,
    indices: Array,
    weights: Array,
    clusters: Array,
    shares: Array,
    new_clusters: Array,
    new_shares: Array,
    n_clusters: int,
) -> None:
    """Fill rows first .. end - 1 of ``new_clusters`` and ``new_shares`` with the weighted means of the
    neighbours' shares, and keep only the `MAX_CLUSTERS` largest (ties: the smaller cluster).

    clusters (n, MAX_CLUSTERS) are labels, padded with -1, and shares are their probabilities. The graph is
    symmetric, in compressed rows.
    """
    total = np.zeros(n_clusters)
    candidates = np.empty(n_clusters, np.int64)  # clusters with a share at a neighbour
    for i in range(first, end):
        n_candidates = 0
        degree = 0.0
        for e in range(indptr[i], indptr[i + 1]):
            j, weight = indices[e], weights[e]
            degree += weight
            for s in range(clusters.shape[1]):
                c = clusters[j, s]
                if c < 0:
                    break
                gain = weight * shares[j, s]
                if gain > 0:
                    if total[c] == 0:
                        candidates[n_candidates] = c
                        n_candidates += 1
                    total[c] += gain
        for s in range(clusters.shape[1]):
            best = -1
            for m in range(n_candidates):
                c = candidates[m]
                if total[c] > 0 and (
                    best < 0 or total[c] > total[best] or (total[c] == total[best] and c < best)
                ):
                    best = c
            new_clusters[i, s] = best
            if best < 0:
                break
            new_shares[i, s] = total[best] / degree
            total[best] = 0.0
        for m in range(n_candidates):
            total[candidates[m]] = 0.0
