"""Parent watchdog: worker processes end with the process that started them, even where that one is killed."""

import os
import time
from threading import Thread


def end_with(parent: int, check_every: float = 1.0) -> None:
    """Let this process end soon after its parent.

    A pool of processes calls it in each worker before anything else (`initializer`). POSIX only: on Windows a
    process keeps the id of a parent that has ended, so nothing happens there.
    """
    Thread(target=_end_with, args=(parent, check_every), daemon=True).start()


def _end_with(parent: int, check_every: float) -> None:
    while os.getppid() == parent:
        time.sleep(check_every)
    os._exit(1)
