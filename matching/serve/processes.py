"""The worker processes of the server."""

import asyncio
import json
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

SCRIPT = Path(__file__).with_name("worker.py")
START_SECONDS = 60.0  # loading `matching` takes one or two seconds, or more from a slow disk
END_SECONDS = 5.0  # a killed process is gone at once, unless the system itself hangs
TRIES = 3  # attempts at a request whose process died before it began


class NotStarted(Exception):
    """A process could not be started; the message says why."""


class Died(Exception):
    """The process died while it carried out a request."""


class Failed(Exception):
    """The process could not carry out a request: "memory", or the traceback of an error."""


class _NotBegun(Exception):
    """The process had died before it read the request."""


class Worker:
    """A process that carries out requests one by one, "check" or "match", and is replaced if it dies."""

    def __init__(self, role: str, memory: int) -> None:
        self.role, self.memory = role, memory
        self._process: asyncio.subprocess.Process | None = None

    async def ask(
        self, request: dict[str, Any], seconds: float, on_stage: Callable[[Any], None] | None = None
    ) -> Any:
        """Send a request and wait for its answer."""
        line = json.dumps({**request, "seconds": seconds}).encode() + b"\n"
        for _ in range(TRIES):
            process = self._process or await self._start()
            try:
                async with asyncio.timeout(seconds):
                    return await _answer(process, line, on_stage)
            except _NotBegun:
                await self.end()
            except BaseException:
                await self.end()
                raise
        raise Died

    async def end(self) -> None:
        """End the process, if there is one, even if it is busy."""
        process, self._process = self._process, None
        if process is None:
            return
        with suppress(ProcessLookupError):
            process.kill()
        assert process.stdin is not None
        process.stdin.close()
        with suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), END_SECONDS)

    async def _start(self) -> asyncio.subprocess.Process:
        try:
            self._process = await asyncio.create_subprocess_exec(
                *command(self.role, self.memory),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
                start_new_session=True,  # only the server gets Ctrl-C
            )
        except (OSError, MemoryError, RuntimeError) as error:  # the last: no thread can be started
            raise NotStarted(getattr(error, "strerror", None) or str(error) or "no memory") from error
        try:
            async with asyncio.timeout(START_SECONDS):
                assert self._process.stdout is not None
                if await self._process.stdout.readline():
                    return self._process
            raise NotStarted("it ended at once")
        except BaseException as error:
            await self.end()
            if isinstance(error, TimeoutError):
                raise NotStarted(f"it was not ready after {START_SECONDS:g} s") from None
            raise


async def _answer(
    process: asyncio.subprocess.Process, line: bytes, on_stage: Callable[[Any], None] | None
) -> Any:
    assert process.stdin is not None and process.stdout is not None
    begun = False
    with suppress(ConnectionError, ValueError):  # the process ended, or sent no valid message
        process.stdin.write(line)
        await process.stdin.drain()
        while said := await process.stdout.readline():
            ((kind, content),) = json.loads(said).items()
            if kind == "answer":
                return content
            if kind == "failed":
                raise Failed(content)
            if kind == "stage" and on_stage is not None:
                on_stage(content)
            begun = True
    raise Died if begun else _NotBegun


def command(role: str, memory: int) -> list[str]:
    """The command line of a worker process."""
    return [sys.executable, "-P", str(SCRIPT), role, str(memory)]
