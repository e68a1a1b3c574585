"""Text in drawings: labels in boxes, inside the picture and without overlap, and captions below."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from matching._common.arrays import find_box
from matching._common.types import Bytes, Floats

MIN_FONT_SIZE, MAX_CAPTION_SIZE = 9.0, 60.0  # pixels
LINE_HEIGHT = 1.5  # in sizes of the font
LABEL_RIM = 0.25  # space around the text of a label, in sizes of the font
MIN_SIZE_RATIO = 4.0  # an object at least this many times as large as its label has the label inside
N_RINGS = 24  # rings of places to try around the preferred one, a label's size apart
LABEL_GAP = 2.0  # pixels between labels


def label_size(text: str, size: float) -> tuple[int, int]:
    """Measure the box that `draw_label` draws: its width and height in pixels."""
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
        places = (np.clip(place, *inside) for place in _list_places(outline, half)) if fits else ()
        centre = next((place for place in places if _is_free(place, half, placed)), None)
        if centre is not None:
            placed.append((centre, half))
        centres.append(centre)
    return centres


def _is_free(centre: Floats, half: Floats, placed: Sequence[tuple[Floats, Floats]]) -> bool:
    """Test whether a label, given by its centre and half its size, overlaps none of those already placed."""
    return all((np.abs(centre - c) >= half + other_half + LABEL_GAP).any() for c, other_half in placed)


def _list_places(outline: Floats, half: Floats) -> Iterator[Floats]:
    """List places (2,) for the centre of a label, the best ones first; half (2,) is half its size."""
    low, high = find_box(outline)
    middle = (low + high) / 2
    above = np.array([middle[0], low[1] - half[1] - LABEL_GAP])
    below = np.array([middle[0], high[1] + half[1] + LABEL_GAP])
    first = middle if (high - low >= MIN_SIZE_RATIO * 2 * half).all() else above
    yield from (first, above, below)
    for ring in range(1, N_RINGS):
        for angle in np.arange(0, 2 * np.pi, np.pi / (4 * ring)):
            yield first + ring * 2 * (half + LABEL_GAP) * (np.cos(angle), np.sin(angle))


def add_caption(canvas: Bytes, lines: Sequence[str], size: float) -> Bytes:
    """Add lines of text below a drawing: canvas (h, w, 3) uint8 -> (h + caption, w, 3) uint8."""
    if not lines:
        return canvas
    width = canvas.shape[1]
    size = min(size, MAX_CAPTION_SIZE)
    widest = max(_font(size).getlength(line) for line in lines)
    size = max(min(size, size * (width - size) / max(widest, 1.0)), MIN_FONT_SIZE)
    font, height = _font(size), round(LINE_HEIGHT * size)
    strip = Image.new("RGB", (width, height * len(lines)), "white")
    pen = ImageDraw.Draw(strip)
    for k, line in enumerate(lines):
        pen.text((size / 2, (k + 0.5) * height), line, fill="black", font=font, anchor="lm")
    return np.concatenate([canvas, np.asarray(strip)])


def _rim(size: float) -> int:
    return max(round(LABEL_RIM * size), 1)


def _font(size: float) -> Any:
    return ImageFont.load_default(max(size, MIN_FONT_SIZE))
