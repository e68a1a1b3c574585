"""The overview of one thing in many pictures: a gallery with counts, the least sure first."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from matching._common.types import Floats
from matching._version import __version__
from matching.core.result import MatchResult
from matching.objects.confidence import WORDS
from matching.objects.copies import count_copies
from matching.output.figures.drawing import colour
from matching.output.html.page import embed_picture, fill, svg_path
from matching.pictures.images import Picture

MAX_SIDE = 480  # pixels of an embedded picture


@dataclass(frozen=True)
class Shot:
    """A picture of the overview."""

    name: str
    report: str  # address of its report relative to the overview
    src: str  # data URI of its thumbnail
    width: int  # of the picture, pixels
    height: int
    copies: tuple[tuple[str, str], ...] = ()  # SVG path and colour of each outline
    alike: tuple[tuple[str, str], ...] = ()
    parts: tuple[tuple[str, str], ...] = ()
    differences: str = ""  # SVG path
    confidence: str | None = None  # that of the surest object
    score: float = 0.0  # that of the best object


def make_shot(name: str, report: str, picture: Picture, result: MatchResult) -> Shot:
    """Make the entry of a picture."""
    counted = count_copies(result.objects)
    objects = {found.id: found for found in result.objects}
    copies = tuple(_draw(np.asarray(objects[ids[0]].frame1), ids[0]) for ids in counted.copies)
    alike = tuple(_draw(np.asarray(objects[ids[0]].frame1), ids[0]) for ids in counted.alike)
    parts = tuple(_draw(objects[ids[0]].outline1, ids[0]) for ids in counted.parts)
    differences = "".join(svg_path(one.polygon1) for found in result.objects for one in found.differences)
    score = max((found.score for found in result.objects), default=0.0)
    src = embed_picture(picture.displayed, MAX_SIDE)
    places = copies, alike, parts, differences
    return Shot(name, report, src, picture.width, picture.height, *places, result.confidence, score)


def overview_page(name: str, shots: Sequence[Shot], failed: Sequence[tuple[str, str]]) -> str:
    """Make the page."""
    order = [*WORDS[::-1], None]
    matched = [shot for shot in shots if shot.copies or shot.alike or shot.parts]
    matched.sort(key=lambda shot: (order.index(shot.confidence), shot.score, shot.name))
    return fill(
        "overview.html",
        version=__version__,
        name=name,
        matched=matched,
        unmatched=[shot for shot in shots if not (shot.copies or shot.alike or shot.parts)],
        failed=failed,
        n_copies=sum(len(shot.copies) for shot in shots),
        n_alike=sum(len(shot.alike) for shot in shots),
        n_parts=sum(len(shot.parts) for shot in shots),
        n_showing=sum(bool(shot.copies) for shot in shots),
    )


def _draw(polygon: Floats, number: int) -> tuple[str, str]:
    """Make the SVG path of a polygon (k, 2), and the colour of the object of this number."""
    return svg_path(polygon), "#{:02x}{:02x}{:02x}".format(*colour(number))
