"""Repeats: what one picture shows more than once, found by matching its features with each other."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from matching._common import opencv
from matching._common.once import Later
from matching._common.threads import single_blas_thread
from matching._common.types import Floats, Ints
from matching.core.clock import Clock
from matching.core.clusters import measure_scores
from matching.core.config import MatchConfig, check_config
from matching.core.description import describe_proposals
from matching.core.details import swap_ends
from matching.core.graph import build_graph
from matching.core.group import group
from matching.core.groups import Group, make_group
from matching.core.judge import Judged, add_looks, judge, split_open
from matching.core.ledger import Ledger, RejectedGroup, name_steps
from matching.core.methods import REPEATS, choose_method
from matching.core.proposals import LabelledMatches, Listing, label_matches, locate
from matching.core.repeats.copies import Seed, find_copies
from matching.core.repeats.folding import Repeats, direct_both_ways, find_repeats_in_groups
from matching.core.repeats.periodicity import measure_periodicity
from matching.core.repeats.places import Placed, place_objects
from matching.core.result import MatchResult, add_inputs
from matching.core.source import DescribedPicture, describe_picture
from matching.correspondences.candidates import Candidates, join_candidates, match_within
from matching.correspondences.correspondences import Correspondences
from matching.errors import InputError
from matching.features.extraction import FeatureConfig, Features, measure_by_kind
from matching.features.windows import DESCRIBED_SHARE
from matching.objects.description import MatchedObject, add_things
from matching.objects.frames import fit_frame
from matching.objects.things import Thing, find_things_of_repeats, list_joined_again
from matching.pictures.decoding import read_content
from matching.pictures.images import Picture, add_mask, make_picture, to_picture

# Distance of unit descriptors below which features always count as equal, because the light and the
# surroundings of copies differ. Chosen on made pages.
MIN_DESCRIPTOR_BOUND = 0.3
STEPS = "read", "features", "candidates", "grouping", "places", "objects"
MAX_CREASE = 1e9  # standard deviations of points: gaps of any width have the same weights


def find_repeats(
    image: Any,
    config: MatchConfig = MatchConfig(),
    *,
    mask: Any = None,
    progress: Callable[[str, int, int], object] | None = None,
    **settings: Any,
) -> MatchResult:
    """Find what a picture shows more than once.

    Each object joins two places, with xy0 in one and xy1 in the other. Each pair of places is joined once,
    and the place further left comes first (if both have the same x, the upper one). `things` says which
    places show the same thing: a thing shown three times has three places, joined by two or three objects. A
    fine periodic texture is a `periodic` thing with one object, which shifts it onto itself.

    Parameters
    ----------
    image : path, bytes, binary file, Pillow image, or array (h, w), (h, w, 3) RGB or (h, w, 4) RGBA
        The picture.
    config : MatchConfig
        The settings.
    mask : like `image`, of the same size, optional
        White where features may lie.
    progress : callable, optional
        Called as ``progress(step, n_done, n_steps)`` after each step.
    **settings
        Settings that differ from `config`, see `MatchConfig.with_settings`: ``mirrored=True``.

    Returns
    -------
    MatchResult
        Each candidate is a pair of features, listed once. `frame1` of an object is the box around its first
        place, mapped to the second one.

    Raises
    ------
    InputError
        A ValueError: the file or array can't be used, the mask has another size, or `view_synthesis` is on.
    TypeError
        `config` is not a MatchConfig, or a keyword is not the name of a setting.
    """
    check_config(config)
    config = config.with_settings(**settings)
    if config.view_synthesis:
        raise InputError("view_synthesis must be False for one picture: it simulates the views of two")
    clock = Clock(progress, STEPS)
    image, mask = read_content(image, "image"), read_content(mask, "mask")
    picture = add_mask(make_picture(image), mask, "mask")
    clock.lap("read")
    result = find_repeats_in_picture(picture, config, clock=clock)
    return add_inputs(result, (image, image), (mask, mask), [picture] * 2)


@single_blas_thread()
def find_repeats_in_picture(
    picture: Picture, config: MatchConfig = MatchConfig(), *, clock: Clock | None = None
) -> MatchResult:
    """Find repeats in a picture already read."""
    clock = clock or Clock()
    clear = config.with_settings(sift_fill=0)  # faint texture, such as grass, looks alike everywhere
    described = describe_picture(picture, clear)
    clock.lap("features")
    user_config = config
    # Copies that lie far from each other may be shifted almost alike; then they count as parts of one object.
    config = config.with_settings(merging__crease=MAX_CREASE)
    candidates, n_listed = match_within_picture(described.features, config)
    clock.lap("candidates")
    ledger = Ledger(len(candidates))
    correspondences = direct_both_ways(candidates.xy0, candidates.xy1, candidates.maps)
    groups = group_both_ways(correspondences, n_listed, config, ledger)
    clock.lap("grouping")
    placed = find_places(described.features, candidates, correspondences, groups, config, ledger)
    clock.lap("places")
    objects = [make_group(one.rows, one.score) for one in placed.repeats.objects]
    directed = swap_ends(candidates, placed.repeats.is_reversed)
    listing = locate(directed, objects, ledger, (described.step, described.step), n_listed)
    matches, found, things, rejected = describe_repeats(picture, described, listing, placed, config)
    clock.lap("objects")
    return MatchResult(
        matches.xy0,
        matches.xy1,
        matches.labels,
        matches.distance,
        found,
        clock.seconds,
        config=user_config,
        things=things,
        n_features=(len(described.features),) * 2,
        matched_at=(described.megapixels,) * 2,
        is_single_picture=True,
        rejected=(*listing.rejected, *rejected),
        dropped_by=name_steps(matches.dropped_by),
    )


def match_within_picture(features: Features, config: MatchConfig) -> tuple[Candidates, int]:
    """List the candidates, each once, the best before the next best -> candidates, number of the best."""
    clearance = measure_clearance(features, config.features, config.objects.reach)
    parts = [
        match_within(features, clearance, config.candidates, mirrored)
        for mirrored in ((False, True) if config.mirrored else (False,))
    ]
    best, reserve = (join_candidates(part) for part in zip(*parts, strict=True))
    reserve = reserve[np.argsort(reserve.score, kind="stable")]
    return join_candidates([best, reserve]), len(best)


def group_both_ways(
    correspondences: Correspondences, n_listed: int, config: MatchConfig, ledger: Ledger
) -> list[Group]:
    """Group n matches that are listed in both directions (2n,), of which the first n_listed are the best."""
    n = len(correspondences) // 2
    # grouping needs the best first: the best in both directions come before the reserve in both
    first, last = np.split(np.arange(n), [n_listed])
    order = np.concatenate([first, first + n, last, last + n])
    method = choose_method(config, REPEATS)
    entries = ledger.renumber(order % n, np.arange(2 * n))
    groups = group(correspondences[order], 2 * n_listed, config, method, entries)
    return [found.at(order) for found in groups]


def find_places(
    features: Features,
    candidates: Candidates,
    correspondences: Correspondences,
    groups: list[Group],
    config: MatchConfig,
    ledger: Ledger,
) -> Placed:
    """Find the objects among n candidates, each of which joins two places, and further places of the same.

    correspondences (2n,) and groups list the candidates in both directions.
    """
    n = len(candidates)

    def is_texture(members: Ints) -> bool:
        directed = swap_ends(candidates[members % n], members >= n)
        return measure_periodicity(features, features, directed).is_periodic

    def measure_score(members: Ints) -> float:
        k = config.clustering.n_neighbors
        graph = build_graph(correspondences[members], k, config.graph, reach=config.objects.gap)
        return float(measure_scores(graph, [np.arange(len(members))], k)[0])

    repeats = find_repeats_in_groups(
        correspondences,
        groups,
        config.objects,
        ledger,
        is_texture,
        measure_score=None if config.is_paper else measure_score,  # the paper scores by another graph
        may_mirror=config.mirrored,
    )
    if config.is_paper or config.mirrored:
        return Placed(repeats, [])
    ends = np.column_stack([candidates.row0, candidates.row1])
    copies = find_copies(features, _list_seeds(ends, candidates.score, repeats), config.objects)
    return place_objects(
        correspondences, ends, repeats, copies, features.xy, config.objects, measure_score, ledger
    )


def _list_seeds(ends: Ints, score: Floats, repeats: Repeats) -> list[Seed]:
    """Make a seed of each object; that of a periodic texture has no features."""
    seeds = []
    for one in repeats.objects:
        rows = one.rows[:0] if one.is_periodic else one.rows
        bound = max(float(np.quantile(score[one.rows], 0.9)), MIN_DESCRIPTOR_BOUND)
        seeds.append(Seed(ends[rows, 0], ends[rows, 1], bound))
    return seeds


def describe_repeats(
    picture: Picture, described: DescribedPicture, listing: Listing, placed: Placed, config: MatchConfig
) -> tuple[LabelledMatches, tuple[MatchedObject, ...], tuple[Thing, ...], list[RejectedGroup]]:
    """Describe the objects, each with the frame of its first place, and list the things that they show.

    Objects whose places do not look the same are left out and returned as rejected, and so are those that
    join places which another object joins already.
    """
    scale, box = config.graph.scale, described.box
    repeats, xy = placed.repeats.objects, to_picture(described.features.xy, described.step)
    proposals, judged, rejected = list(listing.proposals), list[Judged](), list[RejectedGroup]()
    if not config.is_paper:
        judged = judge(proposals, picture, picture, scale)
        rows, reasons = split_open(judged)
        rejected += reasons
        proposals, judged = [proposals[k] for k in rows], [judged[k] for k in rows]
        repeats = [repeats[k] for k in rows]
    matches = label_matches(listing, proposals, (), config.candidates.max_matches)
    objects = list(map(_add_frame, describe_proposals(matches, proposals, scale, (box, box))))
    if judged:
        objects = add_looks(objects, judged, box)
    hulls = [[opencv.convex_hull(xy[rows]) for rows in places] for places in placed.things]
    kept = np.arange(len(objects))
    while True:  # dropping an object may change the outlines of the places
        outlines = [objects[k].outline0 for k in kept], [objects[k].outline1 for k in kept]
        is_periodic = np.array([repeats[k].is_periodic for k in kept], bool)
        joins = np.array([repeats[k].joins for k in kept], np.int64).reshape(-1, 2)
        things = find_things_of_repeats(*outlines, is_periodic, hulls, joins)
        redundant = list_joined_again(things)
        if not redundant:
            break
        kept = np.delete(kept, redundant)
    matches = matches.drop("places", np.isin(np.arange(len(objects)), kept))
    ends = [(one.points0, one.points1) for k, one in enumerate(objects) if k not in kept]
    rejected += [RejectedGroup("places", None, None, *each) for each in ends]
    objects = [replace(objects[k], id=n) for n, k in enumerate(kept.tolist())]
    differing = Later(lambda: {found.id for found in objects if found.is_same is False})

    def add_alike(thing: Thing) -> Thing:
        return replace(thing, found_alike=Later(lambda: thing.find_alike(differing.read())))

    things = tuple(map(add_alike, things))
    return matches, add_things(objects, things), things, rejected


def measure_clearance(features: Features, config: FeatureConfig, min_clearance: float) -> Floats:
    """Measure how far from each feature its matches must be, so that their windows differ -> (n,) pixels."""
    window = measure_by_kind(config, "window")[features.kind]
    clearance: Floats = np.maximum(
        np.sqrt(np.abs(np.linalg.det(features.frames))) * window * DESCRIBED_SHARE, min_clearance
    )
    return clearance


def _add_frame(found: MatchedObject) -> MatchedObject:
    """Add the box around the first place, mapped to the second one."""
    box = np.array([found.outline0.min(axis=0), found.outline0.max(axis=0)])
    return replace(found, frame1=fit_frame(found.points0, found.points1, box, found.transform))
