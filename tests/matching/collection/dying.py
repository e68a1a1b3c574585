"""A task for processes of their own; it needs nothing that takes time to load."""

import os
import signal
from types import SimpleNamespace


def die_on_three(number, text):
    if number == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return SimpleNamespace(id=number, length=len(text))
