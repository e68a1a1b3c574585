"""From correspondences to the groups of them that are objects: the stages in their order.

    graph          correspondences, edges to those that move alike          graph.py
    clusters       graph degree linkage; members of small degree leave      clustering.py
    smooth map     members that it does not explain leave, others join      smooth_map.py
    suppression    what lies amid a larger object in both images is part of its texture    suppression.py
    largest gap    clusters below the largest gap of the scores are outliers

What the objects leave over, and the next candidates with it, is grouped again. In the end, objects that
have affinity in the graph of their own matches are merged.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from matching.correspondences.correspondences import Correspondences
from matching.correspondences.distances import within_reach
from matching.errors import check_at_least
from matching.grouping import clustering, smooth_map, suppression
from matching.grouping.graph import build_graph


@dataclass(frozen=True)
class ObjectsConfig:
    """What an object is.

    Attributes
    ----------
    min_matches : int
        As many as the smooth map predicts a match from. Unrelated pictures have groups of 8 to 11 that agree.
    min_width : float
        Least standard deviation of the points across the direction in which they spread most, over that
        along it: points on a line fix no map.
    rounds : int
        How often what is left over is grouped again, at most.
    reach : float
        Pixels: what is so near to an object's matches in both images is not grouped again.
    """

    min_matches: int = 12
    min_width: float = 0.15
    rounds: int = 2
    reach: float = 25.0

    def __post_init__(self):
        check_at_least(self, min_matches=4, min_width=0, rounds=1, reach=0)


@dataclass(frozen=True, eq=False)
class Groups:
    """Objects found among m correspondences.

    Attributes
    ----------
    labels : (m,) int64
        The object of each, 0, 1, ... by falling score; -1 for outliers.
    scores : (n_objects,) float64
        In [0, 1]: see `clustering.cluster_scores`.
    """

    labels: np.ndarray
    scores: np.ndarray


def group(
    correspondences: Correspondences,
    n_listed: int,
    config,
    n_threads: int = 1,
    cluster=clustering.cluster_graph,
) -> Groups:
    """Group correspondences into objects.

    Parameters
    ----------
    correspondences : Correspondences
        By falling trust: the first n_listed are clustered, the rest are a pool from which matches join the
        objects, and which is clustered with what these leave over.
    n_listed : int
    config : MatchConfig
    n_threads : int
        Changes nothing but the time.
    cluster : callable
        Another method in place of graph degree linkage: takes what `clustering.cluster_graph` takes.
    """
    objects, scores = [], []
    for _ in range(config.objects.rounds):
        rows = _left_over(correspondences, objects, n_listed, config.objects.reach)
        found, own = _find_objects(correspondences, rows, objects, config, n_threads, cluster)
        if not found:
            break
        objects, scores = [*objects, *found], [*scores, *own]
    objects, scores = _merge(correspondences, objects, np.array(scores), config, n_threads, cluster)
    return _numbered_by_score(len(correspondences), objects, scores)


def _find_objects(correspondences, rows, known, config, n_threads, cluster):
    """Objects, arrays of rows, and their scores: clusters of the chosen rows and what joins them.

    known : objects found before, whose matches are not to be had
    """
    if len(rows) < config.objects.min_matches:
        return [], np.empty(0)
    knn, graph = build_graph(correspondences[rows], config.clustering.n_neighbors, config.graph, n_threads)
    labels = cluster(correspondences[rows], knn, graph, None, config.clustering)
    least = config.clustering.min_degree * knn.n_neighbors
    labels = clustering.drop_outliers(graph, labels, least)
    objects = [rows[members] for members in _members(labels, config.objects.min_matches)]
    free = np.setdiff1d(np.arange(len(correspondences)), np.concatenate([rows[:0], *known]))
    objects = smooth_map.refine_objects(correspondences, objects, free, config.smooth_map, config.graph)
    objects = [members for members in objects if _is_object(correspondences, members, config.objects)]
    both = [*known, *_by_falling_size(objects)]
    kept = suppression.drop_covered(
        correspondences.xy0, correspondences.xy1, both, config.suppression.share, config.suppression.reach
    )
    objects = [members for members in kept if not any(members is other for other in known)]
    inside = [np.flatnonzero(np.isin(rows, members)) for members in objects]
    scores = clustering.cluster_scores(graph, inside, knn.n_neighbors)
    kept = clustering.above_largest_gap(scores, config.clustering.min_score)
    return [members for members, keep in zip(objects, kept, strict=True) if keep], scores[kept]


def _merge(correspondences, objects, scores, config, n_threads, cluster):
    """The objects merged further, by their affinity in the graph of their matches alone, whose edges lead to
    the K nearest matches of other objects: in the first graph, the K nearest of a match in a dense part are
    all of this part, and none reaches over the gap to the next. Scores are means over matches.
    """
    if len(objects) < 2:
        return objects, scores
    rows, initial = np.concatenate(objects), np.repeat(np.arange(len(objects)), [len(o) for o in objects])
    k, reach = config.clustering.n_neighbors, config.smooth_map.reach
    knn, graph = build_graph(correspondences[rows], k, config.graph, n_threads, parts=initial, reach=reach)
    labels = cluster(correspondences[rows], knn, graph, initial, config.clustering)
    clusters = [np.flatnonzero(labels == k) for k in range(labels.max() + 1)]
    scores = np.array([scores[initial[members]].mean() for members in clusters])
    return [np.sort(rows[members]) for members in clusters], scores


def _numbered_by_score(m, objects, scores):
    """The Groups of m correspondences: objects, arrays of rows, by falling score; ties as given."""
    order = np.argsort(-scores, kind="stable")
    labels = np.full(m, -1, np.int64)
    for k, n in enumerate(order):
        labels[objects[n]] = k
    return Groups(labels, scores[order])


def _members(labels, least):
    """Arrays of the members of each cluster, the largest first; those below `least` dropped."""
    order = np.argsort(labels, kind="stable")
    order = order[np.searchsorted(labels[order], 0) :]
    if len(order) == 0:
        return []
    starts = np.flatnonzero(np.diff(labels[order])) + 1
    return _by_falling_size([members for members in np.split(order, starts) if len(members) >= least])


def _by_falling_size(parts):
    return sorted(parts, key=lambda part: (-len(part), part[0]))


def _is_object(correspondences, members, config):
    return len(members) >= config.min_matches and all(
        _is_wide(xy[members], config.min_width) for xy in (correspondences.xy0, correspondences.xy1)
    )


def _is_wide(xy, least):
    low, high = np.linalg.eigvalsh(np.cov(xy.T))
    return low > 0 and low >= least**2 * high


def _left_over(correspondences, objects, n_listed, reach):
    """(q,) rising rows, at most n_listed, of what is in no object and not near one in both images."""
    taken = np.zeros(len(correspondences), bool)
    for members in objects:
        near = np.flatnonzero(~taken)
        for xy in (correspondences.xy0, correspondences.xy1):
            near = near[within_reach(xy[near], xy[members], reach)]
        taken[near] = taken[members] = True
    return np.flatnonzero(~taken)[:n_listed]
