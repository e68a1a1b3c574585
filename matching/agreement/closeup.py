"""Both pictures of one object at the pixels of the coarser one, registered, to see what differs.

The base and the smooth map are those of `matching.agreement.grid`. What the map leaves is registered by
optical flow that varies so slowly that it can't turn one print into another.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from matching._common import opencv
from matching._common.arrays import find_box
from matching._common.types import Bools, Float32s, Floats
from matching.agreement.grid import (
    Ends,
    cut_level,
    evaluate_map,
    find_seen,
    list_places,
    measure_ratio,
    move,
    to_grey,
)
from matching.agreement.registration import CONTRAST_WINDOW, MIN_SIDE, drop_wild, normalise, register
from matching.objects.deformation import SmoothMap
from matching.objects.frames import list_corners, polygon_area
from matching.objects.transforms import apply_transform

MAX_SIDE = 2048  # pixels along the longer side: an A4 page has 175 dpi, and its digits 15 pixels
MARGIN = 0.08  # of the size of the object, shown around it for registration
MIN_FILLED = 0.5  # of a picture: an object that fills more belongs to all of its frame
MAX_OFF_FRAME = 0.03  # of the diagonal by which the corners of one picture lie off those of the other
COARSE_SIDE = 256  # pixels along the longer side, for the first registration of what bends
# Pixels by which the last registration moves flat prints, and those that bend.
MAX_FLAT_MOVE, MAX_BENT_MOVE = 1.5, 4.0
SMOOTHNESS = 16.0  # pixels, standard deviation
TEXTURE = 4.0  # pixels, standard deviation of the window whose texture says how much its flow counts
# Share of the texture that is off by more than so many pixels after registration: two views of a motorcycle
# have 0.18 and 0.5, of a board 0.1.
MAX_LOOSE, MAX_OFF = 0.15, 2.0
BORDER = 15  # pixels along the border of what both show, whose flow does not count


@dataclass(frozen=True, eq=False)
class Closeup:
    """Two registered pictures.

    Parameters
    ----------
    base, other : (h, w, 3) float32
        Their colours.
    seen : (h, w) bool
        Where both show something.
    matched : (h, w) bool
        Where both show the object between its matches, or in its outline: what tells of light and noise.
    use : (h, w) bool
        The same, and the frames of which it is all: what is compared.
    between : (h, w) bool
        Where both show what lies between its matches.
    surroundings : (h, w) bool
        Where something else than the object may be seen.
    xy_base, xy_other : (h, w, 2) float32
        Where the pixels lie in either picture, pixels.
    pitch : float
        Pixels of the base per pixel.
    is_loose : bool
        Whether parts of what bends are off, as those of solid things seen from two sides.
    """

    base: Float32s
    other: Float32s
    seen: Bools
    matched: Bools
    use: Bools
    between: Bools
    surroundings: Bools
    xy_base: Float32s
    xy_other: Float32s
    pitch: float
    is_loose: bool


def take_closeup(
    base: Ends, other: Ends, smooth_map: SmoothMap, outline: Floats, *, is_largest: bool
) -> Closeup:
    """Register both pictures of an object with an outline (k, 2) in the base.

    The largest object has all of the frame where that of both pictures coincides.
    """
    is_flat = math.isinf(smooth_map.smoothing)
    outlines = [opencv.convex_hull(base.xy), *([] if outline is base.xy else [outline])]
    frames, coincide = list[Floats](), False
    if is_flat:
        frames, coincide = _list_frames(base, other, smooth_map, outline, is_largest=is_largest)
    xy = np.concatenate([*outlines, *frames])
    last = np.array(base.image.shape[1::-1]) - 0.5
    margin = MARGIN * float(np.ptp(xy, axis=0).max())
    low, high = np.clip(find_box(xy, margin), -0.5, last)
    ratio = measure_ratio(base, other)
    pitch = max(1.0, 1 / ratio, float((high - low).max()) / MAX_SIDE)
    width, height = np.maximum(np.rint((high - low) / pitch), MIN_SIDE).astype(int).tolist()
    xy_base = list_places(low, pitch, 1, (height, width))
    xy_other = evaluate_map(smooth_map, xy_base)
    colours = cut_level(base.image, xy_base, pitch).sample(xy_base)
    level = cut_level(other.image, xy_other, pitch * ratio)
    seen = find_seen(base, xy_base) & find_seen(other, xy_other)
    if not is_flat:
        xy_other = move(xy_other, _flow_coarsely(colours, level.sample(xy_other), seen))
    limit = MAX_FLAT_MOVE if is_flat else MAX_BENT_MOVE
    flow, texture, off = _flow_finely(colours, level.sample(xy_other), seen, limit)
    xy_other = move(xy_other, flow)
    seen = find_seen(base, xy_base) & find_seen(other, xy_other)
    between, matched, wide = (
        seen & opencv.fill_polygons(seen.shape, [(polygon - low) / pitch - 0.5 for polygon in polygons])
        for polygons in (outlines[:1], outlines, frames)
    )
    other_colours = level.sample(xy_other)
    use = matched | wide
    surroundings = seen & ~use
    if (
        frames and not coincide
    ):  # a picture may show ground around the object, and the other one its surroundings
        surroundings = np.pad(~use[1:-1, 1:-1], 1, constant_values=True)
    texture = texture * matched
    is_loose = not is_flat and (texture * (off > MAX_OFF)).sum() > MAX_LOOSE * texture.sum()
    return Closeup(
        colours,
        other_colours,
        seen,
        matched,
        use,
        between,
        surroundings,
        xy_base,
        xy_other,
        pitch,
        bool(is_loose),
    )


def _list_frames(
    base: Ends, other: Ends, smooth_map: SmoothMap, outline: Floats, *, is_largest: bool
) -> tuple[list[Floats], bool]:
    """The frames (4, 2) in the base of pictures of which the object is all, cut off at its own frame.

    Also whether they coincide.
    """
    boxes = [np.array([(0, 0), ends.image.shape[1::-1]]) - 0.5 for ends in (base, other)]
    own, corners = (list_corners(box) for box in boxes)
    foreign = apply_transform(np.linalg.inv(smooth_map.base), corners)
    off = np.linalg.norm(foreign - own, axis=1).max()
    coincide = is_largest and off < MAX_OFF_FRAME * math.hypot(*boxes[0][1])
    area = opencv.polygon_area(opencv.convex_hull(np.concatenate([base.xy, outline])))
    frames = [frame for frame in (own, foreign) if coincide or area > MIN_FILLED * polygon_area(frame)]
    return [np.clip(frame, *boxes[0]) for frame in frames], bool(coincide)


def _flow_coarsely(base: Float32s, other: Float32s, seen: Bools) -> Float32s:
    """Flow of what bends (h, w, 2), by some pixels of a coarse grid."""
    height, width = seen.shape
    factor = max(1, math.ceil(max(height, width) / COARSE_SIDE))
    size = max(width // factor, 8), max(height // factor, 8)
    small0, small1 = (opencv.resize_area(to_grey(colours), *size) for colours in (base, other))
    weight = opencv.erode(opencv.resize_area(seen.astype(np.float32), *size) > 0.99, 9).astype(np.float32)
    flow = _smooth(register(small0, small1), weight, 6.0)
    zoom = np.array([width / size[0], height / size[1]], np.float32)
    return opencv.enlarge(flow, width, height) * zoom


def _flow_finely(
    base: Float32s, other: Float32s, seen: Bools, limit: float
) -> tuple[Float32s, Float32s, Float32s]:
    """Flow (h, w, 2) of up to `limit` pixels; also the texture (h, w), and how far its own flow is off."""
    grey0, grey1 = to_grey(base), to_grey(other)
    contrasts = [normalise(grey, CONTRAST_WINDOW) for grey in (grey0, grey1)]
    flow = opencv.optical_flow(*contrasts)
    own = drop_wild(flow)
    texture: Float32s = opencv.coarse_blur(np.abs(opencv.laplacian(grey0)), TEXTURE)
    is_near = opencv.erode(seen, BORDER) & (np.abs(own).max(axis=2) <= 2 * limit)
    flow = np.clip(_smooth(own, (texture + np.float32(0.5)) * is_near, SMOOTHNESS), -limit, limit)
    return flow, texture, np.hypot(*np.moveaxis(own - flow, 2, 0))


def _smooth(flow: Float32s, weight: Float32s, sigma: float) -> Float32s:
    """The weighted mean of the flow (h, w, 2) around each pixel."""
    total = opencv.coarse_blur(weight, sigma)[..., None] + 1e-3
    return np.asarray(opencv.coarse_blur(flow * weight[..., None], sigma) / total, np.float32)
