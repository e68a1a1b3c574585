"""The number of threads, and loops over ranges on several threads, for functions that release the GIL."""

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController, threadpool_info, threadpool_limits

from matching._common import opencv

Item = TypeVar("Item")
Result = TypeVar("Result")

_thread_limit: int | None = None  # set by `limit_threads`
_blas_lock, _blas_users = threading.Lock(), 0
_blas_limits: Any = None


def default_threads() -> int:
    """Return the number of threads that this process may use."""
    if _thread_limit is not None:
        return _thread_limit
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def limit_threads(n: int) -> Iterator[None]:
    """Limit the threads of this process (compiled loops, OpenCV, BLAS), if many processes run at once."""
    global _thread_limit
    before, _thread_limit = _thread_limit, n
    opencv_before = opencv.set_threads(n)
    try:
        with threadpool_limits(n):
            yield
    finally:
        _thread_limit = before
        opencv.set_threads(opencv_before)


@contextmanager
def single_blas_thread() -> Iterator[None]:
    """Limit the BLAS of this process to one thread while any thread is inside such a block."""
    global _blas_users, _blas_limits
    with _blas_lock:
        if _blas_users == 0:
            _blas_limits = _find_thread_pools().limit(limits=1, user_api="blas")
        _blas_users += 1
    try:
        yield
    finally:
        with _blas_lock:
            _blas_users -= 1
            if _blas_users == 0:
                _blas_limits.restore_original_limits()


def describe_blas() -> str:
    """Name NumPy's BLAS (of those loaded, in whatever order), its version and the kernels that it chose."""
    pools: list[dict[str, Any]] = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
    blas = min(pools, key=lambda pool: ("numpy" not in pool["filepath"], pool["filepath"]), default={})
    return " ".join(str(blas.get(key)) for key in ("internal_api", "version", "architecture"))


@cache
def _find_thread_pools() -> ThreadpoolController:
    """Find the thread pools of the loaded libraries, which takes milliseconds."""
    return ThreadpoolController()


def run_in_ranges(function: Callable[[int, int], Any], n: int, block: int) -> None:
    """Call a function with consecutive ranges of 0..n, of up to `block` rows, in `default_threads` threads.

    Each call writes only the rows of its range.
    """
    starts = iter(range(0, n, block))

    def run() -> None:
        for start in starts:  # a free thread takes the next range
            function(start, min(start + block, n))

    n_threads = min(default_threads(), -(-n // block))
    helpers = [_helper_pool().submit(run) for _ in range(n_threads - 1)]  # this thread is one more
    try:
        run()
    finally:
        for helper in helpers:
            if not helper.cancel():  # it has begun already
                helper.result()


def map_in_threads(function: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
    """Call a function for each of several items, in `default_threads` threads."""
    results: dict[int, Result] = {}

    def call(k: int, _: int) -> None:
        results[k] = function(items[k])

    run_in_ranges(call, len(items), 1)
    return [results[k] for k in range(len(items))]


@cache
def _helper_pool() -> ThreadPoolExecutor:
    """Make the threads that all calls share, because starting a thread takes as long as many loops."""
    return ThreadPoolExecutor(os.cpu_count() or 1)


def _reset_after_fork() -> None:
    """Reset the state after a fork: the child has only one thread, and a lock might stay held forever."""
    global _blas_lock, _blas_users
    _helper_pool.cache_clear()
    _blas_lock, _blas_users = threading.Lock(), 0


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset_after_fork)
