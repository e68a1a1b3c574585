"""A watchdog: worker processes end when the process that started them ends or is killed."""

import os
import time
from threading import Thread


def end_with(parent: int, check_every: float = 1.0) -> None:
    """End this process soon after its parent ends.

    This works only on POSIX: on Windows, the id of the parent stays the same after the parent has ended.
    """
    Thread(target=_end_with, args=(parent, check_every), daemon=True).start()


def _end_with(parent: int, check_every: float) -> None:
    while os.getppid() == parent:
        time.sleep(check_every)
    os._exit(1)
