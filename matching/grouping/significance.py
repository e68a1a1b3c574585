"""How significant an object is: the number of false alarms.

The matches around an object are read one after the other, outward from two of them, the seed. Each match is
predicted from those read before that agreed. Its factor is the density of the prediction at its end, divided
by the mean density at the ends of all matches; a match that disagrees has a factor below one. A match that
shares a point in either picture with an earlier one that agreed adds no information and does not count: its
factor is one, and its end is left out of the mean.

If the ends were drawn at random among all ends, the mean of each factor would be one, whatever was read
before. So the product of the factors is a martingale, and the probability that it ever exceeds 1 / p is at
most p (Ville's inequality), wherever reading ends. With one test for each seed and each tolerance, the number
of false alarms of an object (Desolneux, Moisan and Morel: a contrario) is the number of tests over its
largest product. When the ends are shuffled, the same matches give on average at most this many objects that
are as good as this one, or better.

The number of tests is approximate: a seed consists of a match of the object and the nearest other one, which
is nearly always among the twelve nearest matches that may count.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from matching._common.arrays import count_distinct
from matching._common.threads import run_in_ranges
from matching._common.types import Bools, Floats, Ints
from matching.correspondences.correspondences import Correspondences
from matching.grouping import _growth_kernels
from matching.grouping.groups import Group
from matching.grouping.ledger import Ledger

# log10 of the number of false alarms at which an object is not measured further: twice the evidence that the
# word "sure" takes, beyond which nothing is decided. It saves time.
CERTAIN_LOG_NFA = -16.0
# Standard deviations of a point that are tried, pixels. The number of false alarms is valid for any values,
# because each is one more test.
NOISES = 1.0, 2.5
# An object is grown from this many of its matches, and a match is predicted from as many of the nearest that
# agreed. Each may form a seed with it, which is one test. No record of a choice.
N_NEAREST = 12
# Standard deviations of a bend over one pixel that are tried, pixels. They grow with the root of the gap.
BENDS = 0.1, 0.5
# Relative deviation of the entries of the map around a seed from a similarity; no record of a choice. Planes
# seen from the side exceed it, and are laid flat first.
MAP_STRAIN = 0.2
MIN_SEED_LENGTH = 8.0  # pixels between the matches of a seed
# Pixels between matches that add different information. With 2.5 and 3, 3 of 49 products in given matches are
# lost.
MIN_MATCH_GAP = 2.0
# Matches read around a seed; if matches are denser than MIN_MATCH_GAP, all those in the circle that this many
# would fill are read. Limits the work.
MAX_READ = 300
# Agreeing matches at which growing ends. With more, the accuracy of points comes out larger than it is: a
# test of the spacing of given matches fails at 128 and at 300.
MAX_MEMBERS = 100


@dataclass(frozen=True, eq=False)
class Growths:
    """Objects grown from seeds."""

    log_nfa: Floats  # (s,), log10 of the number of false alarms
    noise: Floats  # (s,), standard deviation of the points at which log_nfa is least
    members: Ints  # (s, MAX_MEMBERS), the matches that agree, padded with -1


def grow_objects(
    matches: Correspondences,
    seeds: Ints,
    noises: tuple[float, ...],
    mirrored: Bools,
    *,
    certain: float = -np.inf,
) -> Growths:
    """Grow an object from each seed up to its most significant size: seeds (s, 2); mirrored (s,) bool.

    Growing ends when log_nfa reaches `certain`.
    """
    x0, x1 = (np.ascontiguousarray(xy, np.float64) for xy in (matches.xy0, matches.xy1))
    n, s = len(x0), len(seeds)
    n_tests = n * N_NEAREST * len(noises) * len(BENDS)
    max_ratio = math.log(n_tests) - certain * math.log(10)
    by_first = np.argsort(x1[:, 0], kind="stable")
    ends = np.ascontiguousarray(x1[by_first].T)
    ratio, chosen, members = np.zeros(s), np.zeros(s, np.int64), np.full((s, MAX_MEMBERS), -1)

    def grow(start: int, stop: int) -> None:
        for k in range(start, stop):
            similarity = _fit_similarity(x0[seeds[k]], x1[seeds[k]], bool(mirrored[k]))
            if similarity is None:
                continue
            rows = np.concatenate([seeds[k], by_first[_find_around(x0[by_first] - x0[seeds[k, 0]])]])
            ratio[k], chosen[k], accepted = _grow_from(
                x0[rows], x1[rows], ends, similarity, noises, max_ratio
            )
            members[k] = np.where(accepted >= 0, rows[accepted], -1)

    run_in_ranges(grow, s, 2)
    return Growths((math.log(n_tests) - ratio) / math.log(10), np.array(noises)[chosen], members)


def _fit_similarity(x0: Floats, x1: Floats, mirrored: bool) -> Floats | None:
    """The similarity (2, 2) that two matches x0, x1 (2, 2) define; None if they share a point."""
    (ux, uy), (vx, vy) = (x0[1] - x0[0]).tolist(), (x1[1] - x1[0]).tolist()
    square, sign = ux * ux + uy * uy, -1.0 if mirrored else 1.0
    if square == 0.0 or vx * vx + vy * vy == 0.0:
        return None
    a, b = (ux * vx + sign * uy * vy) / square, (ux * vy - sign * uy * vx) / square
    return np.array([[a, -sign * b], [b, sign * a]])


def _find_around(u: Floats) -> Ints:
    """Find the matches that are read, among those at displacements u (n, 2) from a seed -> (k,)."""
    gap = np.sqrt(u[:, 0] ** 2 + u[:, 1] ** 2)
    in_circle = np.flatnonzero(gap < math.sqrt(MAX_READ / math.pi) * MIN_MATCH_GAP)
    return in_circle if len(in_circle) > MAX_READ else np.argsort(gap, kind="stable")[:MAX_READ]


def _grow_from(
    x0: Floats,
    x1: Floats,
    ends: Floats,
    similarity: Floats,
    noises: tuple[float, ...],
    max_ratio: float,
) -> tuple[float, int, Ints]:
    """Grow from the first two of the matches x0, x1 (m, 2), with the noise and bend of the largest log ratio.

    Returns the ratio, the index of its noise, and the rows of the matches that agree (MAX_MEMBERS,).
    """
    u, (a, b) = x0 - x0[0], similarity[:, 0].tolist()
    growth = math.sqrt(a * a + b * b)
    unit = max(growth, 1.0)  # pixels of image 1 per pixel of the image where the object is smaller
    along, across = u[:, :1] * similarity[:, 0], u[:, 1:] * similarity[:, 1]
    points = x0, x1, u, x1[0] + along + across, x1 - x1[0] - along - across, ends
    best = 0.0, 0, np.full(MAX_MEMBERS, -1)
    for k, noise in enumerate(noises):
        for bend in BENDS:
            buffers = np.full(len(x0), np.inf), np.zeros(ends.shape[1], bool)
            spread = noise * unit, bend * growth, MAP_STRAIN * growth
            accepted = np.full(MAX_MEMBERS, -1)
            ratio = _growth_kernels.grow(
                *points,
                *buffers,
                *spread,
                MIN_MATCH_GAP,
                MIN_MATCH_GAP * unit,
                N_NEAREST,
                max_ratio,
                accepted,
            )
            if ratio > best[0]:
                best = ratio, k, accepted
    return best


def keep_significant(
    correspondences: Correspondences,
    groups: list[Group],
    max_log_nfa: float,
    ledger: Ledger,
) -> list[Group]:
    """Measure the groups that are not measured yet, and keep those that chance does not explain."""
    new = [group for group in groups if group.log_nfa is None]
    measured = iter(measure_significance(correspondences, [group.rows for group in new], max_log_nfa))
    kept = []
    for group in groups:
        log_nfa = float(next(measured)) if group.log_nfa is None else group.log_nfa
        if log_nfa <= max_log_nfa:
            kept.append(replace(group, log_nfa=log_nfa))
        else:
            ledger.drop("significance", group.rows, log_nfa, max_log_nfa)
    return kept


def measure_significance(
    correspondences: Correspondences,
    objects: list[Ints],
    max_log_nfa: float = 0.0,
) -> Floats:
    """Log10 of the numbers of false alarms of objects (k,) -> (n_objects,).

    An object is measured until it is certain, with at least twice the evidence that max_log_nfa demands.

    Matches are read in the picture in which they lie at more places, so that each of many copies of a print
    is read separately. Shuffling the ends does not change which picture that is.
    """
    if count_distinct(correspondences.xy1) > count_distinct(correspondences.xy0):
        correspondences = correspondences.reverse()
    certain = min(CERTAIN_LOG_NFA, 2 * max_log_nfa)
    log_nfa = np.full(len(objects), np.inf)
    mirrored = np.array([2 * correspondences.mirrored[rows].sum() > len(rows) for rows in objects], bool)
    for turn in range(N_NEAREST):
        uncertain = np.flatnonzero(log_nfa > certain)
        seeds = [_choose_seed(correspondences, objects[k], turn) for k in uncertain]
        owner = np.repeat(uncertain, [len(pairs) for pairs in seeds])
        if len(owner):
            pairs = np.concatenate(seeds)
            grown = grow_objects(
                correspondences,
                pairs,
                NOISES,
                mirrored[owner],
                certain=certain,
            )
            np.minimum.at(log_nfa, owner, grown.log_nfa)
    return log_nfa


def _choose_seed(correspondences: Correspondences, members: Ints, turn: int) -> Ints:
    """Choose a match of the object, another one in each turn, and the match nearest to it -> (0 or 1, 2)."""
    xy0, xy1 = correspondences.xy0[members], correspondences.xy1[members]
    chosen = np.unique((np.arange(N_NEAREST) * len(members)) // N_NEAREST)
    if turn >= len(chosen):
        return np.empty((0, 2), np.int64)
    i = chosen[turn]
    gap0, gap1 = np.hypot(*(xy0 - xy0[i]).T), np.hypot(*(xy1 - xy1[i]).T)
    gap0[(gap0 < MIN_SEED_LENGTH) | (gap1 < MIN_MATCH_GAP)] = np.inf
    nearest = gap0.argmin()
    return members[[[i, nearest]] if np.isfinite(gap0[nearest]) else np.empty((0, 2), np.int64)]
