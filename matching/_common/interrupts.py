"""Another handler for Ctrl-C, for the time of a block."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


def is_main_thread() -> bool:
    """Test whether signals reach this thread, and whether it may set their handlers."""
    return threading.current_thread() is threading.main_thread()


@contextmanager
def handle_interrupts(handler: Callable[..., Any] | signal.Handlers) -> Iterator[None]:
    """Let a function handle Ctrl-C inside the context, if this is the main thread."""
    if not is_main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
