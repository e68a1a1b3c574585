"""Objects that are too small for the size at which pictures are first matched.

A picture larger than the working size has finer octaves than those described at that size
(`matching.features.details`). A detail is an object of at least 24 pixels that only these finer octaves show.
Its size in the other picture is unknown, so candidates are matched and grouped for one band of relative
scales after another (`matching.correspondences.scale_bands`). All lengths are pixels of the large picture at
its full size.

A detail has few matches, so its significance decides whether chance explains it. Significance is measured
outwards from a match in the large picture, where few other matches are nearby. Each band counts as one more
test.

If only one picture is larger than the working size, its details are always searched for. If both are, or if
both are so small that they can be enlarged, details are searched for only if no object is sure or likely
without them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from matching._common.threads import default_threads
from matching._common.types import Array, Bools, Floats, Int8s, Ints
from matching.config import MatchConfig
from matching.correspondences.candidates import Candidates
from matching.correspondences.points import is_within_reach
from matching.correspondences.scale_bands import match_by_scale
from matching.features.extraction import Features, mirrored_features
from matching.grouping import Groups
from matching.grouping.objects import need_fewer
from matching.grouping.rejections import IN_OBJECT, Rejection, choose_apart, mark_dropped
from matching.pictures.images import to_picture
from matching.pipelines.description import DescribedPicture
from matching.pipelines.listing import choose_rows

# Pixels of the full size: smaller objects have too few features. Of prints in 12 megapixels, none of two of
# 28 px is found, and both of 36 px are.
MIN_DETAIL_SIZE = 24.0
MAX_DETAIL_SIZE = 200.0  # working pixels: larger objects are found without details; no record of a choice
# Pixels: smaller features of the other picture are left out if it is large enough to have plenty of others.
# That saves a third of the time. Of 36 prints of 36 to 100 px, one fewer is found with 2.0, and as many
# without a bound.
MIN_FEATURE_SIZE = 2.0**0.5
# A detail replaces an object if it covers this share of its matches; one of two details that share half goes.
MIN_SHARE_OF_OBJECT, MIN_SHARE_OF_DETAIL = 0.9, 0.5

Group = Callable[[Features, Features, Candidates, Candidates, MatchConfig], tuple[Candidates, Groups]]


@dataclass(frozen=True, eq=False)
class Located:
    """Matches and objects in the pixels of two pictures."""

    xy0: Floats  # (m, 2)
    xy1: Floats
    score: Floats  # (m,), descriptor distances
    labels: Ints  # (m,), the object of each, -1 for outliers
    scores: Floats  # (n_objects,)
    steps: Floats  # (n_objects, 2), pixels of each picture per pixel of the size at which each was found
    log_nfa: Floats | None  # (n_objects,), log10 of their numbers of false alarms; None if not tested
    stages: Int8s  # (m,), the stage that dropped each match, see `rejections.Trace`
    rejected: tuple[Rejection, ...] = ()

    @property
    def swapped(self) -> Located:
        """The same matches with the pictures in the other order."""
        return replace(
            self, xy0=self.xy1, xy1=self.xy0, steps=self.steps[:, ::-1],
            rejected=tuple(item.swapped for item in self.rejected),
        )  # fmt: skip

    def reject(self, stage: str, kept: Bools, reach: float) -> Located:
        """Reject the objects that a stage did not keep (n_objects,)."""
        if kept.all():
            return self
        rows = [self.labels == k for k in np.flatnonzero(~kept)]
        dropped = [Rejection(stage, None, None, self.xy0[own], self.xy1[own]) for own in rows]
        number = np.append(np.where(kept, np.cumsum(kept) - 1, -1), -1)
        log_nfa = None if self.log_nfa is None else self.log_nfa[kept]
        found = replace(
            self, labels=number[self.labels], scores=self.scores[kept], steps=self.steps[kept],
            log_nfa=log_nfa, stages=mark_dropped(self.stages, stage, np.any(rows, axis=0)),
        )  # fmt: skip
        return found.add_rejected(dropped, reach)

    def add_rejected(self, rejected: Sequence[Rejection], reach: float) -> Located:
        """Add those rejected groups of another search that are not near objects or larger rejected groups."""
        if not rejected:
            return self
        own, reaches = self.labels >= 0, reach * np.max([*self.steps, [1.0, 1.0]], axis=0)
        chosen = choose_apart([*self.rejected, *rejected], self.xy0[own], self.xy1[own], reaches)
        return replace(self, rejected=chosen)


def locate(
    candidates: Candidates, groups: Groups, step0: Floats, step1: Floats, most: int | None = None
) -> Located:
    """Locate candidates and their groups in the pictures; step0, step1 (2,).

    At most `most` candidates are kept: first the matches of objects (the best of them if there are too many),
    then outliers.
    """
    steps = np.tile([step0.max(), step1.max()], (len(groups.scores), 1))
    xy0, xy1 = to_picture(candidates.xy0, step0), to_picture(candidates.xy1, step1)
    rows = np.arange(len(candidates))
    if most is not None:
        rows = choose_rows(groups.labels, candidates.score, rows >= most, most)
    return Located(
        xy0[rows], xy1[rows], candidates.score[rows], groups.labels[rows], groups.scores, steps,
        groups.log_nfa, groups.told_stages[rows],
        tuple(item.locate(xy0, xy1) for item in groups.rejected),
    )  # fmt: skip


def find_details(
    coarse: DescribedPicture,
    fine: DescribedPicture,
    working_step: Floats,
    config: MatchConfig,
    group: Group,
) -> list[Located]:
    """Find objects of one picture that are details of the other: working_step (2,)."""
    if not len(coarse.features) or not len(fine.features):
        return []
    extent = max(float(np.ptp(coarse.features.xy, axis=0).max()), 1.0)
    coarse = replace(coarse, features=_leave_out_finest(coarse, extent))
    largest = MAX_DETAIL_SIZE * float((working_step / fine.step).max())
    scales = np.log2(MIN_DETAIL_SIZE / extent), max(np.log2(largest / extent), 0.0)
    kinds = [fine.features, mirrored_features(fine.features)] if config.mirrored else [fine.features]
    bands = [
        (features, *band)
        for features in kinds
        for band in match_by_scale(coarse.features, features, scales, config.candidates, default_threads())
    ]
    return [
        group_details(coarse, replace(fine, features=features), (best, pool), len(bands), config, group)
        for features, best, pool in bands
    ]


def _leave_out_finest(seen: DescribedPicture, extent: float) -> Features:
    """Leave out features that are too small to matter for an object that fills the picture.

    An object of MAX_DETAIL_SIZE pixels has enough features of one pixel and more. Leaving out the others
    saves a third of the time.
    """
    sizes = np.sqrt(np.abs(np.linalg.det(seen.features.frames)))
    return seen.features[sizes >= min(extent / MAX_DETAIL_SIZE, MIN_FEATURE_SIZE / float(seen.step.max()))]


def group_details(
    coarse: DescribedPicture,
    fine: DescribedPicture,
    candidates: tuple[Candidates, Candidates],
    n_tests: int,
    config: MatchConfig,
    group: Group,
) -> Located:
    """Group candidates and their pool into objects of the finer picture; this is one of n_tests tests."""
    # Unrelated pictures have no group with this many matches within a band.
    objects = need_fewer(config.objects)
    best, pool = (turn(own, np.ones(len(own), bool)) for own in candidates)
    both, groups = group(fine.features, coarse.features, best, pool, replace(config, objects=objects))
    if groups.log_nfa is not None:
        log_nfa, most = groups.log_nfa + np.log10(n_tests), objects.max_log_nfa
        groups = replace(groups, log_nfa=log_nfa)
        groups = groups.reject("significance", log_nfa <= most, log_nfa, np.full(len(log_nfa), most))
    return locate(both, groups, fine.step, coarse.step).swapped


def turn(candidates: Candidates, rows: Bools) -> Candidates:
    """The candidates with the pictures in the other order for some rows (m,)."""
    ends: dict[str, Array] = {}
    for name in ("xy", "frames", "row"):
        a, b = getattr(candidates, f"{name}0"), getattr(candidates, f"{name}1")
        chosen = rows.reshape(-1, *[1] * (a.ndim - 1))
        ends |= {f"{name}0": np.where(chosen, b, a), f"{name}1": np.where(chosen, a, b)}
    return replace(candidates, **ends)


def add_details(known: Located, details: Sequence[Located], reach: float, most: int) -> Located:
    """Add details to the known objects; of several that are the same, the one with most matches is kept."""
    objects = [(part, k) for part in (known, *details) for k in range(len(part.scores))]
    objects.sort(key=lambda item: -int(np.count_nonzero(item[0].labels == item[1])))  # ties: known ones first
    kept: list[tuple[Located, int]] = []
    for found in objects:
        share = MIN_SHARE_OF_OBJECT if found[0] is known else MIN_SHARE_OF_DETAIL
        if all(_share_near(found, other, reach) < share for other in kept):
            kept.append(found)
    added = known if all(part is known for part, _ in kept) else join_objects(known, kept, most)
    return added.add_rejected([item for part in details for item in part.rejected], reach)


def _share_near(found: tuple[Located, int], other: tuple[Located, int], reach: float) -> float:
    """Share of an object's matches near another's in both pictures; each is given as (Located, number)."""
    (own, k), (its, n) = found, other
    near = np.ones(np.count_nonzero(own.labels == k), bool)
    far = reach * np.maximum(own.steps[k], its.steps[n])
    for xy, others, within in ((own.xy0, its.xy0, far[0]), (own.xy1, its.xy1, far[1])):
        near &= is_within_reach(xy[own.labels == k], others[its.labels == n], float(within))
    return float(near.mean())


def join_objects(known: Located, objects: list[tuple[Located, int]], most: int) -> Located:
    """Join the known candidates with the matches of the objects; the result has only these objects."""
    objects = sorted(objects, key=lambda item: -item[0].scores[item[1]])
    labels, added = [np.full(len(known.labels), -1)], [(known, np.arange(len(known.labels)))]
    for number, (part, k) in enumerate(objects):
        rows = np.flatnonzero(part.labels == k)
        if part is known:
            labels[0][rows] = number
        else:
            labels.append(np.full(len(rows), number))
            added.append((part, rows))
    xy0, xy1, score = (
        np.concatenate([getattr(part, name)[rows] for part, rows in added])
        for name in ("xy0", "xy1", "score")
    )
    label = np.concatenate(labels)
    replaced = (labels[0] < 0) & (known.labels >= 0)
    stages = np.full(len(label), IN_OBJECT, np.int8)
    stages[: len(known.labels)] = mark_dropped(known.stages, "details", replaced)
    rows = choose_rows(label, score, np.zeros(len(label), bool), most)
    scores, steps, log_nfa = (
        np.array([getattr(part, name)[k] for part, k in objects]) for name in ("scores", "steps", "log_nfa")
    )
    return Located(
        xy0[rows], xy1[rows], score[rows], label[rows], scores, steps, log_nfa, stages[rows], known.rejected
    )
