"""Whole objects made of clusters of candidates, their scores, and what joins them from the reserve."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np

import gdl_core
from matching import clustering, parts
from matching.geometry import acc_neighbors
from matching.joining import join_parts
from matching.refinement import grow_parts, refine_parts
from matching.repeats import split_at_repeats
from matching.territory import drop_covered
from matching.threads import default_threads
from matching.verification import verify_cluster


def whole_objects(candidates, knn, labels, scores, config):
    """Labels (m,) of whole objects made of clusters, -1 for candidates that are in none, and their scores.

    Parts of clusters that are dense, verified and connected are joined and refined, in one cell of a montage
    each; those that only repeat what a stronger one covers are dropped. Neighbours count in their own cell
    only: what stands beside an object in both montages moves as it does, and would crowd out its own matches.
    """
    cells = [np.flatnonzero(candidates.cell == cell) for cell in np.unique(candidates.cell)]
    cells = [cell for cell in cells if len(cell) >= config.parts.min_matches]
    if len(cells) == 1 and len(cells[0]) == len(candidates):
        inside, neighbors = [candidates], [knn]
    else:
        inside = [candidates[cell] for cell in cells]
        neighbors = [neighbors_of(own, config) for own in inside]
    with ThreadPoolExecutor(default_threads()) as pool:
        parts_in = pool.map(
            lambda cell, own, near: _parts_of(own, near, labels[cell], scores, config),
            cells,
            inside,
            neighbors,
        )
        found = [cell[part] for cell, own in zip(cells, parts_in, strict=True) for part in own]
    found.sort(key=lambda part: (-len(part), part[0]))
    found = [part for part in found if _is_wide(candidates, part, config.parts)]
    found = drop_covered(candidates.xy0, candidates.xy1, found, config.parts.covered_share)
    found = split_at_repeats(candidates, found, config.repeats, config.parts)
    labels = np.full(len(candidates), -1, np.int64)
    scores = np.zeros(len(found))
    for k, part in enumerate(found):
        labels[part] = k
    for cell, own, near in zip(cells, inside, neighbors, strict=True):
        here, local = np.unique(np.append(labels[cell], -1), return_inverse=True)
        graph = clustering.scoring_graph(own, near, config.clustering)
        scores[here[1:]] = gdl_core.connectivity_scores(graph, local[:-1] - 1)
    return labels, scores


def take_in(candidates, objects, is_reserve, config):
    """The objects, arrays of rows, with those candidates of the reserve that agree with them."""
    cells = np.array([candidates.cell[members[0]] for members in objects])
    grown = list(objects)
    for cell in np.unique(cells):
        here = np.flatnonzero(cells == cell)
        allowed = np.flatnonzero(is_reserve & (candidates.cell == cell))
        own = grow_parts(candidates, [objects[k] for k in here], allowed, config.refinement, config.parts)
        for k, members in zip(here, own, strict=True):
            grown[k] = members
    return grown


def keep_places(candidates, objects, config):
    """(n,) bool: which of the objects, arrays of rows, have a place of their own, the larger first: one that
    has taken in more covers more.
    """
    falling = sorted(objects, key=lambda members: (-len(members), members[0]))
    kept = drop_covered(candidates.xy0, candidates.xy1, falling, config.covered_share)
    return np.array([any(members is other for other in kept) for members in objects], bool)


def neighbors_of(candidates, config):
    """The KnnGraph of the candidates' nearest ones."""
    k = min(config.clustering.n_neighbors, len(candidates) - 1)
    return acc_neighbors(candidates, k, default_threads(), config.clustering.gap_slope)


def _is_wide(candidates, part, config):
    return all(parts.is_wide(xy[part], config) for xy in (candidates.xy0, candidates.xy1))


def _parts_of(candidates, knn, labels, scores, config):
    found = []
    least = config.clustering.least_score(config.parts.min_cluster_score)
    for k in np.flatnonzero(scores > least):
        for dense in parts.dense_parts(candidates, knn, np.flatnonzero(labels == k), config.parts):
            verified = verify_cluster(candidates, dense, config.verification)
            found += parts.split_parts(candidates, verified, config.parts)
    found.sort(key=lambda part: (-len(part), part[0]))
    found = join_parts(candidates, found, config.parts)
    found = refine_parts(candidates, found, np.flatnonzero(labels >= 0), config.refinement, config.parts)
    return [part for part in found if len(part) >= config.parts.min_matches]
