"""The matches of a server: a bounded queue, worker processes, and results that are deleted in time."""

from __future__ import annotations

import asyncio
import logging
import secrets
import shutil
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from matching.serve.folders import ServerFolder, remove_abandoned
from matching.serve.limits import Limits, Refusal
from matching.serve.processes import Died, Failed, NotStarted, Worker
from matching.serve.uploads import Upload

FILES = (
    *("matches.html", "matches.json", "matches.npz", "matches.png"),
    *("labels-coco.json", "labels-yolo.zip", "labels-labelme.json", "labels-voc.xml", "labels.csv"),
    *("matches.csv", "database.db"),
)
LATER = {"Retry-After": "5"}  # seconds after which a refused client may ask again
SWEEP = 5.0  # seconds between checks for old results
STARTS = 5  # attempts to start a process for a match
PAUSE = 1.0  # seconds before something that failed is retried
log = logging.getLogger("gdl-match.serve")


@dataclass(eq=False)
class Job:
    """One match: uploading, waiting, running, done or failed."""

    id: str  # can't be guessed
    folder: Path  # of its uploads and results
    state: str = "uploading"  # "uploading", "waiting", "running", "done" or "failed"
    names: list[str] = field(default_factory=list)  # names of the one or two pictures
    upload: Upload = field(default_factory=Upload)
    stage: tuple[str, int, int] = ("read", 0, 1)  # name of the stage, how many have ended, how many there are
    settings: dict[str, Any] = field(default_factory=dict)  # of the match, by their names in MatchConfig
    answer: dict[str, Any] = field(default_factory=dict)  # what was found, as `match_uploads` says
    error: str | None = None  # why it failed
    ended: float | None = None  # time.monotonic() when it was done or failed
    files: list[str] = field(default_factory=list)  # names of its results
    size: int = 0  # bytes of its results
    task: asyncio.Task[None] | None = None


