"""Graph degree linkage: agglomerative clustering on a directed K-nearest-neighbour graph.

Zhang, Wang, Zhao, Tang: Graph Degree Linkage, ECCV 2012. Equations and algorithms are numbered as there.
"""

from .graph import AffinityGraph, KnnGraph, affinity_graph, initial_clusters
from .merging import agdl, gdl, gdl_u
from .neighbors import knn_graph
from .outliers import connectivity_scores, split_at_largest_gap
from .tree import MergeTree

__all__ = [
    "AffinityGraph",
    "KnnGraph",
    "MergeTree",
    "affinity_graph",
    "agdl",
    "connectivity_scores",
    "gdl",
    "gdl_u",
    "initial_clusters",
    "knn_graph",
    "split_at_largest_gap",
]
