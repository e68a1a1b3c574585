"""What a server accepts, and how it refuses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from matching._common.threads import default_threads

BASE_MEMORY = 3_000_000_000  # address space of a match of small pictures (1.6 GB measured), and some more
PIXEL_MEMORY = 60  # bytes of address space for a pixel of either picture (16 measured)
THREAD_MEMORY = 100_000_000  # bytes that a thread reserves: its stack and its share of the heap


@dataclass(frozen=True)
class Limits:
    """Bounds of one server.

    Parameters
    ----------
    upload : int
        Bytes of both pictures together.
    pixels : int
        Of each picture.
    jobs : int
        Matches that run at a time, each in a process of its own.
    queue : int
        Matches that may wait, and uploads in progress beside them: of those, one that drips makes room for
        another.
    upload_seconds, stall_seconds : float
        For an upload, and for a pause in an upload or a download.
    check_seconds : float
        For reading the header of a picture.
    check_memory : int
        For reading the header of a picture, bytes.
    match_seconds : float
        For a match.
    keep_seconds : float
        Results are deleted this long after their match.
    keep, keep_bytes : int
        Results at a time, and their bytes together; if there are more, the oldest are deleted.
    connections : int
        Open at a time; a further one replaces the one that has waited longest for a request.
    header_seconds, exchange_seconds : float
        From the opening of a connection to the end of a request's header, and from there to the end of the
        answer.
    """

    upload: int = 100_000_000
    pixels: int = 60_000_000  # telephones have 48 or 50 million
    jobs: int = 1
    queue: int = 8
    upload_seconds: float = 60.0
    stall_seconds: float = 15.0
    check_seconds: float = 5.0
    check_memory: int = 1_000_000_000
    match_seconds: float = 120.0
    keep_seconds: float = 900.0
    keep: int = 50
    keep_bytes: int = 1_000_000_000
    connections: int = 64
    header_seconds: float = 10.0
    exchange_seconds: float = 240.0

    @property
    def match_memory(self) -> int:
        """Bytes of address space that the process of a match may take."""
        return BASE_MEMORY + 2 * self.pixels * PIXEL_MEMORY + default_threads() * THREAD_MEMORY


class Refusal(Exception):
    """A request that is not carried out.

    Parameters
    ----------
    status : int
        Of HTTP.
    reason : str
        One line that says why.
    headers : mapping of str to str, optional
        Further headers of the answer.
    """

    def __init__(self, status: int, reason: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(reason)
        self.status, self.reason, self.headers = status, reason, dict(headers or {})
