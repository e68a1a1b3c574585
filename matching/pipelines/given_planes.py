"""The planes that an object consists of.

The grouping asks whether matches move smoothly together; neighbouring planes of a rigid thing do. Here the
matches of one object are asked whether one homography takes them from picture 0 to picture 1. Around each
match the nearest ones propose a homography. The proposal that explains most is a plane, then the one that
explains most of the rest, and so on. Then each match chooses among the planes, by what its neighbours choose
as well, the planes are fitted again to those that chose them, and planes that one homography explains are
merged, until nothing changes.
"""

from __future__ import annotations

import numpy as np
import scipy

from matching._common import opencv
from matching._common.types import Bools, Floats, Ints
from matching.grouping.objects import Groups
from matching.grouping.rejections import mark_dropped
from matching.objects.transforms import apply_transform

FELLOWS = 14  # nearest matches of an object that propose a homography
PROPOSALS = 400  # most of an object
LEAST = 8  # matches of a plane
TOLERANCE = 4.0  # times the error of good proposals where they were made: what a plane explains
STEPS = 8
COHERENCE = 0.3  # weight of the share of the neighbours that choose a plane, in squared tolerances
SAME = 0.95  # share of either plane that one homography explains if they are one


def split_into_planes(xy0: Floats, xy1: Floats, groups: Groups) -> Groups:
    """Split each object into the planes that it consists of.

    xy0, xy1 (n, 2) float64.
    """
    found = []
    for k, score in enumerate(groups.scores):
        own = np.flatnonzero(groups.labels == k)
        own = own[np.lexsort(np.hstack([xy0[own], xy1[own]]).T)]  # an order that does not depend on the rows'
        planes = find_planes_of_object(xy0[own], xy1[own])
        found += [(float(score), own[planes == p], k) for p in range(planes.max(initial=-1) + 1)]
    found.sort(key=lambda plane: (-plane[0], -len(plane[1]), plane[1][0]))
    labels = np.full(len(xy0), -1, np.int64)
    for p, (_, rows, _) in enumerate(found):
        labels[rows] = p
    log_nfa = None if groups.log_nfa is None else groups.log_nfa[[k for *_, k in found]]
    stages = mark_dropped(groups.told_stages, "planes", (labels < 0) & (groups.labels >= 0))
    return Groups(labels, np.array([score for score, *_ in found]), log_nfa, groups.rejected, stages)


def find_planes_of_object(xy0: Floats, xy1: Floats) -> Ints:
    """Find the planes of one object.

    xy0, xy1 (n, 2) float64 -> (n,) int64.
    """
    n = len(xy0)
    whole = np.zeros(n, np.int64)
    if n < 2 * LEAST:
        return whole
    places = np.hstack([xy0, xy1])
    near = scipy.spatial.cKDTree(places).query(places, min(FELLOWS, n))[1]
    proposals, tolerance = _propose(xy0, xy1, near)
    planes = _choose(xy0, xy1, proposals, tolerance)
    if not planes:
        return whole
    labels = np.full(n, -1, np.int64)
    for _ in range(STEPS):
        before = labels
        labels = _assign(xy0, xy1, planes, near, labels, tolerance)
        planes, labels = _refit(xy0, xy1, planes, labels, tolerance)
        planes, labels = _merge(xy0, xy1, planes, labels, tolerance)
        if np.array_equal(labels, before):
            break
    return labels


def transfer_error(homography: Floats, xy0: Floats, xy1: Floats) -> Floats:
    """Measure how far a homography takes points from their partners, in the picture where that is more.

    homography (3, 3) float64; xy0, xy1 (n, 2) float64 -> (n,) float64.
    """
    with np.errstate(all="ignore"):
        there = np.linalg.norm(apply_transform(homography, xy0) - xy1, axis=1)
        back = np.linalg.norm(apply_transform(np.linalg.inv(homography), xy1) - xy0, axis=1)
    return np.asarray(np.nan_to_num(np.maximum(there, back), nan=np.inf, posinf=np.inf))


def _propose(xy0: Floats, xy1: Floats, near: Ints) -> tuple[list[Floats], float]:
    """Homographies of the neighbours (n, k) of some matches, and what a plane explains: a multiple of the
    first quartile of their errors there, as some neighbours are on two planes.
    """
    chosen = np.sort(np.random.default_rng(0).permutation(len(near))[:PROPOSALS])
    proposals, errors = [], []
    for i in chosen:
        rows = near[i]
        homography = _fit(xy0[rows], xy1[rows])
        if homography is not None:
            proposals.append(homography)
            errors.append(np.median(transfer_error(homography, xy0[rows], xy1[rows])))
    extent = max(np.ptp(xy0, axis=0).max(), np.ptp(xy1, axis=0).max())
    return proposals, max(TOLERANCE * float(np.quantile(errors, 0.25)) if errors else 0.0, 1e-6 * extent)


