"""Repeats: what one picture shows more than once, found by matching its features with each other."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from matching._common import opencv
from matching._common.arrays import determinants, fit_affine
from matching._common.components import find_components
from matching._common.once import Later
from matching._common.threads import single_blas_thread
from matching._common.types import Floats, Ints
from matching.correspondences.candidates import (
    Candidates,
    join_candidates,
    make_candidates,
    match_within,
    measure_clearance,
)
from matching.correspondences.points import is_inside, list_neighbors, nearest_points
from matching.drivers.repeats.copies import find_things, is_place, lie_near
from matching.drivers.repeats.motions import find_motions, make_scene
from matching.drivers.repeats.smooth import find_smooth
from matching.drivers.result import Result, make_result
from matching.features.extraction import Features, mirrored_features
from matching.grouping.clusters import measure_scores
from matching.grouping.config import MatchConfig
from matching.grouping.graph import build_graph
from matching.grouping.groups import ObjectsConfig, make_group
from matching.grouping.ledger import RejectedGroup, put_largest_first
from matching.grouping.methods import REPEATS, choose_method
from matching.objects.description import MatchedObject, add_things
from matching.objects.frames import fit_frame
from matching.objects.things import Thing, find_things_of_repeats, number_places
from matching.pictures.images import Picture, to_picture
from matching.searches.clock import Clock
from matching.searches.description import describe_proposals
from matching.searches.judge import add_looks, judge, split_open
from matching.searches.proposals import LabelledMatches, Listing, Proposal, label_matches, locate
from matching.searches.search import GroupedCandidates, group_candidates
from matching.searches.source import DescribedPicture, describe_picture

# Distance of unit descriptors below which features always count as equal, because the light and the
# surroundings of copies differ. Chosen on made pages.
MIN_DESCRIPTOR_BOUND = 0.3
# Features of pictures that are matched with their mirror images, too. Drawn figures of 1000 pixels have up to
# 8100, and photographs of 12 megapixels 30,000, where it takes as long as everything else.
MAX_MIRRORED = 10_000
MAX_JOINED = 6  # places of a thing of which each two are joined; of more, each is joined with the first
MIN_PART, ENOUGH = 1 / 6, 40  # of the matches of a group, and matches: fewer are left around larger things
MIN_FREE = 0.9  # of the circle over a link of two matches, in which no second end may lie
MAX_OVERLAP = 0.1  # share of a place that lies in its copy
MIN_TEXTURE_SCORE = 0.5  # matches of a texture agree with half of their neighbours
MAX_CREASE = 1e9  # standard deviations of points: gaps of any width have the same weights
LOG_CHANCE = -0.1  # log10 of the chance that a block of pixels is equal; no record of a choice
LIKENESS = 0.99  # of smooth places: equal but for noise
MAX_SHARED = 0.5  # of the points of a smooth thing that another object has
STEPS = "read", "features", "candidates", "grouping", "places", "objects"


@single_blas_thread()
def find_repeats_in_picture(
    picture: Picture, config: MatchConfig = MatchConfig(), *, clock: Clock | None = None
) -> Result:
    """Find repeats in a picture already read."""
    clock = clock or Clock()
    described = describe_picture(picture, config)
    features = described.features
    clock.lap("features")
    best, reserve = match_within_picture(features, config)
    clock.lap("candidates")
    # Copies that lie far from each other may be shifted almost alike; then they count as parts of one object.
    wide = config.with_settings(merging__crease=MAX_CREASE)
    grouped = group_candidates(best, reserve, wide, choose_method(config, REPEATS))
    clock.lap("grouping")
    places, joins = find_places(features, grouped, config)
    clock.lap("places")
    matches, objects, things, rejected = describe_repeats(picture, described, grouped, places, joins, config)
    clock.lap("objects")
    return make_result(
        matches,
        objects,
        clock,
        config,
        things=things,
        n_features=(len(features),) * 2,
        matched_at=(described.megapixels,) * 2,
        is_single_picture=True,
        rejected=rejected,
    )


def match_within_picture(features: Features, config: MatchConfig) -> tuple[Candidates, Candidates]:
    """List the candidates, each once -> the best, and a reserve of the next best."""
    clearance = measure_clearance(features, config.features, config.objects.reach)
    ways = (False, True) if config.mirrored or len(features) <= MAX_MIRRORED else (False,)
    parts = [match_within(features, clearance, config.candidates, mirrored) for mirrored in ways]
    best, reserve = (join_candidates(part) for part in zip(*parts, strict=True))
    return best, reserve


@dataclass(frozen=True, eq=False)
class Join:
    """Matches that join two places, or that shift a texture onto itself."""

    rows: Ints  # (2, k), of features in both places
    places: tuple[int, int]  # their numbers; equal for a texture


def find_places(
    features: Features, grouped: GroupedCandidates, config: MatchConfig
) -> tuple[list[Ints], list[Join]]:
    """Find the places of all things -> rows of features in each, and what joins them."""
    xy, conditions = features.xy, config.objects
    groups = [grouped.candidates[found.rows] for found in grouped.groups]
    bounds = [max(float(np.quantile(one.score, 0.9)), MIN_DESCRIPTOR_BOUND) for one in groups]
    are_mirrored = [bool(np.median(determinants(one.maps)) < 0) for one in groups]
    scenes = {
        mirrored: make_scene(features, max(bounds), conditions.reach, mirrored=mirrored)
        for mirrored in set(are_mirrored)
    }
    things, textures, taken = list[Ints](), list[Ints](), np.empty(0, np.int64)
    for one, found, bound, is_mirrored in zip(groups, grouped.groups, bounds, are_mirrored, strict=True):
        ends, scene = np.stack([one.row0, one.row1]), scenes[is_mirrored]
        if lie_near(xy, ends, taken, conditions.reach).mean() > 0.5:
            continue
        new = find_things(
            xy, find_motions(scene, ends[0], ends[1], bound, conditions), ends[0], taken, conditions
        )
        taken = np.concatenate([taken, *(thing[thing >= 0] for thing in new)])
        ends = ends[:, ~lie_near(xy, ends, taken, conditions.reach)]
        parts = [
            rows
            for rows in split_group(xy[ends[0]], xy[ends[1]], conditions)
            if len(rows) >= conditions.min_matches
        ]
        n_fine = np.count_nonzero(scene.is_fine[ends[0]])
        if 2 * max(n_fine, ends.shape[1] - sum(map(len, parts))) <= len(one):
            new += [ends[:, rows] for rows in parts if len(rows) >= min(MIN_PART * len(one), ENOUGH)]
        elif found.score >= MIN_TEXTURE_SCORE:
            textures.append(ends)
        things += new
        taken = np.concatenate([taken, ends.ravel()])
    places, joins = join_places(xy, things, conditions)
    joins += [Join(ends, (len(places) + k,) * 2) for k, ends in enumerate(textures)]
    return places + [ends.ravel() for ends in textures], joins


def split_group(first: Floats, second: Floats, config: ObjectsConfig) -> list[Ints]:
    """Split matches (n, 2), (n, 2) into parts that join two places each -> rows of each.

    Parts are farther apart than a quarter of the shift, or have another place between them. A row of copies,
    shifted by one, is cut into copies.
    """
    if len(first) < config.min_matches:
        return []
    shift, links = np.median(second - first, axis=0), list_neighbors(first)
    reach = max(float(np.linalg.norm(shift)) / 4, config.reach)
    half = np.linalg.norm(first[links[:, 0]] - first[links[:, 1]], axis=1) / 2
    is_free = nearest_points(second, first[links].mean(axis=1), 1)[1][:, 0] >= MIN_FREE * half
    label = find_components(len(first), links[is_free & (2 * half <= reach)])
    parts = list[Ints]()
    for rows in (np.flatnonzero(label == k) for k in np.unique(label)):
        step = np.zeros(len(rows))
        if is_inside(first[rows], second[rows]).mean() > MAX_OVERLAP:
            along = first[rows] @ shift / (shift @ shift)
            step = np.floor(along - along.min())
        parts += [rows[step == k] for k in np.unique(step)]
    return parts


def join_places(xy: Floats, things: list[Ints], config: ObjectsConfig) -> tuple[list[Ints], list[Join]]:
    """List the places (k,) of things, each once, and the matches that join two of them."""
    shown = [np.unique(rows[rows >= 0]) for thing in things for rows in thing]
    place = number_places([opencv.convex_hull(xy[rows]) for rows in shown])
    places = [np.concatenate([shown[k] for k in np.flatnonzero(place == n)]) for n in np.unique(place)]
    middle = [tuple(xy[rows].mean(axis=0)) for rows in places]
    matches, first = defaultdict[tuple[int, int], list[Ints]](list), 0
    for thing in things:
        pairs = list(combinations(range(len(thing)), 2))
        for pair in pairs if len(thing) <= MAX_JOINED else pairs[: len(thing) - 1]:
            rows, (i, j) = thing[list(pair)], place[first + np.array(pair)].tolist()
            rows = rows[:, (rows >= 0).all(axis=0)]
            # the left place comes first, or the upper one if they are level
            i, j, rows = (j, i, rows[::-1]) if middle[i] > middle[j] else (i, j, rows)
            matches[i, j].append(rows)
        first += len(thing)
    joins = [Join(np.unique(np.hstack(parts), axis=1), ends) for ends, parts in matches.items()]
    return places, [one for one in joins if len(set(one.places)) == 2 and is_place(xy, one.rows[0], config)]


def propose(features: Features, join: Join, step: Floats, config: MatchConfig) -> Proposal:
    """Propose what joins two places."""
    xy, k = features.xy[join.rows], config.clustering.n_neighbors
    first, second = (features[rows] for rows in join.rows)
    if np.linalg.det(fit_affine(*xy)[0]) < 0:
        second = mirrored_features(second)
    squared = ((first.descriptors - second.descriptors) ** 2).sum(axis=1)
    rows = np.arange(len(first))
    matches = make_candidates(first, second, rows, rows, squared)
    graph = build_graph(matches.correspondences, k, config.graph, reach=config.objects.gap)
    score = float(measure_scores(graph, [rows], k)[0])
    xy0, xy1 = (to_picture(ends, step) for ends in xy)
    return Proposal(rows, xy0, xy1, matches.score, score, np.full(2, step.max()))


def describe_repeats(
    picture: Picture,
    described: DescribedPicture,
    grouped: GroupedCandidates,
    places: list[Ints],
    joins: list[Join],
    config: MatchConfig,
) -> tuple[LabelledMatches, tuple[MatchedObject, ...], tuple[Thing, ...], tuple[RejectedGroup, ...]]:
    """Describe the objects, each with the frame of its first place, and list the things that they show.

    Objects whose places do not look the same are left out and returned as rejected.
    """
    features, scale, box, step = described.features, config.graph.scale, described.box, described.step
    proposed = [(propose(features, join, step, config), join) for join in joins]
    proposed.sort(key=lambda one: -one[0].score)
    judged = judge([proposal for proposal, _ in proposed], picture, picture, scale)
    kept, rejected = split_open(judged)
    judged, joins = [judged[k] for k in kept], [proposed[k][1] for k in kept]
    smooth = [] if config.is_paper else list_smooth(picture, [one.proposal for one in judged], config)
    judged += judge(smooth, picture, picture, scale)
    proposals = [one.proposal for one in judged]
    listing = list_others(features, grouped, joins, step)
    matches = label_matches(listing, proposals, (), config.candidates.max_matches)
    objects = list(map(_add_frame, describe_proposals(matches, proposals, scale, (box, box))))
    objects = add_looks(objects, judged, box)
    outlines = [opencv.convex_hull(to_picture(features.xy[rows], step)) for rows in places]
    joined = [join.places for join in joins]
    for one in smooth:
        joined.append((len(outlines), len(outlines) + 1))
        outlines += [opencv.convex_hull(xy) for xy in (one.xy0, one.xy1)]
    if smooth:
        place = number_places(outlines)
        outlines = [outlines[int(np.flatnonzero(place == n)[0])] for n in range(int(place.max()) + 1)]
        joined = [(int(place[i]), int(place[k])) for i, k in joined]
    differing = Later(lambda: {found.id for found in objects if found.is_same is False})
    things = find_things_of_repeats(outlines, joined, differing)
    return matches, add_things(objects, things), things, put_largest_first((*listing.rejected, *rejected))


def list_smooth(picture: Picture, found: list[Proposal], config: MatchConfig) -> list[Proposal]:
    """Propose the smooth things that a picture shows twice, but for those already found."""
    smooth = list[Proposal]()
    for ends in sorted(find_smooth(picture), key=lambda ends: -len(ends[0])):
        xy0, xy1 = sorted(ends, key=lambda xy: tuple(xy.mean(axis=0)))
        none, log_nfa = np.zeros(len(xy0)), LOG_CHANCE * len(xy0)
        one = Proposal(np.arange(len(xy0)), xy0, xy1, none, 1.0, np.ones(2), log_nfa, likeness=LIKENESS)
        if all(one.share_near(other, config.objects.reach) < MAX_SHARED for other in (*found, *smooth)):
            smooth.append(one)
    return smooth


def list_others(features: Features, grouped: GroupedCandidates, joins: list[Join], step: Floats) -> Listing:
    """List the candidates that no object has, and the groups that are in none; each pair of points once."""
    point = np.unique(features.xy, axis=0, return_inverse=True)[1].reshape(-1)
    known = np.hstack([*(join.rows for join in joins), np.empty((2, 0), np.int64)])
    found = np.stack([grouped.candidates.row0, grouped.candidates.row1])
    known, found = (np.sort(point[rows], axis=0) for rows in (known, found))
    known, pairs = (rows[0] * len(point) + rows[1] for rows in (known, found))
    is_left = np.zeros(len(pairs), bool)
    is_left[np.unique(pairs, return_index=True)[1]] = True
    is_left &= ~np.isin(pairs, known)
    for group in grouped.groups:
        grouped.ledger.drop("places", group.rows)
    listing = locate(
        grouped.candidates, [make_group(np.flatnonzero(~is_left), 1.0)], grouped.ledger, (step, step)
    )
    xy0, xy1, distance = (values[is_left] for values in (listing.xy0, listing.xy1, listing.distance))
    return Listing(xy0, xy1, distance, listing.dropped_by[is_left], (), listing.rejected)


def _add_frame(found: MatchedObject) -> MatchedObject:
    """Add the box around the first place, mapped to the second one."""
    box = np.array([found.outline0.min(axis=0), found.outline0.max(axis=0)])
    return replace(found, frame1=fit_frame(found.points0, found.points1, box, found.transform))
