"""The matches of a server: a bounded queue, worker processes, results that go after a while."""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import shutil
import tempfile
import time
from concurrent.futures.process import BrokenProcessPool
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from joblib.externals.loky import ProcessPoolExecutor

from matching.serve.limits import Refusal
from matching.serve.worker import FILES, STAGES, begin_worker, match_uploads, stage_of

RETRY = 5  # seconds after which a refused client may ask again
SWEEP = 5.0  # seconds between looks at what is old
log = logging.getLogger("gdl-match.serve")


@dataclass(eq=False)
class Job:
    """One match: uploading, waiting, running, done or failed."""

    id: str
    folder: Path
    state: str = "uploading"
    names: list[str] = field(default_factory=list)
    told: str | None = None
    error: str | None = None
    ended: float | None = None  # time.monotonic()


class Jobs:
    """All matches of a server. Everything but the matching itself happens in one event loop."""

    def __init__(self, limits):
        self.limits = limits
        self._jobs, self._queue = {}, asyncio.Queue()

    @asynccontextmanager
    async def running(self):
        """While inside, matches are carried out; afterwards no process and no file is left."""
        with tempfile.TemporaryDirectory(prefix="gdl-match-") as root:
            self._root = Path(root)
            tasks = [asyncio.create_task(self._work()) for _ in range(self.limits.jobs)]
            tasks.append(asyncio.create_task(self._sweep()))
            try:
                yield self
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)

    @asynccontextmanager
    async def slot(self):
        """A new Job whose folder is there; inside, its uploads are written and its names set. Then it waits
        for its turn, or is gone if anything was wrong.

        Raises Refusal where as many wait as may.
        """
        waiting = sum(job.state in ("uploading", "waiting") for job in self._jobs.values())
        if waiting >= self.limits.queue:
            reason = f"the server is busy: {waiting} matches wait already; try again in a few seconds"
            raise Refusal(503, reason, {"Retry-After": str(RETRY)})
        number = secrets.token_urlsafe(16)
        job = self._jobs[number] = Job(number, self._root / number)
        job.folder.mkdir()
        try:
            yield job
        except BaseException:
            self.forget(number)
            raise
        job.state = "waiting"
        self._queue.put_nowait(job)

    def find(self, number):
        """The Job of an id. Raises Refusal where there is none (any more)."""
        if number not in self._jobs:
            raise Refusal(404, "there is no such match, or it has been deleted")
        return self._jobs[number]

    def forget(self, number):
        """Delete a match and all its files."""
        job = self._jobs.pop(number)
        shutil.rmtree(job.folder, ignore_errors=True)

    def status(self, job):
        """What a client is told, as a dictionary."""
        status = {"id": job.id, "state": job.state, "names": job.names}
        if job.state == "waiting":
            before = [other for other in self._jobs.values() if other.state == "waiting"]
            return {**status, "before": before.index(job)}
        if job.state == "running":
            done = min(stage_of(job.folder), len(STAGES) - 1)
            return {**status, "stage": STAGES[done], "done": done, "of": len(STAGES)}
        if job.state == "done":
            files = [name for name in FILES if (job.folder / name).is_file()]
            return {**status, "told": job.told, "files": files}
        return {**status, "error": job.error}

    async def _work(self):
        pool = None
        try:
            while True:
                job = await self._queue.get()
                if job.id not in self._jobs:
                    continue  # deleted while it waited
                pool = pool or ProcessPoolExecutor(1, initializer=begin_worker, initargs=(os.getpid(),))
                job.state = "running"
                if not await self._match(job, pool):
                    await asyncio.to_thread(pool.shutdown, kill_workers=True)
                    pool = None
                job.ended = time.monotonic()
        finally:
            if pool is not None:
                pool.shutdown(wait=False, kill_workers=True)

    async def _match(self, job, pool):
        """Whether the process can be used further."""
        fine = True
        try:
            future = asyncio.wrap_future(pool.submit(match_uploads, str(job.folder), job.names))
            job.told, job.error = await asyncio.wait_for(future, self.limits.match_seconds)
        except TimeoutError:
            job.error = f"the match took more than {self.limits.match_seconds:g} s and was stopped"
            fine = False
        except BrokenProcessPool:
            job.error = "the process that matched the pictures died, perhaps for lack of memory"
            fine = False
        except Exception:
            log.exception("match failed")
            job.error = "the program failed on these pictures; the server's log says where"
        job.state = "done" if job.error is None else "failed"
        for k in range(2):  # whatever happened, uploads go
            with suppress(OSError):
                (job.folder / f"upload{k}").unlink(missing_ok=True)
        return fine

    async def _sweep(self):
        while True:
            await asyncio.sleep(min(SWEEP, self.limits.keep_seconds))
            ended = sorted((j for j in self._jobs.values() if j.ended is not None), key=lambda j: j.ended)
            old = time.monotonic() - self.limits.keep_seconds
            for k, job in enumerate(ended):
                if job.ended < old or k < len(ended) - self.limits.keep:
                    self.forget(job.id)
