"""The folders that keep the machine code of kernels, in files with checksums."""

import hashlib
import os
import stat
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

VERSIONS = 32  # how many are kept for each kernel: for other types, other processors, and earlier code


def list_cache_folders(source: str, chosen: str) -> list[Path]:
    """List the folders where the versions of a kernel may be kept, the best first.

    Parameters
    ----------
    source : str
        The file of the kernel's module.
    chosen : str
        The folder that ``NUMBA_CACHE_DIR`` names, or empty.

    Returns
    -------
    list of Path
        The chosen folder or, if there is none, ``__pycache__`` beside the source and the user's cache folder;
        then a private folder among the temporary files.
    """
    if chosen:
        folders = [Path(chosen).absolute()]
    else:
        beside = Path(source).absolute().parent  # does not exist for a module in a zip file
        folders = [beside / "__pycache__"] if beside.is_dir() else []
        import platformdirs

        with suppress(OSError, RuntimeError):
            folders.append(Path(platformdirs.user_cache_dir("gdl-match", appauthor=False)) / "kernels")
    with suppress(OSError):
        folders.append(_make_own_temporary_folder())
    return [folder for folder in folders if folder.is_absolute()]  # drops a "~" that could not be expanded


def _make_own_temporary_folder() -> Path:
    """Make the private temporary folder if it is missing. No other user may write to this folder, because
    unpickling a cache entry can run code. Raises OSError if something else is in its place.
    """
    user = os.getuid() if hasattr(os, "getuid") else None  # elsewhere each user has separate temporary files
    folder = Path(tempfile.gettempdir()) / ("gdl-numba-cache" if user is None else f"gdl-numba-cache-{user}")
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()  # does not follow a symbolic link
    own = user is None or (found.st_uid == user and not found.st_mode & 0o022)
    if not (stat.S_ISDIR(found.st_mode) and own):
        raise PermissionError(f"{folder} must be a folder that only its owner, user {user}, can write to")
    return folder


def read_entry(folders: Sequence[Path], stem: str, key: bytes) -> bytes | None:
    """Read an entry, or remove it if its bytes have changed.

    Parameters
    ----------
    folders : sequence of Path
        Where to look.
    stem : str
        What the names of all entries of a kernel begin with.
    key : bytes
        All that the entry depends on.

    Returns
    -------
    bytes or None
        The content of the entry; None if no folder has a valid one.
    """
    for folder in folders:
        path = _path(folder, stem, key)
        with suppress(OSError):
            data = path.read_bytes()
            check, content = data[:32], data[32:]
            if check == _check(key, content):
                return content
            path.unlink()
    return None


def write_entry(folders: Sequence[Path], stem: str, key: bytes, content: bytes) -> Path | None:
    """Write an entry into the first folder that can be written.

    If a kernel then has more than VERSIONS entries, the oldest ones are removed.

    Parameters
    ----------
    folders : sequence of Path
        Where to try.
    stem : str
        What the names of all entries of a kernel begin with.
    key : bytes
        All that the entry depends on.
    content : bytes
        What to keep.

    Returns
    -------
    Path or None
        The folder; None if no folder can be written.
    """
    for folder in folders:
        path = _path(folder, stem, key)
        part = path.with_name(f"{path.name}.{uuid4().hex}")
        try:
            folder.mkdir(parents=True, exist_ok=True)
            try:
                part.write_bytes(_check(key, content) + content)
                part.replace(path)
            except BaseException:
                part.unlink(missing_ok=True)
                raise
        except OSError:
            continue
        with suppress(OSError):
            found = sorted(folder.glob(f"{stem}.*"), key=lambda p: p.stat().st_mtime_ns)
            for old in found[:-VERSIONS]:
                old.unlink()
        return folder
    return None


def remove_entry(folders: Sequence[Path], stem: str, key: bytes) -> None:
    """Remove an entry.

    Parameters
    ----------
    folders : sequence of Path
        Where it may be.
    stem : str
        What the names of all entries of a kernel begin with.
    key : bytes
        All that the entry depends on.
    """
    for folder in folders:
        with suppress(OSError):
            _path(folder, stem, key).unlink()


def _path(folder: Path, stem: str, key: bytes) -> Path:
    return folder / f"{stem}.{hashlib.sha256(key).hexdigest()[:16]}.nbc"


def _check(key: bytes, content: bytes) -> bytes:
    """The SHA-256 at the start of an entry; it covers the key, so that no other entry can take its place."""
    return hashlib.sha256(hashlib.sha256(key).digest() + content).digest()
