"""Candidate correspondences: the pairs of features with the nearest descriptors.

Notation: candidate i joins the point xy0[i] of image 0 to xy1[i] of image 1; frames0[i], frames1[i] are the
frames of its two features; score[i] is the Euclidean distance of their unit descriptors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from matching._common.arrays import invert_matrices, select_rows
from matching._common.types import Array, Bools, Floats, Ints
from matching.correspondences import _candidate_kernels
from matching.correspondences.correspondences import Correspondences
from matching.correspondences.descriptor_search import estimate_bound, nearest_descriptors
from matching.features.extraction import (
    DESCRIPTOR_NORM,
    FeatureConfig,
    Features,
    list_kinds,
    measure_by_kind,
    mirrored_features,
)
from matching.features.windows import DESCRIBED_SHARE
from matching.settings import MAX_MATCHES, check_settings, setting

DIRECTION = 0.94, 0.34  # in which pairs within a picture lead, x and y


@dataclass(frozen=True)
class CandidateConfig:
    """Which pairs of features become candidates.

    Parameters
    ----------
    max_matches : int
        Number of candidates that are clustered.
    reserve : float
        Number of further candidates, as a share of `max_matches`. They are not clustered, but may join
        objects.
    per_feature : int
        How many of the descriptors nearest to a feature are considered.
    max_distance : float
        Largest distance between two unit descriptors.
    duplicate_radius : float
        Distance in pixels: a pair this close to a better one at both ends is dropped; 0: no pair is dropped.
    per_polarity : bool
        Whether bright regions are matched only with bright ones, and dark ones only with dark ones.
    """

    max_matches: int = MAX_MATCHES.field()
    reserve: float = setting(1.0, 0, 100)
    per_feature: int = setting(10, 1, 1000)
    max_distance: float = setting(1.0, 0, 2)
    duplicate_radius: float = setting(3.0, 0, 10_000)
    per_polarity: bool = setting(True)

    def __post_init__(self) -> None:
        check_settings(self)


@dataclass(frozen=True, eq=False)
class Candidates:
    """Candidate correspondences, as aligned arrays, by ascending score within each kind of region."""

    xy0: Array  # (m, 2) float64, centres, pixels
    xy1: Array
    frames0: Array  # (m, 2, 2) float64, from the unit circle to the region
    frames1: Array
    score: Array  # (m,) float64, distance of the descriptors
    kind: Array  # (m,) int8, as in Features
    row0: Array  # (m,) int64, rows of the features
    row1: Array

    def __len__(self) -> int:
        return len(self.score)

    @cached_property
    def maps(self) -> Floats:
        """(m, 2, 2) float64: the linear part of T_i = T1_i T0_i^-1, from image 0 to image 1."""
        maps: Floats = self.frames1 @ invert_matrices(self.frames0)
        return maps

    @property
    def swapped(self) -> Candidates:
        """The same with the pictures in the other order."""
        ends = self.xy1, self.xy0, self.frames1, self.frames0
        return Candidates(*ends, self.score, self.kind, self.row1, self.row0)

    @property
    def correspondences(self) -> Correspondences:
        """Their geometry, without the descriptors' scores."""
        return Correspondences(self.xy0, self.xy1, self.maps)

    def __getitem__(self, index: Any) -> Candidates:
        return select_rows(self, index)


class FeaturePairs(NamedTuple):
    """Pairs of features of two images."""

    row0: Ints  # (p,), rows of the features
    row1: Ints
    squared: Array  # (p,), squared distances of the descriptors


def match_with_reserve(
    features0: Features, features1: Features, config: CandidateConfig
) -> tuple[Candidates, Candidates]:
    """Match the features of two images -> the best candidates, and a reserve of the next best."""

    def find(kind: int, limit: int) -> Candidates:
        return _find_best(features0, features1, kind, limit, config)

    return _share_out_found(find, list_kinds(features0, features1), config)


