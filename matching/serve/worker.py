"""One match, in a process of its own: a file that breaks a decoder breaks nothing else."""

from __future__ import annotations

import signal
import time
from dataclasses import replace
from pathlib import Path

from matching.config import MatchConfig
from matching.errors import InputError
from matching.html.pair import told, write_pair_report
from matching.images import read_picture
from matching.orphans import end_with
from matching.output import write_results, write_whole
from matching.pipeline import match_pictures

STAGES = ("read", "features", "candidates", "clustering", "objects", "files")
FILES = ("matches.html", "matches.json", "matches.npz", "matches.png")
DRAWN = 30_000_000  # pixels of both pictures; above, drawing them at full size takes gigabytes


def begin_worker(parent):
    """What a process of the server, whose id is `parent`, does before anything else."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to all; the server ends its processes
    end_with(parent)


def match_uploads(folder, names):
    """Match folder/upload0 and upload1, which are deleted; the results are in the folder afterwards.

    Returns (what was found in a few words, None), or (None, why it can't be done).
    """
    folder = Path(folder)
    uploads = [folder / f"upload{k}" for k in range(2)]
    clock = StageFile(folder / "stage")
    try:
        pictures = [read_picture(path) for path in uploads]
    except InputError as error:
        reason = str(error)
        for path, name in zip(uploads, names, strict=True):
            reason = reason.replace(str(path), name)
        return None, " ".join(reason.split())
    finally:
        for path in uploads:
            path.unlink(missing_ok=True)
    pictures = [replace(p, path=Path(name)) for p, name in zip(pictures, names, strict=True)]
    clock.lap("read")
    config = MatchConfig()
    result = match_pictures(*pictures, config, clock=clock)
    drawn = sum(p.width * p.height for p in pictures) <= DRAWN
    write_results(folder, pictures, result, config, figure=drawn)
    write_pair_report(folder / "matches.html", pictures, result)
    clock.lap("files")
    return told(result), None


def stage_of(folder):
    """How many of STAGES are done, as `match_uploads` last said."""
    try:
        return int((Path(folder) / "stage").read_text())
    except (OSError, ValueError):
        return 0


class StageFile:
    """A clock of `match_pictures` that also writes how far it is."""

    def __init__(self, path):
        self.path, self.seconds, self._last = path, {}, time.perf_counter()

    def lap(self, stage):
        """End a stage."""
        now = time.perf_counter()
        self.seconds[stage], self._last = now - self._last, now
        write_whole(self.path, str(STAGES.index(stage) + 1).encode())
