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
from matching.core import _kernels
from matching.core.clusters import measure_degrees
from matching.core.graph import MatchGraph
from matching.core.groups import Group, Part, number_rows, sort_by_size
from matching.core.smooth_map import SmoothMapConfig
from matching.correspondences.correspondences import Correspondences, measure_magnification
from matching.correspondences.points import nearest_points
from matching.settings import check_settings, setting

# Ratios of b^2 to s^2 that are tried. At the largest, bends are as large as errors, and no map is smooth.
RATIOS = 0.25 ** np.arange(14)
N_FIT_ROUNDS = 4  # iterations of the robust fit
# Degrees of freedom of the t distribution of residuals, and of the prior of s; no record of a choice.
DEGREES_OF_FREEDOM = 4
MIN_LANDMARKS = 6  # of a part that can be merged: three more than fix an affine map
MAX_COMPARED = 3000  # matches of a part among which the gap to another is measured: limits the work

MergeParts = Callable[..., tuple[Ints, list[Ints]]]  # as `merge_parts`


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
    decisive : float
        Such branches are separated if the log likelihood ratio of two motions to one exceeds this.
    """

    n_landmarks: int = setting(24, 8, 500)
    inflation: float = setting(4.0, 1, 1000)
    crease: float = setting(1.0, 1e-6, 1e9)
    seam: float = setting(3e-6, 0, 1)
    decisive: float = setting(80.0, 0, 1e9)

    def __post_init__(self) -> None:
        check_settings(self)


@dataclass(frozen=True)
class Roughness:
    """How strongly a part bends and how accurate its points are, as `measure_roughness` finds them."""

    bend: float  # b, the standard deviation of the bends
    accuracy: float  # s, pixels


def choose_landmarks(
    correspondences: Correspondences, members: Array, degrees: Array, config: MergingConfig, accuracy: float
) -> Ints:
    """Choose matches of a part that are well supported and spread out: members (n,); degrees (n,) -> (k,)."""
    known = degrees > 0
    if np.count_nonzero(known) >= MIN_LANDMARKS:
        members, degrees = members[known], degrees[known]
    best = members[degrees >= np.median(degrees)]
    x, y = _points(correspondences, best, measure_magnification(correspondences, members))
    chosen = _spread_out(x, config.n_landmarks)
    if len(chosen) < MIN_LANDMARKS:
        return np.asarray(best[chosen])
    deviations = _robust_deviations(x[chosen], y[chosen], accuracy)
    return np.asarray(best[chosen[deviations <= 3]])


def find_landmarks(
    correspondences: Correspondences,
    graph: MatchGraph,
    parts: Sequence[Ints],
    config: MergingConfig,
    accuracy: float,
) -> list[Ints]:
    """Find the landmarks of each part: some of its rows (n,) that the graph connects well to it."""
    labels = number_rows(len(correspondences), parts)[graph.rows]
    degrees = np.zeros(len(correspondences))
    degrees[graph.rows] = measure_degrees(graph.affinities, labels)
    return [choose_landmarks(correspondences, rows, degrees[rows], config, accuracy) for rows in parts]


def measure_roughness(correspondences: Correspondences, landmarks: Array, accuracy: float) -> Roughness:
    """Estimate how strongly an object bends, by restricted maximum likelihood: landmarks (k,).

    An object with too few landmarks counts as rigid.
    """
    if len(landmarks) < MIN_LANDMARKS:
        return Roughness(accuracy * math.sqrt(RATIOS[-1]), accuracy)
    x, y = _points(correspondences, landmarks, measure_magnification(correspondences, landmarks))
    spectrum = _decompose(x, y, _phi(x), np.ones(len(x)))
    ratio, variance = _fit_variances(spectrum, accuracy)
    return Roughness(math.sqrt(ratio * variance), math.sqrt(variance))


def merge_parts(
    correspondences: Correspondences,
    parts: Sequence[Array],
    landmarks: Sequence[Array],
    config: MergingConfig,
    smooth_map: SmoothMapConfig,
    reach: float,
) -> tuple[Ints, list[Ints]]:
    """Merge parts, the pair with the strongest evidence first, until none has evidence -> labels (n_parts,).

    A merged part bends as much as its parts do, on average over their matches. A part that is not smooth is
    never merged, because it would explain any motion.
    """
    labels = np.arange(len(parts))
    found = [measure_part(correspondences, *both, smooth_map) for both in zip(parts, landmarks, strict=True)]
    evidence: dict[tuple[int, int], float] = {}

    def compare(i: int, j: int) -> None:
        i, j = sorted((i, j))
        value = compare_parts(correspondences, found[i], found[j], config, reach)
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
        found[i] = _join(correspondences, found[i], found[j], config.n_landmarks)
        evidence = {pair: value for pair, value in evidence.items() if not {i, j} & set(pair)}
        for k in np.unique(labels):
            if k != i:
                compare(int(k), i)
    return labels, [part.marks for part in found]


def join_clusters(
    correspondences: Correspondences,
    graph: MatchGraph,
    clusters: Sequence[Ints],
    config: MergingConfig,
    smooth_map: SmoothMapConfig,
    reach: float,
    merge: MergeParts = merge_parts,
) -> list[Part]:
    """Merge clusters, rows (n,) each, that one smooth map explains; the largest part comes first."""
    landmarks = find_landmarks(correspondences, graph, clusters, config, smooth_map.accuracy)
    labels, marks = merge(correspondences, clusters, landmarks, config, smooth_map, reach)
    parts = []
    for k in np.unique(labels):
        rows = np.sort(np.concatenate([clusters[n] for n in np.flatnonzero(labels == k).tolist()]))
        bend = measure_roughness(correspondences, marks[k], smooth_map.accuracy).bend
        parts.append(Part(rows, bend))
    return sort_by_size(parts)


def merge_groups(
    correspondences: Correspondences,
    known: list[Group],
    new: list[Group],
    config: MergingConfig,
    smooth_map: SmoothMapConfig,
    reach: float,
    merge: MergeParts = merge_parts,
) -> tuple[list[Group], list[Group]]:
    """Merge new groups with each other and with known ones; a score is the mean over the matches.

    Returns the groups that hold a known one, and the others.
    """
    groups = [*known, *new]
    labels, landmarks = merge(
        correspondences,
        [group.rows for group in groups],
        [group.landmarks for group in groups],
        config,
        smooth_map,
        reach,
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
    config: MergingConfig,
    smooth_map: SmoothMapConfig,
    reach: float,
) -> bool:
    """Test whether two branches of a tree, rows (n,) and (k,), are clearly two things."""
    landmarks = find_landmarks(correspondences, graph, branches, config, smooth_map.accuracy)
    first, second = (
        measure_part(correspondences, rows, marks, smooth_map)
        for rows, marks in zip(branches, landmarks, strict=True)
    )
    evidence = compare_parts(correspondences, first, second, config, reach)
    return evidence is not None and evidence < -config.decisive


@dataclass(frozen=True, eq=False)
class MeasuredPart:
    """A part of n matches, measured by `measure_part` for comparison with others."""

    members: Ints
    marks: Ints  # landmarks
    logs: Floats  # (2,) logarithms of b^2 and s^2, means over the matches
    smooth: bool
    turned: bool  # whether most of the matches are mirrored


def measure_part(
    correspondences: Correspondences, members: Array, marks: Array, how: SmoothMapConfig
) -> MeasuredPart:
    """Measure how strongly a part bends and how accurate it is: members (n,); marks (k,), its landmarks."""
    found = measure_roughness(correspondences, marks, how.accuracy)
    logs = 2 * np.log([found.bend, found.accuracy])
    turned = 2 * np.count_nonzero(correspondences.mirrored[members]) > len(members)
    members, marks = np.asarray(members), np.asarray(marks)
    return MeasuredPart(members, marks, logs, _is_smooth(found, how), bool(turned))


def _join(
    correspondences: Correspondences, part: MeasuredPart, other: MeasuredPart, n_landmarks: int
) -> MeasuredPart:
    members, both = (np.concatenate([getattr(part, of), getattr(other, of)]) for of in ("members", "marks"))
    x, _ = _points(correspondences, both, measure_magnification(correspondences, members))
    logs = _mean_logs(part, other)
    return MeasuredPart(members, both[_spread_out(x, n_landmarks)], logs, part.smooth, part.turned)


def _mean_logs(part: MeasuredPart, other: MeasuredPart) -> Floats:
    own, others = len(part.members), len(other.members)
    logs: Floats = (own * part.logs + others * other.logs) / (own + others)
    return logs


def compare_parts(
    correspondences: Correspondences,
    one: MeasuredPart,
    other: MeasuredPart,
    config: MergingConfig,
    reach: float,
) -> float | None:
    """Find the log likelihood ratio of two parts being one object rather than two.

    It is None if the parts are too far apart or can't be compared.
    """
    if one.turned != other.turned or not (one.smooth and other.smooth):
        return None
    if min(len(one.marks), len(other.marks)) < MIN_LANDMARKS:
        return None
    scale = measure_magnification(correspondences, np.concatenate([one.members, other.members]))
    part, others = (_points(correspondences, own.marks, scale) for own in (one, other))
    if _gap(part, others) > reach:
        return None
    if not (_fixes_map(part[0]) and _fixes_map(others[0])):
        return None
    bends, noise = np.exp(_mean_logs(one, other)).tolist()
    extent = 2 * math.sqrt(correspondences.extents[int(scale[0] > 1)].prod())
    shown = [own.members[:: 1 + len(own.members) // MAX_COMPARED] for own in (one, other)]
    bodies = [_points(correspondences, rows, scale) for rows in shown]  # a sample of very many matches
    far = _gap(*bodies) / math.sqrt(math.prod(_spread(body[0]) for body in bodies))
    return _find_evidence(part, others, bends, noise, config, max(extent, 1.0), far)


def _find_evidence(
    part: tuple[Floats, Floats],
    other: tuple[Floats, Floats],
    bends: float,
    noise: float,
    config: MergingConfig,
    extent: float,
    far: float,
) -> float:
    """Log likelihood ratio of two parts being one object, with variances b^2 and s^2, rather than two.

    far: the gap between them, in standard deviations of their points. All bends are equally likely across a
    narrow gap, and creases are the less likely the wider it is.
    """
    both = np.vstack([part[0], other[0]]), np.vstack([part[1], other[1]])
    own, others, joint = (_kernels.fit_random_field(*points, bends, noise) for points in (part, other, both))
    square, volume = (joint[k] - own[k] - others[k] for k in range(2))
    tau = 2.0 ** np.arange(int(math.log2(config.inflation)) + 1)
    densities = -(square / tau**2 + volume) / 2 - 6 * np.log(tau) - 3 * math.log(2 * math.pi)
    creases = np.full(len(tau) - 1, -((far / config.crease) ** 2) / 2 - math.log(len(tau)))
    weights = np.append(math.log1p(-np.exp(creases).sum()), creases)
    one = np.logaddexp.reduce(densities + weights)
    # for two objects, the density is uniform: over a unit volume of maps, and over all shifts by up to the
    # sides of the picture in either direction
    return float(one + 2 * math.log(extent))


@dataclass(frozen=True, eq=False)
class _Spectrum:
    """The uncorrelated contrasts of n landmarks: values (n - 3,), vectors (n, n - 3) of phi, weights (n,)."""

    values: Floats
    vectors: Floats
    coordinates: Floats
    weights: Floats


def _decompose(x: Floats, y: Floats, phi: Floats, weights: Floats) -> _Spectrum:
    drift = np.column_stack([np.ones(len(x)), x]) * weights[:, None]
    contrasts = np.linalg.qr(drift, mode="complete")[0][:, 3:]
    values, vectors = np.linalg.eigh(contrasts.T @ (phi * np.outer(weights, weights)) @ contrasts)
    vectors = contrasts @ vectors
    return _Spectrum(np.maximum(values, 0.0), vectors, vectors.T @ (y * weights[:, None]), weights)


def _fit_variances(spectrum: _Spectrum, accuracy: float) -> tuple[float, float]:
    """The likeliest b^2 / s^2 among RATIOS, and s^2, whose prior is a scaled inverse chi-square."""
    variances = RATIOS[:, None] * spectrum.values + 1.0  # (14, n - 3), in units of s^2
    square = ((spectrum.coordinates**2).sum(axis=1) / variances).sum(axis=1)
    known = DEGREES_OF_FREEDOM * accuracy**2
    noise = (square + known) / (2 * variances.shape[1] + DEGREES_OF_FREEDOM)
    likelihood = -(square + known) / (2 * noise) - np.log(variances * noise[:, None]).sum(axis=1)
    best = int(np.argmax(likelihood - DEGREES_OF_FREEDOM * np.log(noise) / 2))
    return float(RATIOS[best]), float(noise[best])


def _robust_deviations(x: Floats, y: Floats, accuracy: float) -> Floats:
    """(n,) distance of each landmark from its prediction, in standard deviations, by reweighted REML."""
    phi, noise, error = _phi(x), np.ones(len(x)), np.zeros(len(x))  # error: squares in units of s^2
    for _ in range(N_FIT_ROUNDS):
        spectrum = _decompose(x, y, phi, 1 / np.sqrt(noise))
        ratio, variance = _fit_variances(spectrum, accuracy)
        scaled = spectrum.vectors / (ratio * spectrum.values + 1.0)
        precision = np.maximum((scaled * spectrum.vectors).sum(axis=1), 1e-12)
        residual = scaled @ spectrum.coordinates / precision[:, None] * np.sqrt(noise)[:, None]
        expected = variance * (noise / precision - noise + 1.0)
        error = (residual**2).sum(axis=1) / np.maximum(expected, 1e-12)
        noise = np.maximum((DEGREES_OF_FREEDOM + error) / (DEGREES_OF_FREEDOM + 2), 1.0)
    return np.asarray(np.sqrt(error))


def _is_smooth(found: Roughness, smooth_map: SmoothMapConfig) -> bool:
    """Whether a point can be predicted from its neighbours.

    It cannot if the largest of RATIOS is the likeliest, or if points are farther off than any member of an
    object may be.
    """
    return found.bend < found.accuracy and found.accuracy <= smooth_map.tolerance * smooth_map.accuracy


def _points(
    correspondences: Correspondences, rows: Array, scale: tuple[float, float]
) -> tuple[Floats, Floats]:
    """x, y (n, 2): points of the matches, with y in the image where the object is smaller."""
    x, y = correspondences.xy0[rows] / scale[0], correspondences.xy1[rows] / scale[1]
    return (x, y) if scale[0] > 1 else (y, x)


def _spread_out(x: Floats, n: int) -> Ints:
    """Rows of up to n points: first the one farthest from the middle, then those farthest from the chosen."""
    chosen = [int(np.argmax(((x - x.mean(axis=0)) ** 2).sum(axis=1)))]
    square = ((x - x[chosen[0]]) ** 2).sum(axis=1)
    while len(chosen) < min(n, len(x)):
        chosen.append(int(np.argmax(square)))
        square = np.minimum(square, ((x - x[chosen[-1]]) ** 2).sum(axis=1))
    return np.array(chosen)


def _phi(x: Floats) -> Floats:
    square = ((x[:, None] - x[None]) ** 2).sum(axis=2)
    return np.asarray(0.5 * square * np.log(np.where(square > 0, square, 1.0)))


def _fixes_map(x: Floats) -> bool:
    """Whether points are not all on one line, which would not show how an object moves beside it."""
    return bool(np.linalg.matrix_rank(x - x.mean(axis=0)) == 2)


def _gap(part: tuple[Floats, Floats], other: tuple[Floats, Floats]) -> float:
    """The least distance of a point of one part from one of the other, in the image where it is larger."""
    distances = (nearest_points(far, near, 1)[1] for near, far in zip(part, other, strict=True))
    return max(float(distance.min()) for distance in distances)


def _spread(points: Floats) -> float:
    """The standard deviation of points (n, 2), the geometric mean over their two principal axes."""
    deviations = np.linalg.svd(points - points.mean(axis=0), compute_uv=False)
    return math.sqrt(deviations.prod() / len(points))
