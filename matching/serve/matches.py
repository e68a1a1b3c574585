"""The matches of the page: each runs in a process, one after another, and has a folder for its files."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import secrets
import shutil
import signal
import sys
import traceback
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from matching._common.parent_watchdog import exit_with_parent

N_KEPT = 20  # results that are kept until the server stops; older ones are deleted
# Loading the matching code takes a second, so processes are forked from one that has loaded it, if possible.
PROCESSES: Any = multiprocessing.get_context("spawn" if sys.platform == "win32" else "forkserver")
PROCESSES.set_forkserver_preload(["matching.serve.uploaded_pictures"])


@dataclass(eq=False)
class Match:
    """One match of two pictures, or of one picture with itself."""

    id: str  # can't be guessed
    folder: Path  # of its uploads and results
    names: list[str]  # of the one or two pictures
    settings: dict[str, Any]  # by their names in MatchConfig
    state: str = "waiting"  # "waiting", "running", "done" or "failed"
    message: dict[str, Any] = field(default_factory=dict)  # the last from its process: step, result or error
    task: asyncio.Task[None] | None = None


class Matches:
    """All matches of a server, in the order of their uploads.

    Parameters
    ----------
    folder : Path
        Folder for temporary files.
    max_seconds : float
        Time after which a match is stopped.

    Attributes
    ----------
    by_id : dict of str to Match
        All matches.
    """

    def __init__(self, folder: Path, max_seconds: float) -> None:
        self._folder, self._max_seconds = folder, max_seconds
        self.by_id: dict[str, Match] = {}
        self._turn = asyncio.Lock()  # one match at a time uses all processors

    def add(self, names: list[str], contents: list[bytes], settings: dict[str, Any]) -> Match:
        """Begin the match of some uploads."""
        number = secrets.token_urlsafe(16)
        match = self.by_id[number] = Match(number, self._folder / number, names, settings)
        match.folder.mkdir()
        for k, content in enumerate(contents):
            (match.folder / f"upload{k}").write_bytes(content)
        match.task = asyncio.create_task(self._run(match))
        return match

    def describe(self, match: Match) -> dict[str, Any]:
        """Describe the state of a match for the client."""
        waiting = [other for other in self.by_id.values() if other.state == "waiting"]
        before = {"before": waiting.index(match)} if match in waiting else {}
        return {"id": match.id, "state": match.state, "names": match.names, **before, **match.message}

    async def remove(self, match: Match) -> None:
        """Delete a match and all its files; if it runs, its process is killed."""
        self.by_id.pop(match.id, None)
        if match.task is not None:
            match.task.cancel()
            await asyncio.wait([match.task])
        shutil.rmtree(match.folder, ignore_errors=True)

    async def close(self) -> None:
        """Remove all matches."""
        for match in list(self.by_id.values()):
            await self.remove(match)

    async def _run(self, match: Match) -> None:
        async with self._turn:
            match.state, match.message = "running", {"step": "read", "done": 0, "of": 1}
            try:
                async with asyncio.timeout(self._max_seconds):
                    await self._run_process(match)
            except TimeoutError:
                match.message = {"error": f"the match took more than {self._max_seconds:g} s and was stopped"}
            if "step" in match.message:  # there was neither a result nor an error
                match.message = {
                    "error": "the process that matched the pictures died, perhaps for lack of memory"
                }
            match.state = "failed" if "error" in match.message else "done"
        if match.state == "failed":
            shutil.rmtree(match.folder, ignore_errors=True)
        ended = [other for other in self.by_id.values() if other.state in ("done", "failed")]
        for old in ended[:-N_KEPT]:
            await self.remove(old)

    async def _run_process(self, match: Match) -> None:
        receiver, sender = PROCESSES.Pipe(duplex=False)
        arguments = sender, match.folder, match.names, match.settings
        process = PROCESSES.Process(target=_match_in_process, args=arguments, daemon=True)
        process.start()
        sender.close()  # so that the pipe ends with the process
        try:
            await asyncio.to_thread(_receive, receiver, match)
        finally:
            process.kill()
            process.join()


def _receive(receiver: Connection, match: Match) -> None:
    """Receive messages until the process ends."""
    with receiver, suppress(EOFError):
        while True:
            match.message = receiver.recv()


def _match_in_process(sender: Connection, folder: Path, names: list[str], settings: dict[str, Any]) -> None:
    """Match uploads, and send a message for each step, then one with the result or an error."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends Ctrl-C to all processes
    exit_with_parent(os.getppid())
    from matching.serve.uploaded_pictures import match_uploads  # slow; the server does not need it

    try:
        sender.send(match_uploads(sender.send, folder, names, settings))
    except Exception:
        traceback.print_exc()
        sender.send({"error": "the program failed on these pictures; the server's terminal shows where"})
