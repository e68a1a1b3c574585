"""Moving the new files of a run into a folder, in place of older ones: all of them, or none.

The new files are first completed in a separate folder, with a journal of what they replace. One rename marks
that folder as decided; then its files are moved one by one. If this is interrupted, the next run finishes it.
If a move fails, the earlier moves are undone.
"""

import hashlib
import json
import shutil
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

from matching.errors import InputError
from matching.pictures.names import is_file

JOURNAL, REPLACED = ".journal.json", ".replaced"
DECIDED = ".decided"  # suffix of a folder whose files are to be moved
PART = ".part"  # suffix of an incomplete folder
ABANDONED = 86_400  # seconds after which an incomplete folder counts as abandoned


def name_part(folder: Path) -> Path:
    """Name a folder for incomplete files."""
    return folder / f".{uuid4().hex}{PART}"


def move_files(part: Path, folder: Path, names: Iterable[str], removed: Iterable[str] = ()) -> None:
    """Move complete files into an existing folder."""
    there = {name: compute_digest(folder / name) for name in sorted({*names, *removed})}
    (part / REPLACED).mkdir()
    (part / JOURNAL).write_text(json.dumps({"new": sorted(names), "there": there}), "utf-8")
    decided = part.with_suffix(DECIDED)
    part.rename(decided)
    try:
        _move(decided)
    except OSError:
        _take_back(decided)
        decided.rename(part)
        raise
    shutil.rmtree(decided, ignore_errors=True)


def finish_earlier_run(folder: Path) -> None:
    """Finish moving the files of a decided run, and remove what other runs have left."""
    all_decided: list[Path] = []
    with suppress(OSError):  # a folder that can't be listed holds nothing to finish
        all_decided = sorted(folder.glob(f".*{DECIDED}"))
        parts = (part for part in folder.glob(f".*{PART}") if len(part.stem) == 33)  # a dot and 32 digits
        remove_abandoned(parts, ABANDONED)
    try:
        for decided in all_decided:
            _move(decided)
            shutil.rmtree(decided, ignore_errors=True)
    except OSError as error:
        raise InputError(f"{folder}: an earlier run can't be finished ({error.strerror or error})") from None


def remove_abandoned(paths: Iterable[Path], seconds: float) -> None:
    """Remove those files and folders that have not changed for so long, if they can be removed."""
    for path in paths:
        with suppress(OSError):  # another process removed it, or another user owns it
            if path.stat().st_mtime < time.time() - seconds:
                shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink()


def compute_digest(path: str | Path) -> str | None:
    """Compute the SHA-256 of a file."""
    if not is_file(path):  # a pipe may never end
        return None
    try:
        with Path(path).open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None


def _read_journal(decided: Path) -> tuple[list[str], dict[str, str | None]]:
    """Names of the new files, and SHA-256 of those that they replace; empty if another process finished."""
    try:
        told = json.loads((decided / JOURNAL).read_bytes())
        new, there = told["new"], told["there"]
    except (OSError, ValueError, KeyError, TypeError):
        return [], {}
    return [name for name in new if Path(name).name == name], there


def _move(decided: Path) -> None:
    folder = decided.parent
    new, there = _read_journal(decided)
    for name in [*there, *(name for name in new if name not in there)]:
        source, target = decided / name, folder / name
        if Path(name).name != name or (name in new and not source.exists()):
            continue  # moved before
        if target.exists() and compute_digest(target) == there.get(name):
            _rename(target, decided / REPLACED / name)
        elif target.exists() and name in new:
            raise InputError(f"{target}: was changed while a run was replacing it; rename or remove it")
        if name in new:
            _rename(source, target)


def _take_back(decided: Path) -> None:
    folder = decided.parent
    new, there = _read_journal(decided)
    for name in there:
        with suppress(OSError):
            if name in new and not (decided / name).exists():
                (folder / name).rename(decided / name)
            if (decided / REPLACED / name).exists():
                (decided / REPLACED / name).rename(folder / name)


def _rename(source: Path, target: Path) -> None:
    with suppress(FileNotFoundError):  # another process finishes the same run
        source.rename(target)
