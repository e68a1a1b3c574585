"""What a server takes on, and how it says no."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Bounds of one server.

    upload : bytes of both pictures together
    pixels : of each picture
    jobs : matches that run at a time, each in a process of its own
    queue : matches that may wait, uploads under way included
    upload_seconds : for an upload
    match_seconds : for a match
    keep_seconds : results are deleted so long after their match
    keep : results at a time; beyond, the oldest go
    """

    upload: int = 50_000_000
    pixels: int = 25_000_000
    jobs: int = 1
    queue: int = 8
    upload_seconds: float = 60.0
    match_seconds: float = 120.0
    keep_seconds: float = 900.0
    keep: int = 50


class Refusal(Exception):
    """A request that is not carried out: HTTP status, one line that says why, further headers."""

    def __init__(self, status, reason, headers=None):
        super().__init__(reason)
        self.status, self.reason, self.headers = status, reason, headers or {}
