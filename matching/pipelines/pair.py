"""From two pictures to the objects that both show: the stages in their order."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from matching._common.threads import default_threads, map_in_threads, single_blas_thread
from matching._common.types import Floats, Ints
from matching.config import MatchConfig, check_config
from matching.correspondences.candidates import Candidates, join_candidates, match_with_reserve
from matching.features.extraction import Features, mirrored_features
from matching.features.views import ViewedPicture
from matching.grouping import Correspondences, Groups, group, group_by_paper
from matching.grouping.clustering import cluster_graph
from matching.grouping.refinement.ambiguity import is_periodic
from matching.grouping.rejections import Dropped, Rejection
from matching.objects.copies import add_completeness
from matching.objects.description import MatchedObject, add_things, describe_object
from matching.objects.things import find_things_of_pair
from matching.pictures.decoding import read_content
from matching.pictures.images import Picture, add_mask, make_picture, to_picture
from matching.pipelines.description import (
    DescribedPicture,
    describe_details,
    describe_picture,
    is_larger,
    is_small,
    prepare_views,
)
from matching.pipelines.details import Located, Seen, add_details, find_details, group_details, locate
from matching.pipelines.listing import choose_rows
from matching.pipelines.view_synthesis import find_in_views, is_solved
from matching.result import MatchResult, add_inputs

STAGES = ("read", "features", "candidates", "grouping", "details", "objects")

FindClusters = Callable[[Candidates, MatchConfig], Groups]
FindViews = Callable[[], ViewedPicture]
Pair = tuple[DescribedPicture, DescribedPicture]
FindDetails = Callable[[], DescribedPicture]
Clustering = Callable[..., Ints]  # with the parameters of `cluster_graph`


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
    mask0, mask1 : as an image, of the image's size, optional
        White where features may lie; by default, they may lie everywhere.
    progress : callable, optional
        Called as ``progress(stage, n_done, n_stages)`` when each of STAGES has ended.
    **settings : object
        Settings that differ from `config`, see `MatchConfig.with_settings`: ``max_matches=5000``.

    Returns
    -------
    MatchResult
        The same for any number of threads; swapped images give the same matches, swapped.

    Raises
    ------
    InputError
        A ValueError: a file or array can't be used, or a mask has another size than its image.
    TypeError
        `config` is no MatchConfig, or there is no setting of such a name.

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
    find_clusters: FindClusters | None = None,
    clock: Clock | None = None,
) -> MatchResult:
    """Find the objects that two pictures both show: `match` for pictures that are already read."""
    clock = clock or Clock()
    n_threads = default_threads()
    described0, described1 = map_in_threads(
        lambda picture: describe_picture(picture, config, n_threads), (picture0, picture1), n_threads
    )
    clock.lap("features")
    views = (lambda: prepare_views(picture0, config)), (lambda: prepare_views(picture1, config))
    details = (
        lambda: describe_details(picture0, described0, config, n_threads),
        lambda: describe_details(picture1, described1, config, n_threads),
    )
    return match_described(
        described0,
        described1,
        config,
        find_clusters=find_clusters,
        clock=clock,
        views=views,
        details=details,
        pictures=(picture0, picture1),
    )


@single_blas_thread()  # many small matrices, which several threads would take longer for
def match_described(
    described0: DescribedPicture,
    described1: DescribedPicture,
    config: MatchConfig = MatchConfig(),
    *,
    find_clusters: FindClusters | None = None,
    clock: Clock | None = None,
    views: Sequence[FindViews] | None = None,
    details: Sequence[FindDetails] | None = None,
    pictures: Sequence[Picture] | None = None,
) -> MatchResult:
    """Find the objects that two pictures both show: `match` for pictures that are already described."""
    clock = clock or Clock()
    # The stages look at the pictures in an order of their own, so that swapping them changes nothing.
    swapped = described0.digest > described1.digest
    first, second = (described1, described0) if swapped else (described0, described1)
    candidates, reserve = find_candidates(first.features, second.features, config)
    rejected: tuple[Rejection, ...] = ()
    clock.lap("candidates")
    if find_clusters is None:
        n_listed = len(candidates)
        candidates, groups = find_objects(candidates, reserve, config)
        candidates, groups = drop_textures(first.features, second.features, candidates, groups, config)
        rejected = tuple(item.locate(candidates.xy0, candidates.xy1) for item in groups.rejected)
        candidates, groups = choose_listed(candidates, groups, n_listed)
    else:
        groups = find_clusters(candidates, config)
    clock.lap("grouping")
    if config.view_synthesis and views is not None and not is_solved(groups):
        ordered = views[::-1] if swapped else views
        found = find_in_views([first.features, second.features], [v() for v in ordered], config)
        if found is not None and _n_kept(found[1]) > _n_kept(groups):
            candidates, groups = choose_listed(*found, config.candidates.max_matches)
        clock.lap("views")
    is_tested = config.grouping == "default" and find_clusters is None
    located, seen = locate(candidates, groups, first.step, second.step), (first, second)
    if details is not None and is_tested:
        closer = _choose_details(seen, groups, config)
        located, seen = _look_closer(located, seen, closer, details[::-1] if swapped else details, config)
    clock.lap("details")
    if swapped:
        located, seen = located.swapped, seen[::-1]
    groups = Groups(located.labels, located.scores, located.log_nfa)
    tolerance, boxes = config.graph.scale * located.steps[:, 1], (described0.box, described1.box)
    found_objects = describe_objects(located.xy0, located.xy1, groups, tolerance, boxes)
    things = find_things_of_pair([o.outline0 for o in found_objects], [o.outline1 for o in found_objects])
    objects = add_things(found_objects, things)
    if pictures is not None:
        objects = add_completeness(objects, *pictures)
    clock.lap("objects")
    return MatchResult(
        located.xy0, located.xy1, located.labels, located.score, objects, clock.seconds, config=config,
        things=things, n_features=(len(described0.features), len(described1.features)),
        matched_at=(seen[0].megapixels, seen[1].megapixels),
        rejected=_locate_rejected(rejected, swapped, described0.step, described1.step),
    )  # fmt: skip


def _choose_details(pair: Pair, groups: Groups, config: MatchConfig) -> list[int]:
    """Which pictures to look at more closely: one that is larger than its working size; if nothing sure is
    found, also both where both are, or where both are small.
    """
    larger = [k for k in (0, 1) if is_larger(pair[k], config)]
    if len(larger) == 1 or is_solved(groups):
        return larger[: len(larger) % 2]
    return [0, 1] if larger or all(is_small(described, config) for described in pair) else []


def _look_closer(
    located: Located, pair: Pair, chosen: list[int], details: Sequence[FindDetails], config: MatchConfig
) -> tuple[Located, Pair]:
    """Add the details of the chosen pictures; what was looked at in the end."""
    found: list[Located] = []
    seen = list(pair)
    for k in chosen:
        seen[k] = details[k]()
        coarse = Seen(pair[1 - k].features, pair[1 - k].step)
        fine = Seen(seen[k].features, seen[k].step)
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
    """Group candidates into objects that are no fine texture."""
    found = find_objects(candidates, pool, config)
    return drop_textures(features0, features1, *found, config)


def describe_objects(
    xy0: Floats,
    xy1: Floats,
    groups: Groups,
    tolerance: float | Floats,
    boxes: tuple[Floats, Floats],
) -> list[MatchedObject]:
    """Describe the object of each group of matches.

    xy0, xy1 (m, 2) float64; tolerance float, or (n_objects,) float64; boxes tuple of (2, 2) float64.
    """
    described = []
    tolerances = np.broadcast_to(tolerance, len(groups.scores))
    for k, score in enumerate(groups.scores):
        own = groups.labels == k
        log_nfa = None if groups.log_nfa is None else float(groups.log_nfa[k])
        error = float(tolerances[k])
        described.append(describe_object(k, xy0[own], xy1[own], score, error, *boxes, log_nfa))
    return described


def _locate_rejected(
    rejected: Iterable[Rejection], swapped: bool, step0: Floats, step1: Floats
) -> tuple[Rejection, ...]:
    """What was rejected, in pixels of the pictures, of steps (2,) float64."""
    found = []
    for item in rejected:
        points = (item.points1, item.points0) if swapped else (item.points0, item.points1)
        places = to_picture(points[0], step0), to_picture(points[1], step1)
        found.append(replace(item, points0=places[0], points1=places[1]))
    return tuple(found)


def _n_kept(groups: Groups) -> int:
    return int(np.count_nonzero(groups.labels >= 0))


def find_objects(
    candidates: Candidates,
    pool: Candidates,
    config: MatchConfig = MatchConfig(),
    cluster: Clustering = cluster_graph,
) -> tuple[Candidates, Groups]:
    """Group the candidates into objects, which draw further matches from a pool."""
    candidates = join_candidates([candidates, pool[np.argsort(pool.score, kind="stable")]])
    correspondences = Correspondences(candidates.xy0, candidates.xy1, candidates.maps)
    n_listed = len(candidates) - len(pool)
    how: Callable[..., Groups] = {"default": group, "paper": group_by_paper}[config.grouping]
    return candidates, how(correspondences, n_listed, config, default_threads(), cluster)


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


def drop_textures(
    features0: Features, features1: Features, candidates: Candidates, groups: Groups, config: MatchConfig
) -> tuple[Candidates, Groups]:
    """Drop the groups that are a fine periodic texture; with the paper's grouping, keep all."""
    if config.grouping == "paper":
        return candidates, groups
    n = len(groups.scores)

    def is_kept(k: int) -> bool:
        return not is_periodic(features0, features1, candidates[groups.labels == k])

    kept = np.array([is_kept(k) for k in range(n)], bool)
    textures = [Dropped("textures", np.flatnonzero(groups.labels == k)) for k in np.flatnonzero(~kept)]
    groups = replace(groups, rejected=(*groups.rejected, *textures))
    return candidates, groups.choose(kept)


