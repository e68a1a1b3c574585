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

In one picture, ends are not drawn from anywhere: what is most alike is mostly near. So each factor is divided
by how much more often ends lie as far from their starts as this one than they would at random.

The number of tests is approximate: a seed consists of a match of the object and the nearest other one, which
is nearly always among the twelve nearest matches that may count.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import scipy

from matching._common.arrays import count_distinct
from matching._common.threads import run_in_ranges
from matching._common.types import Bools, Floats, Ints
from matching.core import _growth_kernels
from matching.core.groups import Group
from matching.core.ledger import Ledger
from matching.correspondences.correspondences import Correspondences

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
# Log scale, and radians: matches whose maps differ by more from that of a seed are not read. With 45 degrees
# for the turn, given matches give the same objects.
MAX_MAP_DIFFERENCE = math.log(2.0)
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

# Of logarithms of distances, standard deviation: nearness is a smooth trend. A single repeat, whose ends all
# lie equally far from their starts, must not count as one.
DISTANCE_WIDTH, DISTANCE_STEP = 0.25, 0.05
N_SHIFTS = 20  # random ends of each match
MIN_SHARE = 1e-4  # of the matches at a distance: fewer are too few to compare


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
    by_maps: bool,
    certain: float = -np.inf,
    of_one: bool = False,
) -> Growths:
    """Grow an object from each seed up to its most significant size: seeds (s, 2); mirrored (s,) bool.

    With by_maps, the maps of matches are those that the features themselves predict. Then only matches with a
    map like that of the seed are read, and the model of chance consists of them alone. Growing ends when
    log_nfa reaches `certain`. With of_one, matches lie in one picture, where ends are often near starts.
    """
    x0, x1 = (np.ascontiguousarray(xy, np.float64) for xy in (matches.xy0, matches.xy1))
    n, s = len(x0), len(seeds)
    scale, angle, max_difference = np.zeros(n), np.zeros((2, n)), np.inf
    if by_maps:
        scale, angle, max_difference = np.log(matches.growth), _measure_angles(matches), MAX_MAP_DIFFERENCE
    n_tests = n * N_NEAREST * len(noises) * len(BENDS)
    max_ratio = math.log(n_tests) - certain * math.log(10)
    by_first = np.argsort(x1[:, 0], kind="stable")
    ratio, chosen, members = np.zeros(s), np.zeros(s, np.int64), np.full((s, MAX_MEMBERS), -1)

    def grow(start: int, stop: int) -> None:
        for k in range(start, stop):
            similarity = _fit_similarity(x0[seeds[k]], x1[seeds[k]], bool(mirrored[k]))
            if similarity is None:
                continue
            a, b = similarity[:, 0].tolist()
            difference = np.abs(angle[int(mirrored[k])] - math.atan2(b, a))
            # no maximum of both differences: it would hide the NaN of maps of the other handedness
            agree = np.minimum(difference, 2 * math.pi - difference) <= max_difference
            agree &= np.abs(scale - math.log(math.sqrt(a * a + b * b))) <= max_difference
            rows = by_first[agree[by_first]]
            ends, nearness = x1[rows].T.copy(), np.ones(n)
            if of_one:
                nearness[rows] = measure_nearness(x0[rows], x1[rows])
            rows = np.concatenate([seeds[k], rows[_find_around(x0[rows] - x0[seeds[k, 0]])]])
            ratio[k], chosen[k], accepted = _grow_from(
                x0[rows], x1[rows], ends, nearness[rows], similarity, noises, max_ratio
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
    nearness: Floats,
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
                nearness,
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


def _measure_angles(matches: Correspondences) -> Floats:
    """Measure the angles of maps as similarities, and as mirrored ones; NaN for the other kind -> (2, n)."""
    (a, b), (c, d) = np.moveaxis(matches.maps, 0, -1)
    plain, mirrored = np.arctan2(c - b, a + d), np.arctan2(c + b, a - d)
    return np.array([np.where(matches.mirrored, np.nan, plain), np.where(matches.mirrored, mirrored, np.nan)])


def keep_significant(
    correspondences: Correspondences,
    groups: list[Group],
    max_log_nfa: float,
    measure: Callable[[Correspondences, list[Ints], float], list[float]],
    ledger: Ledger,
) -> list[Group]:
    """Measure the groups that are not measured yet, and keep those that chance does not explain."""
    new = [group for group in groups if group.log_nfa is None]
    measured = iter(measure(correspondences, [group.rows for group in new], max_log_nfa))
    kept = []
    for group in groups:
        log_nfa = next(measured) if group.log_nfa is None else group.log_nfa
        if log_nfa <= max_log_nfa:
            kept.append(replace(group, log_nfa=log_nfa))
        else:
            ledger.drop("significance", group.rows, log_nfa, max_log_nfa)
    return kept


def correct_for_tests(groups: list[Group], n_tests: int, max_log_nfa: float, ledger: Ledger) -> list[Group]:
    """Keep the groups that are significant although they are the best of several tests."""
    kept = []
    for group in groups:
        assert group.log_nfa is not None
        log_nfa = group.log_nfa + float(np.log10(n_tests))
        if log_nfa <= max_log_nfa:
            kept.append(replace(group, log_nfa=log_nfa))
        else:
            ledger.drop("significance", group.rows, log_nfa, max_log_nfa)
    return kept


def measure_by_maps(correspondences: Correspondences, objects: list[Ints], max_log_nfa: float) -> list[float]:
    """Measure objects whose maps are those that the features predict."""
    return list(measure_significance(correspondences, objects, True, max_log_nfa))


def measure_by_places(
    correspondences: Correspondences, objects: list[Ints], max_log_nfa: float
) -> list[float]:
    """Measure objects by the places of their matches alone."""
    return list(measure_significance(correspondences, objects, False, max_log_nfa))


def measure_from_the_side(
    correspondences: Correspondences, objects: list[Ints], max_log_nfa: float
) -> list[float]:
    """Measure each object as if it were seen from the same direction in both images."""
    each = ((lay_flat(correspondences, rows), [rows]) for rows in objects)
    return [measure_by_maps(flat, one, max_log_nfa)[0] for flat, one in each]


def measure_within_picture(
    correspondences: Correspondences, objects: list[Ints], max_log_nfa: float
) -> list[float]:
    """Measure objects that join two places of one picture."""
    return list(measure_significance(correspondences, objects, True, max_log_nfa, of_one=True))


def measure_nearness(xy0: Floats, xy1: Floats) -> Floats:
    """Measure how often ends lie as far from their starts as each does, over how often at random -> (n,).

    In one picture, what is most alike is often near: the same letter in the next word, the next leaf of a
    tree. xy0, xy1 (n, 2) are starts and ends, and ends are shifted in their list for the ends at random.
    """
    n = len(xy0)
    shifts = np.unique(np.linspace(1, n - 1, N_SHIFTS).astype(int)) if n > 1 else np.zeros(1, int)
    distance = _measure_log_distance(xy0, xy1)
    at_random = np.concatenate([_measure_log_distance(xy0, np.roll(xy1, k, axis=0)) for k in shifts])
    edges = np.arange(0.0, max(distance.max(initial=0), at_random.max(initial=0)) + 1, DISTANCE_STEP)
    found, expected = (
        scipy.ndimage.gaussian_filter1d(
            np.histogram(values, edges)[0] / len(values), DISTANCE_WIDTH / DISTANCE_STEP
        )
        for values in (distance, at_random)
    )
    ratio = (found + MIN_SHARE) / (expected + MIN_SHARE)
    nearness: Floats = ratio[np.minimum((distance / DISTANCE_STEP).astype(int), len(ratio) - 1)]
    return nearness


def _measure_log_distance(xy0: Floats, xy1: Floats) -> Floats:
    """The logarithms (n,) of the distances between points (n, 2), which are at least a pixel."""
    distance: Floats = np.log(np.maximum(np.linalg.norm(xy1 - xy0, axis=1), 1.0))
    return distance


def measure_significance(
    correspondences: Correspondences,
    objects: list[Ints],
    by_maps: bool = True,
    max_log_nfa: float = 0.0,
    of_one: bool = False,
) -> Floats:
    """Log10 of the numbers of false alarms of objects (k,) -> (n_objects,).

    by_maps and of_one: as in `grow_objects`.

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
                by_maps=by_maps,
                certain=certain,
                of_one=of_one,
            )
            np.minimum.at(log_nfa, owner, grown.log_nfa)
    return log_nfa


def lay_flat(correspondences: Correspondences, members: Ints) -> Correspondences:
    """Map image 0 by the median of the maps of an object (n,).

    Then a plane seen from the side moves by nearly a similarity.
    """
    a = np.median(correspondences.maps[members], axis=0)
    maps = correspondences.maps @ np.linalg.inv(a)
    return Correspondences(correspondences.xy0 @ a.T, correspondences.xy1, maps)


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
