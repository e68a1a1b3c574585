"""Weights of edges by the best path between neighbours, in units of the spacing of the samples.

By Eq. 1 alone, the neighbours of a sample in a thin cluster lie in other clusters, too, and are joined to it
almost as strongly as those of its cluster. Here the edge between two neighbours weighs as much as the longest
step on the best path between them allows. Within a cluster there is a path of short steps, however thin the
cluster is; to another one, every path crosses the gap.
"""

from dataclasses import dataclass

import numpy as np

from ._common.types import Array, Floats, Ints
from .graph import AffinityGraph, KnnGraph, affinity_graph

PATH_BANDWIDTH = 0.5  # the factor a of Eq. 1 with paths: 0.35 and 0.7 cost 0.01 on 10 sets of the suite


@dataclass(frozen=True, eq=False)
class Paths:
    """The spacing of the samples, and a minimum spanning forest of the steps between neighbours.

    A step from i to j has the length max(dist(i, j), spacing of i, spacing of j).

    Parameters
    ----------
    spacing : (n,) float64
        The distance of each sample to its ln(n)-th neighbour, about the number of neighbours that connects a
        random graph; where it is 0, the smallest one above 0, or 1 if there is none.
    forest : tuple of (n,) int64 and (n,) float64
        The sample to which each one is linked, itself for the root of a tree, and the length of the link,
        infinite for a root. It grows towards the root.
    """

    spacing: Floats
    forest: tuple[Ints, Floats]

    def bottlenecks(self, source: Array, target: Array) -> Floats:
        """Find the longest step on the best path between samples, the path whose longest step is shortest.

        Parameters
        ----------
        source, target : (m,) array of int
            The ends of the paths.

        Returns
        -------
        (m,) float64
            Lengths; infinite where no path exists, and 0 from a sample to itself.
        """
        from ._graph.path_kernels import find_bottlenecks

        longest = np.empty(len(source))
        find_bottlenecks(np.asarray(source, np.int64), np.asarray(target, np.int64), self.forest, longest)
        return longest

    def weights_of_new(self, indices: Array, distances: Floats) -> Floats:
        """Compute the weights of new samples' edges by their best paths, without the factor of Eq. 1.

        Parameters
        ----------
        indices : (m, K) array of int
            Neighbours of the new samples, nearest first; -1 at an infinite distance is no neighbour.
        distances : (m, K) float64
            Their distances.

        Returns
        -------
        (m, K) float64
        """
        from ._graph.path_kernels import find_bottlenecks_of_new

        count = np.isfinite(distances).sum(axis=1)
        rank = np.minimum(spacing_rank(len(self.spacing)), count) - 1
        spacing = np.where(count > 0, distances[np.arange(len(rank)), rank], 0.0)
        spacing[spacing == 0] = self.spacing.min(initial=np.inf)
        step = np.maximum(np.maximum(distances, spacing[:, None]), self.spacing[indices])
        longest = np.empty(step.shape)
        find_bottlenecks_of_new(np.asarray(indices, np.int64), step, self.forest, longest)
        return (spacing[:, None] / longest) * (self.spacing[indices] / longest)


def spacing_rank(n_samples: int) -> int:
    """Choose the neighbour that gives the spacing of a sample: the one of rank ln(n), at least 2."""
    return max(2, round(float(np.log(max(n_samples, 1)))))


def find_paths(knn: KnnGraph, rank: int | None = None) -> Paths:
    """Find the best paths between all samples, in about O(n K log n).

    Parameters
    ----------
    knn : KnnGraph
    rank : int, optional
        The neighbour that gives the spacing, in place of the ln(n)-th.

    Returns
    -------
    Paths
    """
    from ._graph.path_kernels import link_forest

    indptr, target, distance = knn.edges()
    count = np.diff(indptr)
    last = indptr[:-1] + np.minimum(rank or spacing_rank(knn.n_samples), count) - 1
    spacing = np.zeros(knn.n_samples)
    spacing[count > 0] = distance[last[count > 0]]
    spacing[spacing == 0] = spacing[spacing > 0].min() if spacing.any() else 1.0
    source, target = np.repeat(np.arange(knn.n_samples), count), target.astype(np.int64)
    step = np.maximum(distance, np.maximum(spacing[source], spacing[target]))
    forest = np.empty(len(spacing), np.int64), np.empty(len(spacing))
    link_forest(source, target, step, np.argsort(step, kind="stable"), forest)
    return Paths(spacing, forest)


def path_graph(
    knn: KnnGraph, bandwidth: float = PATH_BANDWIDTH, *, paths: Paths | None = None
) -> AffinityGraph:
    """Compute edge weights from the best paths between neighbours.

    w_ij = c_i c_j / m_ij^2 exp(-dist(i, j)^2 / sigma^2), where c is the spacing of a sample, m_ij the longest
    step on the best path from i to j, and sigma^2 as in Eq. 1. The second factor alone is Eq. 1.

    Parameters
    ----------
    knn : KnnGraph
    bandwidth : float
        The factor a of Eq. 1.
    paths : Paths, optional
        The result of `find_paths`, if it is known.

    Returns
    -------
    AffinityGraph
    """
    paths = find_paths(knn) if paths is None else paths
    graph = affinity_graph(knn, bandwidth)
    source = graph.sources
    longest = paths.bottlenecks(source, graph.indices)
    share = (paths.spacing[source] / longest) * (paths.spacing[graph.indices] / longest)
    return AffinityGraph(graph.indptr, graph.indices, graph.weights * share, graph.sigma2)
