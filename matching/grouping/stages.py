"""From correspondences to the groups of them that are objects: the stages in their order.

    evidence       a cheap test that spares unrelated pictures all that follows    evidence.py
    graph          correspondences that others support, edges to those that move alike
                                                                            graph.py
    clusters       graph degree linkage; members of small degree leave      clustering.py
    merging        clusters that one smooth map explains are parts of one object    merging.py
    smooth map     members that it does not explain leave, others join      refinement/smooth_map.py
    suppression    what shares its points with a larger object in both images is part of its texture
                                                                            refinement/suppression.py
    merging        once more: parts have grown towards each other, and towards the objects known before
    largest gap    clusters below the largest gap of the scores are outliers
    significance   objects that chance explains leave: where none is left, the pictures have nothing in common
                                                                            significance.py

What the objects leave over, and the next candidates with it, is grouped again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import count, islice

import numpy as np

from gdl_core import AffinityGraph, KnnGraph
from matching._common.types import Ints
from matching.correspondences.candidates import CandidateConfig
from matching.correspondences.correspondences import Correspondences
from matching.correspondences.points import is_within_reach
from matching.grouping import clustering, merging
from matching.grouping.evidence import has_evidence
from matching.grouping.graph import build_second_graph, fit_maps
from matching.grouping.objects import Groups, is_object
from matching.grouping.refinement import smooth_map, suppression
from matching.grouping.rejections import Dropped, choose_dropped
from matching.grouping.settings import GroupingSettings
from matching.grouping.significance import measure_significance

Cluster = Callable[..., Ints]  # as `clustering.cluster_graph`


@dataclass(frozen=True, eq=False)
class Clusters:
    """Clusters among correspondences.

    Parameters
    ----------
    rows : (n,) int64
        The correspondences that are clustered, rising.
    knn : KnnGraph
        The K nearest neighbours of each of these, numbers below n.
    graph : AffinityGraph
        The weights of the edges to them.
    labels : (n,) int64
        The cluster of each, -1 for none.
    """

    rows: Ints
    knn: KnnGraph
    graph: AffinityGraph
    labels: Ints


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


def group(
    correspondences: Correspondences,
    n_listed: int,
    config: GroupingSettings,
    n_threads: int = 1,
    cluster: Cluster = clustering.cluster_graph,
    own_maps: bool = True,
) -> Groups:
    """Group correspondences into objects."""
    objects: list[Part] = []
    dropped: list[Dropped] = []
    for _ in islice(count(), config.objects.rounds):
        known = [part.members for part in objects]
        rows = _find_left_over(correspondences, known, n_listed, config.objects.reach)
        found = _find_parts(correspondences, rows, known, config, n_threads, cluster, dropped)
        if not found:
            break
        merged = _merge([*objects, *found], len(objects), correspondences, config, dropped)
        chosen = _keep_significant(merged, correspondences, config, own_maps, n_threads, dropped)
        n_before, objects = sum(map(len, known)), chosen
        if sum(len(part.members) for part in objects) == n_before:  # the next round would find the same
            break
    groups = _number_by_score(len(correspondences), objects)
    return replace(groups, rejected=choose_dropped(dropped, groups.labels))


def _find_parts(
    correspondences: Correspondences,
    rows: Ints,
    known: list[Ints],
    config: GroupingSettings,
    n_threads: int,
    cluster: Cluster,
    dropped: list[Dropped],
) -> list[Part]:
    """Parts of objects: clusters of the chosen rows, merged, and what joins them; adds to dropped.

    known : objects found before, whose matches are taken
    """
    if len(rows) < config.objects.min_matches or not _is_worth_clustering(
        correspondences[rows], config, n_threads
    ):
        return []
    found = find_clusters(correspondences[rows], config, n_threads, cluster)
    if found is None:
        return []
    rows, k = rows[found.rows], found.knn.n_neighbors
    labels = clustering.drop_outliers(found.graph, found.labels, config.clustering.min_degree * k)
    least = config.objects.min_matches
    listed = [rows[members] for members in _list_members(labels, least // 2)]
    clusters = [members for members in listed if len(members) >= least]
    dropped += [Dropped("clusters", own, len(own), least) for own in listed if len(own) < least]
    if not clusters:
        return []
    landmarks = _find_landmarks(correspondences, clusters, rows, found.graph, config)
    objects = _join(correspondences, clusters, landmarks, config)
    free = np.ones(len(correspondences), bool)
    free[np.concatenate([rows[:0], *known])] = False
    free = np.flatnonzero(free)
    polished = _polish(correspondences, objects, free, known, config, n_threads, dropped)
    if len(polished) < len(objects):  # what is free now may join the others
        polished = _polish(correspondences, polished, free, known, config, n_threads, dropped)
    members = [own for own, _ in polished]
    inside = [np.flatnonzero(np.isin(rows, own)) for own in members]
    scores = clustering.cluster_scores(found.graph, inside, k)
    landmarks = _find_landmarks(correspondences, members, rows, found.graph, config)
    return [Part(*fields) for fields in zip(members, landmarks, scores.tolist(), strict=True)]


def _find_landmarks(
    correspondences: Correspondences,
    parts: list[Ints],
    rows: Ints,
    graph: AffinityGraph,
    config: GroupingSettings,
) -> list[Ints]:
    """The landmarks of each part; `rows` are the vertices of the graph."""
    vertex = np.full(len(correspondences), -1)
    vertex[rows] = np.arange(len(rows))
    labels = np.full(len(rows), -1)
    for n, members in enumerate(parts):
        inside = vertex[members]
        labels[inside[inside >= 0]] = n
    degrees = np.zeros(len(correspondences))
    degrees[rows] = clustering.member_degrees(graph, labels)
    accuracy = config.smooth_map.accuracy
    return [
        merging.find_landmarks(correspondences, members, degrees[members], config.merging, accuracy)
        for members in parts
    ]


def _join(
    correspondences: Correspondences, clusters: list[Ints], landmarks: list[Ints], config: GroupingSettings
) -> list[tuple[Ints, float]]:
    """Merged clusters, the largest first, with how strongly each bends."""
    labels, marks = merging.merge_parts(
        correspondences, clusters, landmarks, config.merging, config.smooth_map, config.objects.gap
    )
    merged = []
    for k in np.unique(labels):
        members = np.sort(np.concatenate([clusters[n] for n in np.flatnonzero(labels == k)]))
        found = merging.measure_roughness(correspondences, marks[k], config.smooth_map.accuracy)
        merged.append((members, found.bend))
    return _sort_by_size(merged)


def find_clusters(
    correspondences: Correspondences,
    config: GroupingSettings,
    n_threads: int = 1,
    cluster: Cluster = clustering.cluster_graph,
) -> Clusters | None:
    """Cluster the correspondences that others support, up to where members of small degree leave."""
    how, gap = config.clustering, config.objects.gap
    rows, fitted = fit_maps(correspondences, how.n_neighbors, config.graph, n_threads, how.min_degree)
    if len(rows) < config.objects.min_matches:
        return None
    knn, graph = build_second_graph(fitted, how.n_neighbors, config.graph, n_threads, reach=gap)
    return Clusters(rows, knn, graph, cluster(correspondences[rows], knn, graph, None, how))


def _is_worth_clustering(correspondences: Correspondences, config: GroupingSettings, n_threads: int) -> bool:
    how, share = config.clustering, config.objects.evidence
    return share == 0 or has_evidence(
        correspondences, how.n_neighbors, share * how.min_degree, config.graph, n_threads
    )


def _polish(
    correspondences: Correspondences,
    objects: list[tuple[Ints, float]],
    free: Ints,
    known: list[Ints],
    config: GroupingSettings,
    n_threads: int,
    dropped: list[Dropped],
) -> list[tuple[Ints, float]]:
    """The objects as their smooth maps have them, by falling size, without those contained in larger ones.

    objects : the members of each, and how strongly it bends
    """
    members, bends = [own for own, _ in objects], [bend for _, bend in objects]
    refined = smooth_map.refine_objects(
        correspondences, members, bends, free, config.smooth_map, config.graph, n_threads
    )
    least = config.objects.min_matches
    for (own, _), left in zip(objects, refined, strict=True):
        if not is_object(correspondences, left, config.objects):
            dropped.append(Dropped("smooth map", own, len(left), least))
    objects = _sort_by_size(
        [
            (own, bend)
            for own, bend in zip(refined, bends, strict=True)
            if is_object(correspondences, own, config.objects)
        ]
    )
    both = [*known, *(own for own, _ in objects)]
    places, how = (correspondences.xy0, correspondences.xy1), config.suppression
    radius = CandidateConfig().duplicate_radius
    kept = suppression.find_uncontained(*places, both, how.share, radius, how.by_one)
    others = np.setdiff1d(np.arange(len(known), len(both)), kept)
    dropped += [Dropped("suppression", both[k]) for k in others.tolist()]
    return [objects[k - len(known)] for k in kept if k >= len(known)]


def _merge(
    parts: list[Part],
    n_known: int,
    correspondences: Correspondences,
    config: GroupingSettings,
    dropped: list[Dropped],
) -> list[Part]:
    """The parts merged, those that are objects; scores are means over matches.

    The first n_known parts are objects. Of the others, those below the largest gap of their scores go.
    """
    labels, landmarks = merging.merge_parts(
        correspondences,
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
    kept = first < n_known
    kept[~kept] = clustering.find_above_largest_gap(
        np.array([part.score for part, is_known in zip(merged, kept, strict=True) if not is_known])
    )
    chosen = [part for part, is_kept in zip(merged, kept, strict=True) if is_kept]
    least = min((part.score for part in chosen), default=None)
    below = [part for part, is_kept in zip(merged, kept, strict=True) if not is_kept]
    dropped += [Dropped("largest gap", part.members, part.score, least) for part in below]
    return chosen


def _keep_significant(
    parts: list[Part],
    correspondences: Correspondences,
    config: GroupingSettings,
    own_maps: bool,
    n_threads: int,
    dropped: list[Dropped],
) -> list[Part]:
    """The parts that chance does not explain; those that hold a significant one are not measured again."""
    new = [part for part in parts if part.log_nfa == np.inf]
    log_nfa = measure_significance(correspondences, [part.members for part in new], own_maps, n_threads)
    measured = iter(log_nfa.tolist())
    parts = [replace(part, log_nfa=next(measured)) if part.log_nfa == np.inf else part for part in parts]
    most = config.objects.max_log_nfa
    dropped += [
        Dropped("significance", part.members, part.log_nfa, most) for part in parts if part.log_nfa > most
    ]
    return [part for part in parts if part.log_nfa <= most]


def _number_by_score(m: int, objects: list[Part]) -> Groups:
    """The Groups of m correspondences: objects by falling score; ties as given."""
    objects = sorted(objects, key=lambda part: -part.score)
    labels = np.full(m, -1, np.int64)
    for k, part in enumerate(objects):
        labels[part.members] = k
    scores = np.array([part.score for part in objects], np.float64)
    return Groups(labels, scores, np.array([part.log_nfa for part in objects], np.float64))


def _list_members(labels: Ints, least: int) -> list[Ints]:
    """Arrays of the members of each cluster, the largest first; those below `least` dropped."""
    order = np.argsort(labels, kind="stable")
    order = order[np.searchsorted(labels[order], 0) :]
    if len(order) == 0:
        return []
    starts = np.flatnonzero(np.diff(labels[order])) + 1
    clusters = [members for members in np.split(order, starts) if len(members) >= least]
    return sorted(clusters, key=lambda members: (-len(members), members[0]))


def _sort_by_size(objects: list[tuple[Ints, float]]) -> list[tuple[Ints, float]]:
    return sorted(objects, key=lambda item: (-len(item[0]), item[0][0]))


def _find_left_over(
    correspondences: Correspondences, objects: list[Ints], n_listed: int, reach: float
) -> Ints:
    """(q,) rising rows, at most n_listed, of what is in no object and not near one in both images."""
    taken = np.zeros(len(correspondences), bool)
    for members in objects:
        near = np.flatnonzero(~taken)
        for xy in (correspondences.xy0, correspondences.xy1):
            near = near[is_within_reach(xy[near], xy[members], reach)]
        taken[near] = taken[members] = True
    return np.flatnonzero(~taken)[:n_listed]
