"""A test of whether the matches of an object are confusable, as on a fine periodic texture.

A match is confusable if another feature of the same object, at most a few descriptor windows away, has a
descriptor that is nearly as near. Copies on a shelf are farther apart than that. On a surface seen from the
side, however, many descriptors are nearly as near, too. So a texture counts as periodic only if one shift
leads to many confusable places, which then form a lattice.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from matching._common.types import Floats, Ints
from matching.correspondences.candidates import Candidates
from matching.correspondences.points import is_inside
from matching.features.extraction import DESCRIPTOR_NORM, Features, mirrored_features

# All were chosen on textures against shelves, grids of copies, facades and boxes. With them, 1 of 16
# unrelated pairs of textures has an object; without the test, 8 have.
MAX_SHIFT = 20.0  # times the sum of the radii of two features: about three windows of their descriptors
MIN_SHIFT = 8.0  # pixels to a confusable place
# Another descriptor is as near if its distance is at most NEAR_FACTOR times that of the match, plus
# NEAR_OFFSET.
NEAR_FACTOR, NEAR_OFFSET = 1.1, 0.05
# Smallest share of matches, or of places, that one shift reaches. Textures have 0.28 and 0.032 or more; a
# magazine cover has 0.20 and 0.018 or less.
MIN_SHARE_OF_MATCHES, MIN_SHARE_OF_PLACES = 0.25, 0.025
SHIFT_TOLERANCE = 0.1  # of its length: shifts that differ by less are the same
MAX_EXAMINED = 300  # matches, and shifts that are tried: limits the work


@dataclass(frozen=True)
class Periodicity:
    """How confusable an object is."""

    share: float  # of confusable matches, the smaller of both images'
    bound: float  # share above which it may be a periodic texture
    shifts: tuple[Floats, ...]  # (2,) each, in image 0 and 1, pixels: one that leads to many such places

    @property
    def is_periodic(self) -> bool:
        """Whether the object could be anywhere: then the images may have only a texture in common."""
        return any(map(np.any, self.shifts))


def measure_periodicity(features0: Features, features1: Features, candidates: Candidates) -> Periodicity:
    """Measure whether the matches of an object are confusable in both images."""
    sample = candidates[:: math.ceil(len(candidates) / MAX_EXAMINED)]
    if np.median(np.linalg.det(sample.maps)) < 0:
        features1 = mirrored_features(features1)
    bound = (1 + 1 / math.sqrt(len(sample))) / 2  # one half plus the standard deviation of such a share
    ends0, ends1 = features0[sample.row0], features1[sample.row1]
    in_image1 = _find_confusable(ends0, ends1, features1[candidates.row1], features1, sample)
    if in_image1.share < bound:
        return Periodicity(in_image1.share, bound, ())
    in_image0 = _find_confusable(ends1, ends0, features0[candidates.row0], features0, sample)
    share = min(in_image1.share, in_image0.share)
    shifts = (_find_step(in_image0), _find_step(in_image1)) if share >= bound else ()
    return Periodicity(share, bound, shifts)


@dataclass(frozen=True, eq=False)
class _Confusable:
    """The confusable places of n matches: `row` (k,) is the match of each, `shift` (k, 2) its offset."""

    n: int
    row: Ints
    shift: Floats

    @property
    def share(self) -> float:
        """The share of the matches that have a confusable place."""
        return len(np.unique(self.row)) / self.n


def _find_confusable(
    source: Features, matched: Features, members: Features, features: Features, candidates: Candidates
) -> _Confusable:
    """Find matches source -> matched for which another feature inside the object is as near.

    members: the features of all matches of the object in the image of `matched`; features: all of that image.
    """
    inside = features[is_inside(features.xy, members.xy)]
    product = source.descriptors @ inside.descriptors.T  # whole numbers: exact
    square = (source.descriptors**2).sum(axis=1)[:, None] + (inside.descriptors**2).sum(axis=1) - 2 * product
    distance = np.sqrt(np.maximum(square, 0)) / DESCRIPTOR_NORM
    is_as_near = distance <= NEAR_FACTOR * candidates.score[:, None] + NEAR_OFFSET
    row, other = np.nonzero(is_as_near & (inside.kind == source.kind[:, None]))
    shift = inside.xy[other] - matched.xy[row]
    gap = np.linalg.norm(shift, axis=1)
    is_in_range = (gap > MIN_SHIFT) & (gap < MAX_SHIFT * (matched.radius[row] + inside.radius[other]))
    return _Confusable(len(candidates), row[is_in_range], shift[is_in_range])


def _find_step(found: _Confusable) -> Floats:
    """Find the shift (2,) that leads, itself or reversed, to many confusable places; zero if none does."""
    if len(found.row) == 0:
        return np.zeros(2)
    row, (x, y) = np.tile(found.row, 2), np.vstack([found.shift, -found.shift]).T
    shifts = found.shift[:: math.ceil(len(found.shift) / MAX_EXAMINED)]
    is_same = ((x - u) ** 2 + (y - v) ** 2 <= SHIFT_TOLERANCE**2 * (u**2 + v**2) for u, v in shifts)
    n_matches = np.array([len(np.unique(row[rows])) for rows in is_same])
    is_lattice = n_matches.max() >= min(MIN_SHARE_OF_MATCHES * found.n, MIN_SHARE_OF_PLACES * len(found.row))
    return np.asarray(shifts[n_matches.argmax()] if is_lattice else np.zeros(2))
