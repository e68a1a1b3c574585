"""The page of hits: each place that shows a thing, cut out of its picture; the least sure come first."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from matching._common.types import Bytes
from matching.objects.confidence import WORDS
from matching.objects.copies import count_copies
from matching.objects.description import MatchedObject
from matching.output.figures.drawing import choose_frame, find_part
from matching.output.html.page import css_colour, embed_picture, fill, svg_path
from matching.output.words import UNKNOWN

MAX_SIDE = 360  # pixels of an embedded cut
MARGIN = 0.15  # share of a place's longer side that is shown around it
KINDS = ("copy", "alike", "part", "object")


@dataclass(frozen=True)
class Hit:
    """A place that shows a thing."""

    reference: str  # name of the thing
    where: str  # name of the picture, or time in the video
    src: str  # data URI of the cut
    box: tuple[int, int, int, int]  # of the cut in the picture: left, top, width, height, pixels
    path: str  # SVG path of the outline
    ink: str  # its colour
    differences: str  # SVG path
    kind: str  # one of KINDS; an object is neither known to be whole nor to be a part
    confidence: str
    score: float
    facts: str


def make_hits(
    reference: str,
    where: str,
    rgb: Bytes,
    objects: Sequence[MatchedObject],
    *,
    size: tuple[int, int] | None = None,
) -> list[Hit]:
    """Make the hits of a picture (h, w, 3) uint8, which may be reduced from `size` (width, height).

    If it is not measured how complete the objects are, each one is a hit.
    """
    counted = count_copies(objects)
    groups = ("copy", counted.copies), ("alike", counted.alike), ("part", counted.parts)
    places = [(kind, ids[0]) for kind, listed in groups for ids in listed]
    if all(found.completeness is None for found in objects):
        places = [("alike" if found.is_same is False else "object", found.id) for found in objects]
    by_number = {found.id: found for found in objects}
    shape = size or (rgb.shape[1], rgb.shape[0])
    return [_make_hit(reference, where, rgb, by_number[k], kind, shape) for kind, k in places]


def _make_hit(
    reference: str,
    where: str,
    rgb: Bytes,
    found: MatchedObject,
    kind: str,
    size: tuple[int, int],
) -> Hit:
    frame = None if kind == "part" else choose_frame(found)
    polygon = found.outline1 if frame is None else frame
    (left, top), (rows, columns) = find_part(polygon, size, MARGIN, 0)
    width, height = columns.stop - left, rows.stop - top
    zoom = rgb.shape[1] / size[0]
    rows, columns = (
        slice(math.floor(cut.start * zoom), math.ceil(cut.stop * zoom)) for cut in (rows, columns)
    )
    return Hit(
        reference,
        where,
        embed_picture(rgb[rows, columns], MAX_SIDE),
        (int(left), int(top), int(width), int(height)),
        svg_path(polygon),
        css_colour(found.id),
        "".join(svg_path(one.polygon1) for one in found.differences),
        kind,
        found.confidence or UNKNOWN,
        found.score,
        ", ".join(filter(None, (f"{found.n_matches} matches", found.sameness))),
    )


def hits_page(
    title: str,
    hits: Iterable[Hit],
    lists: Sequence[tuple[str, Sequence[Sequence[str]]]] = (),
    *,
    unit: str = "picture",
) -> str:
    """Make the page; below the hits are lists: a title, and rows of texts.

    `unit` is the word for where hits are.
    """
    order = [UNKNOWN, *WORDS[::-1]]
    listed = sorted(hits, key=lambda hit: (order.index(hit.confidence), hit.score, hit.where))
    return fill(
        "hits.html",
        name=title,
        hits=listed,
        counts={kind: sum(hit.kind == kind for hit in listed) for kind in KINDS},
        choices={
            "reference": sorted({hit.reference for hit in listed}),
            "confidence": [word for word in order if any(hit.confidence == word for hit in listed)],
            "kind": [kind for kind in KINDS if any(hit.kind == kind for hit in listed)],
        },
        n_showing=len({hit.where for hit in listed}),
        unit=unit,
        lists=lists,
    )
