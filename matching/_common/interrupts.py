"""Replaces the handler of Ctrl-C during a block."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def handle_interrupts(handler: Callable[..., Any] | signal.Handlers) -> Iterator[None]:
    """Let a function handle Ctrl-C inside the context, if this is the main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
