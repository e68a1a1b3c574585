"""A message while the program is being compiled, which happens once and takes a while."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

TEXT = "compiling the inner loops, once: about half a minute"


@contextmanager
def compiling_told(tell: Callable[[str], object]) -> Iterator[None]:
    """Report the first compilation of a kernel; nothing is reported if all are in the cache.

    Parameters
    ----------
    tell : callable
        Called once with a text.

    Yields
    ------
    None
        Compilations inside are reported.
    """
    from numba.core import event

    class Teller(event.Listener):
        told = False

        def on_start(self, event: object) -> None:
            if not self.told:
                self.told = True
                tell(TEXT)

        def on_end(self, event: object) -> None:
            pass

    with event.install_listener("numba:compile", Teller()):
        yield
