"""Candidate correspondences: the pairs of features with the nearest descriptors.

Notation: candidate i joins the point xy0[i] of image 0 to xy1[i] of image 1; frames0[i], frames1[i] are the
frames of its two features; score[i] is the Euclidean distance of their unit descriptors.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property

import numpy as np

from matching.correspondences import _candidate_kernels
from matching.errors import check_at_least
from matching.features.extraction import DESCRIPTOR_NORM, KINDS, mirrored_features
from matching.threads import in_ranges, single_blas_thread


@dataclass(frozen=True)
class CandidateConfig:
    """Which pairs of features become candidates."""

    max_matches: int = 3000
    reserve: float = 1.0  # of max_matches: the next best, which only guided matching looks at
    per_feature: int = 10  # nearest descriptors of a feature that are considered
    max_distance: float = 1.0  # between unit descriptors
    duplicate_radius: float = 3.0  # pixels; a pair this near to a better one at both ends is dropped; 0: none
    per_polarity: bool = True  # bright regions are matched with bright ones, dark ones with dark ones

    def __post_init__(self):
        check_at_least(self, max_matches=1, reserve=0, per_feature=1, max_distance=0, duplicate_radius=0)


@dataclass(frozen=True, eq=False)
class Candidates:
    """m candidate correspondences, aligned arrays, by rising score in each kind of region.

    xy0, xy1 : (m, 2) float64 centres in image 0 and 1, pixels
    frames0, frames1 : (m, 2, 2) float64 frames: unit circle to region
    score : (m,) float64 descriptor distance, smaller is better
    kind : (m,) int8, index into KINDS
    row0, row1 : (m,) int64, of the features of image 0 and 1
    """

    xy0: np.ndarray
    xy1: np.ndarray
    frames0: np.ndarray
    frames1: np.ndarray
    score: np.ndarray
    kind: np.ndarray
    row0: np.ndarray
    row1: np.ndarray

    def __len__(self):
        return len(self.score)

    @cached_property
    def maps(self):
        """(m, 2, 2) float64: the linear part of T_i = T1_i T0_i^-1, from image 0 to image 1."""
        return self.frames1 @ np.linalg.inv(self.frames0)

    def __getitem__(self, index):
        return Candidates(*(getattr(self, f.name)[index] for f in fields(self)))


def nearest_descriptors(descriptors0, descriptors1, width, n_threads=1, block=512, apart=None):
    """The `width` nearest rows of descriptors1 for each row of descriptors0.

    apart : (xy0, clearance0), (xy1, clearance1) of the rows: those nearer in place than either clearance are
        passed over

    Descriptors are whole numbers of norm about 2048, so that every product stays below 2^24 and float32
    holds it exactly, whatever the order of summation: the answer doesn't depend on the BLAS or on its
    threads.

    Returns indices (n0, width) int64, -1 where there are fewer, and squared distances (n0, width) float32.
    """
    n0 = len(descriptors0)
    found = np.empty((n0, width), np.int64)
    score = np.empty((n0, width), np.float32)
    norm0 = np.einsum("ij,ij->i", descriptors0, descriptors0)
    norm1 = np.einsum("ij,ij->i", descriptors1, descriptors1)

    def search(start, stop):
        similarity = descriptors0[start:stop] @ descriptors1.T
        if apart is not None:
            (xy0, clearance0), (xy1, clearance1) = apart
            _candidate_kernels.pass_over_near(similarity, xy0, clearance0, xy1, clearance1, start)
        _candidate_kernels.best_in_row(similarity, norm1, start, width, found, score)

    with single_blas_thread():
        in_ranges(search, n0, n_threads, block)
    return found, score + norm0[:, None]


def match_features(features0, features1, config=CandidateConfig(), n_threads=1):
    """The best candidates between two images, an equal share for each kind of region that has so many."""
    return match_with_reserve(features0, features1, replace(config, reserve=0.0), n_threads)[0]


def match_with_reserve(features0, features1, config=CandidateConfig(), n_threads=1):
    """The candidates of `match_features`, and the next best of each kind of region."""
    most = int(config.max_matches * (1 + config.reserve))
    parts = [_best(features0, features1, kind, most, config, n_threads) for kind in range(len(KINDS))]
    return _shared_out(parts, config)


def match_within(features, clearance, config=CandidateConfig(), n_threads=1, mirrored=False):
    """The candidates between the features of one picture, each pair once, and the next best of each kind.

    clearance : (n,) pixels from a feature, within which others are its surroundings and no match of it
    mirrored : whether to match features with mirrored ones
    """
    most = int(config.max_matches * (1 + config.reserve))
    both = features, mirrored_features(features) if mirrored else features
    parts = [_best_within(*both, clearance, kind, most, config, n_threads) for kind in range(len(KINDS))]
    return _shared_out(parts, config)


def join_candidates(parts):
    """Several Candidates as one, in this order."""
    return Candidates(*(np.concatenate([getattr(p, f.name) for p in parts]) for f in fields(Candidates)))


def _shared_out(parts, config):
    """Equal shares of the best of each kind, and the next best."""
    shares = equal_shares([len(part) for part in parts], config.max_matches)
    ends = [int(share * (1 + config.reserve)) for share in shares]
    best = [part[:share] for part, share in zip(parts, shares, strict=True)]
    reserve = [part[share:end] for part, share, end in zip(parts, shares, ends, strict=True)]
    return join_candidates(best), join_candidates(reserve)


def equal_shares(available, total):
    """How many to take of each kind: equal numbers, and what one kind lacks goes to the others."""
    shares = np.zeros(len(available), int)
    while shares.sum() < min(total, sum(available)):
        open_ = np.flatnonzero(shares < available)
        step = max((total - shares.sum()) // len(open_), 1)
        for k in open_[: total - shares.sum()]:
            shares[k] += min(step, available[k] - shares[k])
    return shares


def _best(features0, features1, kind, most, config, n_threads):
    pairs = [
        _near_pairs(features0, features1, *rows, config, n_threads)
        for rows in _comparable(features0, features1, kind, config.per_polarity)
    ]
    i, j, squared = (np.concatenate(arrays) for arrays in zip(*pairs, strict=True))
    return _chosen(features0, features1, i, j, squared, most, config)


def _best_within(features, others, clearance, kind, most, config, n_threads):
    """others : the features themselves, or mirrored"""
    pairs = [
        _near_pairs(features, others, *rows, config, n_threads, clearance)
        for rows in _comparable(features, others, kind, config.per_polarity)
    ]
    i, j, squared = (np.concatenate(arrays) for arrays in zip(*pairs, strict=True))
    # the feature further left first, so that a pair and its reverse are one, and so are near duplicates
    place = np.empty(len(features), np.int64)
    place[np.lexsort((features.xy[:, 1], features.xy[:, 0]))] = np.arange(len(features))
    i, j = np.where(place[i] < place[j], i, j), np.where(place[i] < place[j], j, i)
    once = np.unique(i * len(features) + j, return_index=True)[1]
    return _chosen(features, others, i[once], j[once], squared[once], most, config)


def _chosen(features0, features1, i, j, squared, most, config):
    """The best Candidates of pairs i, j of features, near duplicates left out."""
    order = np.argsort(squared, kind="stable")
    if config.duplicate_radius:
        places = features0.xy[i[order]], features1.xy[j[order]]
        order = order[_candidate_kernels.drop_near_duplicates(*places, config.duplicate_radius, most)]
    best = order[:most]
    i, j, squared = i[best], j[best], squared[best]
    return Candidates(
        features0.xy[i], features1.xy[j], features0.frames[i], features1.frames[j],
        np.sqrt(squared.astype(float)) / DESCRIPTOR_NORM, features0.kind[i], i, j,
    )  # fmt: skip


def _comparable(features0, features1, kind, per_polarity):
    """Rows of either image's features that are compared with each other: dark and bright ones of a kind, or
    all of it.
    """
    own = [f.kind == kind for f in (features0, features1)]
    if not per_polarity:
        return [[np.flatnonzero(rows) for rows in own]]
    features = features0, features1
    return [
        [np.flatnonzero(rows & (f.bright == bright)) for f, rows in zip(features, own, strict=True)]
        for bright in (False, True)
    ]


def _near_pairs(features0, features1, rows0, rows1, config, n_threads, clearance=None):
    """Pairs of those rows with near descriptors: rows (p,) of either image, squared distance.

    clearance : (n,) of features0 = features1, which are then farther apart than that of either
    """
    apart = None
    if clearance is not None:
        apart = (features0.xy[rows0], clearance[rows0]), (features1.xy[rows1], clearance[rows1])
    found, squared = nearest_descriptors(
        features0.descriptors[rows0], features1.descriptors[rows1], config.per_feature, n_threads, apart=apart
    )
    ok = (found >= 0) & (squared < (config.max_distance * DESCRIPTOR_NORM) ** 2)
    row, rank = np.nonzero(ok)
    return rows0[row], rows1[found[row, rank]], squared[row, rank]
