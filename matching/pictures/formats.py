"""The kinds of picture files that are read, for every part of the program."""

from __future__ import annotations

from functools import cache

from PIL import Image

# Some of Pillow's other readers start another program (EPS starts Ghostscript), whatever a file is called.
FORMATS = (
    *("AVIF", "BMP", "DIB", "GIF", "ICO", "JPEG", "JPEG2000", "PCX", "PNG", "PPM", "PSD", "QOI", "SGI"),
    *("TGA", "TIFF", "WEBP"),
)


@cache
def readable_formats() -> tuple[str, ...]:
    """The formats that are read here.

    Returns
    -------
    tuple of str
        Those of FORMATS that this Pillow was built with.
    """
    Image.init()
    return tuple(name for name in FORMATS if name in Image.OPEN)
