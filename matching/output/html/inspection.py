"""The page of inspection: pictures beside a golden one, registered, with what differs."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import shapely
from PIL import Image

from matching._common import opencv
from matching._common.types import Bytes, Floats
from matching.drivers.result import Result, object_deformation
from matching.objects.copies import is_mostly_within
from matching.objects.deformation import SmoothMap
from matching.objects.description import MatchedObject
from matching.output.figures.drawing import draw_difference
from matching.output.figures.warping import GREY, Overlay, join_panels, lay_over, show_part
from matching.output.html.page import fill, svg_path
from matching.output.inspection import Verdict, covers_most
from matching.pictures.encoding import encode_jpeg
from matching.pictures.images import Picture

ZOOM = 4.0  # of a difference that is cut out
MAX_CUT_SIDE = 560  # pixels of a cut: two of them stand side by side on a screen
MAX_CUTS = 24  # of a picture; the table lists all that differs
MAX_VIEWS = 6  # of a picture that shows the golden one several times
KINDS = {"differs": "≠", "not shown": "∅", "can't tell": "?", "can't be read": "!", "same": "="}


@dataclass(frozen=True)
class Inspected:
    """A picture on the page: its name, and what is said and shown of it, in files of a folder."""

    name: str
    error: str = ""  # why it can't be read
    verdict: Verdict | None = None
    folder: str = ""  # address relative to the page
    views: tuple[str, ...] = ()  # SVG paths of what differs; view n is registered-n.jpg
    cuts: tuple[tuple[float, float, float], ...] = ()  # size, evidence, zoom; cut n is difference-n.jpg
    more: int = 0  # differences that are not cut out

    @property
    def kind(self) -> str:
        """The verdict in a word, one of KINDS."""
        return "can't be read" if self.verdict is None else self.verdict.kind

    @property
    def largest(self) -> float:
        """Of what differs, pixels."""
        return max((size for size, _, _ in self.cuts), default=0.0)

    @property
    def evidence(self) -> float:
        """Of what differs most."""
        return max((evidence for _, evidence, _ in self.cuts), default=0.0)


def draw_inspection(
    golden: Picture, picture: Picture, result: Result, verdict: Verdict
) -> tuple[dict[str, bytes], dict[str, Any]]:
    """Draw a picture registered on the golden one: the files by name, and the fields of `Inspected`."""
    maps = {found.id: object_deformation(result, found.id).forward for found in verdict.objects}
    files, views = {}, []
    for n, layer in enumerate(_list_layers(verdict.objects)[:MAX_VIEWS], start=1):
        laid, shown = _register(picture.displayed, golden.displayed, layer, maps)
        files[f"registered-{n}.jpg"] = encode_jpeg(Image.fromarray(shown))
        outlines = [laid.place(one.polygon0) for found in layer for one in found.differences]
        outlines += map(laid.place, result.only0)
        views.append("".join(map(svg_path, outlines)))
    cuts = []
    for n, (found, one) in enumerate(verdict.listed[:MAX_CUTS], start=1):
        zoom = min(ZOOM, MAX_CUT_SIDE / float(np.ptp(one.polygon0, axis=0).max()))
        laid = lay_over(picture.displayed, golden.displayed, maps[found.id], one.polygon0, zoom=zoom)
        panels = [laid.rgb.copy(), laid.shown]
        for panel in panels:
            draw_difference(panel, laid.place(one.polygon0), 0.5)
        files[f"difference-{n}.jpg"] = encode_jpeg(Image.fromarray(join_panels(panels)))
        cuts.append((one.size, one.evidence, float(laid.factors[0])))
    more = len(verdict.listed) - len(cuts)
    return files, {"views": tuple(views), "cuts": tuple(cuts), "more": more}


def draw_golden(golden: Picture) -> Bytes:
    """Show the golden picture as large as what is registered on it."""
    return show_part(golden.displayed, _outline_all(golden.displayed), 0).rgb


def _outline_all(rgb: Bytes) -> Floats:
    return np.array([(0, 0), rgb.shape[1::-1]], float)


def _list_layers(objects: Sequence[MatchedObject]) -> list[list[MatchedObject]]:
    """Share objects out, the largest first, so that those of a layer lie side by side in picture 0."""
    layers: list[list[MatchedObject]] = []
    shapes = {found.id: shapely.MultiPoint(found.outline0).convex_hull for found in objects}
    for found in sorted(objects, key=lambda found: -shapes[found.id].area):
        fits = (
            layer
            for layer in layers
            if not any(is_mostly_within(shapes[found.id], shapes[other.id]) for other in layer)
        )
        layer = next(fits, None)
        layers.append([found]) if layer is None else layer.append(found)
    return layers


def _register(
    source: Bytes, target: Bytes, layer: Sequence[MatchedObject], maps: Mapping[int, SmoothMap]
) -> tuple[Overlay, Bytes]:
    """Warp objects onto picture 0, the first as far as it is seen if it covers most of it."""
    laid = [lay_over(source, target, maps[found.id], _outline_all(target), 0) for found in layer]
    shown = np.full_like(laid[0].warped, GREY)
    for found, one in zip(layer, laid, strict=True):
        inside = one.is_seen
        if found is not layer[0] or not covers_most(found):
            outlines = [found.outline0, *(other.polygon0 for other in found.differences)]
            hull = opencv.convex_hull(one.place(np.concatenate(outlines)))
            inside = inside & opencv.fill_polygons(inside.shape, [hull])
        shown[inside] = one.warped[inside]
    return laid[0], shown


def inspection_page(title: str, golden: tuple[str, Bytes], inspected: Iterable[Inspected]) -> str:
    """Make the page; what differs most comes first, and what is the same last.

    golden: the address of what `draw_golden` shows, and its pixels.
    """
    order = list(KINDS)
    rows = sorted(inspected, key=lambda one: (order.index(one.kind), -one.evidence, one.name))
    return fill(
        "inspection.html",
        name=title,
        golden=golden[0],
        size=golden[1].shape[1::-1],
        rows=rows,
        kinds=KINDS,
        counts={kind: n for kind in KINDS if (n := sum(one.kind == kind for one in rows))},
    )
