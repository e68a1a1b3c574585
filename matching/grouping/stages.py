"""From correspondences to objects: the stages in their order.

    rest           matches that are in no object and not near one: at first, all of them
    evidence       a cheap test, so that unrelated pictures skip all that follows (evidence.py)
    graph          correspondences that others support, with edges to those that move alike (graph.py)
    clusters       graph degree linkage (clustering.py)
    degree         members with a small degree leave
    seams          clusters of two things that a weak seam joins are cut (seams.py)
    size           clusters that are large enough stay
    parts          clusters that one smooth map explains are parts of one object (merging.py)
    smooth map     members that the map does not explain leave, others join (refinement/smooth_map.py)
    suppression    a group that shares its points with a larger object in both images is texture
                   (refinement/suppression.py)
    scores         how well the members of each part agree
    merging        parts that have grown towards each other, and objects found before, are merged
    largest gap    parts below the largest gap of the scores are outliers
    significance   objects that chance explains leave; if none is left, the pictures share nothing
                   (significance.py)

The remaining correspondences are grouped again, together with the next candidates. Each stage is a function
of the round's state and the shared context, and records what it drops in a `Trace`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import chain, count, islice

import numpy as np

from matching._common.types import Bools, Ints
from matching.correspondences.correspondences import Correspondences
from matching.correspondences.points import is_within_reach
from matching.grouping import clustering, merging
from matching.grouping.evidence import MIN_SUPPORTED, find_supported
from matching.grouping.graph import build_second_graph, fit_maps
from matching.grouping.objects import Groups, is_object, measure_width_of_matches
from matching.grouping.refinement import smooth_map
from matching.grouping.refinement.suppression import find_uncontained
from matching.grouping.rejections import Trace
from matching.grouping.rounds import (
    Context,
    Part,
    Round,
    count_members,
    find_landmarks,
    number_by_score,
    run_stages,
)
from matching.grouping.seams import cut_seams
from matching.grouping.settings import GroupingSettings
from matching.grouping.significance import lay_flat, measure_significance
from matching.stages import Stage, Stages, end_with, leave_out, replace_stage

Cluster = Callable[..., Ints]  # as `clustering.cluster_graph`


def group(
    correspondences: Correspondences,
    n_listed: int,
    config: GroupingSettings,
    n_threads: int = 1,
    stages: Stages | None = None,
) -> Groups:
    """Group correspondences into objects, by `DEFAULT` or another list of stages.

    Rounds go on as long as they add matches to objects.
    """
    trace, objects = Trace(len(correspondences)), list[Part]()
    context = Context(correspondences, n_listed, config, trace, n_threads)
    for _ in islice(count(), config.objects.rounds):
        found = run_stages(Round(objects), context, DEFAULT if stages is None else stages)
        if found is None:
            break
        gain = count_members(found.parts) - count_members(objects)
        if gain >= 0:
            objects = found.parts
        if gain <= 0:  # the next round would find the same, or undo this one
            break
    groups = number_by_score(len(correspondences), objects)
    rejected, dropped_by = trace.close(groups.labels)
    return replace(groups, rejected=rejected, stages=dropped_by)


def find_clusters(correspondences: Correspondences, config: GroupingSettings) -> Round | None:
    """Cluster the correspondences that others support, and drop members with a small degree."""
    context = Context(correspondences, len(correspondences), config, Trace(len(correspondences)))
    return run_stages(Round([]), context, end_with(VIEWS, "clusters"))


def choose_rest(state: Round, context: Context) -> Round | None:
    """The rows that are grouped in this round; None if there are too few for an object."""
    known = [part.members for part in state.known]
    config, trace = context.config.objects, context.trace
    is_left = _find_left_over(context.correspondences, known, config.reach)
    rows = np.flatnonzero(is_left)[: context.n_listed]
    trace.drop("near object", ~is_left)
    is_first_of_too_few = not known and len(rows) < config.min_matches
    if not is_first_of_too_few:
        trace.drop("rounds", is_left)
    return replace(state, rows=rows) if len(rows) >= config.min_matches else None


def test_evidence(state: Round, context: Context) -> Round | None:
    """Go on if others support enough of the mutual correspondences."""
    config, rows, trace = context.config, state.rows, context.trace
    how, least = config.clustering, config.objects.evidence * config.clustering.min_degree
    if least == 0:
        return state
    correspondences = context.correspondences[rows]
    found = find_supported(correspondences, how.n_neighbors, least, config.graph, context.n_threads)
    if len(found) >= MIN_SUPPORTED:
        return state
    trace.drop("evidence", rows)
    trace.drop_group("evidence", rows[found], len(found), MIN_SUPPORTED)
    return None


test_evidence.__test__ = False  # type: ignore[attr-defined]


def build_graphs(state: Round, context: Context) -> Round | None:
    """The graph of the correspondences that others support."""
    config, n_threads, rows = context.config, context.n_threads, state.rows
    how, gap = config.clustering, config.objects.gap
    context.trace.drop("graph", rows)
    supported, fitted = fit_maps(
        context.correspondences[rows], how.n_neighbors, config.graph, n_threads, how.min_degree
    )
    if len(supported) < config.objects.min_matches:
        return None
    knn, graph = build_second_graph(fitted, how.n_neighbors, config.graph, n_threads, reach=gap)
    return replace(state, rows=rows[supported], knn=knn, graph=graph)


def cluster_with(cluster: Cluster) -> Callable[[Round, Context], Round]:
    """The stage "clusters" by a function such as `clustering.cluster_graph`."""

    def label(state: Round, context: Context) -> Round:
        own = context.correspondences[state.rows]
        labels = cluster(own, state.knn, state.graph, state.initial, context.config.clustering)
        return replace(state, labels=labels)

    return label


def link(state: Round, context: Context) -> Round:
    """The stage "clusters" by graph degree linkage; later stages use its tree."""
    how = context.config.clustering
    tree = clustering.link_graph(state.knn, state.graph, state.initial, how)
    return replace(state, tree=tree, labels=tree.after(clustering.count_merges(tree, state.knn, how)))


def replace_clustering(cluster: Cluster, stages: Stages | None = None) -> Stages:
    """The stages, by default `DEFAULT`, with another function in place of `clustering.cluster_graph`."""
    return replace_stage(DEFAULT if stages is None else stages, "clusters", cluster_with(cluster))


def drop_loose(state: Round, context: Context) -> Round:
    """The clusters without members that have a small degree."""
    degree = context.config.clustering.min_degree * state.knn.n_neighbors
    labels = clustering.drop_outliers(state.graph, state.labels, degree)
    context.trace.drop("degree", state.rows)
    return replace(state, labels=labels)


def drop_small(state: Round, context: Context) -> Round | None:
    """The clusters that have enough members."""
    rows, labels, trace, least = state.rows, state.labels, context.trace, context.config.objects.min_matches
    trace.drop("clusters", rows[labels >= 0])
    listed = [rows[members] for members in _list_members(labels, least // 2)]
    for members in listed:
        if len(members) < least:
            trace.drop_group("clusters", members, len(members), least)
    clusters = [members for members in listed if len(members) >= least]
    return replace(state, clusters=clusters) if clusters else None


def join_clusters(state: Round, context: Context) -> Round:
    """The merged clusters, the largest first, and how strongly each bends."""
    correspondences, config, clusters = context.correspondences, context.config, state.clusters
    landmarks = find_landmarks(state, context, clusters)
    labels, marks = merging.merge_parts(
        correspondences, clusters, landmarks, config.merging, config.smooth_map, config.objects.gap
    )
    merged = []
    for k in np.unique(labels):
        members = np.sort(np.concatenate([clusters[n] for n in np.flatnonzero(labels == k)]))
        found = merging.measure_roughness(correspondences, marks[k], config.smooth_map.accuracy)
        merged.append((members, found.bend))
    return replace(state, bodies=_sort_by_size(merged))


def refine(state: Round, context: Context) -> Round:
    """Refine the merged clusters (`bodies`) by smooth maps and keep those that are objects, largest first."""
    correspondences, config, trace = context.correspondences, context.config, context.trace
    free = np.ones(len(correspondences), bool)
    free[np.concatenate([state.rows[:0], *(part.members for part in state.known)])] = False
    members, bends = [own for own, _ in state.bodies], [bend for _, bend in state.bodies]
    refined = smooth_map.refine_objects(
        correspondences, members, bends, np.flatnonzero(free), config.smooth_map, config.graph,
        context.n_threads,
    )  # fmt: skip
    bodies = []
    for before, own, bend in zip(members, refined, bends, strict=True):
        trace.drop("smooth map", np.concatenate([before, own]))
        if is_object(correspondences, own, config.objects):
            bodies.append((own, bend))
        elif len(own) < config.objects.min_matches:
            trace.drop_group("smooth map", before, len(own), config.objects.min_matches)
        else:
            width = measure_width_of_matches(correspondences, own)
            trace.drop_group("width", before, width, config.objects.min_width)
    return replace(state, bodies=_sort_by_size(bodies))


def suppress_by(by_one: bool) -> Callable[[Round, Context], Round]:
    """The stage "suppression"; by_one: a single larger object must contain the smaller one."""

    def suppress(state: Round, context: Context) -> Round:
        n_known, places = len(state.known), (context.correspondences.xy0, context.correspondences.xy1)
        both = [*(part.members for part in state.known), *(own for own, _ in state.bodies)]
        radius = context.config.candidates.duplicate_radius
        kept = find_uncontained(*places, both, context.config.suppression.share, radius, by_one)
        for k in np.setdiff1d(np.arange(n_known, len(both)), kept).tolist():
            context.trace.drop_group("suppression", both[k])
        return replace(state, bodies=[state.bodies[k - n_known] for k in kept if k >= n_known])

    return suppress


def score_bodies(state: Round, context: Context) -> Round | None:
    """The merged clusters as parts with scores and landmarks."""
    members = [own for own, _ in state.bodies]
    inside = [np.flatnonzero(np.isin(state.rows, own)) for own in members]
    scores = clustering.cluster_scores(state.graph, inside, state.knn.n_neighbors)
    landmarks = find_landmarks(state, context, members)
    parts = [Part(*fields) for fields in zip(members, landmarks, scores.tolist(), strict=True)]
    return replace(state, parts=parts) if parts else None


def merge(state: Round, context: Context) -> Round:
    """The known objects and the parts, merged; scores are means over matches."""
    config, parts = context.config, [*state.known, *state.parts]
    labels, landmarks = merging.merge_parts(
        context.correspondences,
        [part.members for part in parts],
        [part.landmarks for part in parts],
        config.merging,
        config.smooth_map,
        config.objects.gap,
    )
    first = np.unique(labels)
    merged = []
    for k in first:
        own = [parts[n] for n in np.flatnonzero(labels == k)]
        members = np.sort(np.concatenate([part.members for part in own]))
        score = np.average([part.score for part in own], weights=[len(part.members) for part in own])
        log_nfa = min(part.log_nfa for part in own)
        merged.append(Part(members, landmarks[k], float(score), log_nfa))
    return replace(state, parts=merged, n_known=int(np.count_nonzero(first < len(state.known))))


def drop_below_gap(state: Round, context: Context) -> Round:
    """The objects found before, and the new ones above the largest gap in their scores."""
    known, new = state.parts[: state.n_known], state.parts[state.n_known :]
    kept = clustering.find_above_largest_gap(np.array([part.score for part in new]))
    above = [part for part, is_kept in zip(new, kept, strict=True) if is_kept]
    least = min((part.score for part in above), default=None)
    for part, is_kept in zip(new, kept, strict=True):
        if not is_kept:
            context.trace.drop_group("largest gap", part.members, part.score, least)
    return replace(state, parts=[*known, *above])


def keep_significant(by_maps: bool, from_the_side: bool = False) -> Callable[[Round, Context], Round]:
    """The stage "significance", with two choices.

    by_maps: the maps of correspondences are those that the features predict. from_the_side: each object is
    measured as if it were seen from the same direction in both images.
    """

    def measure(
        correspondences: Correspondences, new: list[Ints], n_threads: int, most: float
    ) -> Iterable[float]:
        each = ((lay_flat(correspondences, own), [own]) for own in new)
        together = each if from_the_side else [(correspondences, new)]
        return chain(*(measure_significance(*some, by_maps, n_threads, most).tolist() for some in together))

    def keep(state: Round, context: Context) -> Round:
        new = [part.members for part in state.parts if part.log_nfa == np.inf]
        most, kept = context.config.objects.max_log_nfa, list[Part]()
        measured = iter(measure(context.correspondences, new, context.n_threads, most))
        for part in state.parts:
            found = replace(part, log_nfa=next(measured)) if part.log_nfa == np.inf else part
            if found.log_nfa <= most:
                kept.append(found)
            else:
                context.trace.drop_group("significance", found.members, found.log_nfa, most)
        return replace(state, parts=kept)

    return keep


DEFAULT: Stages = (
    Stage("rest", choose_rest),
    Stage("evidence", test_evidence),
    Stage("graph", build_graphs),
    Stage("clusters", link),
    Stage("degree", drop_loose),
    Stage("seams", cut_seams),
    Stage("size", drop_small),
    Stage("parts", join_clusters),
    Stage("smooth map", refine),
    Stage("suppression", suppress_by(by_one=False)),
    Stage("scores", score_bodies),
    Stage("merging", merge),
    Stage("largest gap", drop_below_gap),
    Stage("significance", keep_significant(by_maps=True)),
)
ALL = leave_out(DEFAULT, "evidence")  # the test is tuned to the default candidates
VIEWS = replace_stage(ALL, "significance", keep_significant(by_maps=True, from_the_side=True))
GIVEN = replace_stage(ALL, "significance", keep_significant(by_maps=False))
REPEATS = replace_stage(ALL, "suppression", suppress_by(by_one=True))


def _list_members(labels: Ints, least: int) -> list[Ints]:
    """The members of each cluster, the largest first, without clusters of fewer than `least`."""
    order = np.argsort(labels, kind="stable")
    order = order[np.searchsorted(labels[order], 0) :]
    if len(order) == 0:
        return []
    starts = np.flatnonzero(np.diff(labels[order])) + 1
    clusters = [members for members in np.split(order, starts) if len(members) >= least]
    return sorted(clusters, key=lambda members: (-len(members), members[0]))


def _sort_by_size(objects: list[tuple[Ints, float]]) -> list[tuple[Ints, float]]:
    return sorted(objects, key=lambda item: (-len(item[0]), item[0][0]))


def _find_left_over(correspondences: Correspondences, objects: list[Ints], reach: float) -> Bools:
    """(m,) bool: the rows that are in no object and not near one in both images."""
    taken = np.zeros(len(correspondences), bool)
    for members in objects:
        near = np.flatnonzero(~taken)
        for xy in (correspondences.xy0, correspondences.xy1):
            near = near[is_within_reach(xy[near], xy[members], reach)]
        taken[near] = taken[members] = True
    return ~taken
