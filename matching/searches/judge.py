"""One judge of what searches propose: what lies between the matches decides whether they are an object.

Elements that repeat by nature, such as letters, windows and the modules of a code, match without chance, so
matches alone cannot tell. With S the significance of the pixels (`matching.agreement.existence`) and the
bound of S for the number of places:

    S >= bound, or the pixels are equal                       an object
    0 <= S < bound, and enough distinct matches               an object
    0 <= S < bound                                            look at it
    S < 0, but a coarser map agrees, or it is steep           look at it
    S < 0 or too few windows, but enough distinct matches     look at it: another light
    too few windows, and no descriptors (given matches)       look at it
    else                                                      none

Distinct matches are those that no second place matches nearly as well: of elements that repeat, such as icons
on a grid, the pixels agree after a shift by a period, too, and then only these tell.

Whether an object differs somewhere changes no verdict.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import compress

import numpy as np
import shapely

from matching._common.once import Later, once
from matching._common.threads import map_in_threads
from matching._common.types import Floats
from matching.agreement.existence import Existence, Verdict
from matching.agreement.extent import Extent
from matching.agreement.grid import Ends
from matching.agreement.look import Look
from matching.grouping.ledger import RejectedGroup
from matching.objects.comparison import Comparison
from matching.objects.description import MatchedObject, replace_outlines
from matching.objects.frames import list_corners
from matching.pictures.images import Picture
from matching.searches.description import describe_proposals
from matching.searches.proposals import LabelledMatches, Proposal

# Distinct matches that are enough. Of 364 pairs that have nothing in common, none has more than 17. Blocks of
# icons and markers that moved by a period have 75 to 151, and scenes in infrared or at night, whose contrast
# is reversed, 58 to 276.
MIN_DISTINCT = 30
LITTLE_PRINT = "little print"  # between the matches
MIN_CLOSE = -1.0  # S, log10: objects that are small for the working size have more
# Share of the matches of a proposal that lie near those of a stronger one of another search: they are the
# same object.
MAX_SHARED = 0.5
# Matches of others in the outlines of an object, over its matches. Tiles and prints that lie side by side
# have 0; of the ground behind a motorcycle in two views, the outline would have 1.5.
MAX_FOREIGN_SHARE = 0.1


@dataclass(frozen=True, eq=False)
class Judged:
    """A proposal, and the look at it that decides."""

    proposal: Proposal
    look: Look

    @once
    def verdict(self) -> Verdict:
        """Whether it is an object."""
        if self.is_measured:
            return Verdict.OBJECT
        existence = self.look.existence
        if self.proposal.count_distinct is None and math.isnan(existence.log_nfa):
            return Verdict.DOUBTFUL
        if existence.verdict is Verdict.OBJECT or not self.has_distinct:
            return existence.verdict
        agrees = isinstance(existence, Existence) and existence.significance >= 0
        return Verdict.OBJECT if agrees else Verdict.DOUBTFUL

    @property
    def caution(self) -> str:
        """Why it is doubtful, in words; "" if it is not."""
        existence = self.look.existence
        if self.verdict is not Verdict.DOUBTFUL:
            return ""
        if not isinstance(existence, Existence) or not existence.significance < 0:
            return LITTLE_PRINT
        if existence.coarse >= existence.bound:
            return "blurred"
        return "seen steeply" if existence.is_steep else "another light"

    @once
    def has_distinct(self) -> bool:
        """Whether enough of its matches are distinct."""
        count = self.proposal.count_distinct
        return count is not None and len(self.proposal.rows) >= MIN_DISTINCT <= count()

    @property
    def log_nfa(self) -> float:
        """Log10 of its number of false alarms by its pixels; nan if there are too few."""
        measured = self.proposal.log_nfa if self.is_measured else None
        return self.look.existence.log_nfa if measured is None else measured

    @property
    def is_measured(self) -> bool:
        """Whether its search measured its pixels as a whole, so that no chance needs to be excluded."""
        return self.proposal.likeness is not None

    def compare(
        self, outlines: tuple[Floats, Floats], others: Sequence[Floats], *, is_largest: bool
    ) -> Comparison:
        """What differs; only an object can be the same.

        The largest may have all of the frame, beside its equal pixels, except what is shown by other blocks,
        whose outlines (k, 2) in picture 0 are given.
        """
        is_equal = self.proposal.likeness == 1
        found = (
            Comparison()
            if is_equal and not is_largest
            else self.look.compare(outlines, is_largest=is_largest)
        )
        rest = tuple(one for one in found.differences if not _is_inside(one.polygon0, others))
        if len(rest) < len(found.differences):
            found = replace(found, is_same=False if rest else None, differences=rest)
        if is_equal and not found.differences:
            return Comparison(is_same=True, smallest_difference=1.0)
        return replace(found, is_same=None) if found.is_same and self.verdict is not Verdict.OBJECT else found

    @property
    def is_close(self) -> bool:
        """Whether a closer look may show that it is an object."""
        existence = self.look.existence
        nearly = isinstance(existence, Existence) and existence.significance > MIN_CLOSE
        return nearly or self.verdict is Verdict.DOUBTFUL

    @property
    def rejection(self) -> RejectedGroup:
        """Why it is none: the measure, and the least that would leave it open."""
        measure, bound = self.look.existence.measured
        ends = self.proposal.xy0, self.proposal.xy1
        return RejectedGroup("agreement", None if math.isnan(measure) else measure, bound, *ends)


def judge(proposals: Sequence[Proposal], picture0: Picture, picture1: Picture, scale: float) -> list[Judged]:
    """Look at each proposal.

    scale: the tolerance of matches, in pixels of the size at which the object was found. If both pictures are
    the same record, an object joins two places of one picture.
    """
    pictures, same_picture = (picture0, picture1), picture0 is picture1
    negatives = {k: pictures[k].negative for k in {one.negative for one in proposals} if k is not None}

    def look(one: Proposal) -> Judged:
        images = [(negatives[k] if k == one.negative else pictures[k]).rgb for k in (0, 1)]
        ends = [
            Ends(image, xy, picture.mask)
            for image, xy, picture in zip(images, (one.xy0, one.xy1), pictures, strict=True)
        ]
        judged = Judged(one, Look((ends[0], ends[1]), scale * float(one.steps.max()), same_picture))
        _ = judged.verdict
        return judged

    return map_in_threads(look, proposals)


def split_open(judged: Sequence[Judged]) -> tuple[list[int], tuple[RejectedGroup, ...]]:
    """Number those that may be objects; also list why the others are none."""
    is_none = [one.verdict is Verdict.NONE for one in judged]
    rejected = tuple(one.rejection for one in compress(judged, is_none))
    return [k for k, none in enumerate(is_none) if not none], rejected


def rank(found: Sequence[Sequence[Judged]], reach: float) -> tuple[list[Judged], list[Judged]]:
    """Rank what several searches found by its evidence -> the strongest, and those that they supersede.

    One that shares its places with a stronger one of another search is superseded, and so is one in doubt
    beside blocks that are equal: on pages, letters match others in any place. reach: pixels of the size at
    which an object was found.
    """
    ranked = [(one, number) for number, each in enumerate(found) for one in each]
    ranked.sort(
        key=lambda pair: (
            pair[0].verdict is not Verdict.OBJECT,
            not pair[0].is_measured,
            _order(pair[0].log_nfa),
        )
    )
    kept, superseded = list[tuple[Judged, int]](), list[Judged]()
    for one, number in ranked:
        is_shared = any(
            other_number != number and one.proposal.share_near(other.proposal, reach) >= MAX_SHARED
            for other, other_number in kept
        )
        is_lettering = (
            one.verdict is Verdict.DOUBTFUL
            and not one.has_distinct
            and any(other.proposal.is_block for other, _ in kept)
        )
        if is_shared or is_lettering:
            superseded.append(one)
        else:
            kept.append((one, number))
    return [one for one, _ in kept], superseded


def _order(log_nfa: float) -> float:
    """Order by evidence: what can't be measured comes last."""
    return math.inf if math.isnan(log_nfa) else log_nfa


