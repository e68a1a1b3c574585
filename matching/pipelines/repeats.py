"""Repeats: what one picture shows more than once, found by matching its features with each other."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from matching._common import opencv
from matching._common.threads import default_threads, single_blas_thread
from matching._common.types import Floats, Ints
from matching.config import MatchConfig, check_config
from matching.correspondences.candidates import join_candidates, match_within
from matching.correspondences.correspondences import Correspondences
from matching.errors import InputError
from matching.features.extraction import FeatureConfig, Features, measure_by_kind
from matching.features.windows import DESCRIBED
from matching.grouping import group
from matching.grouping.clustering import cluster_scores
from matching.grouping.copies import Seed, find_copies
from matching.grouping.graph import build_graph
from matching.grouping.placing import Placed, place_objects
from matching.grouping.refinement.ambiguity import measure_periodicity
from matching.grouping.rejections import name_stages
from matching.grouping.repeats import Repeats, direct_both_ways, find_repeats_in_groups
from matching.objects.description import MatchedObject, add_things
from matching.objects.frames import fit_frame
from matching.objects.things import Thing, find_things_of_repeats, list_joined_again
from matching.pictures.decoding import read_content
from matching.pictures.images import Picture, add_mask, make_picture, to_picture
from matching.pipelines.clock import Clock
from matching.pipelines.description import DescribedPicture, describe_picture
from matching.pipelines.details import locate, turn
from matching.pipelines.pair import describe_objects
from matching.result import MatchResult, add_inputs
from matching.stages import Stage, Stages

# Distance of unit descriptors within which features are equal, at least, because light and edges differ.
# Chosen on made pages.
MIN_BOUND = 0.3
MAX_CREASE = 1e9  # standard deviations of points: no bound


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
        Called as ``progress(stage, n_done, n_stages)`` after each stage.
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
    clock = Clock(progress, NAMES)
    image, mask = read_content(image, "image"), read_content(mask, "mask")
    picture = add_mask(make_picture(image), mask, "mask")
    clock.lap("read")
    result = find_repeats_in_picture(picture, config, clock=clock)
    return add_inputs(result, (image, image), (mask, mask), [picture] * 2)


def find_repeats_in_picture(
    picture: Picture, config: MatchConfig = MatchConfig(), *, clock: Clock | None = None
) -> MatchResult:
    """Find repeats in a picture already read."""
    clock = clock or Clock()
    clear = config.with_settings(sift_fill=0)  # faint texture, such as grass, looks alike everywhere
    described = describe_picture(picture, clear, default_threads())
    clock.lap("features")
    return find_repeats_in_described(described, config, clock=clock)


@dataclass(frozen=True, eq=False)
class RepeatsContext:
    """The context of the stages of one picture."""

    described: DescribedPicture
    config: MatchConfig

    def measure_score(self, matches: Correspondences) -> float:
        """Measure how well matches agree with each other."""
        config = self.config
        k, reach = config.clustering.n_neighbors, config.objects.gap
        _, graph = build_graph(matches, k, config.graph, default_threads(), reach=reach)
        return float(cluster_scores(graph, [np.arange(len(matches))], k)[0])


@dataclass(frozen=True, eq=False)
class RepeatsState:
    """The state of one picture; the stages fill its fields in turn."""

    candidates: Any = None  # the best, then the next best, each once
    n_listed: int = 0  # candidates that the result lists
    correspondences: Any = None  # (2 n,), the candidates in both directions
    groups: Any = None  # Groups of these correspondences
    placed: Any = None  # Placed: the objects among the candidates, and the places that they join
    located: Any = None  # Located: the same in pixels of the picture, from "listing" on
    objects: tuple[MatchedObject, ...] = ()
    things: tuple[Thing, ...] = ()


@single_blas_thread()
def find_repeats_in_described(
    described: DescribedPicture,
    config: MatchConfig = MatchConfig(),
    *,
    clock: Clock | None = None,
) -> MatchResult:
    """Find repeats in a picture already described."""
    # copies that lie far from each other may be shifted almost alike, and count as parts of one object then
    context = RepeatsContext(described, config.with_settings(merging__crease=MAX_CREASE))
    clock, state = clock or Clock(), RepeatsState()
    for stage in STAGES:
        state = stage.run(state, context)
        clock.lap(stage.name)
    found = state.located
    return MatchResult(
        found.xy0, found.xy1, found.labels, found.score, state.objects, clock.seconds, config=config,
        things=state.things, n_features=(len(described.features),) * 2,
        matched_at=(described.megapixels,) * 2, of_one=True,
        rejected=found.rejected, dropped_by=name_stages(found.stages),
    )  # fmt: skip


def match_within_picture(state: RepeatsState, context: RepeatsContext) -> RepeatsState:
    """The candidates."""
    features, config = context.described.features, context.config
    clearance = feature_clearance(features, config.features, config.objects.reach)
    parts = [
        match_within(features, clearance, config.candidates, default_threads(), mirrored)
        for mirrored in ((False, True) if config.mirrored else (False,))
    ]
    best, reserve = (join_candidates(part) for part in zip(*parts, strict=True))
    reserve = reserve[np.argsort(reserve.score, kind="stable")]
    return replace(state, candidates=join_candidates([best, reserve]), n_listed=len(best))


def group_both_ways(state: RepeatsState, context: RepeatsContext) -> RepeatsState:
    """The groups of the candidates, in both directions."""
    candidates, n, config = state.candidates, len(state.candidates), context.config
    correspondences = direct_both_ways(candidates.xy0, candidates.xy1, candidates.maps)
    # grouping needs the best first: the best in both directions come before the reserve in both
    first, last = np.split(np.arange(n), [state.n_listed])
    order = np.concatenate([first, first + n, last, last + n])
    groups = group(correspondences[order], 2 * state.n_listed, config, default_threads(), config.way.of_one)
    return replace(state, correspondences=correspondences, groups=groups.at(order))


def find_places(state: RepeatsState, context: RepeatsContext) -> RepeatsState:
    """The objects among the candidates, each of which joins two places, and further places of the same."""
    candidates, correspondences, n = state.candidates, state.correspondences, len(state.candidates)
    features, config = context.described.features, context.config

    def is_texture(members: Ints) -> bool:
        own = turn(candidates[members % n], members >= n)
        return measure_periodicity(features, features, own).is_periodic

    def measure_score(members: Ints) -> float:
        return context.measure_score(correspondences[members])

    repeats = find_repeats_in_groups(
        correspondences,
        state.groups,
        config.objects,
        is_texture,
        measure_score=measure_score if config.way.is_tested else None,  # others score by another graph
        may_mirror=config.mirrored,
    )
    if not config.way.is_tested or config.mirrored:
        return replace(state, placed=Placed(repeats, [], np.full((len(repeats.groups.scores), 2), -1)))
    ends = np.column_stack([candidates.row0, candidates.row1])
    copies = find_copies(features, _list_seeds(ends, candidates.score, repeats), config.objects)
    placed = place_objects(correspondences, ends, repeats, copies, features.xy, config.objects, measure_score)
    return replace(state, placed=placed)


def _list_seeds(ends: Ints, score: Floats, repeats: Repeats) -> list[Seed]:
    """A seed for each object, without the features of textures."""
    seeds = []
    for rows, is_periodic in zip(repeats.groups.members, repeats.periodic, strict=True):
        own = rows[:0] if is_periodic else rows
        bound = max(float(np.quantile(score[rows], 0.9)), MIN_BOUND)
        seeds.append(Seed(ends[own, 0], ends[own, 1], bound))
    return seeds


def list_candidates(state: RepeatsState, context: RepeatsContext) -> RepeatsState:
    """The candidates that the result lists, in pixels of the picture, each in the direction of its object."""
    step, repeats = context.described.step, state.placed.repeats
    found = locate(turn(state.candidates, repeats.reversed), repeats.groups, step, step, most=state.n_listed)
    return replace(state, located=found)


def describe_repeats(state: RepeatsState, context: RepeatsContext) -> RepeatsState:
    """The objects, each with the frame of its first place, and the things that they show."""
    described, found = context.described, state.located
    tolerance = context.config.graph.scale * found.steps[:, 1]
    objects = [
        _add_frame(one, found.xy0[found.labels == one.id], found.xy1[found.labels == one.id])
        for one in describe_objects(found.xy0, found.xy1, found, tolerance, (described.box, described.box))
    ]
    placed, xy = state.placed, to_picture(described.features.xy, described.step)
    known = [[opencv.convex_hull(xy[rows]) for rows in own] for own in placed.things]
    kept = np.arange(len(objects))
    while True:  # the outlines of places may be others without an object
        places = [objects[k].outline0 for k in kept], [objects[k].outline1 for k in kept]
        things = find_things_of_repeats(*places, placed.repeats.periodic[kept], known, placed.joins[kept])
        again = list_joined_again(things)
        if not again:
            break
        kept = np.delete(kept, again)
    located = found.reject("places", np.isin(np.arange(len(objects)), kept), context.config.objects.reach)
    objects = [replace(objects[k], id=n) for n, k in enumerate(kept.tolist())]
    return replace(state, located=located, objects=add_things(objects, things), things=things)


STAGES: Stages = (
    Stage("candidates", match_within_picture),
    Stage("grouping", group_both_ways),
    Stage("places", find_places),
    Stage("listing", list_candidates),
    Stage("objects", describe_repeats),
)
NAMES = ("read", "features", *(stage.name for stage in STAGES))


def feature_clearance(features: Features, config: FeatureConfig, least: float) -> Floats:
    """How far from each feature its matches must be at least -> (n,)."""
    window = measure_by_kind(config, "window")[features.kind]
    clearance: Floats = np.maximum(
        np.sqrt(np.abs(np.linalg.det(features.frames))) * window * DESCRIBED, least
    )
    return clearance


def _add_frame(found: MatchedObject, xy0: Floats, xy1: Floats) -> MatchedObject:
    box = np.array([found.outline0.min(axis=0), found.outline0.max(axis=0)])
    return replace(found, frame1=fit_frame(xy0, xy1, box, found.transform))
