"""How a command ends: its exit status, and its message if it fails or is interrupted. Imports are light."""

import atexit
import errno
import io
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import NoReturn

from matching._common.interrupts import handle_interrupts, is_main_thread
from matching.errors import INTERRUPTED, InputError, one_line

FOUND, NONE_FOUND, BAD_INPUT, INTERNAL_ERROR, NOT_READ = 0, 1, 2, 3, 141

CLEANING = 5.0  # seconds after which a further Ctrl-C ends an interrupted process at once

STOPPED = "interrupted; run the same command again to continue"  # for commands that can continue

FULL = {errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC)}  # Windows lacks the last

Guard = Callable[[], AbstractContextManager[None]]  # a context in which Ctrl-C may end the process


def exit_status(
    command: str, work: Callable[[], int], stopped: str = "interrupted", owns_process: bool = False
) -> int:
    """Run a command, and return its exit status; only errors of the program itself show a traceback."""
    owns_process = owns_process and is_main_thread()
    try:
        return _exit_status(command, work, stopped, owns_process)
    finally:
        if owns_process:
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # the result is final now


def _interrupt_once() -> None:
    """Let only the first Ctrl-C interrupt the work; further ones are ignored for a time, during clean-up."""
    began: list[float] = []

    def interrupt(*_: object) -> None:
        if not began:
            began.append(time.monotonic())
            threading.excepthook = _tell_nothing  # of threads of libraries that are left without work
            raise KeyboardInterrupt
        if time.monotonic() - began[0] > CLEANING:
            os._exit(INTERRUPTED)

    signal.signal(signal.SIGINT, interrupt)


def _tell_nothing(_: object) -> None: ...


def _exit_status(command: str, work: Callable[[], int], stopped: str, owns_process: bool) -> int:
    if isinstance(sys.stdout, io.TextIOWrapper):  # a console may be unable to print a picture's name
        sys.stdout.reconfigure(errors="replace")
    try:
        try:
            if owns_process:
                _interrupt_once()
            return work()
        finally:
            if sys.stdout is not None:  # standard output may be closed
                sys.stdout.flush()
    except InputError as error:
        print(f"{command}: error: {one_line(error)}", file=sys.stderr)
        return BAD_INPUT
    except KeyboardInterrupt:
        print(f"{command}: {stopped}", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or Python would try again at its end
        return NOT_READ
    except Exception as error:
        if isinstance(error, OSError) and error.errno in FULL:
            _drop_output()
            print(f"{command}: error: the output can't be written ({error.strerror})", file=sys.stderr)
            return BAD_INPUT
        if isinstance(error, FileNotFoundError) and not _has_working_folder():
            print(f"{command}: error: the working folder no longer exists", file=sys.stderr)
            return BAD_INPUT
        traceback.print_exc()
        return INTERNAL_ERROR


def _has_working_folder() -> bool:
    try:
        os.getcwd()  # noqa: PTH109 - pathlib is not loaded yet
    except FileNotFoundError:
        return False
    return True


def run_as_process(main: Callable[[], int]) -> NoReturn:
    """Run a command, and end the process at once: Python's clean-up takes a fifth of a small match's time."""
    status: list[int] = []  # empty if `main` raises
    atexit.register(_end_at_once, status)  # registered first, so that it is called last
    status.append(main())
    sys.exit(status[0])


def _end_at_once(status: list[int]) -> None:
    if not status:
        return
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except OSError:
            return  # Python reports the error
    os._exit(status[0])


def _drop_output() -> None:
    """Drop what standard output still holds if it can't be written: Python would try again at its end."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextmanager
def end_on_interrupt(command: str, stopped: str = "interrupted") -> Iterator[None]:
    """Let Ctrl-C end the process at once, with one line: libraries may ignore it or print tracebacks."""
    terminal: int | None = None
    with suppress(OSError):  # there may be no standard error
        terminal = os.dup(2)  # 2 is redirected while decoders are silenced

    def end(*_: object) -> None:
        if terminal is not None:
            with suppress(OSError):
                os.write(terminal, f"{command}: {stopped}\n".encode())
        os._exit(INTERRUPTED)

    try:
        with handle_interrupts(end):
            yield
    finally:
        if terminal is not None:
            os.close(terminal)
