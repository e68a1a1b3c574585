"""The folder for temporary files of a server; if the server is killed, the next one removes it."""

import os
import shutil
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import IO

try:
    from fcntl import LOCK_EX, LOCK_NB, flock
except ImportError:  # on Windows, files of a killed server stay
    flock = None  # type: ignore[assignment]

PREFIX = "gdl-match-serve-"
LOCK = "lock"  # a file that the server locks while it runs
YOUNG = 60.0  # seconds during which a folder without a lock may still be in the making


class ServerFolder:
    """A folder of this process among the temporary files; creating it may raise OSError."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix=PREFIX))
        try:
            self._lock = (self.path / LOCK).open("wb")
        except BaseException:
            shutil.rmtree(self.path, ignore_errors=True)
            raise
        _hold(self._lock)

    def remove(self) -> None:
        """Remove the folder and everything in it."""
        shutil.rmtree(self.path, ignore_errors=True)
        self._lock.close()


def remove_abandoned() -> None:
    """Remove the folders of this user's servers that no longer run."""
    if flock is None:
        return
    for path in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with suppress(OSError):
            if path.lstat().st_uid == os.getuid() and path.is_dir() and _is_abandoned(path):
                shutil.rmtree(path, ignore_errors=True)


def _is_abandoned(path: Path) -> bool:
    try:
        with (path / LOCK).open("rb") as lock:
            return _hold(lock)
    except FileNotFoundError:
        return path.stat().st_mtime < time.time() - YOUNG


def _hold(lock: IO[bytes]) -> bool:
    """Hold a lock until its file is closed; return whether no other process holds it."""
    if flock is None:
        return True
    try:
        flock(lock, LOCK_EX | LOCK_NB)
    except OSError:  # another process holds it, or the file system has no locks
        return False
    return True
