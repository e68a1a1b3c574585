"""The number of threads that ``n_jobs`` means."""

import os
from typing import Any

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
