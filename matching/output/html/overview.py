"""The overview of one thing in many pictures: a gallery with counts, the least sure first."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from matching._common.types import Floats
from matching._version import __version__
from matching.objects.confidence import WORDS
from matching.objects.copies import count_copies
from matching.output.figures.drawing import colour
from matching.output.html.page import embed_picture, fill
from matching.pictures.images import Picture
from matching.result import MatchResult

LONGEST = 480  # pixels of an embedded picture


@dataclass(frozen=True)
class Shot:
    """A picture of the overview."""

    name: str
    report: str  # address of its report relative to the overview
    src: str  # data URI of its thumbnail
    width: int  # of the picture, pixels
    height: int
    copies: tuple[tuple[str, str], ...] = ()  # SVG path and colour of each outline
    parts: tuple[tuple[str, str], ...] = ()
    confidence: str | None = None  # that of the surest object
    score: float = 0.0  # that of the best object


def make_shot(name: str, report: str, picture: Picture, result: MatchResult) -> Shot:
    """Make the entry of a picture."""
    counted = count_copies(result.objects)
    found = {item.id: item for item in result.objects}
    return Shot(
        name,
        report,
        embed_picture(picture.displayed, LONGEST),
        picture.width,
        picture.height,
        tuple(_draw(np.asarray(found[ids[0]].frame1), ids[0]) for ids in counted.copies),
        tuple(_draw(found[ids[0]].outline1, ids[0]) for ids in counted.parts),
        result.confidence,
        max((item.score for item in result.objects), default=0.0),
    )


def overview_page(name: str, shots: Sequence[Shot], failed: Sequence[tuple[str, str]]) -> str:
    """Make the page."""
    order = [*WORDS[::-1], None]
    having = [shot for shot in shots if shot.copies or shot.parts]
    having.sort(key=lambda shot: (order.index(shot.confidence), shot.score, shot.name))
    return fill(
        "overview.html",
        version=__version__,
        name=name,
        having=having,
        without=[shot for shot in shots if not (shot.copies or shot.parts)],
        failed=failed,
        n_copies=sum(len(shot.copies) for shot in shots),
        n_parts=sum(len(shot.parts) for shot in shots),
        n_showing=sum(bool(shot.copies) for shot in shots),
    )


def _draw(polygon: Floats, number: int) -> tuple[str, str]:
    corners = "L".join(f"{x + 0.5:.1f} {y + 0.5:.1f}" for x, y in polygon)
    return f"M{corners}Z", "#{:02x}{:02x}{:02x}".format(*colour(number))
