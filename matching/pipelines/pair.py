"""From two pictures to the objects that both show: the stages in their order."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from matching._common.threads import default_threads, map_in_threads, single_blas_thread
from matching._common.types import Floats
from matching.config import MatchConfig, check_config
from matching.correspondences.candidates import Candidates, join_candidates, match_with_reserve
from matching.features.extraction import Features, mirrored_features, negative_features
from matching.grouping import GROUPINGS, Groups, group
from matching.grouping.refinement.ambiguity import measure_periodicity
from matching.grouping.rejections import name_stages
from matching.objects.copies import add_completeness
from matching.objects.description import MatchedObject, add_things, describe_object
from matching.objects.frames import MIN_PICTURE_SHARE, hull_area
from matching.objects.things import find_things_of_pair
from matching.pictures.decoding import read_content
from matching.pictures.images import Picture, add_mask, make_picture
from matching.pipelines.clock import Clock
from matching.pipelines.description import (
    DescribedPicture,
    ImageSource,
    describe_picture,
    is_larger,
    is_small,
)
from matching.pipelines.details import Located, add_details, find_details, group_details, locate
from matching.pipelines.mirrored import looks_mirrored
from matching.pipelines.pair_state import FindDetails, FindViews, Pair, PairContext, PairState
from matching.pipelines.view_synthesis import find_in_views, has_enough, is_solved
from matching.result import MatchResult, add_inputs
from matching.stages import Stage, Stages, end_with, insert_before, leave_out, replace_stage

FindClusters = Callable[[Candidates, MatchConfig], Groups]


def match(
    image0: Any,
    image1: Any,
    config: MatchConfig = MatchConfig(),
    *,
    mask0: Any = None,
    mask1: Any = None,
    progress: Callable[[str, int, int], object] | None = None,
    **settings: Any,
) -> MatchResult:
    """Find the objects that two pictures both show.

    Parameters
    ----------
    image0, image1 : path, bytes, binary file, Pillow image, or array (h, w), (h, w, 3) RGB or (h, w, 4) RGBA
        The pictures; bytes are the content of a file.
    config : MatchConfig
        The settings.
    mask0, mask1 : like `image0` and `image1`, of the same sizes, optional
        White where features may lie; by default, they may lie everywhere.
    progress : callable, optional
        Called as ``progress(stage, n_done, n_stages)`` after each stage.
    **settings : object
        Settings that differ from `config`, see `MatchConfig.with_settings`: ``max_matches=5000``.

    Returns
    -------
    MatchResult
        The result is the same for any number of threads; swapped images give the same matches, swapped.

    Raises
    ------
    InputError
        A ValueError: a file or array can't be used, or a mask does not have the size of its image.
    TypeError
        `config` is not a MatchConfig, or a keyword is not the name of a setting.

    Examples
    --------
    >>> import numpy as np
    >>> match(np.zeros((60, 80)), np.zeros((60, 80)), max_matches=500)
    <MatchResult: no common object, 0 of 0 candidates>
    """
    check_config(config)
    config = config.with_settings(**settings)
    clock = Clock(progress, list_stages(config))
    images = read_content(image0, "image0"), read_content(image1, "image1")
    masks = read_content(mask0, "mask0"), read_content(mask1, "mask1")
    pictures = [
        add_mask(make_picture(image, f"image{k}"), mask, f"mask{k}")
        for k, (image, mask) in enumerate(zip(images, masks, strict=True))
    ]
    clock.lap("read")
    result = match_pictures(pictures[0], pictures[1], config, clock=clock)
    return add_inputs(result, images, masks, pictures)


def match_pictures(
    picture0: Picture,
    picture1: Picture,
    config: MatchConfig = MatchConfig(),
    *,
    stages: Stages | None = None,
    clock: Clock | None = None,
) -> MatchResult:
    """Find the objects that two pictures both show: `match` for pictures that are already read."""
    clock = clock or Clock()
    n_threads = default_threads()
    sources = ImageSource(picture0, config), ImageSource(picture1, config)
    described = map_in_threads(
        lambda picture: describe_picture(picture, config, n_threads), (picture0, picture1), n_threads
    )
    for source, known in zip(sources, described, strict=True):
        source.described = known
    clock.lap("features")
    return match_sources(*sources, stages=choose_stages(config) if stages is None else stages, clock=clock)


def match_sources(
    first: ImageSource, second: ImageSource, *, stages: Stages | None = None, clock: Clock | None = None
) -> MatchResult:
    """Match two pictures with all that is known of them: `match_described` with views, details and pixels."""
    return match_described(
        first.described,
        second.described,
        first.config,
        stages=stages,
        clock=clock,
        views=(lambda: first.views, lambda: second.views),
        details=(lambda: first.details, lambda: second.details),
        pictures=(first.picture, second.picture),
    )


@single_blas_thread()  # many small matrices: several threads would be slower
def match_described(
    described0: DescribedPicture,
    described1: DescribedPicture,
    config: MatchConfig = MatchConfig(),
    *,
    stages: Stages | None = None,
    clock: Clock | None = None,
    views: Sequence[FindViews] | None = None,
    details: Sequence[FindDetails] | None = None,
    pictures: Sequence[Picture] | None = None,
) -> MatchResult:
    """Match described pictures as `match` does, but without negatives unless `stages` include them."""
    clock = clock or Clock()
    # The stages take the pictures in a canonical order, so that swapping the pictures changes nothing.
    swapped = described0.digest > described1.digest
    seen = (described1, described0) if swapped else (described0, described1)
    if swapped:
        views = None if views is None else views[::-1]
        details = None if details is None else details[::-1]
    context = PairContext(*seen, config, views, details, pictures, swapped)
    state = PairState(seen)
    if stages is None:
        stages = tuple(stage for stage in choose_stages(config) if stage.run is not look_in_negative)
    for stage in stages:
        state = stage.run(state, context)
        clock.lap(stage.name)
    found, at = state.located, [described.megapixels for described in state.seen]
    is_sought = pictures is None or config.mirrored or not config.way.is_tested  # or it need not be known
    return MatchResult(
        found.xy0, found.xy1, found.labels, found.score, state.objects, clock.seconds, config=config,
        things=state.things, n_features=(len(described0.features), len(described1.features)),
        matched_at=(at[1], at[0]) if swapped else (at[0], at[1]),
        rejected=found.rejected, dropped_by=name_stages(found.stages), negative=state.negative,
        looks_mirrored=not is_sought and looks_mirrored(*context.features, config),
    )  # fmt: skip


def match_features_of_pair(state: PairState, context: PairContext) -> PairState:
    """Find the candidates."""
    best, reserve = find_candidates(*context.features, context.config)
    return replace(state, candidates=best, reserve=reserve, n_listed=len(best))


def group_with(stages: Stages) -> Callable[[PairState, PairContext], PairState]:
    """The stage "grouping" with a list of stages."""

    def group_candidates(state: PairState, context: PairContext) -> PairState:
        candidates, groups = find_objects(state.candidates, state.reserve, context.config, stages)
        return replace(state, candidates=candidates, groups=groups)

    return group_candidates


def drop_textures_of_pair(state: PairState, context: PairContext) -> PairState:
    """The groups that are not periodic textures."""
    return replace(state, groups=drop_textures(*context.features, state.candidates, state.groups))


def list_candidates(state: PairState, context: PairContext) -> PairState:
    """The candidates that the result lists, in pixels of the pictures."""
    return replace(state, located=locate(state.candidates, state.groups, *context.steps, most=state.n_listed))


def look_at_views(state: PairState, context: PairContext) -> PairState:
    """The objects that simulated views show, if they have more matches."""
    if context.views is None:
        return state
    config, known, candidates = context.config, state.located, state.candidates
    plain = candidates.correspondences[state.groups.labels >= 0]
    if is_solved(known) and has_enough(plain, config):
        return state
    found = find_in_views(context.features, [view() for view in context.views], config)
    if found is None:
        return state
    seen = locate(*found, *context.steps, most=config.candidates.max_matches)
    if _n_kept(seen) > _n_kept(known):
        known, seen = seen, known
    return replace(state, located=known.add_rejected(seen.rejected, config.objects.reach))


def look_closer(state: PairState, context: PairContext) -> PairState:
    """Add the details of pictures that are matched at their full size."""
    if context.details is None:
        return state
    closer = _choose_details(state.seen, state.located, context.config)
    if not closer:
        return state
    located, seen = _look_closer(state.located, state.seen, closer, context.details, context.config)
    return replace(state, located=located, seen=seen)


def look_in_negative(state: PairState, context: PairContext) -> PairState:
    """The objects found with one picture in negative, if there are no others."""
    if len(state.located.scores):
        return state
    second = replace(context.second, features=negative_features(context.second.features))
    pair = PairContext(context.first, second, context.config, swapped=context.swapped)
    found = PairState((context.first, second), negative=True)
    for stage in end_with(DEFAULT, "textures"):
        found = stage.run(found, pair)
    shares = [_measure_share(found.candidates[rows], pair) for rows in found.groups.members]
    kept = np.array([share >= MIN_PICTURE_SHARE for share in shares], bool)
    if not kept.any():
        return state
    groups = found.groups.reject("negative", kept, np.array(shares), np.full(len(kept), MIN_PICTURE_SHARE))
    return list_candidates(replace(found, groups=groups), pair)


def _measure_share(candidates: Candidates, context: PairContext) -> float:
    """The share of a picture that the matches surround, in the picture where it is larger."""
    ends = (context.first, candidates.xy0), (context.second, candidates.xy1)
    return max(hull_area(xy) * float(one.step.prod() / np.ptp(one.box, axis=0).prod()) for one, xy in ends)


def describe_pair(state: PairState, context: PairContext) -> PairState:
    """The objects, in pixels of picture 0 and picture 1."""
    located = state.located.swapped if context.swapped else state.located
    boxes = context.first.box, context.second.box
    boxes = boxes[::-1] if context.swapped else boxes
    found = describe_objects(
        located.xy0, located.xy1, located, context.config.graph.scale * located.steps[:, 1], boxes
    )
    things = find_things_of_pair([o.outline0 for o in found], [o.outline1 for o in found])
    objects = add_things(found, things)
    if context.pictures is not None:
        shown = list(context.pictures)
        if state.negative:
            second = 0 if context.swapped else 1
            shown[second] = shown[second].negative
        objects = add_completeness(objects, *shown)
    return replace(state, located=located, objects=objects, things=things)


DEFAULT: Stages = (
    Stage("candidates", match_features_of_pair),
    Stage("grouping", group_with(GROUPINGS["default"].stages)),
    Stage("textures", drop_textures_of_pair),
    Stage("listing", list_candidates),
    Stage("details", look_closer),
    Stage("negative", look_in_negative),
    Stage("objects", describe_pair),
)
VIEWS = insert_before(DEFAULT, "details", Stage("views", look_at_views))
PAPER = leave_out(DEFAULT, "textures", "details", "negative")
PAPER = replace_stage(PAPER, "grouping", group_with(GROUPINGS["paper"].stages))
WAYS = {"default": DEFAULT, "paper": PAPER}


def choose_stages(config: MatchConfig) -> Stages:
    """The stages that the settings ask for."""
    return VIEWS if config.view_synthesis else WAYS[config.grouping]


def label_by(find_clusters: FindClusters) -> Stages:
    """The stages with a function that labels candidates in place of the grouping and its tests."""

    def label(state: PairState, context: PairContext) -> PairState:
        return replace(state, groups=find_clusters(state.candidates, context.config))

    return replace_stage(PAPER, "grouping", label)


def _choose_details(pair: Pair, found: Located, config: MatchConfig) -> list[int]:
    """Choose the pictures to match closer: the only reduced one, or both if no object is sure or likely."""
    larger = [k for k in (0, 1) if is_larger(pair[k], config)]
    if len(larger) == 1 or is_solved(found):
        return larger[: len(larger) % 2]
    return [0, 1] if larger or all(is_small(described, config) for described in pair) else []


def _look_closer(
    located: Located, pair: Pair, chosen: list[int], details: Sequence[FindDetails], config: MatchConfig
) -> tuple[Located, Pair]:
    """Add the details of the chosen pictures; also return the pictures as they were matched last."""
    found: list[Located] = []
    seen = list(pair)
    for k in chosen:
        seen[k] = details[k]()
        coarse, fine = pair[1 - k], seen[k]
        if is_larger(pair[k], config):
            own = find_details(coarse, fine, pair[k].step, config, _group_details)
        else:
            both = find_candidates(coarse.features, fine.features, config)
            own = [group_details(coarse, fine, both, len(chosen), config, _group_details)]
        found += own if k == 1 else [band.swapped for band in own]
    all_found = add_details(located, found, config.objects.reach, config.candidates.max_matches)
    return all_found, (seen[0], seen[1])


def _group_details(
    features0: Features, features1: Features, candidates: Candidates, pool: Candidates, config: MatchConfig
) -> tuple[Candidates, Groups]:
    found = find_objects(candidates, pool, config)
    return found[0], drop_textures(features0, features1, *found)


def describe_objects(
    xy0: Floats,
    xy1: Floats,
    groups: Groups | Located,
    tolerance: float | Floats,
    boxes: tuple[Floats, Floats],
) -> list[MatchedObject]:
    """Describe each group of matches: xy0, xy1 (m, 2); tolerance or (n_objects,); boxes (2, 2)."""
    tolerances = np.broadcast_to(tolerance, len(groups.scores))

    def describe(k: int) -> MatchedObject:
        own = groups.labels == k
        log_nfa = None if groups.log_nfa is None else float(groups.log_nfa[k])
        error = float(tolerances[k])
        return describe_object(k, xy0[own], xy1[own], float(groups.scores[k]), error, *boxes, log_nfa)

    return map_in_threads(describe, range(len(groups.scores)), default_threads())


def _n_kept(found: Located) -> int:
    return int(np.count_nonzero(found.labels >= 0))


def find_objects(
    candidates: Candidates,
    pool: Candidates,
    config: MatchConfig = MatchConfig(),
    stages: Stages | None = None,
) -> tuple[Candidates, Groups]:
    """Group the candidates into objects, which may take further matches from a pool."""
    candidates = join_candidates([candidates, pool[np.argsort(pool.score, kind="stable")]])
    correspondences = candidates.correspondences
    n_listed = len(candidates) - len(pool)
    stages = config.way.stages if stages is None else stages
    return candidates, group(correspondences, n_listed, config, default_threads(), stages)


def find_candidates(
    features0: Features, features1: Features, config: MatchConfig
) -> tuple[Candidates, Candidates]:
    """Match the features of two pictures."""
    parts = [match_with_reserve(features0, features1, config.candidates, default_threads())]
    if config.mirrored:
        turned = mirrored_features(features1)
        parts.append(match_with_reserve(features0, turned, config.candidates, default_threads()))
    best, reserve = zip(*parts, strict=True)
    return join_candidates(best), join_candidates(reserve)


def drop_textures(features0: Features, features1: Features, candidates: Candidates, groups: Groups) -> Groups:
    """Drop the groups that are fine periodic textures."""
    found = [measure_periodicity(features0, features1, candidates[rows]) for rows in groups.members]
    kept = np.array([not one.is_periodic for one in found], bool)
    if kept.all():
        return groups
    shares, bounds = (np.array([getattr(one, name) for one in found]) for name in ("share", "bound"))
    return groups.reject("textures", kept, shares, bounds)


def list_stages(config: MatchConfig) -> tuple[str, ...]:
    """Name the stages of a match in their order."""
    return ("read", "features", *(stage.name for stage in choose_stages(config)))


STAGES = list_stages(MatchConfig())
