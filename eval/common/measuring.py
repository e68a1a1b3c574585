"""Time and memory of calls, and processes of their own for them."""

import resource
import sys
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple, TypeVar

T = TypeVar("T")


class Seconds(NamedTuple):
    """The time that a call took."""

    wall: float
    cpu: float  # of all threads; a busy machine inflates this less than the wall time


class Clock:
    """Measures the seconds since it was made."""

    def __init__(self) -> None:
        self._start = time.perf_counter(), time.process_time()

    def seconds(self) -> Seconds:
        return Seconds(time.perf_counter() - self._start[0], time.process_time() - self._start[1])


def run_apart(function: Callable[..., T], *arguments: object) -> T:
    """The result of a function of a module, called in a separate process."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(_run_quietly, function, *arguments).result()


def _run_quietly(function, *arguments):
    warnings.simplefilter("ignore")
    return function(*arguments)


def peak_megabytes(usage: resource.struct_rusage | None = None) -> float:
    """Peak memory of this process, including the pages of mapped files; or of one whose usage is known."""
    status = Path("/proc/self/status")  # on Linux, getrusage may report the parent's peak
    if usage is None and status.is_file():
        (line,) = (line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 2**10
    usage = usage or resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)  # bytes on macOS, else kilobytes
