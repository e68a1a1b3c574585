"""From two pictures to the objects that both show: the stages in their order."""

from __future__ import annotations

import hashlib
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np

from matching.config import MatchConfig, check_config
from matching.correspondences.candidates import join_candidates, match_with_reserve
from matching.features.extraction import Features, extract_features
from matching.features.views import ViewedPicture
from matching.grouping import Correspondences, Groups, group, group_by_paper
from matching.grouping.clustering import cluster_graph
from matching.objects.description import MatchedObject, describe_object
from matching.pictures.images import picture_of, to_picture, with_mask, working_image
from matching.threads import default_threads
from matching.view_synthesis import find_in_views, is_sure


@dataclass(frozen=True, eq=False)
class MatchResult:
    """What two pictures have in common.

    xy0, xy1 : (m, 2) float64, one row for every candidate correspondence, pixels of the original pictures
        as displayed, x to the right, y down, (0, 0) the centre of the top-left pixel; the best max_matches,
        and behind them, for as many of the worst outliers, those from beyond that joined an object
    cluster : (m,) int64, the object of each, numbered by falling connectivity score; -1 where removed as an
        outlier
    score : (m,) float64 descriptor distance, smaller is better
    objects : one MatchedObject for each cluster
    timings : seconds of each stage
    """

    xy0: np.ndarray
    xy1: np.ndarray
    cluster: np.ndarray
    score: np.ndarray
    objects: tuple[MatchedObject, ...]
    timings: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class DescribedPicture:
    """All that the matching needs to know of a picture, so that it can be kept for further pairs.

    features : in working pixels
    step : (2,) float64, pixels of the picture a working pixel, in x and y
    digest : SHA-256 of what the features come from: working pixels and mask
    """

    features: Features
    step: np.ndarray
    digest: bytes


def match(image0, image1, config=MatchConfig(), *, mask0=None, mask1=None):
    """Find the objects that two pictures both show.

    Parameters
    ----------
    image0, image1 : path, Pillow image, or array (h, w), (h, w, 3) RGB or (h, w, 4) RGBA
    config : MatchConfig
    mask0, mask1 : path, Pillow image, or array of the image's size, white where features may lie; None:
        everywhere

    Returns
    -------
    MatchResult
        The same for any number of threads; swapped images give the same matches, swapped.

    Raises
    ------
    InputError
        A ValueError: a file or array can't be used, or a mask has another size than its image.
    TypeError
        `config` is no MatchConfig.
    """
    check_config(config)
    clock = _Clock()
    pictures = [
        with_mask(picture_of(image, f"image{k}"), mask, f"mask{k}")
        for k, (image, mask) in enumerate(((image0, mask0), (image1, mask1)))
    ]
    clock.lap("read")
    return match_pictures(*pictures, config, clock=clock)


def match_pictures(picture0, picture1, config=MatchConfig(), *, find_clusters=None, clock=None):
    """`match` for pictures already read. find_clusters(candidates, config) -> Groups may replace the
    grouping.
    """
    clock = clock or _Clock()
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
    return DescribedPicture(features, image.step, _digest(image))


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
    clock = clock or _Clock()
    # The stages look at the pictures in an order of their own, so that swapping them changes nothing.
    swapped = described0.digest > described1.digest
    first, second = (described1, described0) if swapped else (described0, described1)
    candidates, reserve = match_with_reserve(
        first.features, second.features, config.candidates, default_threads()
    )
    clock.lap("candidates")
    if find_clusters is None:
        candidates, groups = listed(*find_objects(candidates, reserve, config), len(candidates))
    else:
        groups = find_clusters(candidates, config)
    clock.lap("grouping")
    if config.view_synthesis and views is not None and not is_sure(groups, config):
        ordered = views[::-1] if swapped else views
        found = find_in_views([first.features, second.features], [v() for v in ordered], config)
        if found is not None:
            candidates, groups = listed(*found, config.candidates.max_matches)
        clock.lap("views")
    points = (candidates.xy1, candidates.xy0) if swapped else (candidates.xy0, candidates.xy1)
    xy0, xy1 = to_picture(points[0], described0.step), to_picture(points[1], described1.step)
    tolerance = config.graph.scale * float(described1.step.max())

    def describe(k):
        own = groups.labels == k
        return describe_object(k, xy0[own], xy1[own], groups.scores[k], tolerance)

    with ThreadPoolExecutor(default_threads()) as pool:
        objects = tuple(pool.map(describe, range(len(groups.scores))))
    clock.lap("objects")
    return MatchResult(xy0, xy1, groups.labels, candidates.score, objects, clock.seconds)


def find_objects(candidates, pool, config=MatchConfig(), cluster=cluster_graph):
    """The candidates, those of the pool behind them by rising score, and the Groups of both.

    Another method may `cluster` in place of graph degree linkage, see `matching.grouping.group`.
    """
    candidates = join_candidates([candidates, pool[np.argsort(pool.score, kind="stable")]])
    correspondences = Correspondences(candidates.xy0, candidates.xy1, candidates.maps)
    n_listed = len(candidates) - len(pool)
    how = {"default": group, "paper": group_by_paper}[config.grouping]
    return candidates, how(correspondences, n_listed, config, default_threads(), cluster)


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


class _Clock:
    """Seconds of the stages, one lap after another."""

    def __init__(self):
        self.seconds, self._last = {}, time.perf_counter()

    def lap(self, stage):
        now = time.perf_counter()
        self.seconds[stage], self._last = now - self._last, now
