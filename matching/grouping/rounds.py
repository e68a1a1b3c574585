"""What the stages of grouping share: the context of all rounds, the state of one round, and landmarks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from matching._common.types import Ints
from matching.correspondences.correspondences import Correspondences
from matching.grouping import clustering, merging
from matching.grouping.objects import Groups, number_rows
from matching.grouping.rejections import Trace
from matching.grouping.settings import GroupingSettings
from matching.stages import Stages


@dataclass(frozen=True, eq=False)
class Part:
    """A part of an object, or all of it."""

    members: Ints  # (n,), rows of its matches, ascending
    landmarks: Ints  # (k,), rows of some of them, see `merging`
    score: float  # in [0, 1], see `clustering.cluster_scores`
    log_nfa: float = np.inf  # log10 of its number of false alarms; inf until it is measured


@dataclass(frozen=True, eq=False)
class Context:
    """The data shared by all rounds."""

    correspondences: Correspondences  # best first within each kind
    n_listed: int  # how many are clustered at a time; the others may join objects later
    config: GroupingSettings
    trace: Trace
    n_threads: int = 1


@dataclass(frozen=True, eq=False)
class Round:
    """The state of a round of grouping; the stages fill its fields in turn."""

    known: list[Part]  # objects of earlier rounds
    # (n,), clustered correspondences, ascending
    rows: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    knn: Any = None  # KnnGraph of the n vertices
    graph: Any = None
    initial: Ints | None = None  # (n,), initial clusters, if not the default ones
    tree: Any = None  # MergeTree, if graph degree linkage made the clusters
    labels: Ints = field(default_factory=lambda: np.empty(0, np.int64))  # (n,), cluster of each vertex or -1
    clusters: list[Ints] = field(default_factory=list)  # rows (k,), largest first
    bodies: list[tuple[Ints, float]] = field(default_factory=list)  # rows and bend of each merged cluster
    # set by `scores`; after `merging`, these are whole objects, the known ones first
    parts: list[Part] = field(default_factory=list)
    n_known: int = 0  # how many parts are objects of earlier rounds, set by `merging`


def run_stages(state: Round, context: Context, stages: Stages) -> Round | None:
    """Run stages one after another; None if a stage leaves nothing for the next."""
    for stage in stages:
        following = stage.run(state, context)
        if following is None:
            return None
        state = following
    return state


def find_landmarks(state: Round, context: Context, parts: list[Ints]) -> list[Ints]:
    """The landmarks of each part: rows (n,) of its matches that are well connected to it."""
    correspondences, config = context.correspondences, context.config
    labels = number_rows(len(correspondences), parts)[state.rows]
    degrees = np.zeros(len(correspondences))
    degrees[state.rows] = clustering.member_degrees(state.graph, labels)
    accuracy = config.smooth_map.accuracy
    return [
        merging.find_landmarks(correspondences, members, degrees[members], config.merging, accuracy)
        for members in parts
    ]


def count_members(parts: list[Part]) -> int:
    """Count the matches of parts."""
    return sum(len(part.members) for part in parts)


def number_by_score(m: int, objects: list[Part]) -> Groups:
    """The Groups of m correspondences: objects by descending score, ties in the order given."""
    objects = sorted(objects, key=lambda part: -part.score)
    labels = number_rows(m, [part.members for part in objects])
    scores, log_nfa = (
        np.array([getattr(part, name) for part in objects], np.float64) for name in ("score", "log_nfa")
    )
    return Groups(labels, scores, None if np.isinf(log_nfa).any() else log_nfa)
