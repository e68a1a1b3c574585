"""How good a set of kept correspondences is: F-score, and objects found, whole or mixed.

Notation: cluster (m,) int is -1 where a correspondence was removed, else its cluster; instance (m,) int
is -1 where it is false, else the object instance on which it is true.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

MIN_MATCHES = 8  # a cluster with fewer matches is too small to count as an object
MIN_SHARE = 0.6  # of a cluster's matches must be true on one instance
MAX_FOREIGN = 0.1  # of a cluster's matches may be true on other instances


@dataclass(frozen=True)
class Score:
    """Precision, recall and F of the kept correspondences, each in [0, 1]."""

    precision: float
    recall: float
    f: float


@dataclass(frozen=True)
class ObjectCount:
    """Of `total` instances, how many were `found` and in how many `clusters`, and how many clusters are
    `mixed` (on several instances, or mostly false).
    """

    total: int
    found: int
    clusters: int
    mixed: int

    @property
    def clusters_per_object(self) -> float:
        """Clusters per object found; nan if none was."""
        return self.clusters / self.found if self.found else float("nan")


def f_score(n_true_kept: int, n_kept: int, n_true: int) -> float:
    """F = 2PR / (P + R) with P = n_true_kept / n_kept and R = n_true_kept / n_true; 0 if nothing is right.

    The paper prints PR / (P + R), but its example (Fig. 5: 532 true of 552 kept, 533 in all) has the
    factor 2:

    >>> round(f_score(532, 552, 533), 3)
    0.981

    Raises ValueError if the counts are impossible (n_true_kept is above n_kept or n_true).
    """
    most = min(n_kept, n_true)
    if not 0 <= n_true_kept <= most:
        raise ValueError(
            f"n_true_kept must be in [0, {most}] for {n_kept} kept and {n_true} true, got {n_true_kept}"
        )
    return 2 * n_true_kept / (n_kept + n_true) if n_true_kept else 0.0


def score_matches(kept: NDArray[np.bool_], true: NDArray[np.bool_]) -> Score:
    """Score of (m,) masks: the correspondences kept, and those that are true.

    >>> score_matches(np.array([1, 1, 0, 1], bool), np.array([1, 0, 0, 1], bool))
    Score(precision=0.6666666666666666, recall=1.0, f=0.8)
    """
    right, n_kept, n_true = (int(np.count_nonzero(x)) for x in (kept & true, kept, true))
    return Score(right / max(n_kept, 1), right / max(n_true, 1), f_score(right, n_kept, n_true))


def count_objects(
    cluster: NDArray[np.integer], instance: NDArray[np.integer], n_instances: int
) -> ObjectCount:
    """Instances found, the clusters that show them, and mixed clusters.

    A cluster of at least 8 matches shows the instance on which most of its true matches are, if these are
    at least 60 % of all its matches. It is mixed if it shows none, or if more than 10 % of its matches
    are true on others.
    """
    found: set[int] = set()
    clusters = mixed = 0
    for c in np.unique(cluster[cluster >= 0]):
        members = instance[cluster == c]
        if len(members) < MIN_MATCHES:
            continue
        counts = np.bincount(members[members >= 0], minlength=n_instances)  # (n_instances,)
        if counts.max(initial=0) < MIN_SHARE * len(members):
            mixed += 1
            continue
        found.add(int(counts.argmax()))
        clusters += 1
        mixed += int(counts.sum() - counts.max() > MAX_FOREIGN * len(members))
    return ObjectCount(n_instances, len(found), clusters, mixed)
