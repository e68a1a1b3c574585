"""Text in drawings: labels in boxes, and captions below."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from matching._common.types import Bytes, Floats

LEAST, MOST = 9.0, 60.0  # pixels: least size of a font, and largest of a caption's font
LINE = 1.5  # height of a line, in sizes of the font
RIM = 0.25  # space around the text of a label, in sizes of the font


def label_size(text: str, size: float) -> tuple[int, int]:
    """The size of the box that `draw_label` draws."""
    left, top, right, bottom = _font(size).getbbox(text)
    rim = 2 * _rim(size)
    return round(right - left) + rim, round(bottom - top) + rim


def draw_label(
    canvas: Bytes, text: str, centre: Sequence[float] | Floats, colour: Sequence[int], size: float
) -> None:
    """Write black text on a filled box into canvas (h, w, 3) uint8, in place, cut off at its edges."""
    font, (width, height), rim = _font(size), label_size(text, size), _rim(size)
    box = Image.new("RGB", (width, height), tuple(colour))
    left, top, *_ = font.getbbox(text)
    ImageDraw.Draw(box).text((rim - left, rim - top), text, fill="black", font=font)
    x, y = round(centre[0] - width / 2), round(centre[1] - height / 2)
    place = canvas[max(y, 0) : max(y + height, 0), max(x, 0) : max(x + width, 0)]
    place[:] = np.asarray(box)[max(-y, 0) :, max(-x, 0) :][: place.shape[0], : place.shape[1]]


def add_caption(canvas: Bytes, lines: Sequence[str], size: float) -> Bytes:
    """Add lines of text below a drawing: canvas (h, w, 3) uint8 -> (h + caption, w, 3) uint8."""
    if not lines:
        return canvas
    width = canvas.shape[1]
    size = min(size, MOST)
    widest = max(_font(size).getlength(line) for line in lines)
    size = max(min(size, size * (width - size) / max(widest, 1.0)), LEAST)
    font, height = _font(size), round(LINE * size)
    strip = Image.new("RGB", (width, height * len(lines)), "white")
    pen = ImageDraw.Draw(strip)
    for k, line in enumerate(lines):
        pen.text((size / 2, (k + 0.5) * height), line, fill="black", font=font, anchor="lm")
    return np.concatenate([canvas, np.asarray(strip)])


def _rim(size: float) -> int:
    return max(round(RIM * size), 1)


def _font(size: float) -> Any:
    return ImageFont.load_default(max(size, LEAST))
