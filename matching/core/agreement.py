"""Objects between whose matches the pictures agree.

Elements that repeat by nature, such as letters, windows and the modules of a code, match without chance. What
lies between the matches tells whether they are one object (`matching.agreement`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import shapely

from matching._common.threads import map_in_threads
from matching.agreement.existence import MAX_REJECTED_SIGNIFICANCE, Existence
from matching.agreement.look import Agreement, look_between
from matching.agreement.resemblance import MIN_SHARE
from matching.core.pixel_matches import PixelMatches
from matching.correspondences.points import is_narrow
from matching.objects.description import MatchedObject, replace_outlines
from matching.objects.frames import list_corners
from matching.pictures.images import Picture

# Times the significance of other objects that a narrow one needs. Of rows of alike elements that are found as
# narrow objects, three have 1.1 to 1.7 times as much, and one more; of 58 true narrow objects, 37 have more.
NARROW_FACTOR = 3.5
# The same for a narrow object whose matches determine no map, or there is none: 52 of 60 overlaps of tiles,
# 26 and 35 px wide, are found with it, 49 with 3.5.
UNCLEAR_FACTOR = 2.0
# Matches of others in the outlines of an object, over its matches. Tiles and prints that lie side by side
# have 0; of the ground behind a motorcycle in two views, the outline would have 1.5.
MAX_FOREIGN_SHARE = 0.1


def look_at_objects(
    objects: Sequence[MatchedObject],
    matches: PixelMatches,
    picture0: Picture,
    picture1: Picture,
    scale: float,
) -> list[Agreement]:
    """Look at what lies between the matches of each object.

    scale: the tolerance of matches, in pixels of the size at which the object was found. If both pictures are
    the same record, an object joins two places of one picture.
    """
    corners = list_corners(picture0.box)
    negatives = {one.negative for one in matches.objects}
    turned = [
        picture.negative if k in negatives else picture for k, picture in enumerate((picture0, picture1))
    ]

    def look(k: int) -> Agreement:
        frame1, negative = objects[k].frame1, matches.objects[k].negative
        return look_between(
            (turned[0] if negative == 0 else picture0).rgb,
            (turned[1] if negative == 1 else picture1).rgb,
            objects[k].points0,
            objects[k].points1,
            shown0=picture0.mask,
            shown1=picture1.mask,
            tolerance=scale * float(matches.objects[k].steps.max()),
            of_one=picture0 is picture1,
            frames=None if frame1 is None or picture0 is picture1 else (corners, frame1),
        )

    return map_in_threads(look, range(len(objects)))


def keep_agreeing(
    objects: Sequence[MatchedObject], looks: Sequence[Agreement], matches: PixelMatches, reach: float
) -> tuple[list[MatchedObject], PixelMatches]:
    """Drop the objects that are none, and add to the others what both places show alike."""
    is_exact = [one.is_exact for one in matches.objects]
    is_unclear = [not one.is_map_clear for one in matches.objects]
    measures = [measure_look(look, unclear) for look, unclear in zip(looks, is_unclear, strict=True)]
    is_kept = np.array(is_exact, bool)
    for k, look in enumerate(looks):
        is_kept[k] |= look.is_object is not False and (not is_unclear[k] or measures[k][0] >= measures[k][1])
    kept = [
        replace(
            _add_extent(objects[k], looks[k], [one for one in objects if one is not objects[k]]),
            id=number,
            is_same=is_exact[k] or looks[k].is_same,
            differences=() if is_exact[k] else looks[k].differences,
            completeness=looks[k].completeness,
            is_doubtful=not is_exact[k] and is_in_doubt(objects[k], looks[k]),
        )
        for number, k in enumerate(np.flatnonzero(is_kept).tolist())
    ]
    return kept, matches.drop("agreement", is_kept, reach, measures)


def is_in_doubt(found: MatchedObject, look: Agreement) -> bool:
    """Test whether agreement leaves doubt about an object, not where it measures nothing (nan)."""
    existence = look.existence
    if isinstance(existence, Existence) and (is_narrow(found.points0) or is_narrow(found.points1)):
        return not existence.significance >= NARROW_FACTOR * existence.bound
    return look.is_object is None and not np.isnan(measure_look(look)[0])


def _add_extent(found: MatchedObject, look: Agreement, others: list[MatchedObject]) -> MatchedObject:
    """Give an object the outlines of where it ends, if what lies between its matches confirms it.

    Surfaces that move almost alike agree with each other's maps, so outlines must not reach over others.
    """
    if look.is_object is not True or look.extent is None:
        return found
    extended = replace_outlines(found, look.extent.outline0, look.extent.outline1)
    max_foreign = max(count_inside(found, others), MAX_FOREIGN_SHARE * found.n_matches)
    return extended if count_inside(extended, others) <= max_foreign else found


def count_inside(found: MatchedObject, others: list[MatchedObject]) -> int:
    """Count the matches of other objects that lie in the outlines of an object in both pictures."""
    n, outlines = 0, [shapely.Polygon(outline).buffer(0) for outline in (found.outline0, found.outline1)]
    for one in others:
        ends = zip(outlines, (one.points0, one.points1), strict=True)
        n += int(np.all([shapely.intersects_xy(outline, *xy.T) for outline, xy in ends], axis=0).sum())
    return n


def measure_look(look: Agreement, is_unclear: bool = False) -> tuple[float, float]:
    """What decides whether an object is one, nan if it can't be told, and its bound."""
    existence = look.existence
    if isinstance(existence, Existence):
        bound = UNCLEAR_FACTOR * existence.bound if is_unclear else MAX_REJECTED_SIGNIFICANCE
        return existence.significance, bound
    return existence.share, MIN_SHARE
