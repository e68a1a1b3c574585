"""Names of files, absolute or as short as a set of files allows, and tests for whether files exist."""

import os
import re
from collections.abc import Iterable, Sequence

from matching.errors import InputError

# pathlib's functions raise an error if a name is too long or the folder can't be read; these return False
exists, is_file, is_folder = os.path.exists, os.path.isfile, os.path.isdir

VIDEOS = {
    *(".mp4", ".m4v", ".mov", ".3gp", ".avi", ".mkv", ".webm", ".flv", ".ogv", ".wmv", ".mpg", ".mpeg"),
    *(".ts", ".mts", ".m2ts", ".m3u8", ".m3u", ".mpd"),
}


def check_name(path: str | os.PathLike[str]) -> None:
    """Check that a name can name a file: neither empty, because `Path("")` is a folder, nor an address."""
    text = os.fspath(path)
    if not text:
        raise InputError("a name is empty")
    if re.match(r"[a-z][a-z0-9+.-]+://", text, re.IGNORECASE) and not exists(text):
        raise InputError(f"{text}: is a URL, not a file: download it first")


def is_video(path: str | os.PathLike[str]) -> bool:
    """Test whether a file has the name of a video, or of a list of videos."""
    return os.path.splitext(path)[1].lower() in VIDEOS and is_file(path)  # noqa: PTH122


def make_absolute(path: str | os.PathLike[str]) -> str:
    """Return the absolute path of a file as text, without following links.

    POSIX allows two leading slashes, which become one.
    """
    text = os.path.abspath(path)  # noqa: PTH100
    return text[1:] if text.startswith("//") else text


def make_relative(paths: Iterable[str | os.PathLike[str]]) -> list[str]:
    """Make names of files relative to their deepest common folder, if any, with / as separator."""
    full = [make_absolute(path) for path in paths]
    try:
        folder = os.path.commonpath([os.path.dirname(path) for path in full])  # noqa: PTH120
        names = [os.path.relpath(path, folder) for path in full]
    except ValueError:
        names = full
    return [name.replace(os.path.sep, "/") for name in names]


def name_relatively(paths: Sequence[str]) -> dict[str, str]:
    """Map names of files to those of `make_relative`."""
    return dict(zip(paths, make_relative(paths), strict=True))
