"""What a command says where its output can't be written because a disk is full.

Only light modules may be imported here, as in `matching.cli.exits`.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable

from matching.errors import InputError

FULL = {errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC)}  # Windows has not the last


def report_full_disk(work: Callable[[], int]) -> Callable[[], int]:
    """Let a full disk be bad input: one line instead of a traceback.

    Standard output is written out at the end of the work, not at the end of the process, which could only
    print a traceback.

    Parameters
    ----------
    work : callable
        A command's work; it returns an exit status.

    Returns
    -------
    callable
        The same work. It raises InputError where a disk is full.
    """

    def do_work() -> int:
        try:
            try:
                return work()
            finally:
                sys.stdout.flush()
        except OSError as error:
            if error.errno not in FULL:
                raise
            _drop_output()
            raise InputError(f"the output can't be written ({error.strerror})") from None

    return do_work


def _drop_output() -> None:
    """Drop what standard output still holds if it can't be written; Python would try again at its end."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
