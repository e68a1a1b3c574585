"""The end of a command: its exit status, and its message if it fails or is interrupted. Imports are light."""

import atexit
import io
import os
import sys
import traceback
from collections.abc import Callable
from typing import NoReturn

from matching.errors import INTERRUPTED, InputError, one_line

FOUND, NONE_FOUND, BAD_INPUT, INTERNAL_ERROR, BROKEN_PIPE = 0, 1, 2, 3, 141


def exit_status(command: str, work: Callable[[], int], message: str = "interrupted") -> int:
    """Run a command, and return its exit status; only errors of the program itself show a traceback."""
    if isinstance(sys.stdout, io.TextIOWrapper):  # a console may be unable to print a picture's name
        sys.stdout.reconfigure(errors="replace")
    try:
        try:  # no name of a file can be made absolute without it
            os.getcwd()  # noqa: PTH109
        except FileNotFoundError:
            raise InputError("the working folder was deleted; run the command in another one") from None
        status = work()
        if sys.stdout is not None:  # standard output may be closed
            sys.stdout.flush()
        return status
    except InputError as error:
        print(f"{command}: error: {one_line(error)}", file=sys.stderr)
        return BAD_INPUT
    except KeyboardInterrupt:
        print(f"{command}: {message}", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or Python would try again at its end
        return BROKEN_PIPE
    except Exception:
        traceback.print_exc()
        return INTERNAL_ERROR


def run_as_process(main: Callable[[], int]) -> NoReturn:
    """Run a command, and end the process at once: Python's clean-up takes a fifth of a small match's time."""
    status: list[int] = []  # empty if `main` raises
    atexit.register(_end_at_once, status)  # registered first, so that it is called last
    status.append(main())
    sys.exit(status[0])


def _end_at_once(status: list[int]) -> None:
    if status:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
        os._exit(status[0])
