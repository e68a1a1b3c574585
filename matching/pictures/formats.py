"""The kinds of picture files that all parts of the program read."""

import re
from functools import cache
from typing import BinaryIO

from PIL import Image, UnidentifiedImageError

# Pillow loads these readers alone in half the time.
COMMON_FORMATS = ("BMP", "DIB", "GIF", "JPEG", "PNG", "PPM")
# Some other readers of Pillow start a program, whatever the name of the file (EPS starts Ghostscript).
FORMATS = (
    *("AVIF", "BMP", "DIB", "GIF", "ICO", "JPEG", "JPEG2000", "PCX", "PNG", "PPM", "PSD", "QOI", "SGI"),
    *("TGA", "TIFF", "WEBP"),
)
HEIF = re.compile(rb"....ftyp(heic|heix|hevc|hevx|heim|heis|mif1|msf1)", re.S)  # at the start of a file


@cache
def readable_formats() -> tuple[str, ...]:
    """List the formats that are read here."""
    Image.init()
    return tuple(name for name in FORMATS if name in Image.OPEN)


def open_image(file: BinaryIO) -> Image.Image:
    """Open a picture of one of the formats that are read here."""
    try:
        return Image.open(file, formats=COMMON_FORMATS)
    except UnidentifiedImageError:
        file.seek(0)
        return Image.open(file, formats=readable_formats())
