"""Saying that the program compiles itself, which it does once, and which takes a while."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

TEXT = "compiling the inner loops, once: about half a minute"


@contextmanager
def compiling_told(tell: Callable[[str], object]) -> Iterator[None]:
    """Inside, `tell` is called when the first kernel is compiled; never where all are in the cache."""
    from numba.core import event

    class Teller(event.Listener):
        told = False

        def on_start(self, event):
            if not self.told:
                self.told = True
                tell(TEXT)

        def on_end(self, event):
            pass

    with event.install_listener("numba:compile", Teller()):
        yield
