"""The picture of a result: both images side by side, or one with its repeats, each object in a colour."""

import colorsys
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import shapely
import shapely.ops

from matching._common import opencv
from matching._common.types import Array, Bytes, Floats, Ints
from matching.core.result import MatchResult
from matching.objects.description import MatchedObject
from matching.output.figures.lettering import add_caption, draw_label, label_size, place_labels
from matching.output.words import NOTHING, NOTHING_TWICE, describe_things, name_picture
from matching.pictures.images import NamedImage, Picture

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

    def place(self, xy: Floats) -> Floats:
        """Convert pixels of the picture (n, 2) to those of the panel."""
        return zoom(xy - self.corner, self.factors)


def draw_result(
    picture0: Picture | NamedImage, picture1: Picture | NamedImage, result: MatchResult, **shown: bool
) -> Bytes:
    """Draw a result: two pictures side by side, or the places of the things in one -> (h, w, 3) uint8."""
    if result.is_single_picture and isinstance(picture0, Picture):
        return draw_repeats(picture0, result, **shown)
    return draw_matches(picture0, picture1, result, **shown)


def draw_matches(
    picture0: Picture | NamedImage,
    picture1: Picture | NamedImage,
    result: MatchResult,
    *,
    explain: bool = False,
    differences: bool = True,
) -> Bytes:
    """Draw two pictures side by side, reduced to CANVAS_PIXELS and CANVAS_SIDE at most -> (h, w, 3) uint8.

    In place of pictures that were not read, all matches are drawn on white, outliers in grey.
    """
    if isinstance(picture0, Picture) and isinstance(picture1, Picture):
        factor = canvas_factor(picture0.rgb.shape, picture1.rgb.shape)
        panels = [Panel(*reduce(p.displayed, factor)) for p in (picture0, picture1)]
    else:
        pictures = (picture0, result.xy0), (picture1, result.xy1)
        panels = [_draw_outliers(image, xy, result.cluster < 0) for image, xy in pictures]
    are_read = isinstance(picture0, Picture)
    rgb0, rgb1 = (panel.rgb for panel in panels)
    shift = np.array([rgb0.shape[1] + _margin(rgb0.shape[1] + rgb1.shape[1]), 0])

    def place(xy0: Floats, xy1: Floats) -> tuple[Floats, Floats]:
        return panels[0].place(xy0), panels[1].place(xy1) + shift

    points = place(result.xy0, result.xy1)
    outlines = [(found.id, place(found.outline0, found.outline1)) for found in result.objects]
    chosen = [(found.id, choose_frame(found)) for found in result.objects]
    frames = [(number, panels[1].place(frame)) for number, frame in chosen if frame is not None]
    bright = [o for _, (o, _) in outlines], [*(o - shift for _, (_, o) in outlines), *(f for _, f in frames)]
    canvas = _side_by_side((rgb0, rgb1), shift[0], bright if are_read else ([], []))
    unit = max(*rgb0.shape[:2], *rgb1.shape[:2]) / REFERENCE_SIDE
    _draw_lines(canvas, result, points, max(round(unit), 1))
    for found in result.objects:
        for xy in points:
            for point in xy[result.cluster == found.id]:
                opencv.draw_disc(canvas, point, 2.2 * unit, colour(found.id))
    panel1 = canvas[: len(rgb1), shift[0] :]  # a frame may extend beyond the picture, and is cut off there
    for number, frame in frames:
        draw_frame(panel1, frame, colour(number), unit)
    rejected = [(name, place(*both)) for name, *both in outline_rejected(result)] if explain else []
    for side in (0, 1):
        for _, both in rejected:
            draw_frame(canvas, both[side], GREY, unit)
    for side in (0, 1):
        for number, both in outlines:
            outline_object(canvas, both[side], number, unit)
    differing = list_differences(result) if differences else []
    for both in differing:
        for polygon in place(*both):
            draw_difference(canvas, polygon, unit)
    for side, rgb, left in ((0, rgb0, 0), (1, rgb1, shift[0])):
        labels = [(number, str(number), both[side]) for number, both in outlines]
        labels += [(-1, name, both[side]) for name, both in rejected]
        draw_labels(canvas, labels, (left, 0), (left + rgb.shape[1], len(rgb)), 28 * unit)
    caption = describe_things(result.objects, name_picture(picture0.path), result.things)
    caption += [LEGEND] if differing else [] if are_read else [OUTLIERS]
    return add_caption(canvas, caption if result.objects else [NOTHING], 26 * unit)


