"""A folder of results: finding which of its files are ours, and writing all files of a run, or none.

A file is ours if matches.json lists it with its SHA-256: nothing else is ever replaced or removed.
"""

import hashlib
import json
import shutil
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import chain, count
from pathlib import Path
from re import Pattern
from typing import Any, BinaryIO, TypeVar
from uuid import uuid4

from matching._common.interrupts import handle_interrupts
from matching.errors import InputError, OneLineErrors
from matching.output.json_text import json_text
from matching.pictures.names import exists, is_file

MANIFEST = "matches.json"
PAGE_MARK = b'<meta name="generator" content="gdl-match'  # in the first lines of all our pages ...
PICTURE_MARK = b"golden picture of gdl-match"  # ... in a picture beside one ...
TABLE_COLUMNS = "picture", "object", "polygon", "size", "evidence"  # ... and these head a table
MARKS = PAGE_MARK, PICTURE_MARK, ",".join(TABLE_COLUMNS).encode()
MARK_BYTES = 1000  # at the start of a file, in which the mark must lie
Result = TypeVar("Result")
Content = bytes | Callable[[Path], None]  # content of a file, or a function that writes it to a path


def compute_digest(path: str | Path) -> str | None:
    """Compute the SHA-256 of a file."""
    return _read(path, lambda file: hashlib.file_digest(file, "sha256").hexdigest())


def remove_abandoned(paths: Iterable[Path], seconds: float) -> None:
    """Remove the files and folders that have not changed for this many seconds, if they can be removed."""
    for path in paths:
        with suppress(OSError):  # another process removed it, or another user owns it
            if path.stat().st_mtime < time.time() - seconds:
                shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink()


def read_results(folder: Path) -> dict[str, Any] | None:
    """Read matches.json of a folder; None if it is missing, or was not written by this program."""
    try:
        results = json.loads(_read(folder / MANIFEST, lambda file: file.read()) or b"")
    except (ValueError, RecursionError):
        return None
    is_valid = isinstance(results, dict) and isinstance(results.get("files"), dict) and "objects" in results
    return results if is_valid else None


def _read(path: str | Path, read: Callable[[Any], Result]) -> Result | None:
    """Call a function with an open file; None if it can't be read. A pipe, which may never end, is not."""
    if not is_file(path):
        return None
    try:
        with Path(path).open("rb") as file:
            return read(file)
    except OSError:
        return None


def find_own_files(folder: Path) -> set[str]:
    """Find the files in a folder that an earlier run wrote and nobody has changed since."""
    results = read_results(folder)
    if results is None:
        return set()
    listed = ((name, digest) for name, digest in results["files"].items() if Path(name).name == name)
    return {MANIFEST, *(name for name, digest in listed if compute_digest(folder / name) == digest)}


def is_own_page(path: Path) -> bool:
    """Test whether a file is a page that an earlier run wrote, or stands beside one."""
    start = _read(path, lambda file: file.read(MARK_BYTES)) or b""
    return any(mark in start for mark in MARKS)


def check_replaceable(folder: Path, names: Iterable[str], pattern: Pattern[str] | None = None) -> None:
    """Check that the files to be replaced in a folder are ours."""
    if not folder.is_dir():
        return
    names = set(names)
    present = {p.name for p in folder.iterdir() if p.name in names or (pattern and pattern.fullmatch(p.name))}
    if others := sorted(present - find_own_files(folder)):
        raise InputError(
            f"{folder / others[0]}: was not written by gdl-match, or has been changed since;"
            " choose another --out, or remove it"
        )


def choose_folder(base: Path, inputs: tuple[str, ...]) -> Path:
    """Find a folder for the results of some pictures that has no results of other pictures."""
    numbered = (base.with_name(f"{base.name}-{number}") for number in count(2))
    for folder in chain([base], numbered):
        results = read_results(folder)
        if not exists(folder / MANIFEST) or (results is not None and results.get("inputs") == list(inputs)):
            break
    return folder


def check_folder(path: Path) -> Path:
    """Check that a folder can be made and written, without leaving anything there."""
    if is_file(path):
        raise InputError(f"{path}: is a file, not a folder")
    with OneLineErrors(path, "the folder can't be written"), make_temporary_folder(path):
        return path


@contextmanager
def replace_file(path: Path) -> Iterator[BinaryIO]:
    """Open a new file that takes the place of another one when it is complete, and is gone otherwise."""
    part = path.with_name(f".{uuid4().hex}{path.suffix}")
    try:
        with part.open("xb") as file:  # other users could not read tempfile's files
            yield file
        part.replace(path)
    finally:
        with suppress(OSError):  # it was moved, or could not be made
            part.unlink()


def write_whole(path: Path, data: bytes) -> None:
    """Write a file completely or not at all."""
    with OneLineErrors(path, "can't be written"), replace_file(path) as file:
        file.write(data)


def write_page(path: Path, page: str) -> None:
    """Write a page completely or not at all."""
    write_whole(path, page.encode("utf-8", "backslashreplace"))


def write_files(folder: Path, files: Iterable[tuple[str, Content]], summary: Mapping[str, Any]) -> None:
    """Write all files (name: bytes or callable) and matches.json into a folder, in place of an earlier run's.

    They are moved there when all are complete; if one can't be written, the folder stays as it is.
    matches.json has the summary of the results, then the files, and the parameters last.
    """
    digests: dict[str, Any] = {}
    try:
        with make_temporary_folder(folder) as part:
            for name, content in files:
                digests[name] = _write(part / name, content)
            results = {name: value for name, value in summary.items() if name != "parameters"}
            manifest = results | {"files": digests, "parameters": summary["parameters"]}
            (part / MANIFEST).write_bytes(json_text(manifest).encode())
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
    """Make a folder beside another one, or inside the other one if it exists.

    At the end, it is removed, and what had to be made around it.
    """
    parent = folder if folder.exists() else folder.parent
    missing = [p for p in (parent, *parent.parents) if not p.exists()]
    part = parent / f".{uuid4().hex}.part"
    try:
        with handle_interrupts(signal.default_int_handler):  # which lets this function clean up
            part.mkdir(parents=True)
            yield part
    finally:
        with uninterrupted():
            shutil.rmtree(part, ignore_errors=True)
            for made in missing:
                with suppress(OSError):  # it is in use
                    made.rmdir()


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Let Ctrl-C wait until the block is done."""
    waiting: list[bool] = []
    with handle_interrupts(lambda *_: waiting.append(True)):
        yield
    if waiting:
        raise KeyboardInterrupt
