"""Graph degree linkage: agglomerative clustering on a directed K-nearest-neighbour graph.

Zhang, Wang, Zhao, Tang: Graph Degree Linkage, ECCV 2012. Equations and algorithms have the paper's numbers.
"""

from typing import TYPE_CHECKING, Any

from .completion import complete_by_distance
from .graph import AffinityGraph, KnnGraph, affinity_graph, enough_initial_clusters, initial_clusters
from .isolation import count_isolated_branches, leakages, select_isolated_branches
from .merging import agdl, gdl, gdl_u
from .neighbors import knn_graph
from .outliers import connectivity_scores, split_at_largest_gap
from .paths import path_graph
from .plots import plot_condensed, plot_dendrogram, plot_scores
from .selection import Selection, place_by_tree, select_clusters
from .smoothing import smooth_labels
from .tree import MergeTree

if TYPE_CHECKING:
    from .estimator import GraphDegreeLinkage

__all__ = [
    "AffinityGraph",
    "GraphDegreeLinkage",
    "KnnGraph",
    "MergeTree",
    "Selection",
    "affinity_graph",
    "agdl",
    "complete_by_distance",
    "connectivity_scores",
    "count_isolated_branches",
    "enough_initial_clusters",
    "gdl",
    "gdl_u",
    "initial_clusters",
    "knn_graph",
    "leakages",
    "path_graph",
    "place_by_tree",
    "plot_condensed",
    "plot_dendrogram",
    "plot_scores",
    "select_clusters",
    "select_isolated_branches",
    "smooth_labels",
    "split_at_largest_gap",
]


def __getattr__(name: str) -> Any:
    # Only the estimator needs scikit-learn, which takes longer to import than everything else here.
    if name == "GraphDegreeLinkage":
        from .estimator import GraphDegreeLinkage

        globals()[name] = GraphDegreeLinkage
        return GraphDegreeLinkage
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
