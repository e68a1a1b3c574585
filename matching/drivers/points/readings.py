"""What given points may mean if nothing agrees: rows and columns, or pixels of resized pictures."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from matching._common.types import Floats
from matching.agreement.existence import Verdict
from matching.agreement.grid import Ends
from matching.agreement.look import Look

# Pixels, the sides of pictures that matchers resize.
SIDES = 320, 480, 512, 600, 640, 720, 768, 800, 832, 840, 960, 1024, 1200, 1280, 1600


def find_reading(look: Look) -> str:
    """Find another reading of the points of a look, by which what lies between them agrees.

    A clause that says how to change the points, and the share that agrees then; "" without any.
    """
    for words, xy0, xy1 in _list_readings(look):
        ends = (_move(look.ends[0], xy0), _move(look.ends[1], xy1))
        if all(map(_lies_within, ends)):
            existence = Look(ends, look.tolerance).existence
            if existence.verdict is Verdict.OBJECT:
                agreeing, rejected = existence.measured[0], look.existence.measured[0]
                return f"{words}: then {agreeing:.0%} of their surroundings agrees, not {rejected:.0%}"
    return ""


def _list_readings(look: Look) -> Iterator[tuple[str, Floats, Floats]]:
    """The readings: what to do, in words, and the points (m, 2) in both pictures."""
    xy0, xy1 = (ends.xy for ends in look.ends)
    turned0, turned1 = xy0[:, ::-1], xy1[:, ::-1]
    yield "the points may be rows and columns: give x and y", turned0, turned1
    yield "those of picture 0 may be rows and columns: give x and y", turned0, xy1
    yield "those of picture 1 may be rows and columns: give x and y", xy0, turned1
    sizes = np.array([ends.image.shape[1::-1] for ends in look.ends], float)
    for name, sides in (("wide", sizes[:, 0]), ("along the longer side", sizes.max(axis=1))):
        for side in SIDES:
            zoom0, zoom1 = sides / side
            if max(zoom0, zoom1) > 1:
                words = f"the points may be of pictures resized to {side} pixels {name}"
                words += f": scale them by {zoom0:.4g} and {zoom1:.4g}"
                yield words, zoom0 * (xy0 + 0.5) - 0.5, zoom1 * (xy1 + 0.5) - 0.5


def _move(ends: Ends, xy: Floats) -> Ends:
    return replace(ends, xy=np.ascontiguousarray(xy))


def _lies_within(ends: Ends) -> bool:
    """Whether all points lie in their picture."""
    last = np.array(ends.image.shape[1::-1]) - 0.5
    return bool(((ends.xy >= -0.5) & (ends.xy <= last)).all())
