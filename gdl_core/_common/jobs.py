"""Threads: their number, and loops that are divided among them."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from .checks import check_integer


def effective_jobs(n_jobs: Any) -> int:
    """Apply scikit-learn's convention: None is 1, -1 is all processors, -2 is all but one."""
    if n_jobs is None:
        return 1
    n_jobs = check_integer("n_jobs", n_jobs)
    if n_jobs == 0:
        raise ValueError("n_jobs must not be 0: give a number of threads, or -1 for all processors")
    n_threads: int = n_jobs if n_jobs > 0 else max(1, (os.cpu_count() or 1) + 1 + n_jobs)
    return n_threads


def run_in_parts(
    function: Callable[[int, int], object],
    n_rows: int,
    n_jobs: int | None,
    min_rows: int = 256,
) -> None:
    """Call ``function(first, end)`` in threads, for spans of at least ``min_rows`` rows, roughly."""
    n_parts = min(effective_jobs(n_jobs), 1 + n_rows // min_rows)
    if n_parts == 1:
        function(0, n_rows)
        return
    ends = np.linspace(0, n_rows, n_parts + 1).astype(int).tolist()
    with ThreadPoolExecutor(n_parts) as pool:
        list(pool.map(function, ends[:-1], ends[1:]))
