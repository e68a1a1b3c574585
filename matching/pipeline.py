"""From two pictures to the objects that both show: the stages in their order."""

from __future__ import annotations

import hashlib
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import compress
from os import PathLike

import numpy as np

import gdl_core
from matching import clustering
from matching.candidates import Candidates, join_candidates, match_with_reserve
from matching.config import MatchConfig
from matching.features import Features, extract_features
from matching.images import (
    Picture,
    picture_of_array,
    read_picture,
    to_picture,
    with_mask,
    working_image,
)
from matching.objects import MatchedObject, describe_object
from matching.second_look import left_over, objects_of_their_own
from matching.threads import default_threads
from matching.whole_objects import keep_places, neighbors_of, take_in, whole_objects


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
class Clustered:
    """labels (m,) int64, numbered by falling score, -1 for outliers; scores (n_clusters,) float64
    connectivity scores.
    """

    labels: np.ndarray
    scores: np.ndarray


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
    image0, image1 : path, or array (h, w), (h, w, 3) RGB or (h, w, 4) RGBA
    config : MatchConfig
    mask0, mask1 : path, or array of the image's size, white where features may lie; None: everywhere

    Returns
    -------
    MatchResult
        The same for any number of threads; swapped images give the same matches, swapped.

    Raises
    ------
    InputError
        A ValueError: a file or array can't be used, or a mask has another size than its image.
    """
    clock = _Clock()
    pictures = [
        with_mask(_picture(image, f"image{k}"), mask, f"mask{k}")
        for k, (image, mask) in enumerate(((image0, mask0), (image1, mask1)))
    ]
    clock.lap("read")
    return match_pictures(*pictures, config, clock=clock)


def match_pictures(picture0, picture1, config=MatchConfig(), *, find_clusters=None, clock=None):
    """`match` for pictures already read. find_clusters(candidates, config) -> Clustered may replace the
    clustering.
    """
    clock = clock or _Clock()
    # one after the other, on all threads: the regions of both at a time would take twice the memory
    described0, described1 = (describe_picture(p, config, default_threads()) for p in (picture0, picture1))
    clock.lap("features")
    return match_described(described0, described1, config, find_clusters=find_clusters, clock=clock)


def describe_picture(picture, config=MatchConfig(), n_threads=1):
    """The DescribedPicture of a Picture: the part of a match that has nothing to do with the other one."""
    image = working_image(picture, config.max_pixels)
    features = extract_features(image.grey, config.features, image.mask, n_threads)
    return DescribedPicture(features, image.step, _digest(image))


def match_described(described0, described1, config=MatchConfig(), *, find_clusters=None, clock=None):
    """`match` for pictures already described, with the same features and max_pixels in the config."""
    clock = clock or _Clock()
    # The stages look at the pictures in an order of their own, so that swapping them changes nothing.
    swapped = described0.digest > described1.digest
    first, second = (described1, described0) if swapped else (described0, described1)
    candidates, reserve = match_with_reserve(
        first.features, second.features, config.candidates, default_threads()
    )
    clock.lap("candidates")
    if find_clusters is None:
        candidates, clustered = _listed(*find_objects(candidates, reserve, config), len(candidates))
    else:
        clustered = find_clusters(candidates, config)
    clock.lap("clustering")
    points = (candidates.xy1, candidates.xy0) if swapped else (candidates.xy0, candidates.xy1)
    xy0, xy1 = to_picture(points[0], described0.step), to_picture(points[1], described1.step)
    tolerance = config.verification.tolerance * float(described1.step.max())

    def describe(k):
        own = clustered.labels == k
        return describe_object(k, xy0[own], xy1[own], clustered.scores[k], tolerance)

    with ThreadPoolExecutor(default_threads()) as pool:
        objects = tuple(pool.map(describe, range(len(clustered.scores))))
    clock.lap("objects")
    return MatchResult(xy0, xy1, clustered.labels, candidates.score, objects, clock.seconds)


def find_objects(candidates, reserve, config=MatchConfig()):
    """The candidates, those of the reserve behind them, and as Clustered the objects: of the candidates, with
    what agrees with them in the reserve, and of what these leave over.
    """
    found = cluster_candidates(candidates, config)
    if not config.whole_objects or len(found.scores) == 0:
        return candidates, found
    objects = [np.flatnonzero(found.labels == k) for k in range(len(found.scores))]
    is_reserve = np.arange(len(candidates) + len(reserve)) >= len(candidates)
    candidates = join_candidates([candidates, reserve])
    objects = take_in(candidates, objects, is_reserve, config)
    apart = keep_places(candidates, objects, config.parts)
    objects = list(compress(objects, apart))
    rest = left_over(candidates, objects, is_reserve, config.second_look)
    again = cluster_candidates(candidates[rest], config)
    parts = [rest[again.labels == k] for k in range(len(again.scores))]
    new = objects_of_their_own(candidates, objects, parts, config.parts)
    labels = np.full(len(candidates), -1, np.int64)
    for k, members in enumerate([*objects, *compress(parts, new)]):
        labels[members] = k
    scores = np.concatenate([found.scores[apart], again.scores[new]])
    return candidates, Clustered(*clustering.by_falling_score(labels, scores, np.ones(len(scores), bool)))


def _listed(candidates, clustered, n_best):
    """As many as n_best of the candidates: the objects' matches take the places of the worst outliers, and
    where places are few, the largest objects give up their worst matches.
    """
    order = np.lexsort((candidates.score, np.arange(len(candidates)) >= n_best))
    labels = clustered.labels[order]
    most = _fair_share(np.bincount(labels[labels >= 0]), n_best)
    members = [order[labels == k][:most] for k in range(len(clustered.scores))]
    outliers = order[labels < 0]
    listed = np.concatenate([*members, outliers])[:n_best]
    listed.sort()
    return candidates[listed], Clustered(clustered.labels[listed], clustered.scores)


def _fair_share(sizes, places):
    """The most of each that there is place for."""
    share = sizes.max(initial=0)
    while np.minimum(sizes, share).sum() > places:
        share -= 1
    return share


def cluster_candidates(candidates: Candidates, config=MatchConfig()):
    """Everything from the candidates to labels: graph, AGDL, verification, whole objects, outlier
    elimination.
    """
    m = len(candidates)
    if m < 2:
        return Clustered(np.full(m, -1, np.int64), np.empty(0))
    knn = neighbors_of(candidates, config)
    labels = clustering.cluster_correspondences(knn, config.clustering)
    graph = clustering.scoring_graph(candidates, knn, config.clustering)
    scores = gdl_core.connectivity_scores(graph, labels)
    if config.whole_objects:
        labels, scores = whole_objects(candidates, knn, labels, scores, config)
    sizes = np.bincount(labels[labels >= 0], minlength=len(scores))
    kept = clustering.select_objects(scores, sizes, config.clustering)
    return Clustered(*clustering.by_falling_score(labels, scores, kept))


def _picture(image, name):
    if isinstance(image, Picture):
        return image
    if isinstance(image, (str, PathLike)):
        return read_picture(image)
    return picture_of_array(image, name)


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
