"""From correspondences to the groups of them that are objects: the stages in their order.

    evidence       a cheap test that spares unrelated pictures all that follows    evidence.py
    graph          correspondences that others support, edges to those that move alike
                                                                            graph.py
    clusters       graph degree linkage; members of small degree leave      clustering.py
    smooth map     members that it does not explain leave, others join      refinement/smooth_map.py
    suppression    what shares its points with a larger object in both images is part of its texture
                                                                            refinement/suppression.py
    merging        graph degree linkage again, over the gaps between parts of one object
    largest gap    clusters below the largest gap of the scores are outliers
    support        where no object has enough, the pictures have nothing in common

What the objects leave over, and the next candidates with it, is grouped again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import count, islice

import numpy as np

from gdl_core import AffinityGraph, KnnGraph
from matching._common.types import Floats, Ints
from matching.correspondences.candidates import CandidateConfig
from matching.correspondences.correspondences import Correspondences
from matching.correspondences.points import is_within_reach
from matching.grouping import clustering
from matching.grouping.evidence import has_evidence
from matching.grouping.graph import build_graph, build_second_graph, fit_maps
from matching.grouping.objects import Groups, is_object
from matching.grouping.refinement import smooth_map, suppression
from matching.grouping.settings import GroupingSettings

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


def group(
    correspondences: Correspondences,
    n_listed: int,
    config: GroupingSettings,
    n_threads: int = 1,
    cluster: Cluster = clustering.cluster_graph,
) -> Groups:
    """Group correspondences into objects.

    Parameters
    ----------
    correspondences : Correspondences
        By falling trust: the first n_listed are clustered, the rest are a pool from which matches join the
        objects, and which is clustered with what these leave over.
    n_listed : int
        How many come before the pool.
    config : GroupingSettings
        Settings of all stages.
    n_threads : int
        Threads; the result is the same for any number.
    cluster : callable
        Another method in place of graph degree linkage: takes what `clustering.cluster_graph` takes.

    Returns
    -------
    Groups
        The objects.
    """
    objects: list[Ints] = []
    scores: Floats = np.empty(0)
    for _ in islice(count(), config.objects.rounds):
        rows = _find_left_over(correspondences, objects, n_listed, config.objects.reach)
        found, own = _find_objects(correspondences, rows, objects, config, n_threads, cluster)
        if not found:
            break
        parts, of_parts = [*objects, *found], np.append(scores, own)
        labels = _merge(correspondences, parts, config, n_threads, cluster)
        n_before = sum(map(len, objects))
        chosen, of_chosen = _choose(parts, of_parts, labels, len(objects))
        if n_before == 0 and not _have_support(chosen, of_chosen, config.clustering.min_support):
            break
        objects, scores = chosen, of_chosen
        if sum(map(len, objects)) == n_before:  # the next round would find the same
            break
    return _number_by_score(len(correspondences), objects, scores)


def _find_objects(
    correspondences: Correspondences,
    rows: Ints,
    known: list[Ints],
    config: GroupingSettings,
    n_threads: int,
    cluster: Cluster,
) -> tuple[list[Ints], Floats]:
    """Parts of objects, arrays of rows, and their scores: clusters of the chosen rows and what joins them.

    known : objects found before, whose matches are not to be had
    """
    if len(rows) < config.objects.min_matches or not _is_worth_clustering(
        correspondences[rows], config, n_threads
    ):
        return [], np.empty(0)
    found = find_clusters(correspondences[rows], config, n_threads, cluster)
    if found is None:
        return [], np.empty(0)
    rows, k = rows[found.rows], found.knn.n_neighbors
    labels = clustering.drop_outliers(found.graph, found.labels, config.clustering.min_degree * k)
    objects = [rows[members] for members in _list_members(labels, config.objects.min_matches)]
    free = np.ones(len(correspondences), bool)
    free[np.concatenate([rows[:0], *known])] = False
    free = np.flatnonzero(free)
    polished = _polish(correspondences, objects, free, known, config, n_threads)
    if len(polished) < len(objects):  # what is free now may join the others
        polished = _polish(correspondences, polished, free, known, config, n_threads)
    inside = [np.flatnonzero(np.isin(rows, members)) for members in polished]
    return polished, clustering.cluster_scores(found.graph, inside, k)


def find_clusters(
    correspondences: Correspondences,
    config: GroupingSettings,
    n_threads: int = 1,
    cluster: Cluster = clustering.cluster_graph,
) -> Clusters | None:
    """Cluster the correspondences that others support, up to where members of small degree leave.

    Parameters
    ----------
    correspondences : Correspondences
        The correspondences.
    config : GroupingSettings
        Settings of all stages.
    n_threads : int
        Threads; the result is the same for any number.
    cluster : callable
        As of `group`.

    Returns
    -------
    Clusters or None
        The clusters; None where fewer are supported than an object has matches.
    """
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
    objects: list[Ints],
    free: Ints,
    known: list[Ints],
    config: GroupingSettings,
    n_threads: int,
) -> list[Ints]:
    """The objects as their smooth maps have them, by falling size, without those contained in larger ones."""
    objects = smooth_map.refine_objects(
        correspondences, objects, free, config.smooth_map, config.graph, n_threads
    )
    objects = [members for members in objects if is_object(correspondences, members, config.objects)]
    both = [*known, *_sort_by_size(objects)]
    places, how = (correspondences.xy0, correspondences.xy1), config.suppression
    radius = CandidateConfig.duplicate_radius
    kept = suppression.find_uncontained(*places, both, how.share, radius, how.by_one)
    return [both[k] for k in kept if k >= len(known)]


def _merge(
    correspondences: Correspondences,
    parts: list[Ints],
    config: GroupingSettings,
    n_threads: int,
    cluster: Cluster,
) -> Ints:
    """(n_parts,) int: the object of each part, merged further by their affinity in the graph of their matches
    alone, whose edges lead to the K nearest matches of other parts: in the first graph, the K nearest of a
    match in a dense part are all of this part, and none reaches over the gap to the next. Of very
    many matches every n-th is enough, so that all can be compared.

    Parts hold no outliers, whose faint edges join strangers in the first graph. So a seam counts even where
    degrees across it are as small a share of the usual as those of the weakest members, or one edge of K:
    the affinity, a product of two degrees, is smaller by the square of that.
    """
    if len(parts) < 2:
        return np.zeros(len(parts), int)
    parts = _thin(parts, CandidateConfig.max_matches, config.objects.min_matches)
    rows, initial = np.concatenate(parts), np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    how, gap = config.clustering, config.objects.gap
    knn, graph = build_graph(
        correspondences[rows], how.n_neighbors, config.graph, n_threads, parts=initial, reach=gap
    )
    how = replace(how, min_affinity=how.min_affinity * max(how.min_degree, 1 / how.n_neighbors) ** 2)
    labels = cluster(correspondences[rows], knn, graph, initial, how)
    return labels[np.unique(initial, return_index=True)[1]]


def _thin(parts: list[Ints], most: int, least: int) -> list[Ints]:
    """Every n-th of the rows of each part, so that there are fewer than two times `most`, but no fewer than
    `least` of a part that has as many.
    """
    step = max(sum(map(len, parts)) // most, 1)
    return [part[:: max(min(step, len(part) // least), 1)] for part in parts]


def _choose(parts: list[Ints], scores: Floats, labels: Ints, n_known: int) -> tuple[list[Ints], Floats]:
    """The merged parts that are objects, arrays of rows, and their scores, means over matches.

    The first n_known parts are objects. Of the others, those below the largest gap of their scores go.
    """
    merged = [np.flatnonzero(labels == k) for k in np.unique(labels)]
    scores = np.array([np.average(scores[m], weights=[len(parts[k]) for k in m]) for m in merged])
    kept = np.array([members[0] < n_known for members in merged])
    kept[~kept] = clustering.find_above_largest_gap(scores[~kept])
    chosen = [merged[n] for n in np.flatnonzero(kept)]
    return [np.sort(np.concatenate([parts[k] for k in members])) for members in chosen], scores[kept]


def _have_support(objects: list[Ints], scores: Floats, least: float) -> bool:
    """Whether the scores of the matches of one of the objects sum to that: the pictures share something."""
    return any(score * len(members) >= least for members, score in zip(objects, scores, strict=True))


def _number_by_score(m: int, objects: list[Ints], scores: Floats) -> Groups:
    """The Groups of m correspondences: objects, arrays of rows, by falling score; ties as given."""
    order = np.argsort(-scores, kind="stable")
    labels = np.full(m, -1, np.int64)
    for k, n in enumerate(order):
        labels[objects[n]] = k
    return Groups(labels, scores[order])


def _list_members(labels: Ints, least: int) -> list[Ints]:
    """Arrays of the members of each cluster, the largest first; those below `least` dropped."""
    order = np.argsort(labels, kind="stable")
    order = order[np.searchsorted(labels[order], 0) :]
    if len(order) == 0:
        return []
    starts = np.flatnonzero(np.diff(labels[order])) + 1
    return _sort_by_size([members for members in np.split(order, starts) if len(members) >= least])


def _sort_by_size(parts: list[Ints]) -> list[Ints]:
    return sorted(parts, key=lambda part: (-len(part), part[0]))


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
