"""The searches for objects in two pictures, from the cheapest to the most expensive.

Each search proposes groups of matches, and one judge decides what they are (`matching.searches.judge`). All
that may be objects are ranked together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from matching._common.once import once
from matching.grouping.config import MatchConfig
from matching.grouping.ledger import RejectedGroup
from matching.grouping.methods import Method
from matching.searches.clock import Clock
from matching.searches.details import find_details, group_details
from matching.searches.judge import Judged, judge, rank, split_open
from matching.searches.pixels.copies import find_pixel_copies
from matching.searches.pixels.frames import find_whole_frame
from matching.searches.pixels.parts import find_equal_parts
from matching.searches.proposals import Listing
from matching.searches.reversals import MIRRORED, find_promising, search_reversed
from matching.searches.search import find_pair_candidates, group_candidates
from matching.searches.source import DescribedPicture, ImageSource, is_larger, is_small
from matching.searches.views import find_in_views, has_enough


@dataclass(frozen=True, eq=False)
class Found:
    """What the searches for objects in two pictures have found so far."""

    listing: Listing  # the matches of the first search
    searches: tuple[tuple[Judged, ...], ...]  # for each search, what may be an object
    rejected: tuple[RejectedGroup, ...]
    seen: tuple[DescribedPicture, DescribedPicture]  # the pictures at the sizes at which they were matched
    config: MatchConfig
    is_close: bool = False  # whether a closer look may show an object

    @once
    def _ranked(self) -> tuple[list[Judged], list[Judged]]:
        """The strongest, and those that they supersede."""
        return rank(self.searches, self.config.objects.reach)

    @property
    def kept(self) -> list[Judged]:
        """What may be an object, the strongest first, each place once."""
        return self._ranked[0]

    @property
    def superseded(self) -> list[Judged]:
        """What stronger ones of other searches replace."""
        return self._ranked[1]

    def is_solved(self, max_log_nfa: float = 0.0) -> bool:
        """Test whether there is an object that its pixels alone confirm, with so few false alarms."""
        return any(one.log_nfa <= max_log_nfa for each in self.searches for one in each)

    def add(self, listing: Listing, judged: Sequence[Judged]) -> Found:
        """Add what a search has found."""
        open_, rejected = split_open(judged)
        return replace(
            self,
            searches=(*self.searches, tuple(judged[k] for k in open_)),
            rejected=(*self.rejected, *listing.rejected, *rejected),
            is_close=self.is_close or any(one.is_close for one in judged),
        )


def search_pair(first: ImageSource, second: ImageSource, method: Method, clock: Clock) -> Found:
    """Search two pictures for objects, by more expensive searches only where cheap ones are not enough.

    The searches see the pictures in a canonical order, so that swapping them changes nothing.
    """
    config = first.config
    is_swapped = first.described.digest > second.described.digest
    pair = (second, first) if is_swapped else (first, second)
    a, b = (source.described for source in pair)

    def orient(listing: Listing) -> Listing:
        return listing.swapped if is_swapped else listing

    def add(found: Found, listing: Listing) -> Found:
        return found.add(listing, judge(listing.proposals, first.picture, second.picture, config.graph.scale))

    candidates = find_pair_candidates(a.features, b.features, config)
    clock.lap("candidates")
    grouped = group_candidates(*candidates, config, method)
    listing = orient(grouped.locate(a, b))
    clock.lap("grouping")
    found = Found(listing, (), (), (first.described, second.described), config)
    if config.is_paper:
        return replace(found, rejected=listing.rejected)
    found = add(found, listing)
    clock.lap("agreement")
    if method.group is not None:
        return found
    if config.view_synthesis:
        rows = np.concatenate([np.empty(0, np.int64), *(group.rows for group in grouped.groups)])
        if not (found.is_solved() and has_enough(grouped.candidates.correspondences[rows], config)):
            found = add(found, orient(find_in_views((a, b), [source.views for source in pair], config)))
        clock.lap("views")
    closer = choose_closer(found, (a, b), method)
    for k in closer:
        for part in search_closer(pair, k, method):
            found = add(found, orient(part))
    seen = [source.details if k in closer else source.described for k, source in enumerate(pair)]
    found = replace(found, seen=(seen[int(is_swapped)], seen[int(not is_swapped)]))
    clock.lap("details")
    for reversal in find_promising(*pair):
        if not (reversal is MIRRORED and config.mirrored):
            found = add(found, orient(search_reversed(a, b, reversal, config, method)))
    clock.lap("reversals")
    for search in (find_pixel_copies, find_equal_parts):
        equal = search(pair[0].picture, pair[1].picture)
        found = found if equal is None else add(found, orient(equal))
    if not found.is_solved() and (frames := find_whole_frame(pair[0].frame, pair[1].frame)) is not None:
        found = add(found, orient(frames))
    clock.lap("pixels")
    return found


def choose_closer(
    found: Found, described: tuple[DescribedPicture, DescribedPicture], method: Method
) -> list[int]:
    """Choose the pictures, 0 and 1, to match at their full size.

    These are the only picture that was reduced, or both pictures if there is no object yet.
    """
    config = found.config
    larger = [k for k in (0, 1) if is_larger(described[k], config)]
    if len(larger) == 1:
        return larger
    are_small = all(is_small(one, config) for one in described)
    is_open = not found.is_solved() and (method.is_thorough or (are_small and found.is_close))
    return [0, 1] if is_open and (are_small or larger) else []


def search_closer(pair: tuple[ImageSource, ImageSource], k: int, method: Method) -> list[Listing]:
    """Search for objects in picture k at its full size, or enlarged, and in the other one as described."""
    config, fine, other = pair[k].config, pair[k].details, pair[1 - k].described
    if is_larger(pair[k].described, config):
        parts = find_details(other, fine, pair[k].described.step, config, method)
    else:
        candidates = find_pair_candidates(other.features, fine.features, config)
        parts = [group_details(other, fine, candidates, config, method)]
    return parts if k == 1 else [part.swapped for part in parts]
