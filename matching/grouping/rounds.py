"""What the stages of grouping hand on: what holds in all rounds, and what is known in one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from matching._common.types import Ints
from matching.correspondences.correspondences import Correspondences
from matching.grouping.objects import Groups
from matching.grouping.rejections import Trace
from matching.grouping.settings import GroupingSettings
from matching.stages import Stages


@dataclass(frozen=True, eq=False)
class Part:
    """A part of an object, or all of it.

    Parameters
    ----------
    members : (n,) int64
        Rows of its matches, rising.
    landmarks : (k,) int64
        Rows of some of them, see `matching.grouping.merging`.
    score : float
        In [0, 1], see `clustering.cluster_scores`.
    log_nfa : float
        Decimal logarithm of its number of false alarms; infinity before it is measured.
    """

    members: Ints
    landmarks: Ints
    score: float
    log_nfa: float = np.inf


@dataclass(frozen=True, eq=False)
class Context:
    """What holds in all rounds.

    Parameters
    ----------
    correspondences : Correspondences
        What is grouped, the best first.
    n_listed : int
        How many of them are clustered at a time; the others may join objects.
    config : GroupingSettings
        The settings.
    trace : Trace
        What became of those that are in no object.
    n_threads : int
        Threads.
    """

    correspondences: Correspondences
    n_listed: int
    config: GroupingSettings
    trace: Trace
    n_threads: int = 1


@dataclass(frozen=True, eq=False)
class Round:
    """What is known in a round of grouping, as far as its stages have come.

    Parameters
    ----------
    known : list of Part
        Objects of earlier rounds.
    rows : (n,) int64
        The correspondences that are clustered, rising: the vertices of the graph.
    knn, graph : KnnGraph, AffinityGraph
        Their nearest neighbours, numbers below n, and the weights of the edges to them.
    initial : (n,) int64, optional
        Initial clusters, where a way has rules of its own for them.
    labels : (n,) int64
        The cluster of each vertex, -1 for none.
    clusters : list of (k,) int64
        The rows of the clusters that may be objects, the largest first.
    bodies : list of tuple
        The rows of each merged cluster, by falling size, and how strongly it bends.
    n_bodies : int
        How many there were before some were found to be no objects.
    parts : list of Part
        Parts of objects, from `scores` on; from `merging` on all objects, those known before first.
    n_known : int
        How many of the parts are objects of earlier rounds, from `merging` on.
    """

    known: list[Part]
    rows: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    knn: Any = None
    graph: Any = None
    initial: Ints | None = None
    labels: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    clusters: list[Ints] = field(default_factory=list)
    bodies: list[tuple[Ints, float]] = field(default_factory=list)
    n_bodies: int = 0
    parts: list[Part] = field(default_factory=list)
    n_known: int = 0


def run_stages(state: Round, context: Context, stages: Stages) -> Round | None:
    """Run stages one after another; None where one leaves nothing to the next."""
    for stage in stages:
        following = stage.run(state, context)
        if following is None:
            return None
        state = following
    return state


def count_members(parts: list[Part]) -> int:
    """Count the matches of parts."""
    return sum(len(part.members) for part in parts)


def number_by_score(m: int, objects: list[Part]) -> Groups:
    """The Groups of m correspondences: objects by falling score; ties as given. Not all ways test them."""
    objects = sorted(objects, key=lambda part: -part.score)
    labels = np.full(m, -1, np.int64)
    for k, part in enumerate(objects):
        labels[part.members] = k
    scores, log_nfa = (
        np.array([getattr(part, name) for part in objects], np.float64) for name in ("score", "log_nfa")
    )
    return Groups(labels, scores, None if np.isinf(log_nfa).any() else log_nfa)
