"""uvicorn's HTTP protocol, with limits on the number of connections and on the time that each may take."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any, cast

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from matching.serve.limits import Limits

FAREWELL_SECONDS = 3.0  # for a connection to finish its exchange when the server ends
BUSY = b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: 0\r\nRetry-After: 5\r\n\r\n"


def limited_protocol(limits: Limits) -> partial[LimitedProtocol]:
    """Make the protocol that `uvicorn.Config` takes as `http`."""
    return partial(LimitedProtocol, limits=limits)


class LimitedProtocol(H11Protocol):
    """HTTP/1.1 with a time limit for every connection; a new connection may replace the longest idle one."""

    def __init__(self, *args: Any, limits: Limits, **options: Any) -> None:
        super().__init__(*args, **options)
        self.limits = limits
        self._cut: asyncio.TimerHandle | None = None
        self._waiting_since: float | None = None  # for the header of a request
        self._exchange_ends = 0.0
        self._farewell = False

    def connection_made(self, transport: Any) -> None:
        """Accept a connection, if necessary in place of another one, or refuse it."""
        super().connection_made(transport)
        self._await_request()
        if len(self.connections) <= self.limits.connections:
            return
        waiting = [
            (c._waiting_since, c)
            for c in cast("set[LimitedProtocol]", self.connections)
            if c._waiting_since is not None and c is not self
        ]
        if waiting:
            min(waiting, key=lambda pair: pair[0])[1].cut()
        else:
            transport.write(BUSY)
            transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        if self._cut is not None:
            self._cut.cancel()
        super().connection_lost(exc)

    def handle_events(self) -> None:
        """Handle what was received; the exchange begins with a complete header."""
        before = self.cycle
        super().handle_events()
        if self.cycle is not before and not self.cycle.response_complete:
            self._waiting_since = None
            self._exchange_ends = self.loop.time() + self.limits.exchange_seconds
            self._cut_after(self.limits.exchange_seconds)

    def on_response_complete(self) -> None:
        """Wait for the next request, unless parts of the answer still have to be sent."""
        super().on_response_complete()
        if self.cycle.response_complete and self.transport.get_write_buffer_size() == 0:
            self._await_request()

    def pause_writing(self) -> None:
        """Limit the time until the client reads on."""
        super().pause_writing()
        self._cut_after(min(self.limits.stall_seconds, self._exchange_ends - self.loop.time()))

    def resume_writing(self) -> None:
        """Return to the time limit of the exchange: the client has read everything sent so far."""
        super().resume_writing()
        self._cut_after(self._exchange_ends - self.loop.time())

    def shutdown(self) -> None:
        """Give an exchange in progress only a few seconds more, because the server ends."""
        self._cut_after(FAREWELL_SECONDS)
        self._farewell = True
        try:
            super().shutdown()
        except h11.LocalProtocolError:  # an error has been answered already
            self.cut()

    def cut(self) -> None:
        """Close the connection at once, even if data has not been sent."""
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