def match_within(
    features: Features,
    clearance: Floats,
    config: CandidateConfig = CandidateConfig(),
    mirrored: bool = False,
) -> tuple[Candidates, Candidates]:
    """Match the features of a picture with each other -> the best candidates, and a reserve.

    Each pair is listed once. Features nearer than the larger of their clearances (n,), in pixels, are not
    matched. `mirrored` matches the features with those of the mirrored picture.
    """
    both = features, mirrored_features(features) if mirrored else features

    def find(kind: int, limit: int) -> Candidates:
        return _find_best_within(*both, clearance, kind, limit, config)

    return _share_out_found(find, list_kinds(*both), config)


def measure_clearance(features: Features, config: FeatureConfig, min_clearance: float) -> Floats:
    """Measure how far from each feature its matches must be, so that their windows differ -> (n,) pixels."""
    window = measure_by_kind(config, "window")[features.kind]
    return np.maximum(features.radius * window * DESCRIBED_SHARE, min_clearance)


def join_candidates(parts: Sequence[Candidates]) -> Candidates:
    """Concatenate several records of candidates."""
    return Candidates(*(np.concatenate([getattr(p, f.name) for p in parts]) for f in fields(Candidates)))


def share_out(parts: Sequence[Candidates], max_matches: int, reserve: float) -> tuple[Candidates, Candidates]:
    """Take equal shares of the candidates of each kind of region, followed by the next best."""
    shares = _equal_shares([len(part) for part in parts], max_matches)
    ends = [int(share * (1 + reserve)) for share in shares]
    best = [part[:share] for part, share in zip(parts, shares, strict=True)]
    others = [part[share:end] for part, share, end in zip(parts, shares, ends, strict=True)]
    return join_candidates(best), join_candidates(others)


def _share_out_found(
    find: Callable[[int, int], Candidates], kinds: Sequence[int], config: CandidateConfig
) -> tuple[Candidates, Candidates]:
    """Share out the candidates that `find(kind, limit)` finds; the limit is what can still be used."""
    parts: list[Candidates] = []
    share = config.max_matches // len(kinds)  # that each kind gets if it has enough candidates
    for kind in kinds:
        n_used = sum(min(len(part), share) for part in parts)
        parts.append(find(kind, int((config.max_matches - n_used) * (1 + config.reserve))))
    return share_out(parts, config.max_matches, config.reserve)


def _equal_shares(available: Sequence[int], total: int) -> Ints:
    """Divide the total into equal shares; if a kind has fewer available, the others get more."""
    shares = np.zeros(len(available), int)
    while shares.sum() < min(total, sum(available)):
        open_kinds = np.flatnonzero(shares < available)
        step = max((total - shares.sum()) // len(open_kinds), 1)
        for k in open_kinds[: total - shares.sum()]:
            shares[k] += min(step, available[k] - shares[k])
    return shares


def _find_best(
    features0: Features, features1: Features, kind: int, limit: int, config: CandidateConfig
) -> Candidates:
    """Find the candidates of one kind, at most `limit`."""
    rows = find_comparable_rows(features0, features1, kind, config.per_polarity)
    sets = [(features0.descriptors[rows0], features1.descriptors[rows1]) for rows0, rows1 in rows]
    bound = estimate_bound(sets, config.per_feature, limit)
    while True:
        near = [
            find_near_pairs(*each, *both, config, bound=bound) for each, both in zip(rows, sets, strict=True)
        ]
        best = choose_best(features0, features1, join_pairs(near), limit, config)
        if len(best) == limit or np.isinf(bound):
            return best
        bound = np.inf  # too many pairs were near duplicates


def _find_best_within(
    features: Features,
    others: Features,
    clearance: Floats,
    kind: int,
    limit: int,
    config: CandidateConfig,
) -> Candidates:
    """Find the candidates of one kind; `others` are the features themselves, or the mirrored ones."""

    def find_pairs(rows0: Ints, rows1: Ints) -> FeaturePairs:
        clear_points = (features.xy[rows0], clearance[rows0]), (others.xy[rows1], clearance[rows1])
        descriptors = features.descriptors[rows0], others.descriptors[rows1]
        return find_near_pairs(rows0, rows1, *descriptors, config, clear_points=clear_points)

    comparable = find_comparable_rows(features, others, kind, config.per_polarity)
    i, j, squared = join_pairs(find_pairs(*rows) for rows in comparable)
    # A pair equals its reverse, and near duplicates lead the same way, to the right and somewhat down, as few
    # things are arranged across that direction.
    rank = np.empty(len(features), np.int64)
    rank[np.argsort(features.xy @ DIRECTION, kind="stable")] = np.arange(len(features))
    i, j = np.where(rank[i] < rank[j], i, j), np.where(rank[i] < rank[j], j, i)
    first = np.unique(i * len(features) + j, return_index=True)[1]
    pairs = FeaturePairs(i[first], j[first], squared[first])
    return choose_best(features, others, pairs, limit, config)


def join_pairs(parts: Iterable[FeaturePairs]) -> FeaturePairs:
    """Concatenate several records of pairs."""
    return FeaturePairs(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))


