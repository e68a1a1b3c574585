"""Clusterings around centres: k-medoids (own), k-means and affinity propagation (scikit-learn)."""

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import AffinityPropagation, KMeans


def k_medoids(
    distances: NDArray, n_clusters: int, seed: int, n_init: int = 10, max_iter: int = 100
) -> NDArray[np.int64]:
    """Alternate between assigning samples to the nearest medoid and choosing each cluster's best medoid.

    Hastie, Tibshirani, Friedman: The Elements of Statistical Learning, Algorithm 14.2. Starts are drawn as by
    k-means++ (a sample is drawn with a probability proportional to its squared distance); of `n_init` starts,
    the one with the smallest sum of distances is kept. Ties go to the smallest index.

    Parameters
    ----------
    distances : (n, n) symmetric
    n_clusters : int
    seed : int

    Returns
    -------
    (n,) int64
    """
    rng = np.random.default_rng(seed)
    best_cost, best = np.inf, None
    for _ in range(n_init):
        medoids = _spread(distances, n_clusters, rng)
        for _ in range(max_iter):
            labels = distances[medoids].argmin(axis=0)
            new = np.array([_medoid(distances, labels == c, m) for c, m in enumerate(medoids)])
            if np.array_equal(new, medoids):
                break
            medoids = new
        labels, cost = distances[medoids].argmin(axis=0), float(distances[medoids].min(axis=0).sum())
        if cost < best_cost:
            best_cost, best = cost, labels
    return best.astype(np.int64)


def _spread(distances, n_clusters, rng):
    medoids = [int(rng.integers(len(distances)))]
    nearest = np.array(distances[medoids[0]], np.float64)
    while len(medoids) < n_clusters:
        chance = nearest**2
        chance[medoids] = 0
        total = chance.sum()
        free = np.setdiff1d(np.arange(len(distances)), medoids)
        drawn = rng.choice(len(distances), p=chance / total) if total > 0 else rng.choice(free)
        medoids.append(int(drawn))
        np.minimum(nearest, distances[medoids[-1]], out=nearest)
    return np.array(medoids)


def _medoid(distances, members, medoid):
    members = np.flatnonzero(members)
    if len(members) == 0:
        return medoid
    return members[distances[np.ix_(members, members)].sum(axis=1).argmin()]


def k_means(features: NDArray, n_clusters: int, seed: int) -> NDArray[np.int64]:
    """Scikit-learn's k-means, the best of ten starts. (n,) int64."""
    return KMeans(n_clusters, n_init=10, random_state=seed).fit(features).labels_.astype(np.int64)


def affinity_propagation(distances: NDArray, preference: float, seed: int) -> NDArray[np.int64]:
    """Scikit-learn's affinity propagation on similarities -d^2; (n,) int64, -1 if it does not converge.

    `preference` is a multiple of the median similarity (negative): the larger, the fewer clusters.
    """
    similarities = -(np.asarray(distances, np.float32) ** 2)
    model = AffinityPropagation(
        preference=preference * float(np.median(similarities)),
        affinity="precomputed",
        damping=0.9,
        max_iter=500,
        random_state=seed,
        copy=False,
    )
    return model.fit(similarities).labels_.astype(np.int64)