def _draw_outliers(image: Picture | NamedImage, xy: Floats, is_outlier: Array) -> Panel:
    """Draw the points (n, 2) of an image that are in no object on a white panel of its shape."""
    if image.width is not None and image.height is not None:
        low, high = np.zeros(2) - 0.5, np.array([image.width, image.height]) - 0.5
    else:
        low, high = (xy.min(axis=0), xy.max(axis=0)) if len(xy) else (np.zeros(2), np.ones(2))
        margin = BLANK_MARGIN * max(float((high - low).max()), 1.0)
        low, high = low - margin, high + margin
    factor = REFERENCE_SIDE / (high - low).max()
    width, height = np.ceil((high - low) * factor).astype(int).clip(REFERENCE_SIDE // 16)
    panel = Panel(np.full((height, width, 3), 255, np.uint8), np.full(2, factor), low + 0.5)
    for point in panel.place(xy[is_outlier]):
        opencv.draw_disc(panel.rgb, point, 2.2, GREY)
    return panel


def draw_repeats(
    picture: Picture, result: MatchResult, *, explain: bool = False, differences: bool = True
) -> Bytes:
    """Draw the things that a picture shows more than once, with numbered places -> (h, w, 3) uint8."""
    rgb, factors = reduce(picture.displayed, fit_canvas(picture.width, picture.height))
    unit = max(rgb.shape[:2]) / REFERENCE_SIDE
    places = [
        (
            thing.number,
            thing.name_place(k) + (" alike" if k in thing.alike else ""),
            zoom(np.asarray(place), factors),
        )
        for thing in result.things
        for k, place in enumerate(thing.places)
    ]
    canvas = fade_outside(rgb, [outline for *_, outline in places]) if places else rgb.copy()
    for found in result.objects:
        for end in (found.points0, found.points1):
            for point in zoom(end, factors):
                opencv.draw_disc(canvas, point, 2.2 * unit, colour(found.thing))
    for number, _, outline in places:
        outline_object(canvas, outline, number, unit)
    differing = list_differences(result) if differences else []
    for both in differing:
        for polygon in both:
            draw_difference(canvas, zoom(polygon, factors), unit)
    groups = outline_rejected(result)[: MAX_REJECTED // 2] if explain else []  # each group has two places
    rejected = [(-1, name, zoom(outline, factors)) for name, *both in groups for outline in both]
    for _, _, outline in rejected:
        draw_frame(canvas, outline, GREY, unit)
    draw_labels(canvas, [*places, *rejected], (0, 0), rgb.shape[1::-1], 28 * unit)
    caption = [LEGEND] * bool(differing) if places else [NOTHING_TWICE]
    return add_caption(canvas, caption, 26 * unit)


def outline_object(canvas: Bytes, outline: Floats, number: int, unit: float) -> None:
    """Outline an object in its colour, with a dark rim, in place: canvas (h, w, 3) uint8; outline (k, 2)."""
    opencv.draw_polygon(canvas, outline, BLACK, max(round(5 * unit), 3))
    opencv.draw_polygon(canvas, outline, colour(number), max(round(3 * unit), 1))


def list_differences(result: MatchResult) -> list[tuple[Floats, Floats]]:
    """List the outlines of all differences in both pictures, (k, 2) each."""
    return [(one.polygon0, one.polygon1) for found in result.objects for one in found.differences]


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


def outline_rejected(result: MatchResult) -> list[tuple[str, Floats, Floats]]:
    """List the names of the largest rejected groups, at most MAX_REJECTED, and their hulls in both pictures.

    A name has the number of the group in the table of rejected groups, and the step.
    """
    return [
        (f"rejected {k}: {item.step}", opencv.convex_hull(item.points0), opencv.convex_hull(item.points1))
        for k, item in enumerate(result.rejected[:MAX_REJECTED])
    ]


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


def draw_labels(
    canvas: Bytes,
    outlines: Sequence[tuple[int, str, Floats]],
    low: tuple[float, float],
    high: tuple[float, float],
    size: float,
) -> None:
    """Write names at outlines on canvas (h, w, 3) uint8, the largest first, so that small ones move aside."""
    order = sorted(outlines, key=lambda item: -float(np.prod(np.ptp(item[2], axis=0))))
    sizes = [label_size(text, size) for _, text, _ in order]
    centres = place_labels([outline for *_, outline in order], sizes, low, high)
    for (number, text, _), centre in zip(order, centres, strict=True):
        if centre is not None:
            draw_label(canvas, text, centre, colour(number), size)


def canvas_factor(shape0: tuple[int, ...], shape1: tuple[int, ...]) -> float:
    """Find the factor, at most 1, by which two pictures are reduced so that their drawing stays in bounds."""
    width = shape0[1] + shape1[1]
    return fit_canvas(width + _margin(width), max(shape0[0], shape1[0]))


def fit_canvas(width: int, height: int) -> float:
    """Find the factor, at most 1, by which a drawing is reduced to stay in bounds."""
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


def spread(xy: Floats, max_points: int) -> Ints:
    """Choose points that are far apart, each the farthest from those chosen before: xy (n, 2) -> (k,)."""
    if len(xy) <= max_points:
        return np.arange(len(xy))
    chosen = [int(np.linalg.norm(xy - xy.mean(axis=0), axis=1).argmin())]
    gap = np.full(len(xy), np.inf)
    for _ in range(max_points - 1):
        gap = np.minimum(gap, np.linalg.norm(xy - xy[chosen[-1]], axis=1))
        chosen.append(int(gap.argmax()))
    return np.array(chosen)


def fade(rgb: Bytes, strength: float) -> Bytes:
    """Fade a picture (h, w, 3) uint8: halfway to its grey values, then `strength` of the way to mid grey."""
    keep = (1 - strength) / 2
    return opencv.mix_channels(rgb, np.eye(3) * keep + keep / 3, MID_GREY * strength)


def _draw_lines(canvas: Bytes, result: MatchResult, points: tuple[Floats, Floats], thickness: int) -> None:
    """Draw translucent lines across in place."""
    xy0, xy1 = points
    lines = []
    for found in result.objects:
        rows = np.flatnonzero(result.cluster == found.id)
        chosen = rows[spread(result.xy0[rows], MAX_LINES)]
        lines += [(xy0[i], xy1[i], colour(found.id)) for i in chosen]
    lined = canvas.copy()
    for start, end, tint in lines:
        opencv.draw_line(lined, start, end, tint, thickness)
    canvas[:] = opencv.blend(canvas, lined, LINE_OPACITY)


def reduce(rgb: Bytes, factor: float) -> tuple[Bytes, Floats]:
    """Make a picture smaller: rgb (h, w, 3) uint8 -> rgb (h1, w1, 3) uint8, factors (2,)."""
    if factor == 1:
        return rgb, np.ones(2)
    height, width = (max(round(n * factor), 1) for n in rgb.shape[:2])
    return opencv.resize_area(rgb, width, height), np.array([width, height]) / rgb.shape[1::-1]


def zoom(xy: Floats, factors: Floats) -> Floats:
    """Convert pixels of a picture to those of a smaller one: xy (n, 2); factors (2,) -> (n, 2)."""
    return xy if (factors == 1).all() else (xy + 0.5) * factors - 0.5


def _margin(width: int) -> int:
    """Find the number of pixels between two pictures with a total width of `width`."""
    return max(width, 100) // 100


def find_part(
    outline: Floats, size: tuple[int, int], share: float, rim: int
) -> tuple[Array, tuple[slice, slice]]:
    """Find the part of a picture (width, height) around an outline (k, 2) -> its first pixel, its slices."""
    low, high = outline.min(axis=0), outline.max(axis=0)
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


def _side_by_side(
    pictures: tuple[Bytes, Bytes], shift: int, outlines: tuple[Sequence[Floats], Sequence[Floats]]
) -> Bytes:
    """Make a canvas of both pictures, faded outside their outlines, the second one `shift` pixels right."""
    rgb0, rgb1 = pictures
    canvas = np.full((max(len(rgb0), len(rgb1)), shift + rgb1.shape[1], 3), 255, np.uint8)
    for rgb, x, bright in zip(pictures, (0, shift), outlines, strict=True):
        place = canvas[: len(rgb), x : x + rgb.shape[1]]
        place[:] = fade_outside(rgb, bright) if bright else rgb
    return canvas
