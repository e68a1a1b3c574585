"""The picture of a result: both images side by side, each object in its own colour."""

from __future__ import annotations

import colorsys
import math

import numpy as np

from matching import _opencv

# Okabe and Ito's colours, told apart with any kind of colour vision, bright ones first, then two of Tol's.
COLOURS = (
    (230, 159, 0),
    (86, 180, 233),
    (0, 158, 115),
    (240, 228, 66),
    (213, 94, 0),
    (204, 121, 167),
    (0, 114, 178),
    (170, 170, 255),
    (187, 204, 51),
)
GOLDEN = (5**0.5 - 1) / 2
FADE = 0.55  # how far the pictures go towards mid grey, so that the colours stand out
MID_GREY = 110
STRIP = 512  # rows of a large canvas drawn at a time
CANVAS_PIXELS = 40_000_000  # of the drawing, which viewers open and a machine with little memory can make
CANVAS_SIDE = 30_000  # pixels; many viewers and graphics libraries end at 32,767
LINES_AN_OBJECT = 30  # lines drawn across; every match has its dot
LINE_STRENGTH = 0.6


def draw_matches(picture0, picture1, result):
    """(h, w, 3) uint8: the two pictures side by side; outlines, a dot for every match, some lines across.

    The pictures are at full size where the drawing then has at most CANVAS_PIXELS pixels and no side longer
    than CANVAS_SIDE, and smaller otherwise. All matches of an object have a dot in its colour in both
    pictures; lines join at most LINES_AN_OBJECT of them, spread over the object, so that hundreds of matches
    can still be read.
    """
    factor = canvas_factor(picture0.rgb.shape, picture1.rgb.shape)
    (rgb0, zoom0), (rgb1, zoom1) = (_reduced(p.rgb, factor) for p in (picture0, picture1))
    canvas, shift = _side_by_side(rgb0, rgb1)
    places = (lambda xy: _zoomed(xy, zoom0)), (lambda xy: _zoomed(xy, zoom1) + shift)
    unit = max(max(rgb0.shape[:2]), max(rgb1.shape[:2])) / 960  # drawing sizes for a 960 pixel picture
    drawn = [place(xy) for place, xy in zip(places, (result.xy0, result.xy1), strict=True)]
    outlines = [
        (found.id, place(outline))
        for found in result.objects
        for place, outline in zip(places, (found.outline0, found.outline1), strict=True)
    ]
    _draw_lines(canvas, result, drawn, max(round(unit), 1))
    for found in result.objects:
        for xy in drawn:
            for point in xy[result.cluster == found.id]:
                _opencv.draw_disc(canvas, point, 2.2 * unit, colour(found.id))
    for number, outline in outlines:
        _opencv.draw_polygon(canvas, outline, (0, 0, 0), max(round(5 * unit), 3))
        _opencv.draw_polygon(canvas, outline, colour(number), max(round(3 * unit), 1))
    for number, outline in outlines:
        centre = (outline.min(axis=0) + outline.max(axis=0)) / 2
        _opencv.draw_label(canvas, str(number), centre, colour(number), (0, 0, 0), 0.8 * unit)
    return canvas


def canvas_factor(shape0: tuple[int, ...], shape1: tuple[int, ...]) -> float:
    """The factor, at most 1, by which two pictures are made smaller so that their drawing stays in bounds.

    The drawing has the larger height and both widths, so pictures of very different shapes need far more
    pixels together than they have.

    >>> canvas_factor((480, 640), (480, 640))
    1.0
    >>> round(canvas_factor((375, 40_000), (40_000, 375)), 2)
    0.16
    """
    width = shape0[1] + shape1[1]
    width, height = width + _margin(width), max(shape0[0], shape1[0])
    return min(1.0, math.sqrt(CANVAS_PIXELS / (width * height)), CANVAS_SIDE / max(width, height))


def colour(number):
    """RGB of the object with this number: COLOURS, then hues that are far from those just before."""
    if number < len(COLOURS):
        return COLOURS[number]
    hue = (0.12 + number * GOLDEN) % 1
    return tuple(round(255 * c) for c in colorsys.hsv_to_rgb(hue, 0.55 + 0.4 * (number % 2), 0.95))


def spread(xy, most):
    """Indices of at most `most` points that are far from each other: each next one is the farthest from
    those before.
    """
    if len(xy) <= most:
        return np.arange(len(xy))
    chosen = [int(np.linalg.norm(xy - xy.mean(axis=0), axis=1).argmin())]
    gap = np.full(len(xy), np.inf)
    for _ in range(most - 1):
        gap = np.minimum(gap, np.linalg.norm(xy - xy[chosen[-1]], axis=1))
        chosen.append(int(gap.argmax()))
    return np.array(chosen)


def faded(rgb, strength=FADE):
    """(h, w, 3) uint8: half way to grey, then `strength` of the way to mid grey."""
    keep = (1 - strength) / 2
    return _opencv.mix_channels(rgb, np.eye(3) * keep + keep / 3, MID_GREY * strength)


def _draw_lines(canvas, result, drawn, thickness):
    """Draw lines across, half transparent, in place and in strips: a copy of a large canvas takes room."""
    xy0, xy1 = drawn
    lines = [(xy0[i], xy1[i], colour(found.id)) for found in result.objects for i in _lined(result, found)]
    for top in range(0, len(canvas), STRIP):
        strip = canvas[top : top + STRIP]
        lined = strip.copy()
        for start, end, tint in lines:
            _opencv.draw_line(lined, start - (0, top), end - (0, top), tint, thickness)
        strip[:] = _opencv.blend(strip, lined, LINE_STRENGTH)


def _lined(result, found):
    own = np.flatnonzero(result.cluster == found.id)
    return own[spread(result.xy0[own], LINES_AN_OBJECT)]


def _reduced(rgb, factor):
    """A picture made smaller by a factor, and the zoom (2,) that this was in x and y."""
    if factor == 1:
        return rgb, np.ones(2)
    height, width = (max(round(n * factor), 1) for n in rgb.shape[:2])
    return _opencv.resize_area(rgb, width, height), np.array([width, height]) / rgb.shape[1::-1]


def _zoomed(xy, zoom):
    """Pixels of a picture as pixels of the smaller one; exactly the same where it is no smaller."""
    return xy if (zoom == 1).all() else (xy + 0.5) * zoom - 0.5


def _margin(width):
    """Pixels between two pictures that are `width` wide together."""
    return max(width, 100) // 100


def _side_by_side(rgb0, rgb1):
    """A canvas with both pictures, faded, and the shift (2,) of the second."""
    shift = rgb0.shape[1] + _margin(rgb0.shape[1] + rgb1.shape[1])
    canvas = np.full((max(len(rgb0), len(rgb1)), shift + rgb1.shape[1], 3), 255, np.uint8)
    for rgb, x in ((rgb0, 0), (rgb1, shift)):
        for top in range(0, len(rgb), STRIP):
            part = rgb[top : top + STRIP]
            canvas[top : top + len(part), x : x + rgb.shape[1]] = faded(part)
    return canvas, np.array([shift, 0])
