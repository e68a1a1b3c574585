"""Cutting of clusters in which graph degree linkage joined two things along a weak seam.

A few wrong matches between two things that moved apart can join the two, because these matches agree with
both, as the matches of one bent thing would. If two branches of the tree of merges were joined with little
affinity, their landmarks decide whether both moved as one thing (`matching.grouping.merging`).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gdl_core.tree import sum_below
from matching._common.types import Ints
from matching.grouping import clustering, merging
from matching.grouping.rounds import Context, Round, find_landmarks


def cut_seams(state: Round, context: Context) -> Round:
    """Cut the clusters that consist of two things; without a tree, they stay as they are."""
    tree, config = state.tree, context.config
    if tree is None:
        return state
    n_merges = clustering.count_merges(tree, state.knn, config.clustering)
    kept = np.flatnonzero(state.labels >= 0)
    initial = tree.initial_labels[kept]
    counts = sum_below(tree, np.bincount(initial, minlength=tree.n_initial + len(tree.children)))
    weak = tree.affinities < config.merging.seam * state.knn.n_neighbors**2
    tested = weak & (counts[tree.children].min(axis=1) >= config.objects.min_matches)
    cut = np.zeros(len(counts), bool)
    for t, children in enumerate(tree.children[:n_merges].tolist()):
        node = tree.n_initial + t
        cut[node] = cut[children].any()
        if tested[t] and not cut[node]:
            nodes = tree.nodes_after(t)[kept]
            branch, other = (kept[nodes == child] for child in children)
            cut[node] = _are_two(branch, other, state, context)
    if not cut.any():
        return state
    top = np.arange(tree.n_initial + n_merges)
    for t in np.flatnonzero(~cut[tree.n_initial : tree.n_initial + n_merges])[::-1]:
        top[tree.children[t]] = top[tree.n_initial + t]
    labels = np.full(len(state.labels), -1)
    labels[kept] = top[initial]
    return replace(state, labels=labels)


def _are_two(branch: Ints, other: Ints, state: Round, context: Context) -> bool:
    """Whether two branches, given by their vertices (n,) and (m,), are clearly two things."""
    correspondences, config = context.correspondences, context.config
    members = [state.rows[branch], state.rows[other]]
    first, second = (
        merging.measure_part(correspondences, *own, config.smooth_map)
        for own in zip(members, find_landmarks(state, context, members), strict=True)
    )
    evidence = merging.compare_parts(correspondences, first, second, config.merging, config.objects.gap)
    return evidence is not None and evidence < -config.merging.decisive
