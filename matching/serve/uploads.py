"""Receiving one picture or two: never more bytes than allowed, and nothing but these files.

Of a client's description of a file, only the name is used, and only to show it.
"""

import asyncio
import shutil
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import BinaryIO

from python_multipart.multipart import parse_options_header
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import UploadFile
from starlette.requests import ClientDisconnect, Request
from starlette.types import Message

from matching.serve.limits import Limits, Refusal

FIELDS = ("image0", "image1")
LONGEST_NAME = 80
LONGEST_BOUNDARY = 70  # characters, as in RFC 2046
DRAINED = 100_000_000  # bytes of a refused upload that are still read, so that the client gets the reason
DRAIN_SECONDS = 10.0
SLOW = 20_000  # bytes per second: a slower upload gives way to another one
GRACE = 2.0  # seconds before an upload can give way


class Upload:
    """The progress of an upload, which may be dropped for another one if it is very slow."""

    def __init__(self) -> None:
        self.received = 0  # bytes
        self._began = time.monotonic()
        self._timeout: asyncio.Timeout | None = None
        self.gives_way = False

    @property
    def rate(self) -> float:
        """Bytes per second."""
        return self.received / max(time.monotonic() - self._began, 1e-3)

    @property
    def is_slow(self) -> bool:
        """Whether the upload may be dropped for another one."""
        return time.monotonic() - self._began > GRACE and self.rate < SLOW and self._timeout is not None

    def give_way(self) -> None:
        """End the upload, so that its request is refused."""
        self.gives_way = True
        if self._timeout is not None:
            self._timeout.reschedule(asyncio.get_running_loop().time())

    @asynccontextmanager
    async def limit(self, seconds: float) -> AsyncIterator[None]:
        """Bound the time that the upload takes."""
        try:
            async with asyncio.timeout(seconds) as self._timeout:
                yield
        except TimeoutError:
            if self.gives_way:
                raise Refusal(408, "the upload was too slow while others waited") from None
            raise Refusal(408, f"the upload took more than {seconds:g} s") from None
        finally:
            self._timeout = None


async def receive(request: Request, folder: Path, limits: Limits, upload: Upload) -> list[str]:
    """Write the uploads of a request to folder/upload0 and, if there are two, upload1; return their names.

    Besides Refusal, it may raise HTTPException, OSError or MemoryError.
    """
    _check_kind(request)
    try:
        async with upload.limit(limits.upload_seconds):
            return await _store(Request(request.scope, _limit(request, limits, upload)), folder)
    except ClientDisconnect:  # nobody will get the answer
        raise Refusal(400, "the upload was interrupted") from None


async def drain(request: Request) -> None:
    """Read and drop the rest of a request, up to a bound."""
    left = DRAINED
    with suppress(TimeoutError):
        async with asyncio.timeout(DRAIN_SECONDS):
            while left > 0 and not getattr(request.state, "complete", False):
                message = await request.receive()
                request.state.complete = not message.get("more_body", False)
                left -= len(message.get("body", b""))


def clean_name(name: str) -> str:
    """The last part of a file name that a client sent, without unprintable characters, and never empty."""
    last = PurePosixPath(PureWindowsPath(name).name).name
    return "".join(c for c in last if c.isprintable())[-LONGEST_NAME:].strip(". ") or "picture"


def _check_kind(request: Request) -> None:
    """Raise Refusal unless a request is a form of files; decoding text can take hours."""
    kind, options = parse_options_header(request.headers.get("content-type"))
    if kind != b"multipart/form-data" or not 0 < len(options.get(b"boundary", b"")) <= LONGEST_BOUNDARY:
        raise Refusal(
            400, "one or two pictures are needed, as files image0 and image1 of a multipart/form-data body"
        )
    if b"charset" in options:
        raise Refusal(400, "multipart/form-data must not have a charset")


async def _store(request: Request, folder: Path) -> list[str]:
    form = await request.form(max_files=len(FIELDS), max_fields=0)  # HTTPException 400 if it is invalid
    try:
        given = [form.get(field) for field in FIELDS if field in form]
        files = [(file, file.filename) for file in given if isinstance(file, UploadFile) and file.filename]
        if not files or len(files) != len(given):
            raise Refusal(400, "one or two pictures are needed, as files image0 and image1")
        for k, (file, _) in enumerate(files):
            await run_in_threadpool(_copy, file.file, folder / f"upload{k}")
    finally:
        await form.close()
    return [clean_name(name) for _, name in files]


def _copy(source: BinaryIO, path: Path) -> None:
    with path.open("wb") as target:
        shutil.copyfileobj(source, target)


def _limit(request: Request, limits: Limits, upload: Upload) -> Callable[[], Awaitable[Message]]:
    """The request's receive(), which raises Refusal beyond the allowed bytes or after a long pause."""
    too_many = Refusal(413, f"both pictures together may have at most {limits.upload / 1e6:g} MB")
    declared = request.headers.get("content-length", "")
    if declared.isdigit() and int(declared) > limits.upload:
        raise too_many

    async def receive() -> Message:
        try:
            async with asyncio.timeout(limits.stall_seconds):
                message = await request.receive()
        except TimeoutError:
            reason = f"the upload stalled for more than {limits.stall_seconds:g} s"
            raise Refusal(408, reason) from None
        request.state.complete = not message.get("more_body", False)
        upload.received += len(message.get("body", b""))
        if upload.received > limits.upload:
            raise too_many
        return message

    return receive
