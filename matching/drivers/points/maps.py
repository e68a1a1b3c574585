"""Given matches in a common unit, each listed once: the maps around them, and the accuracy of their points.

Notation: places are in spreads of the points of each picture (`matching.drivers.points.units`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from matching._common.arrays import invert_matrices
from matching._common.types import Array, Floats, Ints
from matching.correspondences.correspondences import Correspondences
from matching.correspondences.distances import find_nearest_among
from matching.drivers.points.units import UNIT
from matching.grouping.local_maps import LocalMaps, vote_for_maps
from matching.grouping.significance import MIN_MATCH_GAP, grow_objects

N_VOTERS = 8  # nearest matches that vote for the map around a match
MIN_GAIN = 8  # matches by which more must agree for a picture to be flipped
# Matches from which objects are grown to measure the accuracy of points. It limits the work; tests of the
# accuracy and of the spacing fail at 100 and at 300.
MAX_SEEDS = 128
NOISES = 0.5, 1.0, 2.0, 4.0, 8.0  # standard deviations of points to try, in units of UNIT
DEVIATIONS_PER_PIXEL = 4.0  # standard deviations of points in a working pixel
SPACING_RANK = 8  # the spacing of matches is the distance to the neighbour of this rank


@dataclass(frozen=True, eq=False)
class UniqueMatches:
    """Given matches in units of each picture's spread, each once; `row` (n,) is the row of each given one."""

    xy0: Floats
    xy1: Floats
    maps: Array | None
    row: Ints
    score: Floats  # (m,), smaller is better


def sort_matches(x0: Floats, x1: Floats, maps: Array | None, score: Floats) -> UniqueMatches:
    """Sort matches at places x0, x1 (n, 2), each once, in the same order if the pictures are swapped."""
    if np.sort(x0, axis=0).tobytes() > np.sort(x1, axis=0).tobytes():
        x0, x1, maps = x1, x0, None if maps is None else invert_matrices(maps)
    places = np.hstack([x0, x1])
    ties = () if maps is None else maps.reshape(-1, 4).T
    order = np.lexsort((*ties, score, *places.T))
    is_new = np.ones(len(order), bool)
    is_new[1:] = (places[order[1:]] != places[order[:-1]]).any(axis=1)
    row = np.empty(len(order), np.int64)
    row[order] = np.cumsum(is_new) - 1
    first = order[is_new]
    return UniqueMatches(x0[first], x1[first], None if maps is None else maps[first], row, score[first])


def choose_local_maps(
    matches: UniqueMatches, sample: Ints, slope: float, mirrored: bool | Literal["auto"]
) -> tuple[UniqueMatches, LocalMaps]:
    """Choose the map of each match by a vote of the nearest matches in a sample.

    If `mirrored` is True, picture 1 is flipped. With "auto", it is flipped if more maps then agree, as when y
    points up in only one picture. Moreover, the map of a single match is flipped if only the flipped map
    explains more than half of its neighbours, and if the same holds for more than half of these neighbours.
    """
    places = np.hstack([matches.xy0, matches.xy1])
    n_voters = min(N_VOTERS, len(sample) - 1)
    near = find_nearest_among(places, sample, n_voters)
    flip = np.array([-1.0, 1.0])
    flipped = replace(
        matches,
        xy1=matches.xy1 * flip + 0.0,  # no -0.0
        maps=None if matches.maps is None else matches.maps * flip[:, None],
    )
    if mirrored != "auto":
        matches = flipped if mirrored else matches
        return matches, vote_for_maps(matches.xy0, matches.xy1, near, slope, matches.maps)
    kept, others = (vote_for_maps(m.xy0, m.xy1, near, slope, m.maps) for m in (matches, flipped))
    if np.count_nonzero(others.agreeing) > np.count_nonzero(kept.agreeing) + MIN_GAIN:
        matches, kept, others = flipped, others, kept
    is_better = others.agreeing & ~kept.agreeing
    is_better &= 2 * is_better[near].sum(axis=1) > n_voters  # a mirrored object has many of them together
    return matches, LocalMaps(
        np.where(is_better[:, None, None], flip[:, None] * others.maps, kept.maps),
        np.where(is_better, others.support, kept.support),
        near,
    )


def put_agreeing_first(local: LocalMaps, score: Floats, n_listed: int) -> Ints:
    """Order matches for clustering, n_listed at a time -> (n,).

    First come those whose map explains more than half of their neighbours, by their scores, of equal ones in
    random order, then the others by their support. The order is unchanged if all are clustered at once.
    """
    n = len(local.support)
    if n_listed == n:
        return np.arange(n)
    rank = np.where(local.agreeing, np.random.default_rng(0).random(n), 1 + n - n * local.support)
    return np.lexsort((rank, np.where(local.agreeing, score, np.inf)))


def measure_points(
    matches: UniqueMatches, local: LocalMaps, sample: Ints, max_log_nfa: float
) -> tuple[float, float] | None:
    """Measure the working pixel, by the accuracy of significant objects, and the spacing of the best of them.

    Both are measured on the objects of a sample, in spreads; None if it has no significant object.
    """
    xy0, xy1 = matches.xy0[sample], matches.xy1[sample]
    local = LocalMaps(local.maps[sample], local.support[sample], np.searchsorted(sample, local.near[sample]))
    scaled = Correspondences(xy0 / UNIT, xy1 / UNIT, local.maps)
    seeds = _choose_seeds(scaled, local, matches.score[sample])
    if not len(seeds):
        return None
    mirrored = scaled.mirrored[seeds[:, 0]]
    grown = grow_objects(scaled, seeds, NOISES, mirrored)
    best, is_significant = int(np.argmin(grown.log_nfa)), grown.log_nfa <= max_log_nfa
    if not is_significant.any():
        return None
    members = grown.members[best][grown.members[best] >= 0]
    gap = _longer(*(xy[members, None] - xy[members] for xy in (xy0, xy1)))
    spacing = np.median(np.sort(gap, axis=1)[:, min(SPACING_RANK, len(members) - 1)])
    return DEVIATIONS_PER_PIXEL * UNIT * float(np.median(grown.noise[is_significant])), float(spacing)


def _choose_seeds(scaled: Correspondences, local: LocalMaps, score: Floats) -> Ints:
    """Pair the best supported matches, then scored, with the neighbour that each explains best -> (s, 2)."""
    best = np.lexsort((score, -local.support))[:MAX_SEEDS]
    others = local.near[best]
    u, v = (xy[others] - xy[best, None] for xy in (scaled.xy0, scaled.xy1))
    error = np.linalg.norm(v - np.einsum("sab,skb->ska", local.maps[best], u), axis=2) / _longer(u, v)
    error[np.minimum(np.linalg.norm(u, axis=2), np.linalg.norm(v, axis=2)) < MIN_MATCH_GAP] = np.inf
    rows, chosen = np.arange(len(best)), error.argmin(axis=1)
    seeds: Ints = np.column_stack([best, others[rows, chosen]])[np.isfinite(error[rows, chosen])]
    return seeds


def _longer(u: Floats, v: Floats) -> Floats:
    """The lengths of displacements in the picture where they are longer."""
    return np.asarray(np.maximum(np.linalg.norm(u, axis=-1), np.linalg.norm(v, axis=-1)))
