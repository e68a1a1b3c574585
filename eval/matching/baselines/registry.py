"""The rivals of AGDL that work on given candidates, by name.

A rival takes (distances, candidates, params) and returns (m,) int64 cluster labels, -1 for an outlier:

* distances: (m, m) float32 or float64, symmetric, pixels: the ACC distance of every pair of candidates;
* candidates: a record with `xy0`, `xy1` (m, 2) pixels and `score` (m,), smaller is better;
* params: the rival's own frozen record; its default values, and its values in place of graph degree linkage,
  with the other stages (`eval.matching.synthetic.stages`), were tuned on other pairs than those reported.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from eval.matching.baselines.acc import AccParams, acc
from eval.matching.baselines.density import HdbscanParams, LinkageParams, average_linkage, hdbscan
from eval.matching.baselines.graph_shift import GraphShiftParams, graph_shift
from eval.matching.baselines.ransac import RansacParams, ransac
from eval.matching.baselines.spectral_matching import SpectralParams, spectral_matching

METHODS: dict[str, Callable[..., NDArray[np.int64]]] = {
    "acc": acc,
    "graph-shift": graph_shift,
    "spectral-matching": spectral_matching,
    "ransac": ransac,
    "hdbscan": hdbscan,
    "average-linkage": average_linkage,
}

PARAMS: dict[str, type] = {
    "acc": AccParams,
    "graph-shift": GraphShiftParams,
    "spectral-matching": SpectralParams,
    "ransac": RansacParams,
    "hdbscan": HdbscanParams,
    "average-linkage": LinkageParams,
}

PARAMS_WITH_STAGES: dict[str, object] = {
    "acc": AccParams(threshold=7.13, cap=11, min_size=22, min_area=329.0),
    "graph-shift": GraphShiftParams(sigma_s=0.333, min_density=0.475, min_affinity=0.899, min_size=9),
    "spectral-matching": SpectralParams(
        beta=58.3, min_confidence=0.001, min_eigenvalue=36.6, same_point=0.237
    ),
    "ransac": RansacParams(threshold=14.3, min_inliers=21, sampler="napsac", max_models=7),
    "hdbscan": HdbscanParams(min_cluster_size=42, min_samples=14, max_core_distance=15.3),
    "average-linkage": LinkageParams(threshold=118.0, min_size=76),
}
