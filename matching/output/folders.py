"""A folder of results: finding which of its files are ours, and writing all files of a run, or none.

A file is ours if matches.json lists it with its SHA-256: nothing else is ever replaced or removed.
"""

import hashlib
import json
import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import chain, count
from pathlib import Path
from re import Pattern
from typing import Any
from uuid import uuid4

from matching._common.interrupts import handle_interrupts
from matching.errors import InputError
from matching.pictures.names import exists, is_file

MANIFEST = "matches.json"
GENERATOR = b'<meta name="generator" content="gdl-match'  # in the first lines of all our pages
Content = bytes | Callable[[Path], None]  # content of a file, or a function that writes it to a path


def compute_digest(path: str | Path) -> str | None:
    """Compute the SHA-256 of a file."""
    if not is_file(path):  # a pipe may never end
        return None
    try:
        with Path(path).open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None


def remove_abandoned(paths: Iterable[Path], seconds: float) -> None:
    """Remove those files and folders that have not changed for so long, if they can be removed."""
    for path in paths:
        with suppress(OSError):  # another process removed it, or another user owns it
            if path.stat().st_mtime < time.time() - seconds:
                shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink()


def read_results(folder: Path) -> dict[str, Any] | None:
    """Read matches.json of a folder."""
    if not is_file(folder / MANIFEST):
        return None
    try:
        told = json.loads((folder / MANIFEST).read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    listed = isinstance(told, dict) and isinstance(told.get("files"), dict) and "objects" in told
    return told if listed else None


def find_own_files(folder: Path) -> set[str]:
    """Find the files in a folder that an earlier run wrote and nobody has changed since."""
    told = read_results(folder)
    if told is None:
        return set()
    listed = ((name, digest) for name, digest in told["files"].items() if Path(name).name == name)
    return {MANIFEST, *(name for name, digest in listed if compute_digest(folder / name) == digest)}


def is_own_page(path: Path) -> bool:
    """Test whether a file is a page that an earlier run wrote."""
    if not is_file(path):
        return False
    try:
        with path.open("rb") as file:
            return GENERATOR in file.read(1000)
    except OSError:
        return False


def check_replaceable(folder: Path, names: Iterable[str], pattern: Pattern[str] | None = None) -> None:
    """Check that the files to be replaced in a folder are ours."""
    if not folder.is_dir():
        return
    names = set(names)
    taken = [p.name for p in folder.iterdir() if p.name in names or (pattern and pattern.fullmatch(p.name))]
    if others := sorted(set(taken) - find_own_files(folder)):
        raise InputError(
            f"{folder / others[0]}: was not written by gdl-match, or has been changed since;"
            " choose another --out, or remove it"
        )


def choose_folder(base: Path, inputs: tuple[str, ...]) -> Path:
    """Find a folder for the results of some pictures."""
    numbered = (base.with_name(f"{base.name}-{number}") for number in count(2))
    return next(folder for folder in chain([base], numbered) if not _is_of_others(folder, inputs))


def _is_of_others(folder: Path, inputs: tuple[str, ...]) -> bool:
    told = read_results(folder)
    return exists(folder / MANIFEST) and (told is None or told.get("inputs") != list(inputs))


def check_folder(path: Path) -> Path:
    """Check that a folder can be made and written, without leaving anything there."""
    path = Path(path)
    made: list[Path] = []
    try:
        made = _make(path)
        probe = path / f".{uuid4().hex}"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise InputError(f"{path}: the folder can't be written ({error.strerror})") from None
    finally:
        _unmake(made)
    return path


def write_whole(path: Path, data: bytes) -> None:
    """Write a file completely or not at all."""
    part = path.with_name(f".{path.name}.{uuid4().hex}")
    try:
        try:
            with part.open("xb") as file:  # other users could not read tempfile's files
                file.write(data)
            part.replace(path)
        except BaseException:
            part.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise InputError(f"{path}: can't be written ({error.strerror})") from None


def write_files(
    folder: Path, files: Iterable[tuple[str, Content]], manifest: Callable[[dict[str, Any]], bytes]
) -> None:
    """Write all files (name: bytes or callable) into a folder, in place of an earlier run's.

    They are moved there when all are complete; if one can't be written, the folder stays as it is.
    """
    digests: dict[str, Any] = {}
    try:
        with make_temporary_folder(folder) as part:
            for name, content in files:
                digests[name] = _write(part / name, content)
            (part / MANIFEST).write_bytes(manifest(digests))
            names = [*digests, MANIFEST]
            check_replaceable(folder, names)
            place_files(part, folder, names, find_own_files(folder) - set(names))
    except OSError as error:
        place = error.filename2 or error.filename or folder
        place = folder / Path(place).name if Path(place).name in {*digests, MANIFEST} else folder
        raise InputError(f"{place}: can't be written ({error.strerror or error})") from None


def _write(path: Path, content: Content) -> str | None:
    if callable(content):
        content(path)
        return compute_digest(path)
    path.write_bytes(content)
    return hashlib.sha256(content).hexdigest()


def place_files(part: Path, folder: Path, names: Iterable[str], removed: Iterable[str] = ()) -> None:
    """Move the complete files of a temporary folder into their final folder, and remove others there."""
    with uninterrupted():
        if part.parent != folder:
            part.rename(folder)
            return
        for name in names:
            (part / name).replace(folder / name)
        for name in removed:
            (folder / name).unlink()


@contextmanager
def make_temporary_folder(folder: Path) -> Iterator[Path]:
    """Make a folder beside another one, or inside the other one if it exists, and remove it at the end."""
    made = _make(folder.parent) if not folder.exists() else []
    part = (folder if folder.exists() else folder.parent) / f".{uuid4().hex}.part"
    try:
        part.mkdir()
        yield part
    finally:
        with uninterrupted():
            shutil.rmtree(part, ignore_errors=True)
            _unmake(made)


def _make(path: Path) -> list[Path]:
    """Make a folder and its parents; return those that were missing, the outermost first."""
    missing = [p for p in (path, *path.parents) if not p.exists()][::-1]
    path.mkdir(parents=True, exist_ok=True)
    return missing


def _unmake(folders: list[Path]) -> None:
    with suppress(OSError):  # it is in use
        for folder in reversed(folders):
            folder.rmdir()


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Let Ctrl-C wait until the block is done."""
    waiting: list[bool] = []
    with handle_interrupts(lambda *_: waiting.append(True)):
        yield
    if waiting:
        raise KeyboardInterrupt
