"""The pictures in a folder."""

from functools import cache
from pathlib import Path

from PIL import Image

from matching.errors import InputError
from matching.pictures.formats import readable_formats
from matching.pictures.names import is_file, is_folder

READ_OTHERWISE = frozenset({".hdr", ".heic", ".heif", ".hif"})  # suffixes of files that Pillow does not read


def find_pictures(folder: str | Path, recursive: bool = False, *, may_be_empty: bool = False) -> list[Path]:
    """Find the files in a folder that have the suffix of a picture; hidden files are ignored."""
    folder = Path(folder)
    if is_file(folder):
        return [folder]
    try:
        found = sorted(folder.rglob("*") if recursive else folder.iterdir())
    except OSError as error:
        raise InputError(f"{folder}: the folder can't be read ({error.strerror})") from None
    inside = [path for path in found if not any(p.startswith(".") for p in path.relative_to(folder).parts)]
    paths = [path for path in inside if path.suffix.lower() in find_picture_suffixes()]
    paths = [path for path in paths if not is_folder(path)]
    if not paths and not may_be_empty:
        raise InputError(f"{folder}: the folder has no pictures")
    return paths


@cache
def find_picture_suffixes() -> frozenset[str]:
    """The suffixes of readable pictures, and in any case those of HEIC, so that such files give errors."""
    kinds = {*readable_formats(), "MPO"}  # Pillow opens MPO as JPEG
    known = Image.registered_extensions().items()
    return READ_OTHERWISE.union(suffix for suffix, kind in known if kind in kinds)
