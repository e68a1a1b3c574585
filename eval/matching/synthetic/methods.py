"""Every method of the matching benchmark by name, run on one list of candidates and the pool behind it."""

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace

import numpy as np
from numpy.typing import NDArray

from eval.matching.distances import distance_matrix
from eval.matching.rivals import RIVALS, load_rival
from eval.matching.rivals.ransac import ORDINARY
from eval.matching.synthetic.stages import SUFFIX, rival_clustering
from matching import MatchConfig
from matching.correspondences.candidates import Candidates
from matching.grouping.groups import label_groups
from matching.grouping.methods import PAIR, Method, choose_method
from matching.searches.search import group_candidates

SIFT_RANSAC = "sift-ransac"  # finds its own matches


def _gdl_configs() -> dict[str, MatchConfig]:
    config = MatchConfig()
    return {
        "agdl": config,
        "gdl-u": replace(config, clustering=replace(config.clustering, method="gdl-u")),
        "agdl-paper": MatchConfig.paper(),
    }


GDL = tuple(_gdl_configs())
WITH_STAGES = tuple(name + SUFFIX for name in RIVALS)
NAMES = (*GDL, *RIVALS, *WITH_STAGES, SIFT_RANSAC)


@dataclass(frozen=True, eq=False)
class Labelling:
    """`labels` (m + p,) int64 clusters of m candidates and the p of the pool behind them, -1 for outliers,
    and the `seconds` that they took, distances included."""

    labels: NDArray[np.int64]
    seconds: float


def label_candidates(
    candidates: Candidates, pool: Candidates, names: tuple[str, ...]
) -> dict[str, Labelling]:
    """Labels by each of the named methods (all but sift-ransac). The pool is sorted by ascending score.

    Graph degree linkage and the rivals with its steps take matches from the pool; plain rivals don't use
    it.
    """
    settings = {name: (config,) for name, config in _gdl_configs().items()}
    settings |= {name: (MatchConfig(), method_of_rival(name.removesuffix(SUFFIX))) for name in WITH_STAGES}
    result = {}
    for name in names:
        if name in settings:
            result[name] = _time(lambda chosen=settings[name]: label_objects(candidates, pool, *chosen))
    plain = [name for name in names if name in RIVALS]
    if plain:
        start = time.perf_counter()
        distances = distance_matrix(candidates)
        spent = time.perf_counter() - start
    outside = np.full(len(pool), -1)
    for name in plain:
        rival = load_rival(name)
        timed = _time(lambda label=rival.label: np.concatenate([label(distances, candidates), outside]))
        result[name] = replace(timed, seconds=timed.seconds + rival.uses_distances * spent)
    return {name: result[name] for name in names if name in result}


def label_objects(
    candidates: Candidates, pool: Candidates, config: MatchConfig, method: Method = PAIR
) -> NDArray[np.int64]:
    """Group candidates -> labels (m + p,) of m candidates and the p of the pool behind them."""
    found = group_candidates(candidates, pool, config, choose_method(config, method))
    return label_groups(len(found.candidates), found.groups)


def method_of_rival(rival: str) -> Method:
    """The default method with a rival in place of graph degree linkage, as it was tuned for this."""
    return replace(PAIR, cluster=rival_clustering(rival))


def parameters(name: str) -> str:
    """The parameters that a method runs with, as JSON."""
    if name in GDL:
        record = _gdl_configs()[name]
    elif name in WITH_STAGES:
        record = load_rival(name.removesuffix(SUFFIX)).params_with_stages
    else:
        record = ORDINARY if name == SIFT_RANSAC else load_rival(name).params
    return json.dumps(asdict(record), separators=(",", ":"))


def add_methods_option(parser: argparse.ArgumentParser) -> None:
    """Add --methods: some of NAMES."""
    parser.add_argument(
        "--methods",
        nargs="+",
        choices=NAMES,
        default=list(NAMES),
        metavar="NAME",
        help=f"some of {', '.join(NAMES)} (default: all)",
    )


def _time(function: Callable[[], NDArray[np.int64]]) -> Labelling:
    start = time.perf_counter()
    labels = function()
    return Labelling(np.asarray(labels, np.int64), time.perf_counter() - start)
