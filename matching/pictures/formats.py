"""The kinds of picture files that all parts of the program read, and the pictures in a folder."""

import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import BinaryIO

from PIL import Image, UnidentifiedImageError

from matching.errors import InputError, OneLineErrors
from matching.pictures.names import exists, is_file, is_folder

# Pillow loads these readers alone in half the time.
COMMON_FORMATS = ("BMP", "DIB", "GIF", "JPEG", "PNG", "PPM")
# Some other readers of Pillow start a program, whatever the name of the file (EPS starts Ghostscript).
FORMATS = (
    *("AVIF", "BMP", "DIB", "GIF", "ICO", "JPEG", "JPEG2000", "PCX", "PNG", "PPM", "PSD", "QOI", "SGI"),
    *("TGA", "TIFF", "WEBP"),
)
HEIF = re.compile(rb"....ftyp(heic|heix|hevc|hevx|heim|heis|mif1|msf1)", re.S)  # at the start of a file
OTHER_SUFFIXES = frozenset({".hdr", ".heic", ".heif", ".hif"})  # of pictures that Pillow does not read


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


def find_pictures(folder: str | Path, recursive: bool = False, *, may_be_empty: bool = False) -> list[Path]:
    """Find the files in a folder that have the suffix of a picture; hidden files are ignored."""
    folder = Path(folder)
    if is_file(folder):
        return [folder]
    with OneLineErrors(folder, "the folder can't be read"):
        found = sorted(folder.rglob("*") if recursive else folder.iterdir())
    suffixes = find_picture_suffixes()
    visible = [path for path in found if not any(p.startswith(".") for p in path.relative_to(folder).parts)]
    paths = [path for path in visible if path.suffix.lower() in suffixes and not is_folder(path)]
    if not paths and not may_be_empty:
        raise InputError(f"{folder}: the folder has no pictures")
    return paths


def find_given(
    paths: Iterable[Path], recursive: bool = False, *, may_be_empty: bool = False
) -> Iterator[Path]:
    """Find given pictures, and those in given folders."""
    for path in paths:
        if not exists(path):
            raise InputError(f"{path}: no such file or folder")
        yield from find_pictures(path, recursive, may_be_empty=may_be_empty)


@cache
def find_picture_suffixes() -> frozenset[str]:
    """List the suffixes of readable pictures, and always those of HEIC, so that such files give errors."""
    kinds = {*readable_formats(), "MPO"}  # Pillow opens MPO as JPEG
    registered = Image.registered_extensions().items()
    return OTHER_SUFFIXES.union(suffix for suffix, kind in registered if kind in kinds)
