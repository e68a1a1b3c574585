"""From two pictures to the objects that both show."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from matching._common.once import Later
from matching._common.threads import map_in_threads, single_blas_thread
from matching.drivers.result import MatchResult, add_inputs
from matching.grouping.config import MatchConfig, check_config
from matching.grouping.ledger import choose_apart, name_steps
from matching.grouping.methods import PAIR, Method, choose_method
from matching.objects.copies import find_things_of_pair
from matching.objects.description import MatchedObject, add_things
from matching.objects.things import Thing
from matching.pictures.decoding import read_content
from matching.pictures.images import add_mask, make_picture
from matching.searches.cascade import search_pair
from matching.searches.clock import Clock
from matching.searches.description import describe_proposals
from matching.searches.judge import describe_judged
from matching.searches.pixels.versions import NOTHING, Only, find_only
from matching.searches.proposals import label_matches
from matching.searches.source import ImageSource


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
        Called as ``progress(step, n_done, n_steps)`` after each step.
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
    clock = Clock(progress, list_steps(config))
    images = read_content(image0, "image0"), read_content(image1, "image1")
    masks = read_content(mask0, "mask0"), read_content(mask1, "mask1")
    pictures = [
        add_mask(make_picture(image, f"image{k}"), mask, f"mask{k}")
        for k, (image, mask) in enumerate(zip(images, masks, strict=True))
    ]
    clock.lap("read")
    first, second = (ImageSource(picture, config) for picture in pictures)
    return add_inputs(match_pair(first, second, clock=clock), images, masks, pictures)


@single_blas_thread()  # many small matrices: several threads would be slower
def match_pair(
    first: ImageSource, second: ImageSource, method: Method = PAIR, *, clock: Clock | None = None
) -> MatchResult:
    """Find the objects that two pictures both show: the only place where a pair is matched.

    Parameters
    ----------
    first, second : ImageSource
        The pictures, described with the same settings.
    method : Method
        `PAIR`, `MANY` for one of very many pairs, or a variant of these. If the settings choose the paper's
        grouping, it is not used.
    clock : Clock, optional
        Measures the seconds of the steps (`list_steps`).

    Returns
    -------
    MatchResult
        The result without its inputs.
    """
    clock, config = clock or Clock(), first.config
    described = map_in_threads(lambda source: source.described, (first, second))
    clock.lap("features")
    found = search_pair(first, second, choose_method(config, method), clock)
    boxes, scale = (described[0].box, described[1].box), config.graph.scale
    judged = sorted(found.kept, key=lambda one: -one.proposal.score)
    kept = found.listing.proposals if config.is_paper else [one.proposal for one in judged]
    superseded = [one.proposal for one in found.superseded]
    matches = label_matches(found.listing, kept, superseded, config.candidates.max_matches)

    @single_blas_thread()
    def describe() -> tuple[tuple[MatchedObject, ...], tuple[Thing, ...]]:
        if config.is_paper:
            objects = describe_proposals(matches, kept, scale, boxes)
        else:
            objects = describe_judged(matches, judged, scale, boxes)
        things = find_things_of_pair(objects)
        return add_things(objects, things), things

    described_objects = clock.later("objects", describe)

    def compare_pages() -> Only:
        return find_only(first.picture, second.picture, described_objects.read()[0], kept)

    members = matches.labels >= 0
    reach = config.objects.reach * np.max([np.ones(2), *(one.steps for one in kept)], axis=0)
    clock.lap("objects")
    return MatchResult(
        matches.xy0,
        matches.xy1,
        matches.labels,
        matches.distance,
        Later(lambda: described_objects.read()[0]),
        clock.seconds,
        config=config,
        things=Later(lambda: described_objects.read()[1]),
        n_features=(len(described[0].features), len(described[1].features)),
        matched_at=(found.seen[0].megapixels, found.seen[1].megapixels),
        rejected=choose_apart(found.rejected, matches.xy0[members], matches.xy1[members], reach),
        dropped_by=name_steps(matches.dropped_by),
        negative=any(one.negative is not None for one in kept),
        only=NOTHING if config.is_paper else clock.later("objects", compare_pages),
    )


def list_steps(config: MatchConfig) -> tuple[str, ...]:
    """Name the steps of a match in their order, as the clock does."""
    names = "read", "features", "candidates", "grouping"
    if config.is_paper:
        return *names, "objects"
    views = ["views"] if config.view_synthesis else []
    return *names, "agreement", *views, "details", "reversals", "pixels", "objects"