def describe_judged(
    matches: LabelledMatches, judged: Sequence[Judged], scale: float, boxes: tuple[Floats, Floats]
) -> list[MatchedObject]:
    """Describe the objects of two pictures, whose boxes are (2, 2); scale: as for `judge`."""
    return add_looks(
        describe_proposals(matches, [one.proposal for one in judged], scale, boxes), judged, boxes[0]
    )


def add_looks(objects: Sequence[MatchedObject], judged: Sequence[Judged], box: Floats) -> list[MatchedObject]:
    """Give objects what the looks at them show: where they end, and whether they are the same.

    box (2, 2): of picture 0.
    """
    corners = list_corners(box)
    blocks = [k for k, one in enumerate(judged) if one.proposal.is_block]
    largest = max(range(len(objects)), key=lambda k: objects[k].n_matches, default=None)

    def add(k: int) -> MatchedObject:
        found, one = objects[k], judged[k]
        if not one.look.same_picture:
            frames = None if found.frame1 is None else (corners, found.frame1)
            extent, completeness = one.look.look_around(frames)
            found = replace(found, completeness=completeness)
            if one.verdict is Verdict.OBJECT:
                found = _add_extent(found, extent, [other for other in objects if other is not objects[k]])
        others = [objects[n].outline0 for n in blocks if k in blocks and n != k]
        return replace(
            found,
            log_nfa=None if math.isnan(one.log_nfa) else one.log_nfa,
            compared=Later(
                partial(one.compare, (found.outline0, found.outline1), others, is_largest=k == largest)
            ),
            is_doubtful=one.verdict is Verdict.DOUBTFUL,
            caution=one.caution,
        )

    return map_in_threads(add, range(len(objects)))


def _is_inside(polygon: Floats, outlines: Sequence[Floats]) -> bool:
    """Whether the middle of a polygon (k, 2) lies in any of some outlines."""
    middle = shapely.Point(polygon.mean(axis=0))
    return any(shapely.MultiPoint(outline).convex_hull.intersects(middle) for outline in outlines)


def _add_extent(found: MatchedObject, extent: Extent, others: Sequence[MatchedObject]) -> MatchedObject:
    """Give an object the outlines of where it ends.

    Surfaces that move almost alike agree with each other's maps, so outlines must not reach over others.
    """
    extended = replace_outlines(found, extent.outline0, extent.outline1)
    max_foreign = max(count_inside(found, others), MAX_FOREIGN_SHARE * found.n_matches)
    return extended if count_inside(extended, others) <= max_foreign else found


def count_inside(found: MatchedObject, others: Sequence[MatchedObject]) -> int:
    """Count the matches of other objects that lie in the outlines of an object in both pictures."""
    n, outlines = 0, [shapely.Polygon(outline).buffer(0) for outline in (found.outline0, found.outline1)]
    for one in others:
        ends = zip(outlines, (one.points0, one.points1), strict=True)
        n += int(np.all([shapely.intersects_xy(outline, *xy.T) for outline, xy in ends], axis=0).sum())
    return n
