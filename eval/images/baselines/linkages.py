"""Agglomerative clustering: SciPy's linkages on distances, and average linkage on the K-NN graph."""

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform

from eval.images.baselines.problem import Problem
from gdl_core import MergeTree, complete_by_distance
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

    This is the linkage by which the clusterer joins clusters without affinity; here it starts from a
    hierarchy without merges. If no edge joins any two clusters, the nearest ones are joined. (n,) int64.
    """
    single = MergeTree(np.arange(len(problem)), np.empty((0, 2), np.int64), np.empty(0))
    among = make_distances_among(*problem.metric_space())
    tree = complete_by_distance(single, problem.knn(), problem.graph(bandwidth), among)
    return tree.cut(problem.n_clusters)
