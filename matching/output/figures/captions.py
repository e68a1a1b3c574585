"""Lines of text below a drawing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from matching._common.types import Bytes

LEAST, MOST = 9.0, 60.0  # pixels of a font
LINE = 1.5  # height of a line, in sizes of the font


def add_caption(canvas: Bytes, lines: Sequence[str], size: float) -> Bytes:
    """Add lines of text below a drawing.

    Parameters
    ----------
    canvas : (h, w, 3) uint8
        The drawing.
    lines : sequence of str
        The text.
    size : float
        Of the font, pixels; it is smaller if a line would be too wide for the drawing.

    Returns
    -------
    (h + caption, w, 3) uint8
        Both; the drawing itself if there are no lines.
    """
    if not lines:
        return canvas
    width = canvas.shape[1]
    size = float(np.clip(size, LEAST, MOST))
    widest = max(ImageFont.load_default(size).getlength(line) for line in lines)
    size = max(min(size, size * (width - size) / max(widest, 1.0)), LEAST)
    font, height = ImageFont.load_default(size), round(LINE * size)
    strip = Image.new("RGB", (width, height * len(lines)), "white")
    pen = ImageDraw.Draw(strip)
    for k, line in enumerate(lines):
        pen.text((size / 2, (k + 0.5) * height), line, fill="black", font=font, anchor="lm")
    return np.concatenate([canvas, np.asarray(strip)])
