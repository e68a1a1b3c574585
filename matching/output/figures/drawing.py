"""The picture of a result: both images side by side, or one with its repeats, each object in a colour."""

import colorsys
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import shapely
import shapely.ops

from matching._common import opencv
from matching._common.arrays import find_box
from matching._common.types import Array, Bytes, Floats
from matching.correspondences.points import spread_out
from matching.drivers.result import Result
from matching.objects.description import MatchedObject
from matching.output.figures.lettering import add_caption, draw_label, label_size, place_labels
from matching.output.words import NOTHING, NOTHING_TWICE, describe_things, name_picture
from matching.pictures.images import NamedImage, Picture, to_picture

Colour = tuple[int, int, int]

# Okabe and Ito's colours, distinct for any kind of colour vision, the bright ones first, then two of Tol's.
COLOURS = (
    *((230, 159, 0), (86, 180, 233), (0, 158, 115), (240, 228, 66), (213, 94, 0)),
    *((204, 121, 167), (0, 114, 178), (170, 170, 255), (187, 204, 51)),
)
MAX_REJECTED = 6  # groups whose outlines are drawn: more would hide the pictures
GOLDEN_RATIO = (5**0.5 - 1) / 2
GREY = (170, 170, 170)  # colour of rejected groups
BLACK, WHITE = (0, 0, 0), (255, 255, 255)
MAX_DASHES = 200  # per side: a frame's side may be far longer than the picture
FADE_STRENGTH = 0.55  # share of the way from the surroundings' colours to mid grey, so that objects stand out
MID_GREY = 110
CANVAS_PIXELS = 24_000_000  # of the drawing: any viewer can open it, even on a telephone
CANVAS_SIDE = 16_384  # pixels: the longest that browsers and graphics cards show
MAX_LINES = 30  # lines of an object from picture to picture; every match has a dot
LINE_OPACITY = 0.6
FRAME_SHARE = 0.25  # the frame is drawn if the object covers this share of picture 0
REFERENCE_SIDE = 960  # pixels of the longer side of a picture for which the next length is meant
DASH_LENGTH = 14  # pixels of a dash of a frame and of the gap after it
DIFFERENCE_DASH = 3  # widths of the line, of a black dash around a difference and of a white one
LEGEND = "in dashes of black and white: where the pictures differ"
OUTLIERS = "grey: matches in no object"
BLANK_MARGIN = 0.04  # space around points, as a share of their range, if the size of their image is unknown


@dataclass(frozen=True, eq=False)
class Panel:
    """A picture, or a part of it, as it is drawn."""

    rgb: Bytes  # (h, w, 3)
    factors: Floats  # (2,), pixels of the panel per pixel of the picture
    corner: Array | tuple[float, float] = (0.0, 0.0)  # the pixel of the picture in the corner of the panel
    left: int = 0  # pixels of the drawing to its left

    def place(self, xy: Floats) -> Floats:
        """Convert pixels of the picture (n, 2) to those of the drawing."""
        return np.add(to_picture(xy - self.corner, self.factors), (self.left, 0))


@dataclass(frozen=True, eq=False)
class Mark:
    """An outline with a label."""

    number: int  # of its colour; -1 for a rejected group
    name: str
    side: int  # of the picture
    outline: Floats  # (k, 2), pixels of the drawing


