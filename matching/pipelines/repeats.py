"""What stands in one picture more than once: its features are matched with each other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from matching._common.threads import default_threads, single_blas_thread
from matching._common.types import Array, Bools, Floats, Ints
from matching.config import MatchConfig, check_config
from matching.correspondences.candidates import Candidates, join_candidates, match_within
from matching.errors import InputError
from matching.features.extraction import DESCRIBED, FeatureConfig, Features
from matching.grouping import group, group_by_paper
from matching.grouping.clustering import cluster_scores
from matching.grouping.graph import build_graph
from matching.grouping.refinement.ambiguity import is_periodic
from matching.grouping.repeats import Repeats, direct_both_ways, find_repeats_in_groups
from matching.objects.description import MatchedObject, add_things
from matching.objects.frames import fit_frame
from matching.objects.things import find_things_of_repeats
from matching.pictures.decoding import read_content
from matching.pictures.images import Picture, add_mask, make_picture, to_picture
from matching.pipelines.description import DescribedPicture, describe_picture
from matching.pipelines.pair import Clock, choose_listed, describe_objects
from matching.result import MatchResult, add_inputs

ROW_SCORE = (
    0.45  # of a row of copies, at least: things that are alike but no copies agree with fewer neighbours
)


def find_repeats(
    image: Any,
    config: MatchConfig = MatchConfig(),
    *,
    mask: Any = None,
    progress: Callable[[str, int, int], object] | None = None,
    **settings: Any,
) -> MatchResult:
    """Find what stands in a picture more than once.

    Each object joins two places, xy0 in one and xy1 in the other; each two places are joined once, and the
    place further left comes first (of two at the same x, the upper one). `things` says which places show the
    same thing: one that stands there three times is one thing with three places, joined by two or three
    objects. A fine periodic texture is a thing that is `periodic`, with one object, that shifts it onto
    itself.

    Parameters
    ----------
    image : path, bytes, binary file, Pillow image, or array (h, w), (h, w, 3) RGB or (h, w, 4) RGBA
        The picture.
    config : MatchConfig
        All settings.
    mask : as an image, of the image's size, optional
        White where features may lie.
    progress : callable, optional
        Called as ``progress(stage, n_done, n_stages)`` when each stage has ended.
    **settings
        Settings that differ from `config`, see `MatchConfig.with_settings`: ``mirrored=True``.

    Returns
    -------
    MatchResult
        A candidate is a pair of features, which stands there once. `frame1` of an object is the box around
        its first place, as it lies in the second one.

    Raises
    ------
    InputError
        A ValueError: the file or array can't be used, the mask has another size, or `view_synthesis` is on.
    TypeError
        `config` is no MatchConfig, or there is no setting of such a name.
    """
    check_config(config)
    config = config.with_settings(**settings)
    if config.view_synthesis:
        raise InputError("view_synthesis must be off for one picture: it simulates the views of two")
    clock = Clock(progress)
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
    described = describe_picture(picture, config, default_threads())
    clock.lap("features")
    return find_repeats_in_described(described, config, clock=clock)


@single_blas_thread()
def find_repeats_in_described(
    described: DescribedPicture, config: MatchConfig = MatchConfig(), *, clock: Clock | None = None
) -> MatchResult:
    """Find repeats in a picture already described."""
    clock = clock or Clock()
    clearance = feature_clearance(described.features, config.features, config.objects.reach)
    parts = [
        match_within(described.features, clearance, config.candidates, default_threads(), mirrored)
        for mirrored in ((False, True) if config.mirrored else (False,))
    ]
    best, reserve = (join_candidates(part) for part in zip(*parts, strict=True))
    clock.lap("candidates")
    reserve = reserve[np.argsort(reserve.score, kind="stable")]
    candidates, repeats = _find_groups(best, reserve, described.features, config)
    candidates, rows = choose_listed(candidates, repeats.groups, len(best))
    clock.lap("grouping")
    xy0, xy1 = (to_picture(xy, described.step) for xy in (candidates.xy0, candidates.xy1))
    tolerance = config.graph.scale * float(described.step.max())
    objects = [
        _add_frame(found, xy0[rows.labels == found.id], xy1[rows.labels == found.id])
        for found in describe_objects(xy0, xy1, rows, tolerance, (described.box, described.box))
    ]
    places = [found.outline0 for found in objects], [found.outline1 for found in objects]
    things = find_things_of_repeats(*places, repeats.periodic)
    clock.lap("objects")
    found = add_things(objects, things)
    return MatchResult(
        xy0, xy1, rows.labels, candidates.score, found, clock.seconds, config=config, things=things,
        n_features=(len(described.features),) * 2, matched_at=(described.megapixels,) * 2, of_one=True,
    )  # fmt: skip


def feature_clearance(features: Features, config: FeatureConfig, least: float) -> Floats:
    """Tell how far features are from where a match of theirs may be.

    Returns (n,) float64.
    """
    window = np.array([config.mser_window, config.sift_window])[features.kind]
    clearance: Floats = np.maximum(
        np.sqrt(np.abs(np.linalg.det(features.frames))) * window * DESCRIBED, least
    )
    return clearance


def _find_groups(
    best: Candidates, reserve: Candidates, features: Features, config: MatchConfig
) -> tuple[Candidates, Repeats]:
    """All candidates, each in the direction of its object, and the Repeats among them."""
    candidates, n, n_best = join_candidates([best, reserve]), len(best) + len(reserve), len(best)
    correspondences = direct_both_ways(candidates.xy0, candidates.xy1, candidates.maps)
    # grouping wants the best first: those of both directions before the reserve of both
    first, last = np.split(np.arange(n), [n_best])
    order = np.concatenate([first, first + n, last, last + n])
    config = replace(
        config,
        suppression=replace(config.suppression, by_one=True),
        objects=replace(config.objects, evidence=0.0),
    )
    how = {"default": group, "paper": group_by_paper}[config.grouping]
    groups = how(correspondences[order], 2 * n_best, config, default_threads())
    labels = np.empty(2 * n, np.int64)
    labels[order] = groups.labels
    groups = replace(groups, labels=labels)

    def is_texture(members: Ints) -> bool:
        return is_periodic(features, features, _turn(candidates[members % n], members >= n))

    def measure_score(members: Ints) -> float:
        k, reach = config.clustering.n_neighbors, config.objects.gap
        _, graph = build_graph(correspondences[members], k, config.graph, default_threads(), reach=reach)
        return float(cluster_scores(graph, [np.arange(len(members))], k)[0])

    by_paper = config.grouping == "paper"  # its scores are of another graph
    repeats = find_repeats_in_groups(
        correspondences,
        groups,
        config.objects,
        is_texture,
        row_score=ROW_SCORE,
        measure_score=None if by_paper else measure_score,
    )
    return _turn(candidates, repeats.reversed), repeats


def _turn(candidates: Candidates, turn: Bools) -> Candidates:
    """The candidates, those chosen the other way."""
    ends: dict[str, Array] = {}
    for name in ("xy", "frames", "row"):
        a, b = getattr(candidates, f"{name}0"), getattr(candidates, f"{name}1")
        chosen = turn.reshape(-1, *[1] * (a.ndim - 1))
        ends |= {f"{name}0": np.where(chosen, b, a), f"{name}1": np.where(chosen, a, b)}
    return replace(candidates, **ends)


def _add_frame(found: MatchedObject, xy0: Floats, xy1: Floats) -> MatchedObject:
    """An object whose frame is that of its first place."""
    box = np.array([found.outline0.min(axis=0), found.outline0.max(axis=0)])
    return replace(found, frame1=fit_frame(xy0, xy1, box, found.transform))
