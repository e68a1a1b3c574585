"""Where the command begins; it imports nothing slow, so that an interrupt is reported from the start."""

import os
from _signal import SIGINT, signal  # type: ignore[import-not-found]

from matching.errors import INTERRUPTED


def tell_interrupts() -> None:
    """Let Ctrl-C end this process with one line, until the command installs its own handler."""
    signal(SIGINT, _end)


def _end(*_: object) -> None:
    try:
        os.write(2, b"gdl-match: interrupted\n")
    finally:
        os._exit(INTERRUPTED)


def run() -> None:
    """Run the command `gdl-match` as a process."""
    tell_interrupts()
    from matching.cli.exits import run_as_process
    from matching.cli.main import main

    run_as_process(main)


def run_collection() -> None:
    """Run `gdl-match-collection`, the earlier name of `gdl-match collection`."""
    tell_interrupts()
    from matching.cli.commands.collection import main
    from matching.cli.exits import run_as_process

    run_as_process(main)
