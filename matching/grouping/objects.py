"""Objects as groups of correspondences: their record, and the conditions for a group to be an object."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import compress

import numpy as np

from matching._common.types import Array, Bools, Floats, Int8s, Ints
from matching.correspondences.correspondences import Correspondences
from matching.correspondences.points import measure_spread, measure_width
from matching.grouping.rejections import IN_OBJECT, Dropped, all_of_stage, choose_dropped, mark_dropped
from matching.settings import LARGEST, MAX_NFA, check_settings, setting

# Matches of the smallest object where an object has few: details of large pictures, and given matches. Within
# one band of scales, unrelated pictures had no group of so many.
FEW_MATCHES = 8


def is_of_copies(score: float) -> bool:
    """Whether matches agree with half of their neighbours, as on copies; on similar things they do not."""
    return 2 * score >= 1


@dataclass(frozen=True)
class ObjectsConfig:
    """Conditions for an object.

    Parameters
    ----------
    min_matches : int
        Smallest number of matches; the smooth map predicts each match from this many others. Unrelated
        pictures have groups of 8 to 11 matches that agree. Details of large pictures and given matches need
        8, unless another number than the default is set.
    min_width : float
        Smallest ratio of the standard deviations of the points across and along the direction in which they
        spread most, because points on a line don't determine a map.
    rounds : int, optional
        The largest number of rounds of grouping: the first groups all matches, each later one those that
        remain. By default, rounds go on until nothing more is found.
    reach : float
        Distance in pixels: matches this close to those of an object in both images are not grouped again.
    gap : float
        Largest gap between two parts of one object, and longest edge of the graph, in pixels of the image
        where the object is smaller.
    max_log_nfa : float
        Log10 of the largest number of false alarms that an object may have; see
        `matching.grouping.significance`. If all objects have more, the pictures have nothing in common.
    evidence : float
        Share of `min_degree` that mutual candidates must reach for anything to be clustered (see
        `matching.grouping.evidence`); 0: no test. Only plain matches of two pictures are tested, not given
        matches, simulated views or repeats in one picture.
    """

    min_matches: int = setting(12, 4, LARGEST)
    min_width: float = setting(0.15, 0, 1)
    rounds: int | None = setting(None, 1, LARGEST, kind=int)
    reach: float = setting(25.0, 0, 1e6)
    gap: float = setting(300.0, 0, 1e6)
    max_log_nfa: float = setting(math.log10(MAX_NFA.default), -1000, 1000)
    evidence: float = setting(0.5, 0, 100)

    def __post_init__(self) -> None:
        check_settings(self)


def need_fewer(config: ObjectsConfig) -> ObjectsConfig:
    """The conditions where FEW_MATCHES matches make an object, unless another number is asked for."""
    asked = config.min_matches != ObjectsConfig.min_matches
    return config if asked else replace(config, min_matches=FEW_MATCHES)


@dataclass(frozen=True, eq=False)
class Groups:
    """Objects found among m correspondences."""

    labels: Ints  # (m,), the object of each correspondence, numbered by descending score; -1 for outliers
    scores: Floats  # (n_objects,), see `clustering.cluster_scores`
    log_nfa: Floats | None = None  # (n_objects,), log10 of their numbers of false alarms
    rejected: tuple[Dropped, ...] = ()  # largest first
    stages: Int8s | None = None  # (m,), see `rejections.Trace`; None if not traced

    @property
    def members(self) -> list[Ints]:
        """The rows of each object, in ascending order."""
        return [np.flatnonzero(self.labels == k) for k in range(len(self.scores))]

    @property
    def told_stages(self) -> Int8s:
        """(m,) int8: the stage that dropped each correspondence; "method" if that is unknown."""
        return all_of_stage("method", self.labels) if self.stages is None else self.stages

    def at(self, rows: Ints) -> Groups:
        """The groups after a change of order: correspondence i becomes number rows[i], rows (m,)."""
        labels, stages = np.empty_like(self.labels), np.empty_like(self.told_stages)
        labels[rows], stages[rows] = self.labels, self.told_stages
        rejected = tuple(replace(item, members=np.sort(rows[item.members])) for item in self.rejected)
        return replace(self, labels=labels, stages=stages, rejected=rejected)

    def reject(self, stage: str, kept: Bools, measures: Array, bounds: Array) -> Groups:
        """Reject objects that a stage did not keep: kept (n_objects,); measures, bounds as in `Rejection`."""
        members = self.members
        dropped = [
            Dropped(stage, members[k], float(measures[k]), float(bounds[k])) for k in np.flatnonzero(~kept)
        ]
        log_nfa = None if self.log_nfa is None else self.log_nfa[kept]
        return self.regroup(stage, list(compress(members, kept)), self.scores[kept], log_nfa, dropped)

    def regroup(
        self,
        stage: str,
        members: Sequence[Ints],
        scores: Floats,
        log_nfa: Floats | None,
        dropped: Sequence[Dropped],
    ) -> Groups:
        """The groups after a stage chose other members; it dropped groups, and matches that are left over."""
        labels = number_rows(len(self.labels), members)
        stages = mark_dropped(self.told_stages, stage, (labels < 0) & (self.labels >= 0))
        stages[labels >= 0] = IN_OBJECT
        return Groups(labels, scores, log_nfa, choose_dropped([*self.rejected, *dropped], labels), stages)


def number_rows(n: int, groups: Iterable[Ints]) -> Ints:
    """(n,) the number of the group that each row is in; -1 for rows in none."""
    labels = np.full(n, -1, np.int64)
    for k, rows in enumerate(groups):
        labels[rows] = k
    return labels


def measure_width_of_matches(correspondences: Correspondences, members: Ints) -> float:
    """Measure the ratio of width to length of matches (k,), in the picture where it is smaller."""
    return min(measure_width(xy[members]) for xy in (correspondences.xy0, correspondences.xy1))


def is_object(correspondences: Correspondences, members: Ints, config: ObjectsConfig) -> bool:
    """Test whether matches (k,) are enough, and spread by a pixel in every direction, in both pictures."""
    spreads = (measure_spread(xy[members]) for xy in (correspondences.xy0, correspondences.xy1))
    return len(members) >= config.min_matches and all(
        bool(low >= 1 and low >= config.min_width**2 * high) for low, high in spreads
    )
