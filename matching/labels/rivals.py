"""Which of several alike references a place shows.

Cards of one deck, or flavours of one product, share most of their features. So the matches of one find the
places of the others, and may miss its own. At each place, references that are alike to the one found there
compete by their pixels (`matching.agreement.rivalry`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from matching._common.types import Floats
from matching.agreement.rivalry import Square, cut_square, explain
from matching.labels.places import (
    Place,
    are_at_one_place,
    choose_places,
    find_places,
    join_parts,
    mark_different,
)
from matching.labels.references import Reference
from matching.objects.description import UNKNOWN, MatchedObject
from matching.objects.frames import list_corners
from matching.pictures.images import Picture

# The numbers below were chosen as those of `matching.agreement.rivalry`.
MIN_ALIKENESS = 0.5  # film covers have at most 0.43, and products of one brand; cards of one suit 0.5 to 1
# Of the clarity with which a reference is better than a rival somewhere, that with which the rival is better
# elsewhere: at most 0.1 for cards that are references, and 0.3 and more for 50 of 67 others.
MAX_REVERSAL = 0.3
# Times what is usual in a picture: cards that are references leave up to 6 times as much unexplained, but for
# one with 18; those that others take for them, 40 and more.
MAX_TIMES_USUAL = 20.0
USUAL_QUANTILE, MIN_PLACES = 0.25, 4  # of the places of a picture, many of which may show no reference
MAX_KEPT_SQUARES, MAX_KEPT_PAIRS = 256, 65536  # squares of 250 kB, and a number for each pair
OTHER = "it differs from every reference"


@dataclass(frozen=True, eq=False)
class Claim:
    """A place where matches of a reference were found."""

    reference: Reference
    found: MatchedObject
    place: Place


def claim_places(
    reference: Reference, objects: Sequence[MatchedObject], box: Floats, size: tuple[int, int]
) -> list[Claim]:
    """Claim the places of a reference in a picture; box (2, 2); size: width and height, pixels."""
    places = find_places(reference.name, objects, reference.polygon, box, size)
    return [Claim(reference, objects[k], place) for k, place in join_parts(objects, places).items()]


def settle_places(claims: Iterable[Claim], references: Sequence[Reference], scene: Picture) -> list[Place]:
    """Choose among the claims on a picture, and mark the places that show none of the references."""
    claimed = {claim.place: claim for claim in claims}
    settled = [_settle(claimed[place], claimed, references, scene) for place in choose_places(list(claimed))]
    shares = [share for _, share, _ in settled if share is not None]
    usual = float(np.quantile(shares, USUAL_QUANTILE)) if len(shares) >= MIN_PLACES else np.inf
    return [
        mark_different(place, OTHER) if is_other or (share or 0) > MAX_TIMES_USUAL * usual else place
        for place, share, is_other in settled
    ]


def _settle(
    first: Claim, claimed: Mapping[Place, Claim], references: Sequence[Reference], scene: Picture
) -> tuple[Place, float | None, bool]:
    """Find the reference that explains the place of a claim best.

    Returns its place, the share of the print that it leaves unexplained (None without rivals), and whether
    rivals explain some of it better.
    """
    rivals = [(first.reference, False), *_find_rivals(first.reference, references)]
    frame = first.found.frame1
    # what is known to be the same was compared more closely than rivals are, and in its colour
    is_settled = not first.place.whole or first.place.same
    if is_settled or frame is None or all(one.name == first.place.name for one, _ in rivals):
        return first.place, None, False
    shown = cut_square(scene, frame)
    fits = [explain(_cut_reference(*rival), shown) for rival in rivals]
    k = int(np.argmin([fit.cost for fit in fits]))
    best, is_turned = rivals[k]
    others = [fit for fit, (one, _) in zip(fits, rivals, strict=True) if one.name != best.name]
    is_other = max(map(fits[k].compare, others)) > MAX_REVERSAL
    if k == 0:
        return first.place, fits[k].unexplained, is_other
    laid = replace(first.found, frame1=np.roll(frame, 2 * is_turned, axis=0), compared=UNKNOWN)
    claims = claim_places(best, [laid], best.read().box, (scene.width, scene.height))
    its = [place for place, one in claimed.items() if one.reference == best and place.whole]
    here = [place for place in its if are_at_one_place(place, first.place)]
    return (*here, claims[0].place)[0], fits[k].unexplained, is_other


def _find_rivals(first: Reference, references: Sequence[Reference]) -> list[tuple[Reference, bool]]:
    """Find the references that are alike to the first one, and whether when turned by half a turn."""
    others = [(one, is_turned) for one in references if one != first for is_turned in (False, True)]
    return [other for other in others if _measure_alikeness(first, *other) > MIN_ALIKENESS]


@lru_cache(maxsize=MAX_KEPT_PAIRS)
def _measure_alikeness(first: Reference, other: Reference, is_turned: bool) -> float:
    squares = _cut_reference(first), _cut_reference(other, is_turned)
    return explain(squares[0].coarse, squares[1].coarse).alikeness


@lru_cache(maxsize=MAX_KEPT_SQUARES)
def _cut_reference(reference: Reference, is_turned: bool = False) -> Square:
    if is_turned:
        return _cut_reference(reference).turned
    picture = reference.read()
    return cut_square(picture, list_corners(picture.box))
