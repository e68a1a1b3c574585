"""How many threads to use, and running compiled loops, which release the GIL, over ranges on several."""

import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from threadpoolctl import threadpool_limits

from matching import _opencv

_most = None  # threads, where `limited_threads` says so


def default_threads():
    """Processors that this process may use, or the number that `limited_threads` allows."""
    if _most is not None:
        return _most
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def limited_threads(n):
    """Let this process compute with n threads only: own loops, OpenCV's and the BLAS's.

    For many processes side by side, which would otherwise each start a thread for every processor.
    """
    global _most
    before, _most = _most, n
    opencv_before = _opencv.set_threads(n)
    try:
        with threadpool_limits(n):
            yield
    finally:
        _most = before
        _opencv.set_threads(opencv_before)


def in_ranges(function, n, n_threads, block):
    """Call function(start, stop) over consecutive ranges that cover 0..n. Each writes its own rows, so the
    number of threads changes nothing."""
    starts = range(0, n, block)
    if n_threads == 1:
        for start in starts:
            function(start, min(start + block, n))
        return
    with ThreadPoolExecutor(n_threads) as pool:
        list(pool.map(lambda start: function(start, min(start + block, n)), starts))