def choose_best(
    features0: Features, features1: Features, pairs: FeaturePairs, limit: int, config: CandidateConfig
) -> Candidates:
    """Choose the best pairs of features, at most `limit`, without near duplicates."""
    order = np.argsort(pairs.squared, kind="stable")
    if config.duplicate_radius:
        places = features0.xy.take(pairs.row0[order], axis=0), features1.xy.take(pairs.row1[order], axis=0)
        order = order[find_distinct(places, config.duplicate_radius, limit)]
    best = order[:limit]
    row0, row1, squared = (column[best] for column in pairs)
    return make_candidates(features0, features1, row0, row1, squared)


def find_distinct(
    places: tuple[Floats, Floats], radius: float, max_pairs: int, sizes: Any = None, reach: Any = (0.0, 0.0)
) -> Bools:
    """Choose at most `max_pairs` pairs, in order of preference, that don't repeat a chosen pair -> mask (n,).

    A pair repeats another one if both of its ends, places (n, 2) each, are within `radius` of the other's
    ends. If the regions have similar sizes (n,), a pair also repeats another one within reach[0] times the
    size of the other's regions, but at most within reach[1].
    """
    n = len(places[0])
    is_kept, limits = np.zeros(n, bool), (float(radius), *map(float, reach))
    sizes = (np.zeros(n), np.zeros(n)) if sizes is None else sizes
    _candidate_kernels.keep_distinct(places, sizes, limits, max_pairs, is_kept)
    return is_kept


def make_candidates(features0: Features, features1: Features, i: Ints, j: Ints, squared: Array) -> Candidates:
    """Make candidates from pairs of features: i, j (p,); squared (p,)."""
    return Candidates(
        features0.xy.take(i, axis=0), features1.xy.take(j, axis=0),
        features0.frames.take(i, axis=0), features1.frames.take(j, axis=0),
        np.sqrt(squared.astype(float)) / DESCRIPTOR_NORM, features0.kind[i], i, j,
    )  # fmt: skip


def find_comparable_rows(
    features0: Features, features1: Features, kind: int, per_polarity: bool
) -> list[tuple[Ints, Ints]]:
    """List the rows of both images' features that are compared with each other -> list of (rows0, rows1)."""
    of_kind = [f.kind == kind for f in (features0, features1)]
    if not per_polarity:
        return [(np.flatnonzero(of_kind[0]), np.flatnonzero(of_kind[1]))]
    bright = features0.bright, features1.bright
    return [
        (np.flatnonzero(of_kind[0] & (bright[0] == side)), np.flatnonzero(of_kind[1] & (bright[1] == side)))
        for side in (False, True)
    ]


def find_near_pairs(
    rows0: Ints,
    rows1: Ints,
    descriptors0: Array,
    descriptors1: Array,
    config: CandidateConfig,
    **limits: Any,
) -> FeaturePairs:
    """Find the pairs of rows0 (n0,) and rows1 (n1,) with near descriptors (n0, d), (n1, d).

    limits: `clear_points` or `bound` of `nearest_descriptors`.
    """
    nearest, squared = nearest_descriptors(descriptors0, descriptors1, config.per_feature, **limits)
    is_near = (nearest >= 0) & (squared < (config.max_distance * DESCRIPTOR_NORM) ** 2)
    row, rank = np.nonzero(is_near)
    return FeaturePairs(rows0[row], rows1[nearest[row, rank]], squared[row, rank])
