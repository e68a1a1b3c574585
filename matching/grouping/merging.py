"""Merging of parts into objects: two parts are merged if one smooth map explains how both of them move.

How far two parts may disagree across the gap between them follows from the parts themselves: how strongly
each bends, and how accurate its points are.

The points of an object are a random field: any affine map, plus bends with the covariance of the thin-plate
spline. A few matches of each part, its landmarks, give the variances of its bends and of its points by
restricted maximum likelihood (REML), with Student's t as the robust loss. Then the motion of one part
relative to the other, six numbers, is tested: for one object it is normal with a known covariance, which
grows with the gap and the bends; for two objects, any motion is equally likely. Parts are merged if one
object explains it better. An object may also have a crease between its parts, where it bends more than they
do, but the wider the gap is compared with the parts, the less likely a crease is. (Patterson and Thompson
1971 for REML; Wahba, Spline Models for Observational Data, 1990; Kass and Raftery 1995 for Bayes factors.)

Notation: x, y (n, 2) are landmarks in the two images, in pixels of the image where the object is smaller,
which is that of y; T = [1, x] spans the affine maps; K_ij = b^2 phi(|x_i - x_j|) + s^2 [i = j] is the
covariance of each coordinate of y, phi(r) = r^2 log r, b the bend and s the accuracy.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from matching._common.types import Array, Floats, Ints
from matching.correspondences.correspondences import Correspondences, measure_magnification
from matching.correspondences.points import nearest_points, spread_out
from matching.grouping import _kernels
from matching.grouping.clusters import measure_degrees
from matching.grouping.graph import MatchGraph
from matching.grouping.groups import Group, Part, number_rows, sort_by_size
from matching.grouping.smooth_map import SmoothMapConfig
from matching.objects.splines import (
    DEGREES_OF_FREEDOM,
    Spectrum,
    decompose,
    measure_likelihoods,
    phi,
)
from matching.settings import check_settings, setting

# Ratios of b^2 to s^2 that are tried. At the largest, bends are as large as errors, and no map is smooth.
RATIOS: Floats = 0.25 ** np.arange(14.0)
N_FIT_ROUNDS = 4  # iterations of the robust fit
MIN_LANDMARKS = 6  # of a part that can be merged: three more than fix an affine map
MAX_COMPARED = 3000  # matches of a part among which the gap to another is measured: limits the work
# Standard deviations of its prediction beyond which a landmark is an outlier; no record of a choice.
MAX_LANDMARK_DEVIATION = 3.0
MIN_WIDTH = 0.01  # pixels, standard deviation across a line: places are not known more exactly than that


@dataclass(frozen=True)
class MergingConfig:
    """When two parts are one object.

    Parameters
    ----------
    n_landmarks : int
        Matches of a part that are compared, chosen to lie far from each other.
    inflation : float
        How many times as much an object may bend between its parts as within them, because real bends are
        stronger at creases. The density of a motion is averaged over bends 1, 2, 4, ... times as strong, up
        to this factor.
    crease : float
        How wide the gap across a crease is, in standard deviations of the points of the parts: the weights of
        all but the first of these bends fall with the gap, like a normal density of this standard deviation.
        Not used for one picture, where the weights are equal.
    seam : float
        Branches of the tree of merges that graph degree linkage joined with an affinity (Eq. 4) below this
        share of K^2 are compared in the same way as parts.
    part_gap : float
        Largest gap between the matches of two parts, in pixels of the image where the object is smaller.
    decisive : float
        Such branches are separated if the log likelihood ratio of two motions to one exceeds this.
    """

    n_landmarks: int = setting(24, 8, 500)
    inflation: float = setting(4.0, 1, 1000)
    crease: float = setting(1.0, 1e-6, 1e9)
    seam: float = setting(3e-6, 0, 1)
    decisive: float = setting(80.0, 0, 1e9)
    # Between landmarks, which lie far from the edges of parts, 300 px kept the ends of thin prints apart. Of
    # 19 photographs of two things that moved, 19 are right up to 200 px, 18 up to 250, and 17 up to 300.
    part_gap: float = setting(200.0, 0, 1e9)

    def __post_init__(self) -> None:
        check_settings(self)


@dataclass(frozen=True)
class MergingRules:
    """All settings that the comparison of two parts reads."""

    merging: MergingConfig
    smooth_map: SmoothMapConfig


# Called as `merge_parts`, which it may replace.
MergeParts = Callable[
    [Correspondences, Sequence[Ints], Sequence[Ints], MergingRules], tuple[Ints, list[Ints]]
]


@dataclass(frozen=True)
class Roughness:
    """How strongly a part bends and how accurate its points are, as `measure_roughness` finds them."""

    bend: float  # b, the standard deviation of the bends
    accuracy: float  # s, pixels


def choose_landmarks(
    correspondences: Correspondences, members: Array, degrees: Array, config: MergingConfig, accuracy: float
) -> Ints:
    """Choose matches of a part that are well supported and spread out: members (n,); degrees (n,) -> (k,)."""
    is_in_graph = degrees > 0
    if np.count_nonzero(is_in_graph) >= MIN_LANDMARKS:
        members, degrees = members[is_in_graph], degrees[is_in_graph]
    best = members[degrees >= np.median(degrees)]
    x, y = _points(correspondences, best, measure_magnification(correspondences, members))
    chosen = spread_out(x, config.n_landmarks)
    if len(chosen) < MIN_LANDMARKS:
        return np.asarray(best[chosen])
    deviations = _robust_deviations(x[chosen], y[chosen], accuracy)
    return np.asarray(best[chosen[deviations <= MAX_LANDMARK_DEVIATION]])


def find_landmarks(
    correspondences: Correspondences,
    graph: MatchGraph,
    parts: Sequence[Ints],
    rules: MergingRules,
) -> list[Ints]:
    """Find the landmarks of each part: some of its rows (n,) that the graph connects well to it."""
    labels = number_rows(len(correspondences), parts)[graph.rows]
    degrees = np.zeros(len(correspondences))
    degrees[graph.rows] = measure_degrees(graph.affinities, labels)
    config, accuracy = rules.merging, rules.smooth_map.accuracy
    return [choose_landmarks(correspondences, rows, degrees[rows], config, accuracy) for rows in parts]


def measure_roughness(correspondences: Correspondences, landmarks: Array, accuracy: float) -> Roughness:
    """Estimate how strongly an object bends, by restricted maximum likelihood: landmarks (k,).

    An object with too few landmarks counts as rigid.
    """
    if len(landmarks) < MIN_LANDMARKS:
        return Roughness(accuracy * math.sqrt(RATIOS[-1]), accuracy)
    x, y = _points(correspondences, landmarks, measure_magnification(correspondences, landmarks))
    spectrum = decompose(x, y, phi(x), np.ones(len(x)))
    ratio, variance = _fit_variances(spectrum, accuracy)
    return Roughness(math.sqrt(ratio * variance), math.sqrt(variance))


def merge_parts(
    correspondences: Correspondences,
    parts: Sequence[Array],
    landmarks: Sequence[Array],
    rules: MergingRules,
) -> tuple[Ints, list[Ints]]:
    """Merge parts, the pair with the strongest evidence first, until no pair has evidence.

    parts: the rows (n,) of each, landmarks: some of them (k,). Returns labels (n_parts,) and, for each label,
    the landmarks of the merged part, at the index of the label.

    A merged part bends as much as its parts do, on average over their matches. A part that is not smooth is
    never merged, because it would explain any motion.
    """
    labels = np.arange(len(parts))
    measured = [
        measure_part(correspondences, rows, marks, rules.smooth_map)
        for rows, marks in zip(parts, landmarks, strict=True)
    ]
    evidence: dict[tuple[int, int], float] = {}

    def compare(i: int, j: int) -> None:
        i, j = sorted((i, j))
        value = compare_parts(correspondences, measured[i], measured[j], rules)
        if value is not None:
            evidence[i, j] = value

    for i in range(len(parts)):
        for j in range(i):
            compare(i, j)
    while evidence:
        i, j = max(evidence, key=lambda pair: (evidence[pair], -pair[0], -pair[1]))
        if evidence[i, j] <= 0:
            break
        labels[labels == j] = i
        measured[i] = _join(correspondences, measured[i], measured[j], rules.merging.n_landmarks)
        evidence = {pair: value for pair, value in evidence.items() if not {i, j} & set(pair)}
        for k in np.unique(labels):
            if k != i:
                compare(int(k), i)
    return labels, [part.landmarks for part in measured]


def join_clusters(
    correspondences: Correspondences,
    graph: MatchGraph,
    clusters: Sequence[Ints],
    rules: MergingRules,
    merge: MergeParts,
) -> list[Part]:
    """Merge clusters, rows (n,) each, that one smooth map explains; the largest part comes first."""
    landmarks = find_landmarks(correspondences, graph, clusters, rules)
    labels, landmarks = merge(correspondences, clusters, landmarks, rules)
    parts = []
    for k in np.unique(labels):
        rows = np.sort(np.concatenate([clusters[n] for n in np.flatnonzero(labels == k).tolist()]))
        bend = measure_roughness(correspondences, landmarks[k], rules.smooth_map.accuracy).bend
        parts.append(Part(rows, bend))
    return sort_by_size(parts)


def merge_groups(
    correspondences: Correspondences,
    known: list[Group],
    new: list[Group],
    rules: MergingRules,
    merge: MergeParts,
) -> tuple[list[Group], list[Group]]:
    """Merge new groups with each other and with known ones; a score is the mean over the matches.

    Returns the groups that hold a known one, and the others.
    """
    groups = [*known, *new]
    labels, landmarks = merge(
        correspondences,
        [group.rows for group in groups],
        [group.landmarks for group in groups],
        rules,
    )
    merged: tuple[list[Group], list[Group]] = ([], [])
    for first in np.unique(labels).tolist():
        parts = [groups[n] for n in np.flatnonzero(labels == first)]
        rows = np.sort(np.concatenate([part.rows for part in parts]))
        score = np.average([part.score for part in parts], weights=[len(part.rows) for part in parts])
        measured = [part.log_nfa for part in parts if part.log_nfa is not None]
        group = Group(rows, float(score), landmarks[first], min(measured, default=None))
        merged[first >= len(known)].append(group)
    return merged


def are_two_things(
    correspondences: Correspondences,
    graph: MatchGraph,
    branches: tuple[Ints, Ints],
    rules: MergingRules,
) -> bool:
    """Test whether two branches of a tree, rows (n,) and (k,), are clearly two things."""
    landmarks = find_landmarks(correspondences, graph, branches, rules)
    first, second = (
        measure_part(correspondences, rows, marks, rules.smooth_map)
        for rows, marks in zip(branches, landmarks, strict=True)
    )
    evidence = compare_parts(correspondences, first, second, rules)
    return evidence is not None and evidence < -rules.merging.decisive


@dataclass(frozen=True, eq=False)
class MeasuredPart:
    """A part of n matches, measured by `measure_part` for comparison with others."""

    members: Ints  # (n,)
    landmarks: Ints  # (k,)
    log_variances: Floats  # (2,) logarithms of b^2 and s^2, means over the matches
    is_smooth: bool
    is_mirrored: bool  # whether more than half of the matches are mirrored


def measure_part(
    correspondences: Correspondences, members: Array, landmarks: Array, smooth_map: SmoothMapConfig
) -> MeasuredPart:
    """Measure how strongly a part bends and how accurate it is: members (n,); landmarks (k,)."""
    roughness = measure_roughness(correspondences, landmarks, smooth_map.accuracy)
    log_variances = 2 * np.log([roughness.bend, roughness.accuracy])
    is_mirrored = bool(2 * np.count_nonzero(correspondences.mirrored[members]) > len(members))
    members, landmarks = np.asarray(members), np.asarray(landmarks)
    is_smooth = _is_smooth(roughness, smooth_map)
    return MeasuredPart(members, landmarks, log_variances, is_smooth, is_mirrored)


def _join(
    correspondences: Correspondences, part: MeasuredPart, other: MeasuredPart, n_landmarks: int
) -> MeasuredPart:
    """Join two parts into one, whose landmarks are chosen among those of both."""
    members = np.concatenate([part.members, other.members])
    landmarks = np.concatenate([part.landmarks, other.landmarks])
    x, _ = _points(correspondences, landmarks, measure_magnification(correspondences, members))
    return MeasuredPart(
        members,
        landmarks[spread_out(x, n_landmarks)],
        _mean_log_variances(part, other),
        part.is_smooth,
        part.is_mirrored,
    )


def _mean_log_variances(part: MeasuredPart, other: MeasuredPart) -> Floats:
    """The means (2,) over the matches of both parts."""
    n, n_other = len(part.members), len(other.members)
    means: Floats = (n * part.log_variances + n_other * other.log_variances) / (n + n_other)
    return means


def compare_parts(
    correspondences: Correspondences, part: MeasuredPart, other: MeasuredPart, rules: MergingRules
) -> float | None:
    """Find the log likelihood ratio of two parts being one object rather than two.

    It is None if the parts are too far apart or can't be compared.
    """
    if part.is_mirrored != other.is_mirrored or not (part.is_smooth and other.is_smooth):
        return None
    if min(len(part.landmarks), len(other.landmarks)) < MIN_LANDMARKS:
        return None
    scale = measure_magnification(correspondences, np.concatenate([part.members, other.members]))
    marks, other_marks = (_points(correspondences, each.landmarks, scale) for each in (part, other))
    if not (_fixes_map(marks[0]) and _fixes_map(other_marks[0])):
        return None
    samples = [each.members[:: 1 + len(each.members) // MAX_COMPARED] for each in (part, other)]
    points = [_points(correspondences, rows, scale) for rows in samples]
    gap = _gap(*points)
    if gap > rules.merging.part_gap:
        return None
    bends, noise = np.exp(_mean_log_variances(part, other)).tolist()
    extent = 2 * math.sqrt(correspondences.extents[int(scale[0] > 1)].prod())
    relative_gap = gap / math.sqrt(math.prod(_spread(x) for x, _ in points))
    return _find_evidence(marks, other_marks, bends, noise, rules.merging, max(extent, 1.0), relative_gap)


def _find_evidence(
    part: tuple[Floats, Floats],
    other: tuple[Floats, Floats],
    bends: float,
    noise: float,
    config: MergingConfig,
    extent: float,
    relative_gap: float,
) -> float:
    """Log likelihood ratio of two parts being one object, with variances b^2 and s^2, rather than two.

    part, other: landmarks x, y (k, 2) of each; bends, noise: b^2 and s^2; extent: twice the root of the area
    of the picture, pixels; relative_gap: the gap between the parts, in standard deviations of their points.

    Across a narrow gap, all bends are equally likely. The wider the gap, the less likely a crease is.
    """
    both = np.vstack([part[0], other[0]]), np.vstack([part[1], other[1]])
    alone, other_alone, joint = (
        _kernels.fit_random_field(*points, bends, noise) for points in (part, other, both)
    )
    square, volume = (joint[k] - alone[k] - other_alone[k] for k in range(2))
    tau = 2.0 ** np.arange(int(math.log2(config.inflation)) + 1)
    densities = -(square / tau**2 + volume) / 2 - 6 * np.log(tau) - 3 * math.log(2 * math.pi)
    creases = np.full(len(tau) - 1, -((relative_gap / config.crease) ** 2) / 2 - math.log(len(tau)))
    weights = np.append(math.log1p(-np.exp(creases).sum()), creases)
    one_object = np.logaddexp.reduce(densities + weights)
    # For two objects, the density is uniform over a unit volume of maps, and over all shifts by up to the
    # sides of the picture in either direction.
    return float(one_object + 2 * math.log(extent))


def _fit_variances(spectrum: Spectrum, accuracy: float) -> tuple[float, float]:
    """The likeliest b^2 / s^2 among RATIOS, and s^2."""
    likelihoods, noise = measure_likelihoods(spectrum, RATIOS, accuracy)
    best = int(likelihoods.argmax())
    return float(RATIOS[best]), float(noise[best])


def _robust_deviations(x: Floats, y: Floats, accuracy: float) -> Floats:
    """(n,) distance of each landmark from its prediction, in standard deviations, by reweighted REML."""
    kernel, noise, error = phi(x), np.ones(len(x)), np.zeros(len(x))  # error: squares in units of s^2
    for _ in range(N_FIT_ROUNDS):
        spectrum = decompose(x, y, kernel, 1 / np.sqrt(noise))
        ratio, variance = _fit_variances(spectrum, accuracy)
        residual, precision = spectrum.hold_out(ratio)
        expected = variance * (noise / precision - noise + 1.0)
        error = (residual**2).sum(axis=1) / np.maximum(expected, 1e-12)
        noise = np.maximum((DEGREES_OF_FREEDOM + error) / (DEGREES_OF_FREEDOM + 2), 1.0)
    return np.asarray(np.sqrt(error))


def _is_smooth(roughness: Roughness, smooth_map: SmoothMapConfig) -> bool:
    """Whether a point can be predicted from its neighbours.

    It cannot if the best-fitting ratio is the largest of RATIOS, or if the error of the points exceeds what
    any member of an object may have.
    """
    return (
        roughness.bend < roughness.accuracy
        and roughness.accuracy <= smooth_map.tolerance * smooth_map.accuracy
    )


def _points(
    correspondences: Correspondences, rows: Array, scale: tuple[float, float]
) -> tuple[Floats, Floats]:
    """x, y (n, 2): points of the matches, with y in the image where the object is smaller."""
    x, y = correspondences.xy0[rows] / scale[0], correspondences.xy1[rows] / scale[1]
    return (x, y) if scale[0] > 1 else (y, x)


def _fixes_map(x: Floats) -> bool:
    """Whether points determine an affine map: points on one line do not show how an object moves off it."""
    return _measure_axes(x)[1] >= MIN_WIDTH


def _gap(part: tuple[Floats, Floats], other: tuple[Floats, Floats]) -> float:
    """The smallest distance between a point of one part and one of the other, the larger of both images'."""
    distances = (nearest_points(others, points, 1)[1] for points, others in zip(part, other, strict=True))
    return max(float(distance.min()) for distance in distances)


def _spread(points: Floats) -> float:
    """The standard deviation of points (n, 2), the geometric mean over their two principal axes."""
    return math.sqrt(math.prod(_measure_axes(points)))


def _measure_axes(points: Floats) -> list[float]:
    """The standard deviations of points (n, 2) along their two principal axes, the larger first."""
    deviations = np.linalg.svd(points - points.mean(axis=0), compute_uv=False)
    return [float(deviation) for deviation in deviations / math.sqrt(len(points))]