class Jobs:
    """All matches of a server; everything except reading and matching pictures happens in one event loop."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._jobs: dict[str, Job] = {}
        self._root: ServerFolder | None = None
        self._left: set[Path] = set()  # folders that could not be deleted yet
        self._wake = asyncio.Event()
        self._duties: dict[str, Callable[[], Coroutine[Any, Any, None]]] = {}  # endless tasks, by name
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._trouble: str | None = None  # why the last process could not be started
        self._restarts = 0
        self._checker = Worker("check", limits.check_memory)
        self._checking = asyncio.Lock()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Jobs]:
        """Carry out matches; afterwards, no process or file is left, even if an earlier server was killed."""
        remove_abandoned()
        workers = [Worker("match", self.limits.match_memory) for _ in range(self.limits.jobs)]
        self._duties = {f"match ({k})": partial(self._match_for_ever, w) for k, w in enumerate(workers)}
        self._duties["delete old results"] = self._sweep
        self._keep_working()
        try:
            yield self
        finally:
            self._duties = {}
            for task in self._tasks.values():
                task.cancel()
            await asyncio.gather(*self._tasks.values(), return_exceptions=True)
            await asyncio.gather(*(worker.end() for worker in (*workers, self._checker)))
            if self._root is not None:
                self._root.remove()

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[Job]:
        """Make a new Job with its folder.

        Inside the context, the caller writes the uploads and sets the names. Afterwards, the job waits for
        its turn, or is deleted if there was an error.
        """
        self._keep_working()
        waiting = self._count("waiting")
        if waiting >= self.limits.queue or not self._has_room_for_upload():
            reason = f"the server is busy: {waiting} matches are already waiting; try again in a few seconds"
            raise Refusal(503, reason, LATER)
        number = secrets.token_urlsafe(16)
        try:
            job = self._jobs[number] = Job(number, self._existing_root() / number)
            job.folder.mkdir()
            yield job
            job.state = "waiting"
            self._wake.set()
        except BaseException:
            self.forget(number)
            raise

    async def check(self, path: Path, name: str) -> None:
        """Check the header of a file: it must be a picture of a usual kind, and not too large."""
        request = {"path": str(path), "name": name, "pixels": self.limits.pixels}
        try:
            async with self._checking:
                refused = await self._checker.ask(request, self.limits.check_seconds)
            self._trouble = None
        except NotStarted as error:
            self._trouble = str(error)
            raise Refusal(503, f"no process can be started ({error}); try again", LATER) from None
        except TimeoutError:
            raise Refusal(415, f"{name}: its header takes too long to read") from None
        except (Died, Failed):
            raise Refusal(415, f"{name}: is damaged, or its header takes too much memory to read") from None
        if refused is not None:
            raise Refusal(*refused)

    def _has_room_for_upload(self) -> bool:
        """Whether another upload may begin; if necessary, a very slow one is dropped for it."""
        uploads = [job for job in self._jobs.values() if job.state == "uploading"]
        if len(uploads) < self.limits.queue:
            return True
        slow = [job for job in uploads if job.upload.is_slow]
        if not slow:
            return False
        slowest = min(slow, key=lambda job: job.upload.rate)
        slowest.upload.give_way()
        slowest.state = "failed"
        return True

    def find(self, number: str) -> Job:
        """Find a Job by its id."""
        if number not in self._jobs:
            raise Refusal(404, "there is no such match, or it has been deleted")
        return self._jobs[number]

    def forget(self, number: str) -> None:
        """Delete a match and all its files; if it runs, it is stopped."""
        job = self._jobs.pop(number, None)
        if job is not None:
            if job.task is not None:
                job.task.cancel()
            self._remove(job.folder)

    def status(self, job: Job) -> dict[str, Any]:
        """The state of a match, as sent to the client."""
        self._keep_working()
        status = {"id": job.id, "state": job.state, "names": job.names}
        if job.state == "waiting":
            before = [other for other in self._jobs.values() if other.state == "waiting"]
            return {**status, "before": before.index(job)}
        if job.state == "running":
            return {**status, **dict(zip(("stage", "done", "of"), job.stage, strict=True))}
        if job.state == "done":
            return {**status, **job.answer, "files": job.files}
        return {**status, "error": job.error}

    def health(self) -> dict[str, Any]:
        """Whether matches can be carried out, and what prevents it."""
        ended = [name for name in self._duties if name not in self._tasks or self._tasks[name].done()]
        problems = [f"a task ended: {name}" for name in ended]
        self._keep_working()
        if self._trouble is not None:
            problems.append(f"no process could be started: {self._trouble}")
        free = shutil.disk_usage(tempfile.gettempdir()).free
        if free < self.limits.upload:
            problems.append(f"the folder for temporary files has {free / 1e6:.0f} MB free")
        return {
            "healthy": not problems,
            "problems": problems,
            "waiting": self._count("uploading", "waiting"),
            "running": self._count("running"),
            "kept_bytes": sum(job.size for job in self._jobs.values()),
            "restarts": self._restarts,
        }

    def _count(self, *states: str) -> int:
        return sum(job.state in states for job in self._jobs.values())

    def _existing_root(self) -> Path:
        """The folder of all other folders, created again if somebody deleted it."""
        if self._root is None or not self._root.path.is_dir():
            if self._root is not None:
                self._root.remove()
            self._root = ServerFolder()
        return self._root.path

    def _remove(self, folder: Path) -> None:
        self._left.add(folder)
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            self._left.discard(folder)

    def _keep_working(self) -> None:
        """Start the tasks that do the work, and restart any that have ended, which should not happen."""
        for name, work in self._duties.items():
            task = self._tasks.get(name)
            if task is not None and not task.done():
                continue
            self._tasks[name] = asyncio.create_task(work())
            if task is not None:
                self._restarts += 1
                error = None if task.cancelled() else task.exception()
                log.error("a task ended and is restarted: %s", name, exc_info=error)

    async def _match_for_ever(self, worker: Worker) -> None:
        while True:
            job = next((job for job in self._jobs.values() if job.state == "waiting"), None)
            if job is None:
                self._wake.clear()
                await self._wake.wait()
                continue
            job.state = "running"
            try:
                job.task = asyncio.create_task(self._match(job, worker))
                await job.task
            except asyncio.CancelledError:
                if job.id in self._jobs or not self._duties:  # not only the match was stopped
                    raise
            except Exception:
                log.exception("match failed")
                job.error = "the server failed on this match; its log says where"
            finally:
                self._end(job)

    async def _match(self, job: Job, worker: Worker) -> None:
        def note(stage: tuple[str, int, int]) -> None:
            job.stage = stage

        try:
            request = {"folder": str(job.folder), "names": job.names, "settings": job.settings}
            answer = await self._ask(worker, request, note)
            job.error = answer.pop("error")
            job.answer = answer
        except NotStarted as error:
            job.error = f"no process can be started for the match ({error}); try again later"
        except TimeoutError:
            job.error = f"the match took more than {self.limits.match_seconds:g} s and was stopped"
        except Died:
            job.error = "the process that matched the pictures died, perhaps for lack of memory"
        except Failed as error:
            if str(error) == "memory":
                job.error = "matching these pictures takes more memory than is allowed"
            else:
                log.error("match failed\n%s", error)
                job.error = "the program failed on these pictures; the server's log says where"

    async def _ask(self, worker: Worker, request: dict[str, Any], note: Callable[[Any], None]) -> Any:
        """The answer of a worker; starting its process is retried, because a lack of resources may pass."""
        tries = 1
        while True:
            try:
                answer = await worker.ask(request, self.limits.match_seconds, note)
                self._trouble = None
                return answer
            except NotStarted as error:
                self._trouble = str(error)
                log.warning("no process could be started: %s", error)
                if tries == STARTS:
                    raise
            tries += 1
            await asyncio.sleep(PAUSE)

    def _end(self, job: Job) -> None:
        """End a job that is done or has failed, and keep only its results."""
        job.ended, is_done = time.monotonic(), job.answer.get("told") is not None
        try:
            if not is_done:
                self._remove(job.folder)
                return
            for path in job.folder.iterdir():
                if path.name not in FILES:
                    path.unlink()
            sizes = {name: path.stat().st_size for name in FILES if (path := job.folder / name).is_file()}
            job.files, job.size = list(sizes), sum(sizes.values())
        except (OSError, MemoryError) as error:
            job.error = f"the results are lost ({getattr(error, 'strerror', None) or error})"
            self._left.add(job.folder)
        finally:
            if not is_done and job.error is None:
                job.error = "the match was stopped"
            job.state = "done" if job.error is None else "failed"
            self._forget_old()

    def _forget_old(self) -> None:
        """Delete results that are too old, many or large, the oldest first; the latest stay for a while."""
        ended = [(job.ended, job) for job in self._jobs.values() if job.ended is not None]
        ended.sort(key=lambda pair: pair[0])
        old = time.monotonic() - self.limits.keep_seconds
        size = sum(job.size for _, job in ended)
        for k, (since, job) in enumerate(ended):
            left = len(ended) - k
            too_many = left > self.limits.keep or (size > self.limits.keep_bytes and left > 1)
            if too_many or since < old:
                size -= job.size
                self.forget(job.id)

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(min(SWEEP, self.limits.keep_seconds))
            with suppress(OSError, MemoryError):  # only this sweep fails
                self._forget_old()
                for folder in tuple(self._left):
                    self._remove(folder)
                self._keep_working()
