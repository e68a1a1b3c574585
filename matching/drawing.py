"""The picture of a result: both images side by side, each object in its own colour."""

from __future__ import annotations

import colorsys

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
LINES_AN_OBJECT = 30  # lines drawn across; every match has its dot
LINE_STRENGTH = 0.6


def draw_matches(picture0, picture1, result):
    """(h, w, 3) uint8: the two pictures at full size side by side; outlines, a dot for every match, some
    lines across.

    All matches of an object have a dot in its colour in both pictures; lines join at most LINES_AN_OBJECT of
    them, spread over the object, so that hundreds of matches can still be read.
    """
    canvas, shift = _side_by_side(picture0.rgb, picture1.rgb)
    unit = (
        max(max(picture0.rgb.shape[:2]), max(picture1.rgb.shape[:2])) / 960
    )  # drawing sizes for a 960 pixel picture
    _draw_lines(canvas, result, shift, max(round(unit), 1))
    for found in result.objects:
        for xy, move in ((result.xy0, (0, 0)), (result.xy1, shift)):
            for point in xy[result.cluster == found.id]:
                _opencv.draw_disc(canvas, point + move, 2.2 * unit, colour(found.id))
    for found in result.objects:
        for outline, move in ((found.outline0, (0, 0)), (found.outline1, shift)):
            _opencv.draw_polygon(canvas, outline + move, (0, 0, 0), max(round(5 * unit), 3))
            _opencv.draw_polygon(canvas, outline + move, colour(found.id), max(round(3 * unit), 1))
    for found in result.objects:
        for outline, move in ((found.outline0, (0, 0)), (found.outline1, shift)):
            centre = (outline.min(axis=0) + outline.max(axis=0)) / 2 + move
            _opencv.draw_label(canvas, str(found.id), centre, colour(found.id), (0, 0, 0), 0.8 * unit)
    return canvas


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


def _draw_lines(canvas, result, shift, thickness):
    """Draw lines across, half transparent, in place and in strips: a copy of a large canvas takes room."""
    lines = [
        (result.xy0[i], result.xy1[i] + shift, colour(found.id))
        for found in result.objects
        for i in _lined(result, found)
    ]
    for top in range(0, len(canvas), STRIP):
        strip = canvas[top : top + STRIP]
        drawn = strip.copy()
        for start, end, tint in lines:
            _opencv.draw_line(drawn, start - (0, top), end - (0, top), tint, thickness)
        strip[:] = _opencv.blend(strip, drawn, LINE_STRENGTH)


def _lined(result, found):
    own = np.flatnonzero(result.cluster == found.id)
    return own[spread(result.xy0[own], LINES_AN_OBJECT)]


def _side_by_side(rgb0, rgb1):
    """A canvas with both pictures, faded, and the shift (2,) of the second."""
    margin = max(rgb0.shape[1] + rgb1.shape[1], 100) // 100
    shift = rgb0.shape[1] + margin
    canvas = np.full((max(len(rgb0), len(rgb1)), shift + rgb1.shape[1], 3), 255, np.uint8)
    for rgb, x in ((rgb0, 0), (rgb1, shift)):
        for top in range(0, len(rgb), STRIP):
            part = rgb[top : top + STRIP]
            canvas[top : top + len(part), x : x + rgb.shape[1]] = faded(part)
    return canvas, np.array([shift, 0])
