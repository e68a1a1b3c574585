"""What a result says to a person: the columns of a table, an object a line, and things that stand in several
places.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matching.objects.description import MatchedObject
    from matching.objects.frames import Motion
    from matching.objects.things import Thing
    from matching.result import MatchResult

HEADER = (
    *("object", "matches", "score", "how sure", "place", "size", "turn", "scale", "seen"),
    "error",
)
UNKNOWN = "-"
NOTHING = "no common object"


def table(result: MatchResult, name: str = "picture 0") -> str:
    """The objects, one a line, and what stands in several places.

    Parameters
    ----------
    result : MatchResult
    name : str
        Of picture 0, without its extension.
    """
    if not result.objects:
        return NOTHING
    lines = aligned([HEADER, *(object_cells(found) for found in result.objects)], left=(3, 6))
    return "\n".join([*lines, *told_things(result.objects, name, result.things)])


def object_cells(found: MatchedObject) -> tuple[str, ...]:
    """What the table says of an object, a text for each column of HEADER: place and size are those of its
    outline in picture 1, `seen` is the share of picture 0 that it covers.
    """
    error = f"{found.transform_error:.1f} px"
    return (str(found.id), str(found.n_matches), f"{found.score:.2f}", found.confidence,
            *place_cells(found), error)  # fmt: skip


def place_cells(found: MatchedObject) -> tuple[str, ...]:
    """Place, size, turn, scale and share seen of an object, as texts."""
    if not len(found.outline1):
        return (UNKNOWN,) * 5
    low, high = found.outline1.min(axis=0), found.outline1.max(axis=0)
    x, y, width, height = (round(float(value)) for value in (*(low + high) / 2, *(high - low)))
    place, size = f"{x}, {y}", f"{width} x {height}"
    motion = found.motion
    if motion is None:
        return place, size, *(UNKNOWN,) * 3
    return place, size, turn_text(motion), f"{motion.scale:.2f}", percent(motion.share)


def repeats_table(result: MatchResult) -> str:
    """What one picture shows more than once, a thing a line."""
    if not result.things:
        return "nothing stands there twice"
    rows = [("thing", "places", "objects", "matches", "")]
    for thing in result.things:
        matches = sum(o.n_matches for o in result.objects if o.thing == thing.number)
        counts = thing.number, len(thing.places), len(thing.objects), matches
        rows.append((*map(str, counts), "periodic texture" if thing.periodic else ""))
    return "\n".join(aligned(rows, left=(4,)))


def turn_text(motion: Motion) -> str:
    """The turn in whole degrees, and whether it is mirrored.

    >>> from types import SimpleNamespace
    >>> turn_text(SimpleNamespace(turn=-12.3, mirrored=False))
    '12° ccw'
    >>> turn_text(SimpleNamespace(turn=0.3, mirrored=True))
    'mirrored'
    """
    degrees = round(abs(motion.turn))
    turned = f"{degrees}°" + ("" if degrees in (0, 180) else " cw" if motion.turn > 0 else " ccw")
    if not motion.mirrored:
        return turned
    return f"mirrored, {turned}" if degrees else "mirrored"


def percent(share: float) -> str:
    """A share in whole percent, "<1%" for less than one.

    >>> percent(0.826), percent(0.002)
    ('83%', '<1%')
    """
    return "<1%" if share < 0.005 else f"{share:.0%}"


def told_things(objects: Sequence[MatchedObject], name: str, things: Sequence[Thing] = ()) -> list[str]:
    """A line for each thing that stands in several places: its name, how many, and which objects they are.

    Where there is one thing, it is called as picture 0 is.

    >>> from types import SimpleNamespace
    >>> told_things([SimpleNamespace(id=0, thing=0), SimpleNamespace(id=1, thing=0)], "nesquik")
    ['nesquik: 2 places (objects 0, 1)']
    """
    numbers, lines = sorted({found.thing for found in objects}), []
    places = {thing.number: len(thing.places) for thing in things}
    for number in numbers:
        own = [found for found in objects if found.thing == number]
        n_places = places.get(number, len(own))
        if n_places > 1:
            called = name if len(numbers) == 1 else f"thing {number} of {name}"
            ids = ", ".join(str(found.id) for found in own)
            lines.append(f"{called}: {n_places} places (object{'s' if len(own) > 1 else ''} {ids})")
    return lines


def told(result: MatchResult) -> str:
    """What was found, in a few words."""
    n = len(result.objects)
    if not n:
        return NOTHING
    kept = int((result.cluster >= 0).sum())
    return f"{n} object{'s' if n > 1 else ''} in both, {kept} matches of {len(result.cluster)} candidates"


def stem_of(path: str | PurePath | None) -> str:
    """What a picture is called where it is named."""
    return "picture 0" if path is None else PurePath(path).stem


def aligned(rows: Sequence[Sequence[str]], left: Sequence[int] = ()) -> list[str]:
    """Rows of texts as lines with columns two spaces apart, flush right but for those of `left`.

    >>> aligned([["a", "to the left"], ["100", "b"]], left=[1])
    ['  a  to the left', '100  b']
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            f"{text:<{width}}" if k in left else f"{text:>{width}}"
            for k, (text, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
