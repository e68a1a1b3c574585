"""The pictures in a folder."""

from functools import cache
from pathlib import Path

from PIL import Image

from matching.errors import InputError
from matching.pictures.formats import readable_formats
from matching.pictures.names import is_file, is_folder

OTHER_SUFFIXES = frozenset({".hdr", ".heic", ".heif", ".hif"})  # of pictures that Pillow does not read


def find_pictures(folder: str | Path, recursive: bool = False, *, may_be_empty: bool = False) -> list[Path]:
    """Find the files in a folder that have the suffix of a picture; hidden files are ignored."""
    folder = Path(folder)
    if is_file(folder):
        return [folder]
    try:
        found = sorted(folder.rglob("*") if recursive else folder.iterdir())
    except OSError as error:
        raise InputError(f"{folder}: the folder can't be read ({error.strerror})") from None
    suffixes = find_picture_suffixes()
    visible = [path for path in found if not any(p.startswith(".") for p in path.relative_to(folder).parts)]
    paths = [path for path in visible if path.suffix.lower() in suffixes and not is_folder(path)]
    if not paths and not may_be_empty:
        raise InputError(f"{folder}: the folder has no pictures")
    return paths


@cache
def find_picture_suffixes() -> frozenset[str]:
    """List the suffixes of readable pictures, and always those of HEIC, so that such files give errors."""
    kinds = {*readable_formats(), "MPO"}  # Pillow opens MPO as JPEG
    registered = Image.registered_extensions().items()
    return OTHER_SUFFIXES.union(suffix for suffix, kind in registered if kind in kinds)
