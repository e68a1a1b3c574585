"""Candidate correspondences among the features of many views.

With dozens of views of each picture, some of the many thousand features have near descriptors by chance.
Right and wrong candidates differ in how much nearer a descriptor is than the nearest one at another place
(Lowe, IJCV 2004; Mishkin, Matas and Perdoch, CVIU 2015). So candidates are ordered by the ratio of these
distances.
"""

from dataclasses import dataclass

import numpy as np

from matching._common.types import Float32s, Ints
from matching.correspondences import _candidate_kernels
from matching.correspondences.candidates import (
    CandidateConfig,
    Candidates,
    find_comparable_rows,
    find_distinct,
    join_candidates,
    make_candidates,
    share_out,
)
from matching.correspondences.descriptor_search import search_by_cells
from matching.features.extraction import DESCRIPTOR_NORM, FeatureConfig, Features, list_kinds, measure_by_kind
from matching.settings import check_settings, setting

FARTHEST = 12.0  # pixels: the greatest error of a centre, however large its region
LONGEST = 40  # times the candidates wanted: the most that are checked for duplicates, to bound the time


@dataclass(frozen=True)
class ViewCandidatesConfig:
    """Which pairs of features of simulated views become candidates.

    Parameters
    ----------
    pool : float
        Number of further candidates from which objects gain matches, as a multiple of `max_matches`. On
        extreme pairs, one candidate in a hundred is right, and most of the right ones come late in the order.
    same_place : float
        Places closer than this, in pixels, count as the same place.
    """

    pool: float = setting(3.0, 0, 100)
    same_place: float = setting(8.0, 0, 10_000)

    def __post_init__(self) -> None:
        check_settings(self)


def match_views(
    features0: Features,
    features1: Features,
    config: CandidateConfig = CandidateConfig(),
    views: ViewCandidatesConfig = ViewCandidatesConfig(),
    n_threads: int = 1,
) -> tuple[Candidates, int]:
    """Match the views of two pictures."""
    most = int(config.max_matches * (1 + views.pool))
    kinds = list_kinds(features0, features1)
    parts = [_find_best(features0, features1, k, most, config, views, n_threads) for k in kinds]
    listed, pool = share_out(parts, config.max_matches, views.pool)
    return join_candidates([listed, pool]), len(listed)


def _find_best(
    features0: Features,
    features1: Features,
    kind: int,
    most: int,
    config: CandidateConfig,
    views: ViewCandidatesConfig,
    n_threads: int,
) -> Candidates:
    """Candidates of one kind, one for each pair of places, by ascending ratio."""
    pairs = [
        _nearest_pairs(features0, features1, *rows, config, views, n_threads)
        for rows in find_comparable_rows(features0, features1, kind, config.per_polarity)
    ]
    i, j, squared, ratio = (np.concatenate(arrays) for arrays in zip(*pairs, strict=True))
    order = np.argsort(ratio, kind="stable")[: LONGEST * most]
    i, j = i[order], j[order]
    places = features0.xy[i], features1.xy[j]
    if config.duplicate_radius:
        kept = find_distinct(
            *places,
            features0.radius[i],
            features1.radius[j],
            config.duplicate_radius,
            measure_by_kind(FeatureConfig(), "localisation")[kind],
            FARTHEST,
            most,
        )
        order, i, j = order[kept], i[kept], j[kept]
    return make_candidates(features0, features1, i[:most], j[:most], squared[order[:most]])


def _nearest_pairs(
    features0: Features,
    features1: Features,
    rows0: Ints,
    rows1: Ints,
    config: CandidateConfig,
    views: ViewCandidatesConfig,
    n_threads: int,
) -> tuple[Ints, Ints, Float32s, Float32s]:
    """Pairs of rows (p,) with descriptors nearer than those of other places; squared distances; ratios."""
    descriptors = features0.descriptors[rows0], features1.descriptors[rows1]
    found, squared = search_by_cells(*descriptors, config.per_feature, n_threads)
    ratios = np.empty(found.shape, np.float32)
    _candidate_kernels.ratios_to_other_places(found, squared, features1.xy[rows1], views.same_place, ratios)
    ok = (found >= 0) & (squared < (config.max_distance * DESCRIPTOR_NORM) ** 2) & (ratios < 1)
    row, rank = np.nonzero(ok)
    return rows0[row], rows1[found[row, rank]], squared[row, rank], ratios[row, rank]
