"""From matches to objects, in rounds of these steps.

    rounds         the matches that are in no object and not near one: at first, all of them
    evidence       a cheap test, so that unrelated pictures skip all that follows        evidence.py
    graph          matches that others support, with edges to those that move alike      graph.py
    clusters       graph degree linkage                                                  clusters.py
    degree         members with a small degree leave                                     clusters.py
    seams          clusters of two things that a weak seam joins are cut                 seams.py
    size           clusters that are large enough stay                                   clusters.py
    joining        clusters that one smooth map explains are parts of one object         merging.py
    smooth map     members that the map does not explain leave, others join              smooth_map.py
    suppression    a part that shares its points with a larger object in both images
                   is texture                                                            suppression.py
    scores         how well the members of each part agree                               clusters.py
    merging        parts that have grown towards each other, and known objects, merge    merging.py
    largest gap    parts below the largest gap of the scores are outliers                clusters.py
    significance   given matches: objects that chance explains leave                     significance.py

The remaining matches are grouped again, together with the next ones. Each step enters into the ledger what it
drops.
"""

from __future__ import annotations

import math
from itertools import count, islice

import numpy as np

from matching._common.types import Bools, Ints
from matching.correspondences.correspondences import Correspondences
from matching.correspondences.points import is_within_reach
from matching.grouping.clusters import drop_below_gap, drop_loose, drop_small, measure_scores
from matching.grouping.config import MatchConfig
from matching.grouping.evidence import has_evidence
from matching.grouping.graph import MatchGraph, build_second_graph, fit_maps
from matching.grouping.groups import (
    MAX_MAP_ERROR,
    Group,
    ObjectsConfig,
    Part,
    count_members,
    label_groups,
    sort_groups,
)
from matching.grouping.ledger import Ledger
from matching.grouping.merging import are_two_things, find_landmarks, join_clusters, merge_groups
from matching.grouping.methods import PAIR, Method
from matching.grouping.seams import cut_seams
from matching.grouping.significance import keep_significant
from matching.grouping.smooth_map import keep_objects, refine_parts
from matching.grouping.suppression import drop_contained


def group(
    matches: Correspondences,
    n_listed: int,
    config: MatchConfig = MatchConfig(),
    method: Method = PAIR,
    ledger: Ledger | None = None,
) -> list[Group]:
    """Group matches into objects, in rounds, until a round adds nothing.

    Parameters
    ----------
    matches : Correspondences
        The matches, the best first within each kind.
    n_listed : int
        How many are clustered at a time; the others may join objects later.
    config : MatchConfig
        The settings.
    method : Method
        What this kind of matches does differently.
    ledger : Ledger, optional
        The record of what is dropped.

    Returns
    -------
    list of Group
        The objects, by descending score.
    """
    ledger = Ledger(len(matches)) if ledger is None else ledger
    if method.group is not None:
        return method.group(matches[:n_listed], config, ledger)
    objects: list[Group] = []
    for _ in islice(count(), config.objects.rounds):  # without end if rounds is None
        found = group_left_over(matches, objects, n_listed, config, method, ledger)
        gain = count_members(found) - count_members(objects)
        if gain >= 0:
            objects = found
        if gain <= 0:  # the next round would find the same, or undo this one
            break
    return sort_groups(objects)