def choose_listed(candidates: Candidates, groups: Groups, n_best: int) -> tuple[Candidates, Groups]:
    """Choose the candidates that a result lists: all matches of objects, then the best outliers.

    If the objects alone have more than `n_best` matches, those with most of them lose their worst ones.
    """
    is_pool = np.arange(len(candidates)) >= n_best
    rows = choose_rows(groups.labels, candidates.score, is_pool, n_best)
    return candidates[rows], replace(groups, labels=groups.labels[rows], rejected=())


def list_stages(config: MatchConfig) -> tuple[str, ...]:
    """Name the stages of a match in their order."""
    return (*STAGES[:4], "views", *STAGES[4:]) if config.view_synthesis else STAGES


class Clock:
    """Measures the seconds of the stages, one after another.

    Parameters
    ----------
    progress : callable, optional
        Called as ``progress(stage, n_done, n_stages)`` when a stage has ended.
    stages : tuple of str
        All stages in their order.
    """

    def __init__(
        self, progress: Callable[[str, int, int], object] | None = None, stages: tuple[str, ...] = STAGES
    ) -> None:
        self.seconds: dict[str, float] = {}
        self._progress, self._stages, self._last = progress, stages, time.perf_counter()

    def lap(self, stage: str) -> None:
        """End a stage."""
        now = time.perf_counter()
        self.seconds[stage], self._last = now - self._last, now
        if self._progress is not None:
            self._progress(stage, self._stages.index(stage) + 1, len(self._stages))
