"""Drawings of one object: its matches, the object warped onto the other picture, and cut out of both."""

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from matching._common import opencv
from matching._common.types import Array, Bools, Bytes, Floats
from matching.correspondences.points import spread_out
from matching.drivers.result import Result
from matching.objects.deformation import Deformation, SmoothMap
from matching.objects.description import MatchedObject
from matching.output.figures import drawing
from matching.output.figures.lettering import draw_label
from matching.pictures.images import Picture

MAX_NODES = 100  # exact values of the map along the longer side of an object; a cubic spline fills the gaps
MARGIN = 0.25  # share of an object's size that is shown around it, so that its surroundings can be compared
CROP_MARGIN = 0.05  # the same of a crop: space around the outline through the outermost matches
MIN_RIM = 8  # pixels that are shown around any object
MAX_PICKS = 24  # numbered matches
MIN_SIDE, MAX_SIDE = 640, 1600  # bounds of the longer side of a cut-out, in pixels
BACKGROUND_FADE = 0.35  # share of the way from the surroundings' colours to mid grey
FILES = re.compile(r"object(\d+)-(?:picks|warp01|warp10|crop0|crop1)\.png")
GREY = 128  # where a picture that is laid over another one shows nothing
N_SQUARES = 6  # squares of the checkerboard along the longer side of an object


def draw_warps(
    picture0: Picture, picture1: Picture, found: MatchedObject, deformation: Deformation
) -> dict[str, Bytes]:
    """Draw one object warped each way onto the other picture, by file name."""
    shown = picture0.displayed, picture1.displayed
    maps = deformation.forward, deformation.backward
    return {
        f"object{found.id}-warp{1 - side}{side}": draw_warp(
            shown[1 - side], shown[side], maps[side], found, side
        )
        for side in (1, 0)
    }


def crop_files(pictures: Sequence[Picture], objects: Sequence[MatchedObject]) -> Iterator[tuple[str, bytes]]:
    """Cut each object out of both pictures: the names and contents of the files."""
    for found in objects:
        for k, (picture, outline) in enumerate(zip(pictures, (found.outline0, found.outline1), strict=True)):
            _, part = drawing.find_part(outline, (picture.width, picture.height), CROP_MARGIN, 1)
            pixels = picture.rgb[part]
            if picture.transparent is not None:
                pixels = np.dstack([pixels, np.where(picture.transparent[part], 0, 255).astype(np.uint8)])
            yield f"object{found.id}-crop{k}.png", opencv.encode_png(pixels)


def draw_picks(rgb0: Bytes, rgb1: Bytes, result: Result, found: MatchedObject) -> Bytes:
    """Draw an object cut out of pictures (h, w, 3) side by side, at equal heights, with numbered matches."""
    rows = np.flatnonzero(result.cluster == found.id)
    picked = rows[spread_out(result.xy0[rows], MAX_PICKS)]
    outlines = found.outline0, found.outline1
    cuts = [_cut_out(rgb, outline) for rgb, outline in zip((rgb0, rgb1), outlines, strict=True)]
    height = min(max(MIN_SIDE, *(len(cut) for _, cut in cuts)), MAX_SIDE)
    across = sum(cut.shape[1] / len(cut) for _, cut in cuts)  # total width of both panels, in heights
    height = max(int(min(height, math.sqrt(drawing.CANVAS_PIXELS / across), drawing.CANVAS_SIDE / across)), 1)
    unit = height / MIN_SIDE
    panels = []
    for (corner, cut), xy, outline in zip(cuts, (result.xy0, result.xy1), outlines, strict=True):
        enlarged = drawing.make_panel(cut, height / len(cut), corner)
        edge = enlarged.place(outline)
        panel = drawing.fade_outside(enlarged.rgb, [edge], BACKGROUND_FADE)
        drawing.outline_object(panel, edge, found.id, max(unit, 0.5))
        for place in enlarged.place(xy[rows]):
            opencv.draw_disc(panel, place, 2 * unit, drawing.colour(found.id))
        for number, place in enumerate(enlarged.place(xy[picked]), start=1):
            draw_label(panel, str(number), place, drawing.colour(found.id), 12 * unit)
        panels.append(panel)
    return join_panels(panels)


def draw_warp(source: Bytes, target: Bytes, to_source: SmoothMap, found: MatchedObject, side: int) -> Bytes:
    """Draw an object of one picture (h, w, 3) warped onto the other, which is picture `side`."""
    outline = (found.outline0, found.outline1)[side]
    laid = lay_over(source, target, to_source, outline)
    outline = laid.place(outline)
    inside = opencv.fill_polygons(laid.rgb.shape[:2], [outline])
    board = _checkerboard(outline, inside.shape)
    unit = max(len(inside) / drawing.REFERENCE_SIDE, 0.5)
    panels = []
    for shown in (np.zeros_like(inside), inside & laid.is_seen, inside & laid.is_seen & board):
        panel = np.where(shown[:, :, None], laid.warped, laid.rgb)
        panel[~inside] = drawing.fade(panel, BACKGROUND_FADE)[~inside]
        drawing.outline_object(panel, outline, found.id, unit)
        for one in found.differences:
            drawing.draw_difference(panel, laid.place((one.polygon0, one.polygon1)[side]), unit)
        panels.append(panel)
    return join_panels(panels)


