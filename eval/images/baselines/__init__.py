"""Clustering methods for image sets, by name, each run on a `Problem` with one value of its own parameter.

Methods that need the number of clusters get the true one. A method with a parameter is run with each of
its `values`, and the best result counts, as in the paper; `gdl-mcs` and `gdl-mcs-10` are not tuned.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec

import numpy as np
from numpy.typing import NDArray

from eval.images.baselines import centres, communities, density, linkages, spectral
from eval.images.baselines.degree_linkage import N_INITIAL_NEIGHBORS, degree_linkage
from eval.images.baselines.directed_spectral import directed_embedding
from eval.images.baselines.problem import Problem
from eval.images.baselines.self_tuning import locally_scaled_graph, self_tuning
from eval.images.baselines.zell import zell
from gdl_core import complete_by_distance, initial_clusters
from gdl_core.completion import make_distances_among

Labels = NDArray[np.int64]

# a = 10^-2, 10^-1.5, ..., 10^2, from the middle outwards, so that a small budget covers the usual range
BANDWIDTHS = tuple(10.0 ** (i / 2) for i in (0, 1, -1, 2, -2, 3, -3, 4, -4))
RESOLUTIONS = (1.0, 0.7, 1.4, 0.5, 2.0, 0.3, 3.0, 0.2, 5.0, 0.1, 8.0)
SIZES = (10, 15, 5, 20, 3, 30, 50, 80)
QUANTILES = (0.5, 0.3, 0.7, 0.2, 0.8, 0.1, 0.9)
PREFERENCES = (3.0, 10.0, 1.0, 30.0)


@dataclass(frozen=True)
class Method:
    """A clustering method.

    `run(problem, value)` gives (n,) labels, -1 for noise; `values` are the tried values of its `parameter`,
    (None,) if it has none; `package` is the optional package that it needs, imported and installed by this
    name.
    """

    label: str
    run: Callable[[Problem, float | None], Labels]
    parameter: str = ""
    values: tuple[float | None, ...] = (None,)
    package: tuple[str, str] | None = None
    dense: bool = False  # works on the (n, n) distances
    n_neighbors: int | None = None  # the method's own K, if it has one, at most that of the problem

    def is_installed(self) -> bool:
        return self.package is None or find_spec(self.package[0]) is not None


def _embedding(problem: Problem, bandwidth: float) -> NDArray:
    def compute():
        s = problem.symmetric_graph(bandwidth)
        return {"vectors": spectral.spectral_embedding(s, problem.n_clusters, problem.seed)}

    problem.knn()  # counts the time of the neighbours even if the eigenvectors are in the folder
    return np.asarray(problem.stages.get(f"embedding-{bandwidth:.4g}", compute)["vectors"])


def _njw(problem: Problem, bandwidth: float) -> Labels:
    return spectral.njw(_embedding(problem, bandwidth), problem.seed)


def _ncuts(problem: Problem, bandwidth: float) -> Labels:
    return spectral.ncuts(_embedding(problem, bandwidth), problem.seed)


def _dgsc(problem: Problem, bandwidth: float) -> Labels:
    w = problem.graph(bandwidth).to_csr()
    return spectral.njw(directed_embedding(w, problem.n_clusters, problem.seed), problem.seed)


def _stsc(problem: Problem, _) -> Labels:
    s = locally_scaled_graph(problem.knn())
    embedding = spectral.spectral_embedding(s, problem.n_clusters, problem.seed)
    return self_tuning(embedding, problem.seed)


def _zell(problem: Problem, bandwidth: float) -> Labels:
    knn, graph = problem.knn(), problem.graph(bandwidth)
    tree = zell(graph, initial_clusters(knn, N_INITIAL_NEIGHBORS), problem.n_clusters)
    tree = complete_by_distance(tree, knn.n_neighbors, graph, make_distances_among(*problem.metric_space()))
    return tree.cut(problem.n_clusters)


def _k_medoids(problem: Problem, _) -> Labels:
    return centres.k_medoids(problem.distances(), problem.n_clusters, problem.seed)


def _k_means(problem: Problem, _) -> Labels:
    return centres.k_means(problem.features, problem.n_clusters, problem.seed)


def _affinity_propagation(problem: Problem, preference: float) -> Labels:
    return centres.affinity_propagation(problem.distances(), preference, problem.seed)


def _linkage(problem: Problem, _, method: str) -> Labels:
    return linkages.distance_linkage(problem.distances(), problem.n_clusters, method)


def _dbscan(problem: Problem, quantile: float) -> Labels:
    return density.dbscan(problem.distances(), quantile)


def _hdbscan(problem: Problem, size: float) -> Labels:
    return density.hdbscan(problem.distances(), int(size))


def _leiden(problem: Problem, resolution: float) -> Labels:
    return communities.leiden(problem.symmetric_graph(1.0), resolution, problem.seed)


def _finch(problem: Problem, _) -> Labels:
    nearest = None if problem.metric == "euclidean" else problem.knn().indices[:, 0]
    return communities.finch(problem.features, nearest, problem.n_clusters)


_GRAPH = {"parameter": "a", "values": BANDWIDTHS}

METHODS: dict[str, Method] = {
    "k-medoids": Method("k-medoids", _k_medoids, dense=True),
    "link": Method("average linkage", partial(_linkage, method="average"), dense=True),
    "g-link": Method("graph-based average linkage", linkages.graph_linkage, **_GRAPH),
    "ncuts": Method("NCuts", _ncuts, **_GRAPH),
    "njw": Method("NJW", _njw, **_GRAPH),
    "dgsc": Method("DGSC", _dgsc, **_GRAPH),
    "stsc": Method("self-tuning", _stsc),
    "zell": Method("Zell", _zell, **_GRAPH),
    "gdl-u": Method("GDL-U", partial(degree_linkage, algorithm="gdl-u"), **_GRAPH),
    "agdl": Method("AGDL", partial(degree_linkage, algorithm="agdl"), **_GRAPH),
    "gdl-mcs": Method("GDL-U, min_cluster_size=5", partial(degree_linkage, min_cluster_size=5), "a", (1.0,)),
    "gdl-mcs-10": Method(
        "GDL-U, min_cluster_size=5, K=10",
        partial(degree_linkage, min_cluster_size=5, n_neighbors=10),
        "a",
        (1.0,),
        n_neighbors=10,
    ),
    "k-means": Method("k-means", _k_means),
    "single": Method("single linkage", partial(_linkage, method="single"), dense=True),
    "complete": Method("complete linkage", partial(_linkage, method="complete"), dense=True),
    "ward": Method("Ward", partial(_linkage, method="ward"), dense=True),
    "affinity-propagation": Method(
        "affinity propagation", _affinity_propagation, "preference / median", PREFERENCES, dense=True
    ),
    "dbscan": Method("DBSCAN", _dbscan, "quantile of eps", QUANTILES, dense=True),
    "hdbscan": Method("HDBSCAN", _hdbscan, "min_cluster_size", SIZES, dense=True),
    "leiden": Method("Leiden", _leiden, "resolution", RESOLUTIONS, ("sknetwork", "scikit-network")),
    "finch": Method("FINCH", _finch, package=("finch", "finch-clust")),
}
PAPER = ("k-medoids", "link", "g-link", "ncuts", "njw", "dgsc", "stsc", "zell", "gdl-u", "agdl")
OURS = ("gdl-u", "agdl", "gdl-mcs", "gdl-mcs-10")