def draw_result(
    picture0: Picture | NamedImage,
    picture1: Picture | NamedImage,
    result: Result,
    *,
    explain: bool = False,
    differences: bool = True,
) -> Bytes:
    """Draw two pictures side by side, or one with the places of its things -> (h, w, 3) uint8.

    They are reduced to CANVAS_PIXELS and CANVAS_SIDE at most. In place of pictures that were not read, all
    matches are drawn on white, outliers in grey.
    """
    is_read = isinstance(picture0, Picture)
    is_single = result.is_single_picture and is_read
    panels = _make_panels((picture0,) if is_single else (picture0, picture1), result)
    ends = panels[0], panels[-1]
    unit = max(max(panel.rgb.shape[:2]) for panel in panels) / REFERENCE_SIDE
    frames = [] if is_single else [(found.id, choose_frame(found)) for found in result.objects]
    placed = [(number, ends[1].place(frame)) for number, frame in frames if frame is not None]
    marks = list(_mark_things(result, ends[0]) if is_single else _mark_objects(result, ends))
    rejected = list(_mark_rejected(result, ends, is_single)) if explain else []
    bright = [(mark.side, mark.outline) for mark in marks] + [(1, frame) for _, frame in placed]
    canvas = _lay_side_by_side(panels, bright if is_read else [])
    if not is_single:
        _draw_lines(canvas, result, ends, max(round(unit), 1))
    for found in result.objects:
        ink = colour(found.thing if is_single else found.id)
        for panel, xy in zip(ends, (result.xy0, result.xy1), strict=True):
            for point in panel.place(xy[result.cluster == found.id]):
                opencv.draw_disc(canvas, point, 2.2 * unit, ink)
    for number, frame in placed:  # it may extend beyond the picture, and is cut off there
        left, height = ends[1].left, len(ends[1].rgb)
        draw_frame(canvas[:height, left:], frame - (left, 0), colour(number), unit)
    for mark in rejected:
        draw_frame(canvas, mark.outline, GREY, unit)
    for mark in marks:
        outline_object(canvas, mark.outline, mark.number, unit)
    differing = [one for found in result.objects for one in found.differences] if differences else []
    for one in differing:
        for panel, polygon in zip(ends, (one.polygon0, one.polygon1), strict=True):
            draw_difference(canvas, panel.place(polygon), unit)
    only = result.only if differences else ((), ())
    for panel, polygons in zip(ends, only, strict=True):
        for polygon in polygons:
            draw_difference(canvas, panel.place(polygon), unit)
    for side, panel in enumerate(panels):
        of_side = [mark for mark in (*marks, *rejected) if mark.side == side]
        _draw_labels(canvas, panel, of_side, 28 * unit)
    things = [] if is_single else describe_things(result.objects, name_picture(picture0.path), result.things)
    legend = [LEGEND] if differing or any(only) else [] if is_read else [OUTLIERS]
    nothing = NOTHING_TWICE if is_single else NOTHING
    return add_caption(canvas, [*things, *legend] if marks else [nothing], 26 * unit)


def _make_panels(pictures: Sequence[Picture | NamedImage], result: Result) -> list[Panel]:
    """Make the panels of one or two pictures, side by side."""
    read = [picture for picture in pictures if isinstance(picture, Picture)]
    if len(read) == len(pictures):
        factor = canvas_factor(*(picture.rgb.shape for picture in read))
        panels = [make_panel(picture.displayed, factor) for picture in read]
    else:
        sides = zip(pictures, (result.xy0, result.xy1), strict=True)
        panels = [_draw_outliers(image, xy, result.cluster < 0) for image, xy in sides]
    left = panels[0].rgb.shape[1] + _margin(sum(panel.rgb.shape[1] for panel in panels))
    return [panels[0], *(replace(panel, left=left) for panel in panels[1:])]


def _lay_side_by_side(panels: Sequence[Panel], bright: Sequence[tuple[int, Floats]]) -> Bytes:
    """Make the canvas of panels, each faded outside its outlines, if there are any: sides and outlines."""
    size = max(len(panel.rgb) for panel in panels), panels[-1].left + panels[-1].rgb.shape[1]
    canvas = np.full((*size, 3), 255, np.uint8)
    for side, panel in enumerate(panels):
        shown = [xy - (panel.left, 0) for k, xy in bright if k == side]
        faded = fade_outside(panel.rgb, shown) if shown else panel.rgb
        canvas[: len(faded), panel.left : panel.left + faded.shape[1]] = faded
    return canvas


def _mark_objects(result: Result, ends: Sequence[Panel]) -> Iterator[Mark]:
    """Mark the objects of two pictures."""
    for side in (0, 1):
        for o in result.objects:
            yield Mark(o.id, str(o.id), side, ends[side].place((o.outline0, o.outline1)[side]))


def _mark_things(result: Result, panel: Panel) -> Iterator[Mark]:
    """Mark the places of the things that one picture shows more than once."""
    for thing in result.things:
        for k, place in enumerate(thing.places):
            name = thing.name_place(k) + (" alike" if k in thing.alike else "")
            yield Mark(thing.number, name, 0, panel.place(np.asarray(place)))