def _fit(xy0: Floats, xy1: Floats) -> Floats | None:
    """The homography of least squares, by the direct linear transform of centred and scaled points."""
    into0, into1 = _centring(xy0), _centring(xy1)
    if len(xy0) < 4 or into0 is None or into1 is None:
        return None
    (x, y), (u, v) = apply_transform(into0, xy0).T, apply_transform(into1, xy1).T
    point, none = np.stack([x, y, np.ones(len(x))]), np.zeros((3, len(x)))
    design = np.hstack([np.vstack([point, none, -u * point]), np.vstack([none, point, -v * point])]).T
    homography = np.linalg.svd(design, full_matrices=True)[2][-1].reshape(3, 3)
    fitted: Floats = np.linalg.inv(into1) @ homography @ into0
    return fitted if np.linalg.matrix_rank(fitted) == 3 else None


def _centring(xy: Floats) -> Floats | None:
    """(3, 3): takes points to a unit square around the origin; None where all are in one place."""
    middle, spread = xy.mean(axis=0), float(xy.std())
    if not spread > 0:
        return None
    return np.array([[1 / spread, 0, -middle[0] / spread], [0, 1 / spread, -middle[1] / spread], [0, 0, 1]])


def _choose(xy0: Floats, xy1: Floats, proposals: list[Floats], tolerance: float) -> list[Floats]:
    """Planes, one after another: that of the proposal which explains most of the matches left."""
    left, planes = np.ones(len(xy0), bool), []
    explained = np.array([transfer_error(h, xy0, xy1) <= tolerance for h in proposals]).reshape(-1, len(xy0))
    while len(explained):
        best = int(np.argmax((explained & left).sum(axis=1)))
        own = explained[best] & left
        if own.sum() < LEAST:
            break
        plane, own = _grow(xy0, xy1, own, left, tolerance)
        if plane is not None:
            planes.append(plane)
        left &= ~(own | explained[best])
    return planes


def _grow(xy0: Floats, xy1: Floats, own: Bools, left: Bools, tolerance: float) -> tuple[Floats | None, Bools]:
    """The homography of some of the matches left, and which of these it explains."""
    plane = opencv.fit_homography(xy0[own], xy1[own], tolerance)
    if plane is None:
        return None, own
    return plane, left & (transfer_error(plane, xy0, xy1) <= tolerance)


def _assign(
    xy0: Floats, xy1: Floats, planes: list[Floats], near: Ints, labels: Ints, tolerance: float
) -> Ints:
    """The plane that each match chooses: the one with the least squared error, in squared tolerances, and
    less the share of the neighbours (n, k) that chose it before; -1 where none is within the tolerance.
    """
    error = np.array([transfer_error(plane, xy0, xy1) for plane in planes]) / tolerance  # (p, n)
    share = np.array([(labels[near] == p).mean(axis=1) for p in range(len(planes))])
    cost = np.where(error <= 1, error**2 - COHERENCE * share, np.inf)
    return np.where((error <= 1).any(axis=0), cost.argmin(axis=0), -1)


def _refit(
    xy0: Floats, xy1: Floats, planes: list[Floats], labels: Ints, tolerance: float
) -> tuple[list[Floats], Ints]:
    """The planes fitted to those that chose them; planes of few matches are dropped."""
    fitted: list[Floats] = []
    renumbered = np.full(len(labels), -1, np.int64)
    for p, plane in enumerate(planes):
        own = labels == p
        if own.sum() < LEAST:
            continue
        renumbered[own] = len(fitted)
        again = opencv.fit_homography(xy0[own], xy1[own], tolerance)
        fitted.append(plane if again is None else again)
    return fitted, renumbered


def _merge(
    xy0: Floats, xy1: Floats, planes: list[Floats], labels: Ints, tolerance: float
) -> tuple[list[Floats], Ints]:
    """The planes, those merged that one homography explains; the first such pair, again and again."""
    planes, labels = list(planes), labels.copy()
    p = 0
    while p < len(planes):
        for q in range(p + 1, len(planes)):
            both = (labels == p) | (labels == q)
            one = opencv.fit_homography(xy0[both], xy1[both], tolerance)
            if one is None:
                continue
            explained = transfer_error(one, xy0, xy1) <= tolerance
            if min(explained[labels == k].mean() for k in (p, q)) >= SAME:
                planes[p] = one
                del planes[q]
                labels[labels == q] = p
                labels[labels > q] -= 1
                break
        else:
            p += 1
    return planes, labels
