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
    lines = canvas.copy()
    for found in result.objects:
        own = np.flatnonzero(result.cluster == found.id)
        for i in own[spread(result.xy0[own], LINES_AN_OBJECT)]:
            _opencv.draw_line(
                lines, result.xy0[i], result.xy1[i] + shift, colour(found.id), max(round(unit), 1)
            )
    canvas = np.rint(canvas + LINE_STRENGTH * (lines.astype(np.float32) - canvas)).astype(np.uint8)
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


def _side_by_side(rgb0, rgb1):
    """A canvas with both pictures, faded, and the shift (2,) of the second."""
    margin = max(rgb0.shape[1] + rgb1.shape[1], 100) // 100
    shift = rgb0.shape[1] + margin
    canvas = np.full((max(len(rgb0), len(rgb1)), shift + rgb1.shape[1], 3), 255, np.uint8)
    for rgb, x in ((rgb0, 0), (rgb1, shift)):
        # towards grey, and towards the middle
        luma = rgb.mean(axis=2, keepdims=True)
        faded = (rgb + luma) / 2 * (1 - FADE) + 110 * FADE
        canvas[: rgb.shape[0], x : x + rgb.shape[1]] = np.rint(faded)
    return canvas, np.array([shift, 0])