def _mark_rejected(result: Result, ends: Sequence[Panel], is_single: bool) -> Iterator[Mark]:
    """Mark the hulls of the largest rejected groups, MAX_REJECTED at most in each picture.

    A name has the number of the group in the table of rejected groups, and the step.
    """
    for k, item in enumerate(result.rejected[: MAX_REJECTED // 2 if is_single else MAX_REJECTED]):
        for side, xy in enumerate((item.points0, item.points1)):
            hull = ends[side].place(opencv.convex_hull(xy))
            yield Mark(-1, f"rejected {k}: {item.step}", 0 if is_single else side, hull)


def _draw_outliers(image: Picture | NamedImage, xy: Floats, is_outlier: Array) -> Panel:
    """Draw the points (n, 2) of an image that are in no object on a white panel of its shape."""
    if image.width is not None and image.height is not None:
        low, high = np.zeros(2) - 0.5, np.array([image.width, image.height]) - 0.5
    else:
        low, high = find_box(xy) if len(xy) else (np.zeros(2), np.ones(2))
        margin = BLANK_MARGIN * max(float((high - low).max()), 1.0)
        low, high = low - margin, high + margin
    factor = REFERENCE_SIDE / (high - low).max()
    width, height = np.ceil((high - low) * factor).astype(int).clip(REFERENCE_SIDE // 16)
    panel = Panel(np.full((height, width, 3), 255, np.uint8), np.full(2, factor), low + 0.5)
    for point in panel.place(xy[is_outlier]):
        opencv.draw_disc(panel.rgb, point, 2.2, GREY)
    return panel


def outline_object(canvas: Bytes, outline: Floats, number: int, unit: float) -> None:
    """Outline an object in its colour, with a dark rim, in place: canvas (h, w, 3) uint8; outline (k, 2)."""
    opencv.draw_polygon(canvas, outline, BLACK, max(round(5 * unit), 3))
    opencv.draw_polygon(canvas, outline, colour(number), max(round(3 * unit), 1))


def draw_difference(canvas: Bytes, polygon: Floats, unit: float) -> None:
    """Draw a polygon in dashes of black and white, in place: canvas (h, w, 3) uint8; polygon (k, 2).

    No colour vision is needed for them, and no object has their colours.
    """
    thickness = max(round(2.5 * unit), 2)
    opencv.draw_polygon(canvas, polygon, BLACK, thickness + 2)
    ring = shapely.LinearRing(polygon)
    n = max(round(ring.length / (2 * DIFFERENCE_DASH * thickness)), 2)
    for k in range(n):
        dash = shapely.ops.substring(ring, k / n, (k + 0.5) / n, normalized=True)
        for start, end in pairwise(shapely.get_coordinates(dash)):
            opencv.draw_line(canvas, start, end, WHITE, thickness)


def choose_frame(found: MatchedObject) -> Floats | None:
    """Return the frame (4, 2) of picture 0 in picture 1 if the object covers enough of picture 0."""
    covers = found.motion is not None and (found.motion.share or 0.0) >= FRAME_SHARE
    return found.frame1 if covers else None


def draw_frame(canvas: Bytes, corners: Floats, tint: Colour, unit: float) -> None:
    """Draw a dashed polygon, in place: canvas (h, w, 3) uint8; corners (k, 2)."""
    thickness = max(round(2 * unit), 1)
    for start, end in zip(corners, np.roll(corners, -1, axis=0), strict=True):
        length = float(np.linalg.norm(end - start))
        n = int(np.clip(length / (2 * DASH_LENGTH * max(unit, 0.5)), 1, MAX_DASHES))
        # dashes and gaps alternate, with half a dash at both ends
        ends = start + (end - start) * (np.arange(-0.5, 2 * n + 1) / (2 * n)).clip(0, 1)[:, None]
        for ink, width in ((BLACK, thickness + 2), (tint, thickness)):
            for a, b in zip(ends[0::2], ends[1::2], strict=True):
                opencv.draw_line(canvas, a, b, ink, width)


def _draw_labels(canvas: Bytes, panel: Panel, marks: Sequence[Mark], size: float) -> None:
    """Write the names of marks on a panel, the largest first, so that small ones move aside."""
    order = sorted(marks, key=lambda mark: -float(np.prod(np.ptp(mark.outline, axis=0))))
    sizes = [label_size(mark.name, size) for mark in order]
    high = panel.left + panel.rgb.shape[1], len(panel.rgb)
    centres = place_labels([mark.outline for mark in order], sizes, (panel.left, 0), high)
    for mark, centre in zip(order, centres, strict=True):
        if centre is not None:
            draw_label(canvas, mark.name, centre, colour(mark.number), size)


def canvas_factor(*shapes: tuple[int, ...]) -> float:
    """Find the factor, at most 1, by which pictures are reduced so that their drawing stays in bounds."""
    width, height = sum(shape[1] for shape in shapes), max(shape[0] for shape in shapes)
    width += _margin(width) if len(shapes) > 1 else 0
    return min(1.0, math.sqrt(CANVAS_PIXELS / (width * height)), CANVAS_SIDE / max(width, height))


def colour(number: int) -> Colour:
    """Choose the colour of an object: first COLOURS, then hues far from the previous ones; grey for -1."""
    if number < 0:
        return GREY
    if number < len(COLOURS):
        return COLOURS[number]
    hue = (0.12 + number * GOLDEN_RATIO) % 1
    red, green, blue = colorsys.hsv_to_rgb(hue, 0.55 + 0.4 * (number % 2), 0.95)
    return round(255 * red), round(255 * green), round(255 * blue)


def fade(rgb: Bytes, strength: float) -> Bytes:
    """Fade a picture (h, w, 3) uint8: halfway to its grey values, then `strength` of the way to mid grey."""
    keep = (1 - strength) / 2
    return opencv.mix_channels(rgb, np.eye(3) * keep + keep / 3, MID_GREY * strength)


def _draw_lines(canvas: Bytes, result: Result, ends: Sequence[Panel], thickness: int) -> None:
    """Draw translucent lines across in place."""
    lined = canvas.copy()
    for found in result.objects:
        rows = np.flatnonzero(result.cluster == found.id)
        chosen = rows[spread_out(result.xy0[rows], MAX_LINES)]
        starts, stops = ends[0].place(result.xy0[chosen]), ends[1].place(result.xy1[chosen])
        for start, stop in zip(starts, stops, strict=True):
            opencv.draw_line(lined, start, stop, colour(found.id), thickness)
    canvas[:] = opencv.blend(canvas, lined, LINE_OPACITY)


def make_panel(rgb: Bytes, factor: float, corner: Array | tuple[float, float] = (0.0, 0.0)) -> Panel:
    """Make a panel of a picture (h, w, 3), or of the part at a corner, resized by a factor."""
    shown = opencv.resize(rgb, factor)
    return Panel(shown, np.array(shown.shape[1::-1]) / rgb.shape[1::-1], corner)


def _margin(width: int) -> int:
    """Find the number of pixels between two pictures with a total width of `width`."""
    return max(width, 100) // 100


def find_part(
    outline: Floats, size: tuple[int, int], share: float, rim: int
) -> tuple[Array, tuple[slice, slice]]:
    """Find the part of a picture (width, height) around an outline (k, 2) -> its first pixel, its slices."""
    low, high = find_box(outline)
    margin = share * (high - low).max() + rim
    largest = np.array(size)
    start = np.clip(np.floor(low - margin), 0, largest - 1).astype(int)
    stop = np.clip(np.ceil(high + margin) + 1, start + 1, largest).astype(int)
    return start, (slice(start[1], stop[1]), slice(start[0], stop[0]))


def fade_outside(rgb: Bytes, outlines: Iterable[Floats], strength: float = FADE_STRENGTH) -> Bytes:
    """Fade a picture (h, w, 3) uint8 outside some outlines (k, 2)."""
    outlines = list(outlines)
    shown = fade(rgb, strength)
    if outlines:
        inside = opencv.fill_polygons(rgb.shape[:2], outlines)
        shown[inside] = rgb[inside]
    return shown
