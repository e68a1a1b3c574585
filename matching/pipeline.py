"""From two pictures to the objects that both show: the stages in their order."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from matching.config import MatchConfig, check_config
from matching.correspondences.candidates import join_candidates, match_with_reserve
from matching.features.extraction import Features, extract_features, mirrored_features
from matching.features.views import ViewedPicture
from matching.grouping import Correspondences, Groups, group, group_by_paper
from matching.grouping.ambiguity import is_periodic
from matching.grouping.clustering import cluster_graph
from matching.objects.description import describe_object, with_things
from matching.objects.things import things_of_pair
from matching.pictures.images import picture_of, to_picture, with_mask, working_image
from matching.result import MatchResult, with_inputs
from matching.threads import default_threads
from matching.view_synthesis import find_in_views, is_solved

STAGES = ("read", "features", "candidates", "grouping", "objects")


@dataclass(frozen=True, eq=False)
class DescribedPicture:
    """All that the matching needs to know of a picture, so that it can be kept for further pairs.

    features : in working pixels
    step : (2,) float64, pixels of the picture a working pixel, in x and y
    digest : SHA-256 of what the features come from: working pixels and mask
    box : (2, 2) float64, least and greatest x and y of the picture, or of what its mask shows
    """

    features: Features
    step: np.ndarray
    digest: bytes
    box: np.ndarray


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
    image0, image1 : path, Pillow image, or array (h, w), (h, w, 3) RGB or (h, w, 4) RGBA
    config : MatchConfig
    mask0, mask1 : path, Pillow image, or array of the image's size, white where features may lie; None:
        everywhere
    progress : callable, optional
        Called as ``progress(stage, n_done, n_stages)`` when each of STAGES has ended.
    **settings
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
    clock = Clock(progress)
    pictures = [
        with_mask(picture_of(image, f"image{k}"), mask, f"mask{k}")
        for k, (image, mask) in enumerate(((image0, mask0), (image1, mask1)))
    ]
    clock.lap("read")
    result = match_pictures(*pictures, config, clock=clock)
    return with_inputs(result, (image0, image1), (mask0, mask1), pictures)


def match_pictures(picture0, picture1, config=MatchConfig(), *, find_clusters=None, clock=None):
    """`match` for pictures already read. find_clusters(candidates, config) -> Groups may replace the
    grouping.
    """
    clock = clock or Clock()
    # one after the other, on all threads: the regions of both at a time would take twice the memory
    pictures = picture0, picture1
    described = [describe_picture(picture, config, default_threads()) for picture in pictures]
    clock.lap("features")
    views = [lambda picture=picture: viewed_picture(picture, config) for picture in pictures]
    return match_described(*described, config, find_clusters=find_clusters, clock=clock, views=views)


def describe_picture(picture, config=MatchConfig(), n_threads=1):
    """The DescribedPicture of a Picture: the part of a match that has nothing to do with the other one."""
    image = working_image(picture, config.max_pixels)
    features = extract_features(image.grey, config.features, image.mask, n_threads)
    return DescribedPicture(features, image.step, _digest(image), picture.box)


def viewed_picture(picture, config=MatchConfig()):
    """The ViewedPicture of a Picture, with the pixels and the mask that `describe_picture` works on."""
    image = working_image(picture, config.max_pixels)
    return ViewedPicture(image.grey, image.mask, config.features)


def match_described(
    described0, described1, config=MatchConfig(), *, find_clusters=None, clock=None, views=None
):
    """`match` for pictures already described, with the same features and max_pixels in the config.

    views : two callables that give the ViewedPicture of either; without them nothing is looked for in views
    """
    clock = clock or Clock()
    # The stages look at the pictures in an order of their own, so that swapping them changes nothing.
    swapped = described0.digest > described1.digest
    first, second = (described1, described0) if swapped else (described0, described1)
    candidates, reserve = candidates_of(first.features, second.features, config)
    clock.lap("candidates")
    if find_clusters is None:
        both = first.features, second.features
        found = without_textures(*both, *find_objects(candidates, reserve, config), config)
        candidates, groups = listed(*found, len(candidates))
    else:
        groups = find_clusters(candidates, config)
    clock.lap("grouping")
    if config.view_synthesis and views is not None and not is_solved(groups):
        ordered = views[::-1] if swapped else views
        found = find_in_views([first.features, second.features], [v() for v in ordered], config)
        if found is not None and _n_kept(found[1]) > _n_kept(groups):
            candidates, groups = listed(*found, config.candidates.max_matches)
        clock.lap("views")
    points = (candidates.xy1, candidates.xy0) if swapped else (candidates.xy0, candidates.xy1)
    xy0, xy1 = to_picture(points[0], described0.step), to_picture(points[1], described1.step)
    tolerance = config.graph.scale * float(described1.step.max())
    objects = describe_objects(xy0, xy1, groups, tolerance, (described0.box, described1.box))
    things = things_of_pair([o.outline0 for o in objects], [o.outline1 for o in objects])
    objects = with_things(objects, things)
    clock.lap("objects")
    return MatchResult(
        xy0, xy1, groups.labels, candidates.score, objects, clock.seconds, config=config, things=things
    )


def describe_objects(xy0, xy1, groups, tolerance, boxes):
    """A MatchedObject of each group of matches xy0, xy1 (m, 2); the pictures are boxes (2, 2)."""

    def describe(k):
        own = groups.labels == k
        return describe_object(k, xy0[own], xy1[own], groups.scores[k], tolerance, *boxes)

    with ThreadPoolExecutor(default_threads()) as pool:
        return list(pool.map(describe, range(len(groups.scores))))


def _n_kept(groups):
    return np.count_nonzero(groups.labels >= 0)


def find_objects(candidates, pool, config=MatchConfig(), cluster=cluster_graph):
    """The candidates, those of the pool behind them by rising score, and the Groups of both.

    Another method may `cluster` in place of graph degree linkage, see `matching.grouping.group`.
    """
    candidates = join_candidates([candidates, pool[np.argsort(pool.score, kind="stable")]])
    correspondences = Correspondences(candidates.xy0, candidates.xy1, candidates.maps)
    n_listed = len(candidates) - len(pool)
    how = {"default": group, "paper": group_by_paper}[config.grouping]
    return candidates, how(correspondences, n_listed, config, default_threads(), cluster)


def candidates_of(features0, features1, config):
    """The candidates between two pictures and the next best, of mirrored features as many again if asked
    for.
    """
    parts = [match_with_reserve(features0, features1, config.candidates, default_threads())]
    if config.mirrored:
        turned = mirrored_features(features1)
        parts.append(match_with_reserve(features0, turned, config.candidates, default_threads()))
    best, reserve = zip(*parts, strict=True)
    return join_candidates(best), join_candidates(reserve)


def without_textures(features0, features1, candidates, groups, config):
    """The candidates and the Groups that are no fine periodic texture; all as the paper has it."""
    if config.grouping == "paper":
        return candidates, groups
    n = len(groups.scores)
    members = [candidates[groups.labels == k] for k in range(n)]
    kept = np.array([not is_periodic(features0, features1, own) for own in members], bool)
    number = np.append(np.where(kept, np.cumsum(kept) - 1, -1), -1)
    return candidates, Groups(number[groups.labels], groups.scores[kept])


def listed(candidates, groups, n_best):
    """As many as n_best of the candidates: the objects' matches take the places of the worst outliers, and
    where places are few, the largest objects give up their worst matches.
    """
    order = np.lexsort((candidates.score, np.arange(len(candidates)) >= n_best))
    labels = groups.labels[order]
    most = _fair_share(np.bincount(labels[labels >= 0]), n_best)
    members = [order[labels == k][:most] for k in range(len(groups.scores))]
    outliers = order[labels < 0]
    rows = np.sort(np.concatenate([*members, outliers])[:n_best])
    return candidates[rows], Groups(groups.labels[rows], groups.scores)


def _fair_share(sizes, places):
    """The most of each that there is place for."""
    share = sizes.max(initial=0)
    while np.minimum(sizes, share).sum() > places:
        share -= 1
    return share


def _digest(image):
    digest = hashlib.sha256(repr((image.grey.shape, image.mask is None)).encode())
    digest.update(np.ascontiguousarray(image.grey))
    if image.mask is not None:
        digest.update(np.ascontiguousarray(image.mask))
    return digest.digest()


class Clock:
    """Seconds of the stages, one lap after another.

    Parameters
    ----------
    progress : callable, optional
        Called as ``progress(stage, n_done, n_stages)`` after each lap.
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
