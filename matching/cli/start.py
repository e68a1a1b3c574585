"""Where the command begins; it imports nothing slow, so that an interrupt is reported from the start."""

import os
import sys
from _signal import SIGINT, signal  # type: ignore[import-not-found]

from matching.errors import INTERRUPTED

stream = 2  # where an interrupt is reported


def report_interrupts() -> None:
    """Let Ctrl-C end this process at once, with one line: libraries may ignore it or print tracebacks."""
    global stream
    signal(SIGINT, _end)
    try:
        stream = os.dup(2)  # which may be silenced while a picture is read
    except OSError:  # there is no standard error
        stream = 2


def _end(*_: object) -> None:
    try:
        os.write(stream, b"gdl-match: interrupted\n")
    finally:
        os._exit(INTERRUPTED)


def run(*words: str) -> None:
    """Run the command `gdl-match` as a process, with these words before its arguments."""
    report_interrupts()
    sys.argv[1:1] = words
    from matching.cli.exits import run_as_process
    from matching.cli.main import main

    run_as_process(main)


if __name__ == "__main__":
    run()
