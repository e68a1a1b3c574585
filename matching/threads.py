"""How many threads to use, and running compiled loops, which release the GIL, over ranges on several."""

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache

from threadpoolctl import ThreadpoolController, threadpool_limits

from matching import _opencv

_most = None  # threads, where `limited_threads` says so
_blas_lock, _blas_users, _blas_limits = threading.Lock(), 0, None


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


@contextmanager
def single_blas_thread():
    """Let each call of the BLAS compute with one thread, where own threads call it: they would wait for its.

    The limit holds for the process: the first of several threads sets it, the last takes it away.
    """
    global _blas_users, _blas_limits
    with _blas_lock:
        if _blas_users == 0:
            _blas_limits = _libraries().limit(limits=1, user_api="blas")
        _blas_users += 1
    try:
        yield
    finally:
        with _blas_lock:
            _blas_users -= 1
            if _blas_users == 0:
                _blas_limits.restore_original_limits()


@cache
def _libraries():
    """The thread pools of the libraries that are loaded, which takes milliseconds to find out."""
    return ThreadpoolController()


def in_ranges(function, n, n_threads, block):
    """Call function(start, stop) over consecutive ranges that cover 0..n. Each writes its own rows, so the
    number of threads changes nothing."""
    starts = range(0, n, block)
    if n_threads == 1 or len(starts) == 1:
        for start in starts:
            function(start, min(start + block, n))
        return
    with ThreadPoolExecutor(n_threads) as pool:
        list(pool.map(lambda start: function(start, min(start + block, n)), starts))