def group_left_over(
    matches: Correspondences,
    known: list[Group],
    n_listed: int,
    config: MatchConfig,
    method: Method,
    ledger: Ledger,
) -> list[Group]:
    """Run one round: the known objects, which may have grown, and the objects among the other matches."""
    min_matches = config.objects.min_matches
    rows = find_left_over(matches, known, n_listed, config.objects, ledger)
    if len(rows) < min_matches:
        return known
    if method.tests_evidence and not has_evidence(matches, rows, config, ledger):
        return known
    graph = build_graph(matches, rows, config, ledger)
    if graph is None:
        return known
    clusters = cluster(matches, graph, config, method, ledger)
    if not clusters:
        return known
    parts = join_clusters(matches, graph, clusters, config.merging_rules, method.merge)
    free = np.flatnonzero(label_groups(len(matches), known) < 0)
    refined = refine_parts(matches, parts, free, config.smooth_map, config.graph)
    max_error = MAX_MAP_ERROR if method.tests_points else math.inf
    parts = keep_objects(matches, parts, refined, config.objects, max_error, ledger)
    uncontained = find_uncontained(matches, known, parts, config, method)
    parts = drop_contained(parts, uncontained, len(known), ledger)
    if not parts:
        return known
    new = score_parts(matches, graph, parts, config)
    known, new = merge_groups(matches, known, new, config.merging_rules, method.merge)
    new = drop_below_gap(new, method.find_above_gap, ledger)
    if not method.tests_points:
        return [*known, *new]
    return keep_significant(matches, [*known, *new], config.objects.max_log_nfa, ledger)


def find_left_over(
    matches: Correspondences, known: list[Group], n_listed: int, config: ObjectsConfig, ledger: Ledger
) -> Ints:
    """Find the next matches that are in no known object and not near one -> (n,), at most n_listed."""
    is_near_object: Bools = np.zeros(len(matches), bool)
    for found in known:
        near = np.flatnonzero(~is_near_object)
        for xy in (matches.xy0, matches.xy1):
            near = near[is_within_reach(xy[near], xy[found.rows], config.reach)]
        is_near_object[near] = is_near_object[found.rows] = True
    rows = np.flatnonzero(~is_near_object)[:n_listed]
    ledger.reach("reach", is_near_object)
    if known or len(rows) >= config.min_matches:
        ledger.reach("rounds", ~is_near_object)
    return rows


def build_graph(
    matches: Correspondences, rows: Ints, config: MatchConfig, ledger: Ledger
) -> MatchGraph | None:
    """Build the graph of those of the rows (n,) that others support; None if they are too few."""
    k, min_degree = config.clustering.n_neighbors, config.clustering.min_degree
    ledger.reach("graph", rows)
    supported, fitted = fit_maps(matches[rows], k, config.graph, min_degree)
    if len(supported) < config.objects.min_matches:
        return None
    return build_second_graph(rows[supported], fitted, k, config.graph, reach=config.objects.gap)


def cluster(
    matches: Correspondences, graph: MatchGraph, config: MatchConfig, method: Method, ledger: Ledger
) -> list[Ints]:
    """Cluster a graph -> rows (k,) of each cluster that is large enough, the largest first."""

    def are_two(branch: Ints, other: Ints) -> bool:
        rows = graph.rows[branch], graph.rows[other]
        return are_two_things(matches, graph, rows, config.merging_rules)

    min_matches, min_affinity = config.objects.min_matches, config.merging.seam * graph.n_neighbors**2
    clustering = method.cluster(matches[graph.rows], graph, config.clustering)
    labels = drop_loose(graph, clustering.labels, config.clustering, ledger)
    labels = cut_seams(clustering, labels, min_affinity, min_matches, are_two)
    return drop_small(graph, labels, min_matches, ledger)


def find_uncontained(
    matches: Correspondences, known: list[Group], parts: list[Part], config: MatchConfig, method: Method
) -> Ints:
    """Find the known objects and the parts, numbered in this order, that no stronger one contains -> (k,)."""
    rows = [*(found.rows for found in known), *(part.rows for part in parts)]
    return method.suppress(matches, rows, config.suppression.share, config.candidates.duplicate_radius)


def score_parts(
    matches: Correspondences, graph: MatchGraph, parts: list[Part], config: MatchConfig
) -> list[Group]:
    """Make a group of each part, with its score and landmarks."""
    rows = [part.rows for part in parts]
    landmarks = find_landmarks(matches, graph, rows, config.merging_rules)
    scores = measure_scores(graph, rows).tolist()
    return [Group(*each) for each in zip(rows, scores, landmarks, strict=True)]
