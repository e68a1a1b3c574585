"""Both pictures on one grid around the matches of an object, registered and equally sharp.

The *base* is the picture in which the object is smaller, so that the answer is the same if the pictures are
swapped. The grid is regular in the base, and the object's smooth map takes it to the other picture. Pictures
are registered on a fine grid of the hull, and compared on the *map*, which has every second pixel of it and a
margin around.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from matching._common import opencv
from matching._common.arrays import find_box
from matching._common.once import once
from matching._common.types import Array, Bools, Float32s, Floats, Ints
from matching.agreement.registration import equalise_sharpness, register
from matching.objects.deformation import SmoothMap, fit_smooth_map
from matching.objects.transforms import fit_transform, transform_errors

# Grid pixels along the longer side of the hull, at most. At 320, registration and windows follow chance
# farther; at 128, optical flow has too much freedom.
MAX_GRID_SIDE = 256
# Times its width: a longer hull has as fine a grid as one of this length. Without it, agreement confirms two
# of 11 true overlaps of tiles that are 26 to 38 px wide, with it eight.
MAX_LENGTH = 4.0
# Pixels of the base per grid pixel, at least. Small objects are enlarged, so that they have more windows.
MIN_PITCH = 0.5
# Pixels of the map around the hull: windows that are displaced lie within it.
NEAR_MARGIN = 16
# Sizes of the hull by which a wide map extends beyond it, for the search of where the object ends ...
MARGIN = 0.35
MAX_MARGIN = 1.0  # ... and by which it extends at most, to show the rest of picture 0
# Grid pixels around the hull that are registered with it: three times what registration moves.
BORDER = 18
MIN_GRID_SIDE = 80  # grid pixels, so that windows that are displaced lie on it
# An object is flat if this share of its matches is within so many pixels of a homography, of the base or of
# the grid, whichever are finer: registration does the rest. That saves a third of the time; of 82 altered
# prints, 77 are told either way.
FLAT_QUANTILE, MAX_FLAT_ERROR = 0.9, 2.0
MAP_STEP = 2  # grid pixels per pixel of the map, because registration is good to about one of them
COARSE = 6  # pixels between those for which a smooth map is evaluated; those between are interpolated

# Matches that the map is fitted to, which limits the work: the flow corrects what is left.
MAX_FITTED = 150


@dataclass(frozen=True, eq=False)
class Ends:
    """One end of the matches of an object.

    Parameters
    ----------
    image : (h, w, 3) uint8
        The picture, RGB.
    xy : (m, 2) float64
        The points of the matches, pixels.
    shown : (h, w) bool or None
        Where the picture shows anything; None for everywhere.
    """

    image: Array
    xy: Floats
    shown: Bools | None = None


@dataclass(frozen=True, eq=False)
class Grid:
    """Two pictures on the map of one object.

    Parameters
    ----------
    base, other : (h, w, 3) float32
        Colours of both pictures, registered, as sharp as they are.
    grey0, grey1 : (h, w) float32
        Grey values of base and other, equally sharp.
    seen : (h, w) bool
        Where both pictures show something.
    hull : (h, w) bool
        Inside the convex hull of the matches.
    points : (m, 2) float64
        The matches in the base, pixels of the map.
    xy_base, xy_other : (h, w, 2) float32
        Where the pixels of the map lie in the base and the other picture, pixels.
    flow : (h1, w1, 2) float32
        By how much registration moves the hull and its BORDER in the other picture, pixels of the map.
    blurs : pair of float
        By how much base and other are blurred to be equally sharp, standard deviations in pixels of the map.
    """

    base: Float32s
    other: Float32s
    grey0: Float32s
    grey1: Float32s
    seen: Bools
    hull: Bools
    points: Floats
    xy_base: Float32s
    xy_other: Float32s
    flow: Float32s
    blurs: tuple[float, float] = (0.0, 0.0)

    def to_map(self, xy: Floats) -> Floats:
        """Points (n, 2) of the base, in pixels of the map."""
        first, last = self.xy_base[[0, -1], [0, -1]].astype(float)
        return np.asarray((xy - first) * (np.array(self.seen.shape[::-1]) - 1) / (last - first))


def choose_base(ends0: Ends, ends1: Ends) -> bool:
    """Whether picture 1 is the base: its hull is smaller, or it comes first by its bytes."""
    areas = [opencv.polygon_area(opencv.convex_hull(ends.xy)) for ends in (ends0, ends1)]
    if areas[0] != areas[1]:
        return areas[1] < areas[0]
    return ends1.xy.tobytes() < ends0.xy.tobytes()


def measure_ratio(base: Ends, other: Ends) -> float:
    """Pixels of the other picture per pixel of the base."""
    return math.sqrt(_measure_area(other) / _measure_area(base))


def count_places(base: Ends, other: Ends) -> float:
    """How many pairs of places as large as the hulls of the matches both pictures have."""
    n_pixels = [float(np.prod(ends.image.shape[:2])) for ends in (base, other)]
    return n_pixels[0] / _measure_area(base) * n_pixels[1] / _measure_area(other)


def measure_filled(base: Ends, other: Ends) -> float:
    """The share of a picture that the hull of the matches fills, of the picture where it is larger."""
    return max(_measure_area(ends) / float(np.prod(ends.image.shape[:2])) for ends in (base, other))


def _measure_area(ends: Ends) -> float:
    """Square pixels of the hull of the matches, at least one."""
    return max(opencv.polygon_area(opencv.convex_hull(ends.xy)), 1.0)


def fit_map(base: Ends, other: Ends, tolerance: float) -> SmoothMap:
    """The smooth map of an object from the base to the other picture; tolerance in pixels of the other."""
    step = -(-len(base.xy) // MAX_FITTED)
    source, target = base.xy[::step], other.xy[::step]
    transform, _ = fit_transform(source, target, tolerance)
    errors = transform_errors(transform, source, target)
    bound = MAX_FLAT_ERROR * min(_choose_pitch(base), 1.0) * measure_ratio(base, other)
    if np.quantile(errors, FLAT_QUANTILE) <= bound:
        return SmoothMap(transform, math.inf, float(np.median(errors)), float(np.median(errors)))
    return fit_smooth_map(source, target, transform)


def _choose_pitch(base: Ends) -> float:
    """Pixels of the base per grid pixel."""
    return max(MIN_PITCH, _measure_size(base) / MAX_GRID_SIDE)


def _measure_size(base: Ends) -> float:
    """The length of the hull of the matches, pixels; MAX_LENGTH widths if it is longer."""
    short, long = np.sort(np.ptp(base.xy, axis=0)).tolist()
    return float(min(long, MAX_LENGTH * short))


def lay_grid(
    base: Ends,
    other: Ends,
    smooth_map: SmoothMap,
    frame: Floats | None = None,
    near: Grid | None = None,
) -> Grid:
    """Take both pictures to one map around the hull of the matches, and register them.

    With the map `near` the hull, a wide map around it is laid, to show where the object ends and what lies in
    the frame (4, 2) of picture 0 in the base, if it is known.
    """
    ratio, pitch, step = measure_ratio(base, other), _choose_pitch(base), MAP_STEP
    margins = np.full((2, 2), NEAR_MARGIN) if near is None else _choose_margins(base, frame, pitch * step)
    low, low_fine = (base.xy.min(axis=0) - pitch * border for border in (step * margins[0], BORDER))
    size = np.maximum(np.rint(np.ptp(base.xy, axis=0) / pitch + 2 * BORDER), MIN_GRID_SIDE)
    inner_width, inner_height = (-(-size.astype(int) // step)).tolist()
    left, top = (margins[0] - BORDER // step).tolist()
    width, height = (
        np.array([inner_width, inner_height]) + margins.sum(axis=0) - 2 * BORDER // step
    ).tolist()
    inner = np.s_[top : top + inner_height, left : left + inner_width]
    xy_base = list_places(low, pitch, step, (height, width))
    xy_other = evaluate_map(smooth_map, xy_base)
    fine0, fine1 = cut_level(base.image, xy_base, pitch), cut_level(other.image, xy_other, pitch * ratio)
    coarse0, coarse1 = fine0.reduce(step * min(pitch, 1)), fine1.reduce(step * min(pitch * ratio, 1))
    colours0 = coarse0.sample(xy_base)
    # What lies outside the hull would lead the flow inside astray.
    if near is None:
        xy_fine = list_places(low_fine, pitch, 1, (inner_height * step, inner_width * step))
        greys = fine0.grey.sample(xy_fine), fine1.grey.sample(evaluate_map(smooth_map, xy_fine))
        inner_flow: Float32s = register(*greys)[::step, ::step] / np.float32(step)
        around = (top, height - top - inner_height), (left, width - left - inner_width)
        flow: Float32s = np.pad(inner_flow, (*around, (0, 0)), "edge")
    else:
        inner_flow = near.flow
        flow = register(to_grey(colours0), coarse1.grey.sample(xy_other), step)
        flow[inner] = inner_flow
    xy_other = move(xy_other, flow)
    colours1 = coarse1.sample(xy_other)
    points = ((base.xy - low) / pitch - 0.5) / step
    hull = opencv.fill_polygons((height, width), [opencv.convex_hull(points)])
    seen = find_seen(base, xy_base) & find_seen(other, xy_other)
    grey0, grey1, blurs = equalise_sharpness(to_grey(colours0), to_grey(colours1), hull & seen)
    return Grid(colours0, colours1, grey0, grey1, seen, hull, points, xy_base, xy_other, inner_flow, blurs)


def _choose_margins(base: Ends, frame: Floats | None, pitch: float) -> Ints:
    """By how many pixels a wide map extends beyond the hull, low and high in x and y (2, 2)."""
    size, margins = _measure_size(base), np.zeros((2, 2))
    if frame is not None:
        within = np.clip(find_box(frame), 0, base.image.shape[1::-1])
        margins = (within - find_box(base.xy)) * [[-1], [1]]
    margins = np.clip(margins, MARGIN * size, MAX_MARGIN * size) / pitch
    return np.asarray(np.ceil(margins).astype(int) + BORDER // MAP_STEP)


def move(xy: Float32s, flow: Float32s) -> Float32s:
    """Places (h, w, 2) where the flow, pixels, leads."""
    rows, columns = np.indices(flow.shape[:2], np.float32)
    moved: Float32s = opencv.sample_linear(xy, np.stack([columns, rows], axis=2) + flow)
    return moved


def list_places(low: Floats, pitch: float, step: int, shape: tuple[int, int]) -> Float32s:
    """Where every `step`-th pixel of a grid lies in the base (h, w, 2)."""
    rows, columns = np.indices(shape)
    places: Float32s = (low + (step * np.stack([columns, rows], axis=2) + 0.5) * pitch).astype(np.float32)
    return places


def evaluate_map(smooth_map: SmoothMap, xy: Float32s) -> Float32s:
    """The smooth map at the pixels of a grid (h, w, 2), interpolated between every COARSE-th."""
    height, width = xy.shape[:2]
    n_rows, n_columns = height // COARSE + 2, width // COARSE + 2
    (left, top), (right, bottom) = xy[0, 0].tolist(), xy[-1, -1].tolist()
    x, y = np.linspace(left, right, n_columns), np.linspace(top, bottom, n_rows)
    coarse = smooth_map(np.stack(np.meshgrid(x, y), axis=2).reshape(-1, 2)).reshape(n_rows, n_columns, 2)
    at = np.meshgrid(np.linspace(0, n_columns - 1, width), np.linspace(0, n_rows - 1, height))
    return opencv.sample_linear(coarse.astype(np.float32), np.stack(at, axis=2))


@dataclass(frozen=True, eq=False)
class Level:
    """A part of a picture, reduced: part (h, w[, 3]); pixel x of the picture is scale x + shift of it."""

    part: Array
    scale: Floats
    shift: Floats

    @once
    def values(self) -> Float32s:
        """The part as float32, which is sampled without rounding."""
        return self.part.astype(np.float32)

    @property
    def grey(self) -> Level:
        """The same in grey, which is sampled in a third of the time."""
        return replace(self, part=to_grey(self.values))

    def sample(self, xy: Float32s) -> Float32s:
        """Colours (h, w[, 3]) at pixels of the picture (h, w, 2)."""
        xy = xy * self.scale.astype(np.float32) + self.shift.astype(np.float32)
        return opencv.sample_linear(self.values, xy)

    def reduce(self, zoom: float) -> Level:
        """The same with pixels that are `zoom` times as wide; not enlarged."""
        if zoom <= 1:
            return self
        size = np.array(self.part.shape[1::-1])
        small = np.maximum(np.rint(size / zoom), 1)
        part, scale = opencv.resize_area(self.part, *small.astype(int).tolist()), small / size
        return Level(part, self.scale * scale, (self.shift + 0.5) * scale - 0.5)


def cut_level(image: Array, xy: Float32s, zoom: float) -> Level:
    """The part of a picture (h, w, 3) that holds pixels (h, w, 2) which are about `zoom` apart."""
    size = np.array(image.shape[1::-1])
    reach = math.ceil(2 * max(zoom, 1.0))
    corners = np.array([[f(xy[..., 0]), f(xy[..., 1])] for f in (np.min, np.max)])
    low = np.clip(np.floor(corners[0]) - reach, 0, size - 1).astype(int)
    high = np.clip(np.ceil(corners[1]) + reach + 1, low + 1, size).astype(int)
    part = np.ascontiguousarray(image[low[1] : high[1], low[0] : high[0]])
    return Level(part, np.ones(2), -low.astype(float)).reduce(zoom)


def to_grey(colours: Float32s) -> Float32s:
    """The mean of the channels (h, w)."""
    grey: Float32s = (colours[..., 0] + colours[..., 1] + colours[..., 2]) / np.float32(3)
    return grey


def find_seen(ends: Ends, xy: Float32s | Floats) -> Bools:
    """Where a picture shows something at pixels (..., 2) -> (...)."""
    x, y = np.moveaxis(xy, -1, 0)
    height, width = ends.image.shape[:2]
    inside = (x > -0.5) & (x < width - 0.5) & (y > -0.5) & (y < height - 0.5)
    if ends.shown is not None:
        columns, rows = (np.rint(np.where(inside, v, 0)).astype(int) for v in (x, y))
        inside &= ends.shown[rows, columns]
    return np.asarray(inside)
