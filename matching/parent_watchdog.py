"""Worker processes that don't outlive the process that started them, even where that one is killed."""

import os
import time
from threading import Thread

LOOK = 1.0  # seconds between looks


def end_with(parent):
    """Let this process end soon after `parent`, the id of its parent; what a pool of processes calls in each
    of its own before anything else (`initializer`). POSIX only: on Windows a process keeps the id of a parent
    that has ended, so nothing happens there.
    """
    Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent):
    while os.getppid() == parent:
        time.sleep(LOOK)
    os._exit(1)
