"""Every method of the matching benchmark by name, run on one set of candidates."""

import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace

import numpy as np
from numpy.typing import NDArray

from eval.distances import distance_matrix
from eval.ransac import ORDINARY
from eval.rivals import METHODS, PARAMS
from gdl_core import connectivity_scores
from matching import MatchConfig
from matching.clustering import by_falling_score, scoring_graph
from matching.geometry import acc_neighbors
from matching.pipeline import Clustered, cluster_candidates

SIFT_RANSAC = "sift-ransac"  # has matches of its own


def composite_config() -> MatchConfig:
    """The matcher's defaults without its search for the seams of montages.

    A composite's first image shows the grid of its tiles, which is nearly the answer: no method may use it.
    """
    config = MatchConfig()
    return replace(config, features=replace(config.features, montage=None))


def _gdl_configs() -> dict[str, MatchConfig]:
    config = composite_config()
    return {
        "agdl": config,
        "gdl-u": replace(config, clustering=replace(config.clustering, method="gdl-u")),
        "agdl-paper": MatchConfig.paper(),
    }


GDL = tuple(_gdl_configs())
NAMES = (*GDL, *METHODS, SIFT_RANSAC)


@dataclass(frozen=True, eq=False)
class Labelling:
    """`labels` (m,) int64 clusters, -1 for outliers, and the `seconds` that they took, distances included."""

    labels: NDArray[np.int64]
    seconds: float


def label_candidates(candidates, names: tuple[str, ...]) -> dict[str, Labelling]:
    """Labels of the candidates by each of the methods named (all but sift-ransac)."""
    result = {}
    for name in names:
        if name in GDL:
            config = _gdl_configs()[name]
            result[name] = _timed(lambda config=config: cluster_candidates(candidates, config).labels)
    rivals = [name for name in names if name in METHODS]
    if rivals:
        start = time.perf_counter()
        distances = distance_matrix(candidates)
        spent = time.perf_counter() - start
    for name in rivals:
        timed = _timed(lambda name=name: METHODS[name](distances, candidates))
        result[name] = replace(timed, seconds=timed.seconds + (0.0 if name == "ransac" else spent))
    return {name: result[name] for name in names if name in result}


def find_rival_clusters(name: str, candidates, config: MatchConfig) -> Clustered:
    """A rival in place of the pipeline's clustering, its clusters numbered by falling connectivity score."""
    m = len(candidates)
    if m < 2:
        return Clustered(np.full(m, -1, np.int64), np.empty(0))
    labels = METHODS[name](distance_matrix(candidates), candidates)
    own = config.clustering
    knn = acc_neighbors(candidates, min(own.n_neighbors, m - 1), slope=own.gap_slope)
    scores = connectivity_scores(scoring_graph(candidates, knn, own), labels)
    return Clustered(*by_falling_score(labels, scores, np.ones(len(scores), bool)))


def parameters(name: str) -> str:
    """The parameters that a method runs with, as JSON."""
    if name in GDL:
        record = _gdl_configs()[name]
    else:
        record = ORDINARY if name == SIFT_RANSAC else PARAMS[name]()
    return json.dumps(asdict(record), separators=(",", ":"))


def check_names(names: tuple[str, ...]) -> None:
    """Raises ValueError for a name that is no method."""
    for name in names:
        if name not in NAMES:
            raise ValueError(f"method must be one of {', '.join(NAMES)}, got {name}")


def _timed(function: Callable[[], NDArray[np.int64]]) -> Labelling:
    start = time.perf_counter()
    labels = function()
    return Labelling(np.asarray(labels, np.int64), time.perf_counter() - start)
