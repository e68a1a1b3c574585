"""Groups of correspondences: their record, and the conditions for a group to be an object."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from matching._common.types import Floats, Ints
from matching.correspondences.correspondences import Correspondences
from matching.correspondences.points import is_narrow, measure_spread
from matching.settings import LARGEST, MAX_NFA, check_settings, setting

# Matches of the smallest object where an object has few: details of large pictures, and given matches. Within
# one band of scales, unrelated pictures had no group of so many.
FEW_MATCHES = 8

# Standard error of the affine map of a narrow object, pixels. Of 60 true and 53 false ones, 95 % and 8 % are
# below. The accuracy of a point is that of `smooth_map`.
MAX_MAP_ERROR, POINT_ACCURACY = 0.5, 0.6
# Pixels from the middle at which the map must at least be known: the matches of a line of print lie within a
# few pixels of it. With the default error, the derivative across is known to 0.03.
MIN_HALF_WIDTH = 16.0
TINY = 1e-6


@dataclass(frozen=True)
class ObjectsConfig:
    """Conditions for an object.

    Parameters
    ----------
    min_matches : int
        Smallest number of matches; the smooth map predicts each match from this many others. Unrelated
        pictures have groups of 8 to 11 matches that agree. Details of large pictures and given matches need
        8, unless another number than the default is set.
    rounds : int, optional
        The largest number of rounds of grouping: the first groups all matches, each later one those that
        remain. By default, rounds go on until nothing more is found.
    reach : float
        Distance in pixels: matches this close to those of an object in both images are not grouped again.
    gap : float
        Longest edge of the graph, in pixels of the image where the object is smaller.
    max_log_nfa : float
        Log10 of the largest number of false alarms that an object among given matches without pictures may
        have; see `matching.grouping.significance`.
    evidence : float
        Share of `min_degree` that mutual candidates must reach for anything to be clustered (see
        `matching.grouping.evidence`); 0: no test. Only plain matches of two pictures are tested, not given
        matches, simulated views or repeats in one picture.
    """

    min_matches: int = setting(12, 4, LARGEST)
    rounds: int | None = setting(None, 1, LARGEST, kind=int)
    reach: float = setting(25.0, 0, 1e6)
    gap: float = setting(300.0, 0, 1e6)
    max_log_nfa: float = setting(math.log10(MAX_NFA.default), -1000, 1000)
    evidence: float = setting(0.5, 0, 100)

    def __post_init__(self) -> None:
        check_settings(self)


def need_fewer(config: ObjectsConfig) -> ObjectsConfig:
    """The conditions with FEW_MATCHES as the smallest number of matches, unless the user set another one."""
    is_default = config.min_matches == ObjectsConfig.min_matches
    return replace(config, min_matches=FEW_MATCHES) if is_default else config


@dataclass(frozen=True, eq=False)
class Part:
    """Correspondences that one smooth map explains."""

    rows: Ints  # (n,), ascending
    bend: float  # the standard deviation of its bends, see `merging.Roughness`


@dataclass(frozen=True, eq=False)
class Group:
    """Correspondences that may be an object, or are one."""

    rows: Ints  # (n,), of its correspondences, ascending
    score: float  # in [0, 1], see `clusters.measure_scores`
    landmarks: Ints  # (k,), rows of some of them, see `merging`; none if nothing is merged
    log_nfa: float | None = None  # log10 of its number of false alarms; None until it is measured

    def at(self, rows: Ints) -> Group:
        """The group after correspondence i has been renumbered to rows[i], rows (m,)."""
        return replace(self, rows=np.sort(rows[self.rows]), landmarks=rows[self.landmarks])


def make_group(rows: Ints, score: float, log_nfa: float | None = None) -> Group:
    """Make a group without landmarks: rows (n,)."""
    return Group(rows, score, rows[:0], log_nfa)


def sort_groups(groups: Iterable[Group]) -> list[Group]:
    """Sort groups by descending score; equal ones stay in the order given."""
    return sorted(groups, key=lambda group: -group.score)


def sort_by_size(parts: Iterable[Part]) -> list[Part]:
    """Sort parts, the largest first; of equal ones, the one with the smallest row."""
    return sorted(parts, key=lambda part: (-len(part.rows), part.rows[0]))


def count_members(groups: Iterable[Group]) -> int:
    """Count the correspondences of groups."""
    return sum(len(group.rows) for group in groups)


def label_groups(n: int, groups: Sequence[Group]) -> Ints:
    """(n,) the number of the group of each correspondence; -1 for an outlier."""
    return number_rows(n, [group.rows for group in groups])


def number_rows(n: int, groups: Iterable[Ints]) -> Ints:
    """(n,) the number of the group that each row is in; -1 for rows in none."""
    labels = np.full(n, -1, np.int64)
    for k, rows in enumerate(groups):
        labels[rows] = k
    return labels


def measure_map_error(x: Floats, y: Floats) -> float:
    """Standard error of an affine map between x, y (n, 2) at the corners of the box around them.

    It is the larger one of both directions, in pixels of the image where the matches are smaller. Places that
    repeat count once.
    """
    places = np.unique(np.rint(np.hstack([x, y])), axis=0, return_index=True)[1]
    return max(_measure_error_of_map(x[places], y[places]), _measure_error_of_map(y[places], x[places]))


def _measure_error_of_map(x: Floats, y: Floats) -> float:
    """The same in one direction, for matches that are all at different places."""
    x, y = x - x.mean(axis=0), y - y.mean(axis=0)
    squares, axes = np.linalg.eigh(x.T @ x)
    x, squares = x @ axes, np.maximum(squares, TINY)
    slopes = x.T @ y / squares[:, None]  # the least-squares fit, because both columns of x are orthogonal
    scale = max(math.sqrt(abs(np.linalg.det(slopes))), TINY)
    residual = math.sqrt(((y - x @ slopes) ** 2).sum() / (2 * max(len(x) - 3, 1))) / max(scale, 1)
    half = np.maximum(np.abs(x).max(axis=0), MIN_HALF_WIDTH / min(scale, 1))
    return max(residual, POINT_ACCURACY) * math.sqrt(1 / len(x) + (half**2 / squares).sum())


def is_object(
    correspondences: Correspondences,
    members: Ints,
    config: ObjectsConfig,
    max_map_error: float = MAX_MAP_ERROR,
) -> bool:
    """Test whether matches (k,) are enough, and determine a map; max_map_error in pixels.

    They must spread by a pixel in every direction and, if narrow, determine an affine map. Wide groups may
    bend, so that no affine map needs to fit them.
    """
    ends = correspondences.xy0[members], correspondences.xy1[members]
    if len(members) < config.min_matches or any(measure_spread(points)[0] < 1 for points in ends):
        return False
    return not any(map(is_narrow, ends)) or measure_map_error(*ends) <= max_map_error
