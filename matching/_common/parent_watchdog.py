"""A watchdog that ends worker processes when the process that started them ends or is killed."""

import os
import time
from threading import Thread


def exit_with_parent(parent: int, interval: float = 1.0) -> None:
    """End this process at most `interval` seconds after its parent ends.

    This works only on POSIX: on Windows, the id of the parent stays the same after the parent has ended.
    """
    Thread(target=_watch, args=(parent, interval), daemon=True).start()


def _watch(parent: int, interval: float) -> None:
    while os.getppid() == parent:
        time.sleep(interval)
    os._exit(1)
