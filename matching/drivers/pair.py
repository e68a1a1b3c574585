"""From two pictures to the objects that both show."""

from __future__ import annotations

import numpy as np

from matching._common.once import Later
from matching._common.threads import map_in_threads, single_blas_thread
from matching.drivers.result import Result, make_result
from matching.grouping.config import MatchConfig
from matching.grouping.ledger import choose_apart
from matching.grouping.methods import PAIR, Method, choose_method
from matching.objects.copies import find_things_of_pair
from matching.objects.description import MatchedObject, add_things
from matching.objects.things import Thing
from matching.searches.cascade import search_pair
from matching.searches.clock import Clock
from matching.searches.description import describe_proposals
from matching.searches.judge import describe_judged
from matching.searches.pixels.versions import NOTHING, Only, find_only
from matching.searches.proposals import label_matches
from matching.searches.source import ImageSource


@single_blas_thread()  # many small matrices: several threads would be slower
def match_pair(
    first: ImageSource, second: ImageSource, method: Method = PAIR, *, clock: Clock | None = None
) -> Result:
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
    Result
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
    return make_result(
        matches,
        Later(lambda: described_objects.read()[0]),
        clock,
        config,
        things=Later(lambda: described_objects.read()[1]),
        n_features=(len(described[0].features), len(described[1].features)),
        matched_at=(found.seen[0].megapixels, found.seen[1].megapixels),
        rejected=choose_apart(found.rejected, matches.xy0[members], matches.xy1[members], reach),
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