@dataclass(frozen=True, eq=False, kw_only=True)
class Overlay(drawing.Panel):
    """A part of one picture around an object, and the other picture warped onto it, pixel by pixel."""

    warped: Bytes  # (h, w, 3)
    is_seen: Bools  # (h, w): where the other picture shows something

    @property
    def shown(self) -> Bytes:
        """The other picture (h, w, 3), grey where it shows nothing."""
        return np.where(self.is_seen[:, :, None], self.warped, np.uint8(GREY))


def lay_over(
    source: Bytes,
    target: Bytes,
    to_source: SmoothMap,
    outline: Floats,
    margin: float = MARGIN,
    zoom: float | None = None,
) -> Overlay:
    """Warp a picture (h, w, 3) onto an object in another one; see `show_part`."""
    part = show_part(target, outline, margin, zoom)
    warped, is_seen = warp_object(
        source,
        lambda xy: to_source((xy + 0.5) / part.factors - 0.5 + part.corner),
        part.rgb.shape[:2],
    )
    return Overlay(part.rgb, part.factors, part.corner, warped=warped, is_seen=is_seen)


def show_part(
    rgb: Bytes, outline: Floats, margin: float = MARGIN, zoom: float | None = None
) -> drawing.Panel:
    """Show the part of a picture around an outline (k, 2), with a margin in sizes of it.

    It is enlarged `zoom` times, by default to MIN_SIDE or more, but to no more than MAX_SIDE.
    """
    corner, cut = _cut_out(rgb, outline, margin)
    longest = max(cut.shape[:2])
    return drawing.make_panel(cut, min(zoom or max(MIN_SIDE / longest, 1), MAX_SIDE / longest), corner)


def warp_object(
    source: Bytes, to_source: Callable[[Floats], Floats], shape: tuple[int, int]
) -> tuple[Bytes, Bools]:
    """Warp a picture onto the other one -> warped (h, w, 3), and where it shows something (h, w)."""
    step = _measure_step(to_source, (np.array(shape[::-1]) - 1) / 2)
    reduced = drawing.make_panel(source, 1 / step if step > 1.5 else 1.0)
    xy = reduced.place(_map_pixels(to_source, shape))
    size = np.array(reduced.rgb.shape[1::-1])
    # OpenCV takes only so large a source: cut out what is needed
    low = np.clip(np.floor(xy.min(axis=(0, 1))) - 2, 0, size - 1).astype(int)
    high = np.clip(np.ceil(xy.max(axis=(0, 1))) + 3, low + 1, size).astype(int)
    warped = opencv.sample(reduced.rgb[low[1] : high[1], low[0] : high[0]], xy - low)
    return warped, np.asarray(((xy >= -0.5) & (xy <= size - 0.5)).all(axis=2))


def _map_pixels(to_source: Callable[[Floats], Floats], shape: tuple[int, int]) -> Floats:
    """Map the pixels of a target (h, w) to the source by a spline through exact values -> (h, w, 2)."""
    from scipy.interpolate import RectBivariateSpline  # a slow import that most runs don't need

    step = max(max(shape) / MAX_NODES, 1.0)
    y, x = (np.arange(-1, n / step + 2) * step for n in shape)
    nodes = np.stack(np.meshgrid(x, y), axis=-1)
    grid = to_source(nodes.reshape(-1, 2)).reshape(nodes.shape)
    rows, columns = (np.arange(n) for n in shape)
    return np.stack([RectBivariateSpline(y, x, grid[:, :, k])(rows, columns) for k in range(2)], axis=-1)


def _measure_step(to_source: Callable[[Floats], Floats], middle: Floats) -> float:
    """Measure the pixels of the source per pixel of the target around its middle (2,)."""
    centre, right, below = to_source(middle + np.array([[0, 0], [1, 0], [0, 1]]))
    return float(np.sqrt(abs(np.linalg.det([right - centre, below - centre]))))


def _cut_out(rgb: Bytes, outline: Floats, margin: float = MARGIN) -> tuple[Array, Bytes]:
    """Cut out the part of a picture around an object -> its top-left pixel (x, y), the part."""
    start, part = drawing.find_part(outline, rgb.shape[1::-1], margin, MIN_RIM)
    return start, rgb[part]


def _checkerboard(outline: Floats, shape: tuple[int, int]) -> Bools:
    """Make a checkerboard whose squares fit an outline (k, 2) -> (h, w) bool."""
    side = max(np.ptp(outline, axis=0).max() / N_SQUARES, 1.0)
    low = outline.min(axis=0)
    x, y = (np.floor((np.arange(n) - c) / side).astype(int) for n, c in zip(shape[::-1], low, strict=True))
    return np.asarray((x[None, :] + y[:, None]) % 2 == 0)


def join_panels(panels: Sequence[Bytes]) -> Bytes:
    """Put panels of equal height side by side, with gaps between them."""
    gap = np.full((len(panels[0]), max(len(panels[0]) // 50, 4), 3), GREY, np.uint8)
    row = [part for panel in panels for part in (panel, gap)][:-1]
    return np.concatenate(row, axis=1)
