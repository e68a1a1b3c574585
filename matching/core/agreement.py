"""Objects between whose matches the pictures agree.

Elements that repeat by nature, such as letters, windows and the modules of a code, match without chance. What
lies between the matches tells whether they are one object (`matching.agreement`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from matching._common.threads import map_in_threads
from matching.agreement.existence import MAX_REJECTED_SIGNIFICANCE, Existence
from matching.agreement.look import Agreement, look_between
from matching.agreement.resemblance import MIN_SHARE
from matching.core.pixel_matches import PixelMatches
from matching.objects.description import MatchedObject
from matching.objects.frames import list_corners
from matching.pictures.images import Picture


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

    def look(k: int) -> Agreement:
        frame1 = objects[k].frame1
        return look_between(
            picture0.rgb,
            picture1.rgb,
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
    is_kept = np.array([look.is_object is not False for look in looks], bool)
    measures = [measure_look(look) for look in looks]
    kept = [
        replace(
            objects[k],
            id=number,
            is_same=looks[k].is_same,
            differences=looks[k].differences,
            completeness=looks[k].completeness,
            is_doubtful=looks[k].is_object is None and not np.isnan(measures[k][0]),
        )
        for number, k in enumerate(np.flatnonzero(is_kept).tolist())
    ]
    return kept, matches.drop("agreement", is_kept, reach, measures)


def measure_look(look: Agreement) -> tuple[float, float]:
    """What decides whether an object is one, nan if it can't be told, and its bound."""
    if isinstance(look.existence, Existence):
        return look.existence.significance, MAX_REJECTED_SIGNIFICANCE
    return look.existence.share, MIN_SHARE
