"""What a server accepts, and how it refuses."""

from collections.abc import Mapping
from dataclasses import dataclass

from matching._common.threads import default_threads

BASE_MEMORY = 3_000_000_000  # address space of a match of small pictures (1.6 GB measured), with a margin
PIXEL_MEMORY = 60  # bytes of address space per pixel of each picture (16 measured)
THREAD_MEMORY = 100_000_000  # bytes that a thread reserves: its stack and its share of the heap


@dataclass(frozen=True)
class Limits:
    """Bounds of one server."""

    upload: int = 100_000_000  # bytes of both pictures together
    pixels: int = 60_000_000  # of each picture; telephones have 48 or 50 million
    jobs: int = 1  # matches that run at a time, each in a separate process
    queue: int = 8  # matches that may wait, and uploads at a time; a slow upload gives way to a new one
    upload_seconds: float = 60.0  # for an upload
    stall_seconds: float = 15.0
    check_seconds: float = 5.0  # for reading the header of a picture
    check_memory: int = 1_000_000_000  # bytes, for reading that header
    match_seconds: float = 120.0
    keep_seconds: float = 900.0  # from the end of a match until its results are deleted
    keep: int = 50  # results at a time; if there are more, the oldest are deleted
    keep_bytes: int = 1_000_000_000
    connections: int = 64  # at a time; a new one replaces the one that has waited longest for a request
    header_seconds: float = 10.0  # from the opening of a connection to the end of a request's header
    exchange_seconds: float = 240.0

    @property
    def match_memory(self) -> int:
        """The number of bytes of address space that the process of a match may take."""
        return BASE_MEMORY + 2 * self.pixels * PIXEL_MEMORY + default_threads() * THREAD_MEMORY


class Refusal(Exception):
    """A refused request: the HTTP status, a one-line reason, and headers of the answer."""

    def __init__(self, status: int, reason: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(reason)
        self.status, self.reason, self.headers = status, reason, dict(headers or {})
