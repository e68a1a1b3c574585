"""How a command ends: its exit status, and what it says where it fails or is interrupted.

Nothing heavy may be imported here: what is imported before a command's guard stands can't be guarded.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from matching.errors import InputError

FOUND, NONE_FOUND, BAD_INPUT, INTERNAL_ERROR, INTERRUPTED, NOT_READ = 0, 1, 2, 3, 130, 141


def exit_status(
    command: str, work: Callable[[], int], stopped: str = "interrupted", *, owns_process: bool = False
) -> int:
    """The exit status of a command's work, a function without arguments that returns one.

    Bad input is told in one line; `stopped` is told where the user interrupts. Any other error, also that of
    a library that can't be imported, is the program's own and keeps its traceback. Where nobody reads the
    output any more (`| head`), the rest is lost.

    owns_process : whether the process ends with the command. Then Ctrl-C from its end on, while threads and
        processes go, changes nothing, or ends an interrupted command without a traceback.
    """
    status = INTERRUPTED
    try:
        status = _exit_status(command, work, stopped)
    finally:
        if owns_process and _is_main_thread():
            left = signal.SIG_DFL if status == INTERRUPTED else signal.SIG_IGN  # what was answered stands
            signal.signal(signal.SIGINT, left)
    return status


def _exit_status(command: str, work: Callable[[], int], stopped: str) -> int:
    if hasattr(sys.stdout, "reconfigure"):  # a console may lack letters of a picture's name
        sys.stdout.reconfigure(errors="replace")
    try:
        try:
            return work()
        finally:
            sys.stdout.flush()
    except InputError as error:
        print(f"{command}: error: {' '.join(str(error).split())}", file=sys.stderr)
        return BAD_INPUT
    except KeyboardInterrupt:
        print(f"{command}: {stopped}", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or Python would try again at its end
        return NOT_READ
    except Exception:
        traceback.print_exc()
        return INTERNAL_ERROR


@contextmanager
def ended_by_interrupt(command: str, stopped: str = "interrupted") -> Iterator[None]:
    """Let Ctrl-C end the process at once, with one line. For imports and computations that leave nothing
    behind: libraries swallow a KeyboardInterrupt, or tell of it in tracebacks.
    """
    if not _is_main_thread():
        yield  # signals reach the main thread only
        return

    try:
        told = os.dup(2)  # 2 itself leads elsewhere while decoders are kept silent
    except OSError:
        told = None  # there is none

    def end(*_):
        with suppress(OSError, TypeError):
            os.write(told, f"{command}: {stopped}\n".encode())
        os._exit(INTERRUPTED)

    before = signal.signal(signal.SIGINT, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if told is not None:
            os.close(told)


def _is_main_thread():
    return threading.current_thread() is threading.main_thread()
