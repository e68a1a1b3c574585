"""Text in drawings: labels in boxes, inside the picture and without overlap, and captions below."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from matching._common.types import Bytes, Floats

LEAST, MOST = 9.0, 60.0  # pixels: least size of a font, and largest of a caption's font
LINE = 1.5  # height of a line, in sizes of the font
RIM = 0.25  # space around the text of a label, in sizes of the font
ROOMY = 4.0  # an object at least this many times as large as its label has it inside, others beside them
RINGS = 24  # rings of places to try around the preferred one, a label's size apart
AIR = 2.0  # pixels between labels


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


def place_labels(
    outlines: Sequence[Floats], sizes: Sequence[tuple[float, float]], low: Sequence[float],
    high: Sequence[float],
) -> list[Floats | None]:  # fmt: skip
    """Choose places (2,) for labels of outlines (k, 2) between corners low and high (2,)."""
    placed: list[tuple[Floats, Floats]] = []
    centres: list[Floats | None] = []
    for outline, size in zip(outlines, sizes, strict=True):
        half = np.array(size) / 2
        inside = np.array(low) + half, np.array(high) - half
        fits = (inside[0] <= inside[1]).all()
        tried = (np.clip(place, *inside) for place in _places(outline, half)) if fits else ()
        centre = next((place for place in tried if _is_free(place, half, placed)), None)
        if centre is not None:
            placed.append((centre, half))
        centres.append(centre)
    return centres


def _is_free(centre: Floats, half: Floats, placed: Sequence[tuple[Floats, Floats]]) -> bool:
    return all((np.abs(centre - other) >= half + own + AIR).any() for other, own in placed)


def _places(outline: Floats, half: Floats) -> Iterator[Floats]:
    low, high = outline.min(axis=0), outline.max(axis=0)
    middle = (low + high) / 2
    above = np.array([middle[0], low[1] - half[1] - AIR])
    below = np.array([middle[0], high[1] + half[1] + AIR])
    first = middle if (high - low >= ROOMY * 2 * half).all() else above
    yield from (first, above, below)
    for ring in range(1, RINGS):
        for angle in np.arange(0, 2 * np.pi, np.pi / (4 * ring)):
            yield first + ring * 2 * (half + AIR) * (np.cos(angle), np.sin(angle))


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
