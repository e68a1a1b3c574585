"""Connections that end: uvicorn's HTTP protocol, with limits on their number and on the time each takes."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from matching.serve.limits import Limits

FAREWELL_SECONDS = 3.0  # what a connection gets to end its exchange when the server ends
BUSY = b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: 0\r\nRetry-After: 5\r\n\r\n"


def limited_protocol(limits: Limits) -> partial[LimitedProtocol]:
    """What `uvicorn.Config` takes as `http`."""
    return partial(LimitedProtocol, limits=limits)


class LimitedProtocol(H11Protocol):
    """HTTP/1.1 where a connection always has a time at which it is cut.

    It is set anew when the connection opens, when the header of a request is complete, when its answer has
    been sent, and while the client takes nothing of an answer. Where as many connections are open as may be,
    a new one takes the place of the one that has been waiting longest for a complete header.
    """

    def __init__(self, *args: Any, limits: Limits, **options: Any) -> None:
        super().__init__(*args, **options)
        self.limits = limits
        self._cut: asyncio.TimerHandle | None = None
        self._waiting_since: float | None = None  # for the header of a request
        self._exchange_ends = 0.0
        self._farewell = False

    def connection_made(self, transport: asyncio.Transport) -> None:
        """Take a connection, if need be in place of another, or refuse it."""
        super().connection_made(transport)
        self._await_request()
        if len(self.connections) <= self.limits.connections:
            return
        waiting = [c for c in self.connections if c._waiting_since is not None and c is not self]
        if waiting:
            min(waiting, key=lambda connection: connection._waiting_since).cut()
        else:
            transport.write(BUSY)
            transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        if self._cut is not None:
            self._cut.cancel()
        super().connection_lost(exc)

    def handle_events(self) -> None:
        """Take in what has come; the exchange begins with a complete header."""
        before = self.cycle
        super().handle_events()
        if self.cycle is not before and not self.cycle.response_complete:
            self._waiting_since = None
            self._exchange_ends = self.loop.time() + self.limits.exchange_seconds
            self._cut_after(self.limits.exchange_seconds)

    def on_response_complete(self) -> None:
        """Wait for the next request; but an answer that the client has not taken is still on its way."""
        super().on_response_complete()
        if self.cycle.response_complete and self.transport.get_write_buffer_size() == 0:
            self._await_request()

    def pause_writing(self) -> None:
        """The client is slow to take an answer."""
        super().pause_writing()
        self._cut_after(min(self.limits.stall_seconds, self._exchange_ends - self.loop.time()))

    def resume_writing(self) -> None:
        """It has taken what there was."""
        super().resume_writing()
        self._cut_after(self._exchange_ends - self.loop.time())

    def shutdown(self) -> None:
        """The server ends: an exchange that is under way gets a few seconds."""
        self._cut_after(FAREWELL_SECONDS)
        self._farewell = True
        try:
            super().shutdown()
        except h11.LocalProtocolError:  # an error has been answered already
            self.cut()

    def cut(self) -> None:
        """Close the connection at once, whatever has not been sent."""
        self.connections.discard(self)
        self.transport.abort()

    def _await_request(self) -> None:
        self._waiting_since = self.loop.time()
        self._cut_after(self.limits.header_seconds)

    def _cut_after(self, seconds: float) -> None:
        if self._farewell:
            return
        if self._cut is not None:
            self._cut.cancel()
        self._cut = self.loop.call_later(max(seconds, 0), self.cut)
