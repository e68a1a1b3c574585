"""Candidate correspondences among the features of many views.

With dozens of views of each picture, some of the many thousand features have near descriptors by chance.
Right and wrong candidates differ in how much nearer a descriptor is than the nearest one at another place
(Lowe, IJCV 2004; Mishkin, Matas and Perdoch, CVIU 2015). So candidates are ordered by the ratio of these
distances.
"""

from dataclasses import dataclass

import numpy as np

from matching._common.types import Float32s, Floats, Ints
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

MAX_CENTRE_ERROR = 12.0  # pixels, largest error of a centre, however large its region
MAX_CHECKED_FACTOR = 40  # pairs that are checked for duplicates, per candidate wanted: limits the work


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
) -> tuple[Candidates, int]:
    """Match the views of two pictures -> candidates, and how many of the first ones are clustered."""
    limit = int(config.max_matches * (1 + views.pool))
    kinds = list_kinds(features0, features1)
    parts = [_find_best(features0, features1, k, limit, config, views) for k in kinds]
    best, pool = share_out(parts, config.max_matches, views.pool)
    return join_candidates([best, pool]), len(best)


def _find_best(
    features0: Features,
    features1: Features,
    kind: int,
    limit: int,
    config: CandidateConfig,
    views: ViewCandidatesConfig,
) -> Candidates:
    """Find the candidates of one kind, one for each pair of places, by ascending ratio."""
    pairs = [
        _nearest_pairs(features0, features1, *rows, config, views)
        for rows in find_comparable_rows(features0, features1, kind, config.per_polarity)
    ]
    i, j, squared, ratio = (np.concatenate(arrays) for arrays in zip(*pairs, strict=True))
    order = np.argsort(ratio, kind="stable")[: MAX_CHECKED_FACTOR * limit]
    i, j = i[order], j[order]
    places = features0.xy[i], features1.xy[j]
    if config.duplicate_radius:
        sizes = features0.radius[i], features1.radius[j]
        reach = measure_by_kind(FeatureConfig(), "localisation")[kind], MAX_CENTRE_ERROR
        is_distinct = find_distinct(places, config.duplicate_radius, limit, sizes, reach)
        order, i, j = order[is_distinct], i[is_distinct], j[is_distinct]
    return make_candidates(features0, features1, i[:limit], j[:limit], squared[order[:limit]])


def _nearest_pairs(
    features0: Features,
    features1: Features,
    rows0: Ints,
    rows1: Ints,
    config: CandidateConfig,
    views: ViewCandidatesConfig,
) -> tuple[Ints, Ints, Float32s, Float32s]:
    """Find pairs whose descriptors are nearer than those at other places.

    Returns rows of both pictures, squared distances, and ratios to the distances at other places (p,).
    """
    descriptors = features0.descriptors[rows0], features1.descriptors[rows1]
    nearest, squared = search_by_cells(*descriptors, config.per_feature)
    ratios = measure_ratios(nearest, squared, features1.xy[rows1], views.same_place)
    is_near = (nearest >= 0) & (squared < (config.max_distance * DESCRIPTOR_NORM) ** 2) & (ratios < 1)
    row, rank = np.nonzero(is_near)
    return rows0[row], rows1[nearest[row, rank]], squared[row, rank], ratios[row, rank]


@np.errstate(invalid="ignore")  # of those that are not listed
def measure_ratios(nearest: Ints, squared: Float32s, xy1: Floats, radius: float) -> Float32s:
    """Divide the distance of each nearest descriptor by that of the first one at another place -> (n, k).

    nearest and squared (n, k) are the nearest descriptors and their squared distances. Another place is
    farther away than `radius`; if there is none, the distance of the last descriptor is used.
    """
    is_listed, xy = nearest >= 0, xy1[np.maximum(nearest, 0)]  # (n, k), (n, k, 2)
    is_apart = ((xy[:, :, None] - xy[:, None]) ** 2).sum(axis=3) > radius * radius
    is_other = is_apart & is_listed[:, None]
    last = np.maximum(is_listed.sum(axis=1) - 1, 0)[:, None]
    other = np.where(is_other.any(axis=2), is_other.argmax(axis=2), last)
    ratios = np.sqrt(squared / np.maximum(np.take_along_axis(squared, other, axis=1), np.float32(1)))
    return np.where(is_listed, ratios, np.float32(np.inf))
